"""One move out of a local minimum: take the centroid that is missed least to the cluster that needs it most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powerkmeans.types import Array, Float64Array, Membership

_POWER_STEPS, _LLOYD_STEPS = 5, 3
_CHUNK = 2**24


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

    Deleting a centroid costs what its rows lose by going to their second nearest, less what those recover as
    they move to the mean of what they then hold; splitting a cluster in two saves what two centroids explain of
    it, rows counting by their typicality. So a far outlier neither holds a centroid nor calls for one if the
    membership bounds it. Both are measured on a sample of rows.
    """
    if len(centers) < 2:
        return None
    labels, heirs, nearest, second = _two_nearest(rows, centers)
    degree = membership.degrees(nearest, reference, np)
    far = membership.degrees(second, reference, np)
    cost = membership.divergence(nearest, degree, reference, np)
    loss = membership.divergence(second, far, reference, np) - cost
    pull = weight * membership.attraction(degree, np)
    inherited = weight * membership.attraction(far, np)
    lost = np.bincount(labels, weights=weight * loss, minlength=len(centers))
    deletion = lost - _recovered(rows, centers, (labels, heirs), (pull, inherited))
    splits = [_split(rows[labels == j], pull[labels == j]) for j in range(len(centers))]
    grown = int(np.argmax([split.gain for split in splits]))
    deletion[grown] = np.inf
    moved = int(np.argmin(deletion))
    if splits[grown].gain - deletion[moved] <= margin * float(weight @ cost):
        return None
    result = centers.copy()
    result[grown], result[moved] = splits[grown].first, splits[grown].second
    return result


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
    """Nearest and second nearest centroid of each row, and the squared distances to them."""
    centers = centers.astype(rows.dtype)
    norms = np.vecdot(centers, centers)
    labels, heirs = np.empty(len(rows), dtype=np.intp), np.empty(len(rows), dtype=np.intp)
    nearest, second = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, _CHUNK // len(centers))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        chunk = rows[part]
        distance = norms - 2 * chunk @ centers.T + np.vecdot(chunk, chunk)[:, None]
        distance = np.maximum(distance, 0)
        labels[part] = np.argmin(distance, axis=1)
        nearest[part] = np.take_along_axis(distance, labels[part, None], axis=1)[:, 0]
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
    axis = offset[int(np.argmax(np.vecdot(offset, offset)))]
    for _ in range(_POWER_STEPS):
        axis = (weight * (offset @ axis)) @ offset
        length = np.linalg.norm(axis)
        if length == 0:
            return Split(0.0, mean, mean)
        axis = axis / length
    right = offset @ axis > 0
    for _ in range(_LLOYD_STEPS):
        w_right = float(weight @ right)
        if not 0 < w_right < total:
            return Split(0.0, mean, mean)
        second = (weight * right) @ offset / w_right
        first = -second * w_right / (total - w_right)
        right = offset @ (second - first) > 0.5 * (second @ second - first @ first)
    # scatter between the halves: N1 N2 / (N1 + N2) ||mu1 - mu2||^2
    gain = w_right * (total - w_right) / total * float((second - first) @ (second - first))
    return Split(gain, mean + first, mean + second)
