"""Centroids by what they save: split the cluster that gains most, drop the one that is missed least, or both.

Both at once is a move out of a local minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powerkmeans.objective.distances import squared_distances
from powerkmeans.support.memory import ENTRIES
from powerkmeans.types import Array, Float64Array, Membership

# steps to the principal axis of a cluster, and of 2-means from there
_SPLIT_STEPS = 3


class Split(NamedTuple):
    """Two centroids for the rows of one cluster and how much they lower its cost."""

    gain: float
    first: Float64Array
    second: Float64Array


def propose_move(
    rows: Array,
    weight: Float64Array,
    centers: Float64Array,
    *,
    membership: Membership,
    reference: float,
    margin: float,
) -> Float64Array | None:
    """Return centroids with one of them moved, or None if no move promises to save ``margin`` of the cost.

    The centroid that is missed least goes to the cluster that gains most from a split. Both are measured on a
    sample of rows.
    """
    if len(centers) < 2:
        return None
    held = _holdings(rows, weight, centers, membership, reference)
    grown, split = _best_split(rows, held, len(centers))
    deletion = _deletions(rows, weight, centers, held)
    deletion[grown] = np.inf
    moved = int(np.argmin(deletion))
    if split.gain - deletion[moved] <= margin * float(weight @ held.cost):
        return None
    result = centers.copy()
    result[grown], result[moved] = split.first, split.second
    return result


def split_most(
    rows: Array, weight: Float64Array, centers: Float64Array, *, membership: Membership, reference: float
) -> Float64Array:
    """Centroids with one more: the cluster that gains most from a split has two."""
    held = _holdings(rows, weight, centers, membership, reference)
    grown, split = _best_split(rows, held, len(centers))
    result = np.concatenate([centers, split.second[None, :]])
    result[grown] = split.first
    return result


def drop_least(
    rows: Array, weight: Float64Array, centers: Float64Array, *, membership: Membership, reference: float
) -> Float64Array:
    """Centroids without the one that is missed least."""
    held = _holdings(rows, weight, centers, membership, reference)
    return np.delete(centers, int(np.argmin(_deletions(rows, weight, centers, held))), axis=0)


class _Holdings(NamedTuple):
    """Which rows each centroid holds and would inherit, what they cost, would cost more, and pull with."""

    labels: np.ndarray
    heirs: np.ndarray
    cost: Float64Array
    loss: Float64Array
    pull: Float64Array
    inherited: Float64Array


def _holdings(
    rows: Array, weight: Float64Array, centers: Float64Array, membership: Membership, reference: float
) -> _Holdings:
    """Rows count by their typicality: an outlier that it bounds neither holds a centroid nor calls for one."""
    labels, heirs, nearest, second = _two_nearest(rows, centers)
    degree = membership.degrees(nearest, reference, np)
    far = membership.degrees(second, reference, np)
    cost = membership.divergence(nearest, degree, reference, np)
    loss = membership.divergence(second, far, reference, np) - cost
    pull = weight * membership.attraction(degree, np)
    return _Holdings(labels, heirs, cost, loss, pull, weight * membership.attraction(far, np))


def _best_split(rows: Array, held: _Holdings, n_clusters: int) -> tuple[int, Split]:
    """The cluster of which two centroids explain most, and its split."""
    clusters = (held.labels == j for j in range(n_clusters))
    splits = [_split(rows[members], held.pull[members]) for members in clusters]
    grown = int(np.argmax([split.gain for split in splits]))
    return grown, splits[grown]


def _deletions(rows: Array, weight: Float64Array, centers: Float64Array, held: _Holdings) -> Float64Array:
    """What deleting each centroid costs.

    Its rows lose by going to their second nearest, less what those recover as they move to the mean of what they
    then hold.
    """
    lost = np.bincount(held.labels, weights=weight * held.loss, minlength=len(centers))
    return lost - _recovered(rows, centers, (held.labels, held.heirs), (held.pull, held.inherited))


def _recovered(
    rows: Array,
    centers: Float64Array,
    owners: tuple[np.ndarray, np.ndarray],
    weights: tuple[Float64Array, Float64Array],
) -> Float64Array:
    """What the heirs of each deleted centroid save by moving: ``|sum w (x - c)|^2 / (w_old + w_new)`` each."""
    (labels, heirs), (held, inherited) = owners, weights
    holdings = np.bincount(labels, weights=held, minlength=len(centers))
    order = np.lexsort((heirs, labels))
    pair = labels[order] * len(centers) + heirs[order]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    recovered = np.zeros(len(centers))
    for start, stop in zip(first, [*first[1:], len(order)], strict=True):
        moved = order[start:stop]
        owner, heir, weight = labels[moved[0]], heirs[moved[0]], inherited[moved]
        total = float(np.sum(weight))
        step = weight @ rows[moved] - total * centers[heir]
        if holdings[heir] + total > 0:
            recovered[owner] += float(step @ step) / (holdings[heir] + total)
    return recovered


def _two_nearest(rows: Array, centers: Float64Array) -> tuple[np.ndarray, np.ndarray, Float64Array, Float64Array]:
    """Nearest and second nearest centroid of each row, and the squared distances to them.

    A single centroid is the second nearest too.
    """
    centers = centers.astype(rows.dtype)
    labels, heirs = np.empty(len(rows), dtype=np.intp), np.empty(len(rows), dtype=np.intp)
    nearest, second = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, ENTRIES // len(centers))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        distance = np.ascontiguousarray(squared_distances(centers, rows[part], np).T)
        labels[part] = np.argmin(distance, axis=1)
        nearest[part] = np.take_along_axis(distance, labels[part, None], axis=1)[:, 0]
        if len(centers) > 1:
            np.put_along_axis(distance, labels[part, None], np.inf, axis=1)
        heirs[part] = np.argmin(distance, axis=1)
        second[part] = np.take_along_axis(distance, heirs[part, None], axis=1)[:, 0]
    return labels, heirs, nearest, second


def _split(rows: Array, weight: Float64Array) -> Split:
    """Split rows along their principal axis and refine by a few steps of 2-means."""
    total = float(np.sum(weight))
    if len(rows) < 2 or total == 0:
        return Split(0.0, np.zeros(rows.shape[1]), np.zeros(rows.shape[1]))
    mean = (weight @ rows) / total
    offset = rows - mean
    unit = float(np.max(np.abs(offset)))
    axis = None if unit == 0 else _principal_axis(offset / unit, weight)  # products of three must stay in range
    halves = None if axis is None else _two_means(offset / unit, weight, axis)
    if halves is None:
        return Split(0.0, mean, mean)
    return Split(halves.gain * unit**2, mean + unit * halves.first, mean + unit * halves.second)


def _principal_axis(offset: Array, weight: Float64Array) -> Float64Array | None:
    """The direction in which centred rows vary most, by power iteration; None if weight is on rows that do not."""
    axis = offset[int(np.argmax(np.vecdot(offset, offset)))]
    for _ in range(_SPLIT_STEPS):
        axis = (weight * (offset @ axis)) @ offset
        length = np.linalg.norm(axis)
        if length == 0:
            return None
        axis = axis / length
    return axis


def _two_means(offset: Array, weight: Float64Array, axis: Float64Array) -> Split | None:
    """Two centroids for centred rows, from the sides of an axis on; None if one is left without weight."""
    total, right = float(np.sum(weight)), offset @ axis > 0
    for _ in range(_SPLIT_STEPS):
        w_right = float(weight @ right)
        if not 0 < w_right < total:
            return None
        second = (weight * right) @ offset / w_right
        first = -second * w_right / (total - w_right)
        right = offset @ (second - first) > 0.5 * (second @ second - first @ first)
    # scatter between the halves: N1 N2 / (N1 + N2) ||mu1 - mu2||^2
    gain = w_right * (total - w_right) / total * float((second - first) @ (second - first))
    return Split(gain, first, second)
