"""The landmarks nearest to each row, and how a row divides itself among them.

There is no bandwidth: a row's shares fall to zero at the first landmark beyond its neighbours, wherever that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.features.graph.distances import Landmarks, Measure, alike
from powerkmeans.support.precision import HALF_THE_DIGITS, ROUNDING
from powerkmeans.types import Array, Float64Array, device_of

# numbers of a tile of rows by landmarks: more leave the cache
TILE_NUMBERS = 2**19
# the same of other libraries, whose devices have no use for few: launches are what costs
DEVICE_NUMBERS = 2**26
# and of cards, which take a moment for each launch whatever it does; two gigabytes in double precision
CARD_NUMBERS = 2**28
# neighbours of a row unless told otherwise, and the most by which it is scored: farther ones are in other clusters
FEW_NEIGHBORS = 10
# landmarks that are too few: each row would be tied to half of them
TOO_FEW = 2 * FEW_NEIGHBORS
# groups of landmarks whose nearest members are compared before single ones are: only the best groups are opened
_GROUPS = 250


class Neighbours(NamedTuple):
    """Of each row its nearest landmarks, (b, r), nearest first, and the share of the row that each has.

    Shares add up to one; they are not a number where no landmark has a view in common with the row. ``itself``
    tells whether the nearest landmark is the row itself; ``reach`` is the squared distance to the farthest one.
    """

    index: Array
    share: Array
    itself: Array
    reach: Array


def neighbours(rows: Any, landmarks: Landmarks, count: int, xp: Any) -> Neighbours:
    """The ``count`` landmarks nearest to each row; rows are placed as the landmarks are."""
    rows = alike(rows, landmarks)
    found = _searched(rows, landmarks, count)
    return in_tiles(rows, landmarks, count, xp) if found is None else found


def _searched(rows: Any, landmarks: Landmarks, count: int) -> Neighbours | None:
    """By faster code, where there is any for such rows."""
    if landmarks.search is None or hasattr(rows, "toarray"):
        return None
    found: Neighbours | None = landmarks.search(rows, landmarks, count)
    return found


def in_tiles(
    rows: Any, landmarks: Landmarks, count: int, xp: Any, choose: Callable[[Array, int, Any], Array] | None = None
) -> Neighbours:
    """The same as written, a tile of rows at a time; ``choose`` does what ``smallest`` does, but faster."""
    measure = Measure(landmarks, xp)
    step = max(1, _tile_numbers(rows, xp) // landmarks.rows.shape[0])
    n_rows = int(rows.shape[0])
    starts = range(0, max(1, n_rows), step)
    parts = (rows[start : min(start + step, n_rows), :] for start in starts)
    tiles = [_in_tile(part, measure, count, choose or smallest) for part in parts]
    if len(tiles) == 1:
        return tiles[0]
    return Neighbours(*(xp.concat(list(parts), axis=0) for parts in zip(*tiles, strict=True)))


def _tile_numbers(rows: Any, xp: Any) -> int:
    if xp is np:
        return TILE_NUMBERS
    return CARD_NUMBERS if getattr(rows, "is_cuda", False) else DEVICE_NUMBERS


def _in_tile(rows: Any, measure: Measure, count: int, choose: Callable[[Array, int, Any], Array]) -> Neighbours:
    """Choose by expanded squares; where these keep few digits, measure those chosen by differences."""
    xp = measure.xp
    every, more = measure.to_all(rows)
    chosen = choose(every, min(count + 1, every.shape[1]), xp)
    found = xp.take_along_axis(every, chosen, axis=1)
    distance = xp.maximum(found if more is None else found + more, xp.zeros_like(found))
    if not hasattr(rows, "toarray"):  # of sparse rows expanded squares are all there is
        chosen, distance = _measured(rows, chosen, distance, measure)
    distance, itself = _without_itself(distance, xp)
    if xp.any(_all_equal(distance, xp)):
        level = _first_of_equals(chosen, distance, every if more is None else every + more, itself, xp)
        chosen = xp.where(_all_equal(distance, xp)[:, None], level, chosen)
    return _shared(chosen[:, :count], distance, itself, xp)


def _measured(rows: Array, chosen: Array, distance: Array, measure: Measure) -> tuple[Array, Array]:
    """Distances by differences where expanded squares have lost too many digits."""
    xp, doubtful = measure.xp, measure.doubtful(rows, distance)
    some = xp.nonzero(doubtful)[0]
    if some.shape[0] == 0:
        return chosen, distance
    those = xp.take(chosen, some, axis=0)
    exact = measure.to_chosen(xp.take(rows, some, axis=0), those)
    order = xp.argsort(exact, axis=1, stable=True)
    place = xp.cumulative_sum(xp.astype(doubtful, xp.int64)) - 1  # of each doubtful row among them
    place = xp.maximum(place, xp.zeros_like(place))

    def replaced(all_rows: Array, some_rows: Array) -> Array:
        ordered = xp.take_along_axis(some_rows, order, axis=1)
        return xp.where(doubtful[:, None], xp.take(ordered, place, axis=0), all_rows)

    return replaced(chosen, those), replaced(distance, exact)


def _without_itself(distance: Array, xp: Any) -> tuple[Array, Array]:
    """A landmark is no neighbour of itself: at distance zero it gets that of the next one."""
    if distance.shape[1] == 1:
        return distance, xp.zeros_like(distance[:, 0], dtype=xp.bool)
    first, second = distance[:, :1], distance[:, 1:2]
    itself = (first <= ROUNDING * second) & xp.isfinite(second)
    return xp.concat([xp.where(itself, second, first), distance[:, 1:]], axis=1), itself[:, 0]


def _all_equal(distance: Array, xp: Any) -> Array:
    last = distance[:, -1]
    return xp.isfinite(last) & (last * (1 - ROUNDING) <= distance[:, 0])


def _first_of_equals(chosen: Array, distance: Array, every: Array, itself: Array, xp: Any) -> Array:
    """Where all that were chosen are equally far, any other that is might have been: the first ones are taken.

    But the row itself stays the first of them: rows that are all equally far have nothing else to be told by.
    """
    level = xp.where(every <= distance[:, -1:] * (1 + HALF_THE_DIGITS), xp.zeros_like(every), every)
    numbers = xp.arange(every.shape[1], dtype=chosen.dtype, device=device_of(every))
    own = itself[:, None] & (numbers[None, :] == chosen[:, :1])
    level = xp.where(own, xp.full_like(level, -1.0), level)
    return xp.argsort(level, axis=1, stable=True)[:, : chosen.shape[1]]


def smallest(values: Array, count: int, xp: Any) -> Array:
    """Where the ``count`` smallest values of each row are, the smallest first."""
    if hasattr(xp, "topk"):  # which PyTorch has beside the standard
        return xp.topk(values, count, dim=1, largest=False).indices
    if xp is not np:
        return xp.argsort(values, axis=1)[:, :count]
    few = values.shape[1] < 4 * _GROUPS or count > _GROUPS // 4
    chosen = np.argpartition(values, count - 1, axis=1)[:, :count] if few else _smallest_of_groups(values, count)
    order = np.argsort(np.take_along_axis(values, chosen, axis=1), axis=1, stable=True)
    return np.take_along_axis(chosen, order, axis=1)


def _smallest_of_groups(values: Float64Array, count: int) -> Array:
    """The same in any order, by groups: each of the smallest values is in one of the groups of smallest minima."""
    size, rest = divmod(values.shape[1], _GROUPS)
    if rest:
        size += 1
        values = np.pad(values, ((0, 0), (0, size * _GROUPS - values.shape[1])), constant_values=np.inf)
    minima = np.min(values.reshape(len(values), size, _GROUPS), axis=1)
    best = np.argpartition(minima, count - 1, axis=1)[:, :count]
    members = (best[:, None, :] + np.arange(size)[None, :, None] * _GROUPS).reshape(len(values), -1)
    found = np.argpartition(np.take_along_axis(values, members, axis=1), count - 1, axis=1)[:, :count]
    return np.take_along_axis(members, found, axis=1)


def _shared(chosen: Array, distance: Array, itself: Array, xp: Any) -> Neighbours:
    """``z_ij = (d - D_ij)_+`` over its sum, ``d`` the distance to the first landmark that is no neighbour.

    Even shares where all are equally far; those that have no view in common with the row get none.
    """
    finite, count = xp.isfinite(distance), chosen.shape[1]
    within = xp.where(finite, distance, xp.zeros_like(distance))
    edge = xp.max(within, axis=1, keepdims=True)
    share = xp.where(finite, edge - within, xp.zeros_like(within))[:, :count]
    even = xp.astype(finite[:, :count], share.dtype)
    share = xp.where(xp.sum(share, axis=1, keepdims=True) > 0, share, even)
    total = xp.sum(share, axis=1, keepdims=True)
    share = xp.where(
        total > 0, share / xp.where(total > 0, total, xp.ones_like(total)), xp.full_like(total, xp.nan)
    )
    return Neighbours(chosen, share, itself, xp.max(within[:, :count], axis=1))


def shared_reach(present: Array, landmarks: Landmarks, reach: Array, xp: Any) -> Array:
    """The reach over the views that rows have, as if they had all: who lacks one is not far for that.

    present : (b, L), one where a row has a view; not looked at where there is one view
    """
    if landmarks.n_views == 1:
        return reach
    scale = landmarks.weights / landmarks.spread
    lacking = (1 - present) @ scale
    had = xp.sum(scale) - lacking
    return (reach - lacking / 2) * xp.sum(scale) / xp.where(had > 0, had, xp.ones_like(had))
