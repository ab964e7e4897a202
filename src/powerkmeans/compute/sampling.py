"""Rows drawn by their content: by a hash that does not depend on position, chunking or storage.

Rows of weight 0 are never drawn and equal rows are one, with their weights added, so weights equal repetition; and
the order of the rows does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.blocks import zeroed
from powerkmeans.support.draws import draw_by_weight, stream
from powerkmeans.support.tensors import to_numpy
from powerkmeans.types import Array, Block, Engine, RowSample

# distinct rows whose hashes are all held; of more, this many and this many times the sample, whatever is larger
HELD, CANDIDATES = 2**18, 4
# of so many smallest hashes, one more is looked at for each that may be equal to another
_SPARE = 8
# bits of a hash by which the weights of rows are added up
_FIRST_BITS = 20
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
    if not hasattr(views[0], "indptr") and not isinstance(views[0], np.ndarray):
        return _tensor_hashes(views, columns, present)
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


def _tensor_hashes(
    views: tuple[Array, ...], columns: list[NDArray[np.uint64]], present: Array | None
) -> NDArray[np.uint64]:
    """The same of tensors, where they are: signed words wrap as unsigned ones do."""
    total: Any = 0
    for index, (rows, factor) in enumerate(zip(views, columns, strict=True)):
        words = _mixed_words((rows.double() + 0.0).contiguous().view(rows.new_zeros(0, dtype=int).dtype))
        total = total + (words * words.new_tensor(factor[:-1].astype(np.int64))).sum(dim=1)
        if present is not None:
            total = total + words.new_tensor(~present[index]) * int(factor[-1].astype(np.int64))
    return to_numpy(_mixed_words(total)).view(np.uint64)


def _mixed_words(words: Any) -> Any:
    """``_mix`` of a tensor."""
    for shift, multiplier in zip(_SHIFTS, (_MIX_1, _MIX_2, None), strict=True):
        words = words ^ ((words >> int(shift)) & (2 ** (64 - int(shift)) - 1))
        if multiplier is not None:
            words = words * int(multiplier.astype(np.int64))
    return words


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


class Held(NamedTuple):
    """Distinct rows: their hashes in order, a row of each, and the weight of all that are equal to it."""

    hashes: NDArray[np.uint64]
    rows: NDArray[np.intp]
    weight: NDArray[np.float64]

    def only(self, kept: Any) -> Held:
        """Some of them."""
        if not isinstance(kept, slice):
            kept = np.flatnonzero(kept)  # numbers of rows are looked up faster than truth values are
        return Held(self.hashes[kept], self.rows[kept], self.weight[kept])


_NONE = Held(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.intp), np.empty(0))


def _merged(parts: Sequence[Held]) -> Held:
    hashes, rows, weight = (np.concatenate(some) for some in zip(*parts, strict=True))
    order = _order(hashes)
    hashes = hashes[order]
    first = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]))  # of its equals
    return Held(hashes[first], rows[order[first]], np.add.reduceat(weight[order], first) if len(first) else weight)


def _order(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """What puts hashes in order, equal ones as they came: the fastest order is that one where none are equal."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    return np.argsort(hashes, kind="stable") if np.any(ordered[1:] == ordered[:-1]) else order


class Collector:
    """Distinct rows that are added block by block, merged whenever more than ``most`` have come."""

    def __init__(self, most: int) -> None:
        self._most, self._parts, self._n_new, self.largest = most, [_NONE], 0, _LARGEST

    def add(self, block: Held) -> None:
        """Take in rows, in any order."""
        self._parts.append(block)
        self._n_new += len(block.hashes)
        if self._n_new > self._most:
            self.held()

    def held(self) -> Held:
        """What there is by now."""
        self._parts, self._n_new = [_merged(self._parts)], 0
        return self._parts[0]

    def begun(self, xp: Any) -> Self:
        """A copy to add to."""
        return deepcopy(self)

    def __iadd__(self, other: Self) -> Self:
        self.add(other.held())
        return self


class Smallest(Collector):
    """The same of the ``most`` smallest hashes: a uniform sample of the distinct rows, with all their weight."""

    def add(self, block: Held) -> None:
        super().add(block.only(block.hashes <= self.largest))

    def held(self) -> Held:
        found = self._smaller() or super().held()
        self._parts, self._n_new = [found], 0
        if len(found.hashes) > self._most:
            self.largest = found.hashes[self._most - 1]
            self._parts = [found.only(slice(self._most))]
        return self._parts[0]

    def _smaller(self) -> Held | None:
        """More than ``most`` of the smallest, without putting all in order; None if too many are equal."""
        hashes = np.concatenate([part.hashes for part in self._parts])
        enough = self._most + self._most // _SPARE
        if len(hashes) <= enough:
            return None
        bound = np.partition(hashes, enough)[enough]
        found = _merged([part.only(part.hashes <= bound) for part in self._parts])
        return found if len(found.hashes) > self._most else None

    def __iadd__(self, other: Self) -> Self:
        self.add(other.held())
        self.largest = min(self.largest, other.largest)  # of larger ones the other has not all
        return self

    @property
    def share(self) -> float:
        """Of all distinct rows, that are held."""
        return (float(self.largest) + 1) / 2.0**64


@dataclass
class Sketch:
    """What one look at rows tells: those of small hashes, and the weight of all by the first digits of theirs."""

    smallest: Smallest
    load: NDArray[np.float64]

    def begun(self, xp: Any) -> Sketch:
        """A copy to add to."""
        return Sketch(self.smallest.begun(xp), self.load.copy())

    def __iadd__(self, other: Sketch) -> Self:
        self.smallest += other.smallest
        self.load += other.load
        return self


class Look(NamedTuple):
    """How rows are looked at.

    columns : what hashes are made with
    most : hashes to hold
    digits : how many loads there are, zero if all rows can be held
    suspected : of another look, which loads are heavy
    """

    columns: list[NDArray[np.uint64]]
    most: int
    digits: int
    suspected: NDArray[np.bool_] | None = None


class Candidates(NamedTuple):
    """Distinct rows to draw from: a row of each, the weight it stands for, and a time by which it is drawn."""

    rows: NDArray[np.intp]
    weight: NDArray[np.float64]
    times: NDArray[np.float64]
    n_distinct: int


def draw_sample(engine: Engine, size: int, seed: int) -> RowSample:
    """Draw up to ``size`` distinct rows by weight."""
    found = _candidates(engine, size, seed)
    kept, stands_for = draw_by_weight(found.times, found.weight, size)
    chosen = found.rows[kept]
    rows, present = engine.take(chosen)
    return RowSample(rows, stands_for, present, found.n_distinct, chosen)


def _candidates(engine: Engine, size: int, seed: int) -> Candidates:
    """Distinct rows to draw ``size`` from: all of few; else those of small hashes, and the heavy ones.

    Those are heavier than one part in ``size`` of everything, and no sample of that size should miss them. Where
    rows that share the first digits of their hashes are so heavy together, another look tells which are alone.
    """
    named = zip(engine.views.keys, engine.views.arrays, strict=True)
    columns = [multipliers(view.shape[1], key, seed) for key, view in named]
    look = Look(columns, max(HELD, CANDIDATES * size), 2**_FIRST_BITS if engine.n_samples > HELD else 0)
    found = engine.on_parts(_sketch, look)
    smallest, load, held = found.smallest, found.load, found.smallest.held()
    if smallest.largest == _LARGEST:
        return Candidates(held.rows, held.weight, -np.log(uniforms(held.hashes)), len(held.rows))
    total = float(np.sum(load))
    suspected, n_held = load * size > total, len(held.rows)
    heavy = engine.on_parts(_suspects, look._replace(suspected=suspected)).held() if np.any(suspected) else _NONE
    heavy = heavy.only((heavy.hashes > smallest.largest) & (heavy.weight * size > total))
    # small ones stand for others; heavy ones for themselves, wherever they were found
    weight = np.where(held.weight * size > total, held.weight, held.weight / smallest.share)
    # which rows are here says something about their hashes, so they are drawn by another one
    hashes = np.concatenate([held.hashes, heavy.hashes])
    return Candidates(
        np.concatenate([held.rows, heavy.rows]),
        np.concatenate([weight, heavy.weight]),
        -np.log(uniforms(_mix(hashes ^ _MIX_2))),
        round(n_held / smallest.share),
    )


def _sketch(engine: Any, look: Look) -> Sketch:
    """All rows at a first look."""
    smallest, load = Smallest(look.most), np.zeros(look.digits)
    with closing(engine.raw_results(_hashed, look.columns)) as parts:
        for block in parts:
            smallest.add(block)
            if look.digits:
                np.add.at(load, _first_bits(block.hashes), block.weight)
    smallest.held()
    return Sketch(smallest, load)


def _suspects(engine: Any, look: Look) -> Collector:
    """All rows whose hashes begin as suspected, by another look."""
    found, suspected = Collector(HELD), look.suspected
    assert suspected is not None
    with closing(engine.raw_results(_hashed, look.columns)) as parts:
        for block in parts:
            found.add(block.only(suspected[_first_bits(block.hashes)]))
    found.held()
    return found


def _first_bits(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    return (hashes >> np.uint64(64 - _FIRST_BITS)).astype(np.intp)


def _hashed(block: Block, columns: list[NDArray[np.uint64]]) -> Held:
    """Rows of positive weight."""
    hashes = row_hashes(zeroed(block).views, columns, block.present)
    weight = np.asarray(block.weight, dtype=np.float64)
    counted = weight > 0
    if np.all(counted):
        return Held(hashes, np.arange(block.start, block.start + len(hashes)), weight)
    rows = np.flatnonzero(counted)
    return Held(hashes[rows], rows + block.start, weight[rows])
