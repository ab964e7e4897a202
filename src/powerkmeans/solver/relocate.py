"""Centroids by what they save: split the cluster that gains most, drop the one that is missed least, or both.

Both at once is a move out of a local minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.objective.distances import squared_distances
from powerkmeans.solver.holdings import Holdings, Measure, holdings
from powerkmeans.types import Array, Float64Array

# steps to the principal axis of a cluster, and at most so many of 2-means from there: in many dimensions noise is
# nearly as long as what tells two clusters apart, and after few steps the sides are still mixed
_SPLIT_STEPS = 10
# how many splits, those that gain most, are followed beyond their clusters, and for how many steps: a group that
# two clusters share shows but half of its worth in either
_FOLLOWED, _FOLLOWING_STEPS = 3, 2


class Split(NamedTuple):
    """Two centroids in the place of one and how much they lower the cost."""

    cluster: int
    gain: float
    halves: Float64Array


class Move(NamedTuple):
    """A centroid that goes where another is split, and what that promises to save."""

    split: Split
    moved: int
    saved: float


class Proposal(NamedTuple):
    """Centroids of which some were moved."""

    centers: Float64Array
    n_moves: int


def propose_moves(
    rows: Array, weight: Float64Array, centers: Float64Array, measure: Measure, margin: float
) -> list[Proposal]:
    """Return what promises to save ``margin`` of the cost: moves of different clusters at once, then single ones.

    Centroids that are missed least go to clusters that gain most from a split. All is measured on sampled rows.
    """
    if len(centers) < 2:
        return []
    held = holdings(rows, weight, centers, measure)
    splits, deletions = _splits(rows, weight, held, measure), _deletions(rows, weight, held)
    least = margin * float(weight @ held.cost)
    together = _together(splits, deletions, held, least)
    single = [_best_move(split, deletions) for split in splits[:_FOLLOWED]]
    single = sorted((move for move in single if move.saved > least), key=lambda move: -move.saved)
    wanted = [together] * (len(together) > 1) + [[move] for move in single]
    return [_proposal(centers, moves) for moves in wanted]


def _best_move(split: Split, deletions: Float64Array) -> Move:
    """The move of the centroid that is missed least, but for the one that is split."""
    others = np.where(np.arange(len(deletions)) == split.cluster, np.inf, deletions)
    moved = int(np.argmin(others))
    return Move(split, moved, split.gain - float(others[moved]))


def _together(splits: list[Split], deletions: Float64Array, held: Holdings, least: float) -> list[Move]:
    """Moves that may be made at once: what a centroid leaves behind goes to none that is moved too."""
    free, moves = deletions.copy(), list[Move]()
    for split in splits:
        move = _best_move(split, free)
        if any(split.cluster == made.moved for made in moves):
            continue
        if not move.saved > least:
            break
        neighbours = held.heirs[held.labels == move.moved], held.labels[held.heirs == move.moved]
        free[[move.moved, split.cluster, *np.concatenate(neighbours)]] = np.inf
        moves.append(move)
    return moves


def _proposal(centers: Float64Array, moves: list[Move]) -> Proposal:
    result = centers.copy()
    for move in moves:
        result[[move.split.cluster, move.moved]] = move.split.halves
    return Proposal(result, len(moves))


def split_most(rows: Array, weight: Float64Array, centers: Float64Array, measure: Measure) -> Float64Array:
    """Centroids with one more: the cluster that gains most from a split has two."""
    held = holdings(rows, weight, centers, measure)
    split = max(_splits(rows, weight, held, measure), key=lambda split: split.gain)
    return _proposal(np.concatenate([centers, centers[:1]]), [Move(split, len(centers), split.gain)]).centers


def drop_least(rows: Array, weight: Float64Array, centers: Float64Array, measure: Measure) -> Float64Array:
    """Centroids without the one that is missed least."""
    held = holdings(rows, weight, centers, measure)
    return np.delete(centers, int(np.argmin(_deletions(rows, weight, held))), axis=0)


def _deletions(rows: Array, weight: Float64Array, held: Holdings) -> Float64Array:
    """What deleting each centroid costs.

    Its rows lose by going to their second nearest, less what those recover as they move to the mean of what they
    then hold.
    """
    lost = np.bincount(held.labels, weights=weight * held.loss, minlength=len(held.centers))
    return lost - _recovered(rows, held.centers, (held.labels, held.heirs), (held.pull, held.inherited))


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


def _splits(rows: Array, weight: Float64Array, held: Holdings, measure: Measure) -> list[Split]:
    """A split of each cluster, those that gain most within it first, and of the first what they gain beyond."""
    splits = [_split(rows, held, cluster) for cluster in range(len(held.centers))]
    splits.sort(key=lambda split: -split.gain)
    return [_followed(rows, weight, held, measure, split) for split in splits[:_FOLLOWED]] + splits[_FOLLOWED:]


def _followed(rows: Array, weight: Float64Array, held: Holdings, measure: Measure, split: Split) -> Split:
    """The split with the rows of other clusters that its halves are nearer to, while all other centroids stay."""
    halves, elsewhere = split.halves, held.cost + np.where(held.labels == split.cluster, held.loss, 0.0)
    distance = squared_distances(halves.astype(rows.dtype), rows, np)
    for _ in range(_FOLLOWING_STEPS):
        side, nearest = np.argmin(distance, axis=0), np.min(distance, axis=0)
        pull = weight * measure.pull(nearest) * (measure.cost(nearest) < elsewhere)
        halves = np.stack([_mean(rows, pull * (side == half), halves[half]) for half in range(2)])
        distance = squared_distances(halves.astype(rows.dtype), rows, np)
    cost = np.minimum(measure.cost(np.min(distance, axis=0)), elsewhere)
    return Split(split.cluster, float(weight @ (held.cost - cost)), halves)


def _mean(rows: Array, weight: Float64Array, otherwise: Float64Array) -> Float64Array:
    """The mean of the rows that have weight, if any has."""
    used = np.flatnonzero(weight)
    return weight[used] @ rows[used] / np.sum(weight[used]) if len(used) else otherwise


def _split(rows: Array, held: Holdings, cluster: int) -> Split:
    """Split a cluster along its principal axis and refine by steps of 2-means; a point stays where it is."""
    members = held.labels == cluster
    rows, weight = rows[members], held.pull[members]
    total = float(np.sum(weight))
    center = weight @ rows / total if total > 0 else held.centers[cluster]
    offset = rows - center.astype(rows.dtype)
    unit = float(np.max(np.abs(offset), initial=0.0))
    # products of three must stay in range
    right = _sides(offset / unit, weight.astype(rows.dtype)) if unit > 0 and total > 0 else None
    if right is None:
        return Split(cluster, 0.0, np.stack([center, center]))
    means = np.stack([_mean(offset, weight * side, center) for side in (~right, right)])
    # scatter between the halves: N1 N2 / (N1 + N2) ||mu1 - mu2||^2
    apart, on_right = means[1] - means[0], float(weight @ right)
    return Split(cluster, on_right * (total - on_right) / total * float(apart @ apart), center + means)


def _sides(offset: Array, weight: Array) -> NDArray[np.bool_] | None:
    """Which centred rows are on one side, in 2-means from their principal axis on; None if one has no weight."""
    scores = offset @ offset[int(np.argmax(np.vecdot(offset, offset)))]
    for _ in range(_SPLIT_STEPS):
        scores = offset @ ((weight * scores) @ offset)
        longest = np.max(np.abs(scores))
        if longest == 0:
            return None
        scores = scores / longest
    right = scores > 0
    for _ in range(_SPLIT_STEPS):
        held = weight @ right, weight @ ~right
        if min(held) == 0:
            return None
        pull = (weight * right) @ offset  # the means are this over held[0] and less this over held[1]
        before, right = right, offset @ pull > (pull @ pull) * (1 / held[0] - 1 / held[1]) / 2
        if np.array_equal(before, right):
            break
    return before
