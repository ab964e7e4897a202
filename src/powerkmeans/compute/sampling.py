"""Rows drawn by their content: by a hash that does not depend on position, chunking or storage.

Rows of weight 0 are never drawn and equal rows are one, with their weights added, so weights equal repetition; and
the order of the rows does not matter.
"""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.blocks import RowBlocks, zeroed
from powerkmeans.support.draws import draw_by_weight, stream
from powerkmeans.types import Array, Block, Executor, RowSample

# distinct rows whose hashes are all held; of more, this many and this many times the sample, whatever is larger
HELD, CANDIDATES = 2**18, 4
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LARGEST = np.uint64(2**64 - 1)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def multipliers(n_columns: int, key: str, seed: int) -> NDArray[np.uint64]:
    """Random odd multipliers for the view called ``key``: one per column, and one for an absent row."""
    rng = stream(seed, "rows", key)
    return rng.integers(2**64, size=n_columns + 1, dtype=np.uint64) | np.uint64(1)


def row_hashes(
    views: tuple[Array, ...], columns: list[NDArray[np.uint64]], present: Array | None = None
) -> NDArray[np.uint64]:
    """One 64-bit hash per row over all views: equal rows have equal hashes, sparse or dense.

    A zero adds nothing to the sum, so only stored entries of a sparse view are read. Absent rows are zero
    in ``views``; they add a number of their own. The order of the views does not matter.
    """
    total = np.zeros(views[0].shape[0], dtype=np.uint64)
    for index, (view, factor) in enumerate(zip(views, columns, strict=True)):
        if hasattr(view, "indptr"):
            terms = _mix(_words(view.data)) * factor[view.indices]
            total += _sums_between(terms, view.indptr)
        else:
            total += np.sum(_mix(_words(view)) * factor[:-1], axis=1, dtype=np.uint64)
        if present is not None:
            total += ~present[index] * factor[-1]
    return _mix(total)


def _words(values: Array) -> NDArray[np.uint64]:
    """Numbers as words: equal ones give equal words, whatever their type, and both zeros are one."""
    return (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit words that spreads every bit and keeps zero (splitmix64's finaliser)."""
    words = (words ^ (words >> _SHIFTS[0])) * _MIX_1
    words = (words ^ (words >> _SHIFTS[1])) * _MIX_2
    return words ^ (words >> _SHIFTS[2])


def _sums_between(terms: NDArray[np.uint64], bounds: NDArray[np.integer]) -> NDArray[np.uint64]:
    cumulative = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return cumulative[bounds[1:]] - cumulative[bounds[:-1]]


def uniforms(hashes: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Hashes as numbers in (0, 1)."""
    return ((hashes >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


class Candidates(NamedTuple):
    """Distinct rows to draw from: a row of each, the weight it stands for, and a time by which it is drawn."""

    rows: NDArray[np.intp]
    weight: NDArray[np.float64]
    times: NDArray[np.float64]
    n_distinct: int


class Distinct:
    """Distinct rows by their hashes, collected block by block.

    Up to ``most`` all of them are kept. Beyond, those of the smallest hashes, which are a uniform sample of the
    distinct rows with all their weight, and those that are heavier than one part in ``size`` of everything,
    which no sample of that size should miss.
    """

    def __init__(self, size: int, most: int) -> None:
        self._size, self._most = size, most
        self._hashes = np.empty(0, dtype=np.uint64)
        self._rows = np.empty(0, dtype=np.intp)
        self._weight = np.empty(0)
        self._new: list[tuple[NDArray[np.uint64], NDArray[np.intp], NDArray[np.float64]]] = []
        self._n_new, self._total, self._largest = 0, 0.0, _LARGEST

    def add(self, hashes: NDArray[np.uint64], start: int, weight: NDArray[np.float64]) -> None:
        """Take in consecutive rows from ``start`` on."""
        rows = np.flatnonzero(weight > 0)
        self._new.append((hashes[rows], rows + start, weight[rows]))
        self._n_new += len(rows)
        self._total += float(np.sum(weight))
        if self._n_new > self._most:
            self._merge()

    def suspects(self) -> NDArray[np.uint64]:
        """Hashes that may be heavy and of whose weight a part may have been let go; sorted."""
        self._merge()
        return self._hashes[self._hashes > self._largest]

    def candidates(self, weight_of_suspects: NDArray[np.float64]) -> Candidates:
        """What is left to draw from, in the order of the hashes; sizes of suspects are told by another look."""
        if self._largest == _LARGEST:
            return Candidates(self._rows, self._weight, -np.log(uniforms(self._hashes)), len(self._rows))
        share = (float(self._largest) + 1) / 2.0**64
        small = self._hashes <= self._largest
        self._weight[~small] = weight_of_suspects
        # which rows are here says something about their hashes, so they are drawn by another one
        heavy = self._heavy(self._weight, 1)
        weight = np.where(heavy, self._weight, self._weight / share)
        times = -np.log(uniforms(_mix(self._hashes ^ _MIX_2)))
        kept = small | heavy
        return Candidates(self._rows[kept], weight[kept], times[kept], round(np.sum(small) / share))

    def _heavy(self, weight: NDArray[np.float64], parts: int) -> NDArray[np.bool_]:
        return weight * self._size * parts > self._total

    def _merge(self) -> None:
        if not self._new:
            return
        hashes, rows, weight = (np.concatenate(parts) for parts in zip(*self._new, strict=True))
        self._new, self._n_new = [], 0
        if self._largest < _LARGEST and self._are_light(hashes, weight):
            kept = hashes <= self._largest
            hashes, rows, weight = hashes[kept], rows[kept], weight[kept]
        hashes, rows, weight = (
            np.concatenate(both) for both in ((self._hashes, hashes), (self._rows, rows), (self._weight, weight))
        )
        self._hashes, first, group = np.unique(hashes, return_index=True, return_inverse=True)
        self._rows, self._weight = rows[first], np.bincount(group, weights=weight).astype(np.float64)
        if np.sum(self._hashes <= self._largest) > self._most:
            self._largest = self._hashes[self._most - 1]
        kept = (self._hashes <= self._largest) | self._heavy(self._weight, 2)
        self._hashes, self._rows, self._weight = self._hashes[kept], self._rows[kept], self._weight[kept]

    def _are_light(self, hashes: NDArray[np.uint64], weight: NDArray[np.float64]) -> bool:
        """Whether none of these rows is heavy, alone or with its equals; quickly told where no two are equal."""
        if np.any(self._heavy(weight, 2)) or self._hashes[-1] > self._largest:
            return False
        ordered = np.sort(hashes)
        return not np.any(ordered[1:] == ordered[:-1])


def draw_sample(blocks: RowBlocks, executor: Executor, size: int, seed: int) -> RowSample:
    """Draw up to ``size`` distinct rows by weight."""
    found = _distinct(blocks, executor, size, seed)
    kept, stands_for = draw_by_weight(found.times, found.weight, size)
    chosen = found.rows[kept]
    present = None if blocks.present is None else blocks.present[:, chosen].T
    return RowSample(blocks.take(chosen), stands_for, present, found.n_distinct, chosen)


def _distinct(blocks: RowBlocks, executor: Executor, size: int, seed: int) -> Candidates:
    """Distinct rows to draw ``size`` from: all of few, or the heavy ones and enough others."""
    named = zip(blocks.views.keys, blocks.views.arrays, strict=True)
    columns = [multipliers(view.shape[1], key, seed) for key, view in named]
    found = Distinct(size, max(HELD, CANDIDATES * size))
    with closing(executor.run(_hashed, blocks, columns)) as parts:
        for start, hashes, weight in parts:
            found.add(hashes, start, weight)
    suspects = found.suspects()
    weights = np.zeros(len(suspects))
    if len(suspects):  # their weight does not depend on the order of rows if all of it is counted
        with closing(executor.run(_hashed, blocks, columns)) as parts:
            for _, hashes, weight in parts:
                places = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
                equal = suspects[places] == hashes
                weights += np.bincount(places[equal], weights=weight[equal], minlength=len(suspects))
    return found.candidates(weights)


def _hashed(
    block: Block, columns: list[NDArray[np.uint64]]
) -> tuple[int, NDArray[np.uint64], NDArray[np.float64]]:
    hashes = row_hashes(zeroed(block).views, columns, block.present)
    return block.start, hashes, np.asarray(block.weight, dtype=np.float64)
