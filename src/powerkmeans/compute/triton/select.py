"""The few smallest values of each row, by a warp or a few: groups of columns first, then those in the best."""

from __future__ import annotations

import triton
import triton.language as tl

# what is no column any more, as a key: beyond infinity
CLOSED = tl.constexpr(2**63 - 1)


@triton.jit
def keys_of(values):
    """Integers that are in the order of ``values``; both zeros are one."""
    bits = tl.where(values == 0, 0.0, values).to(tl.float64).to(tl.int64, bitcast=True)
    return tl.where(bits < 0, bits ^ CLOSED, bits)


@triton.jit
def first_smaller(key, column, other_key, other_column):
    """The smaller of two keys with its column; of equal ones the first."""
    this = (key < other_key) | ((key == other_key) & (column < other_column))
    return tl.where(this, key, other_key), tl.where(this, column, other_column)


@triton.jit
def smallest_columns(
    values, found, n_columns, count, GROUPS: tl.constexpr, SIZE: tl.constexpr, MOST: tl.constexpr
):
    """Where the ``count`` smallest of ``n_columns`` values are, the smallest first; of equal ones the first.

    A group is every GROUPS-th column. Each of the smallest values is in one of as many groups that have the
    smallest minima, so no more than MOST groups are looked at again, which is at least ``count``.
    """
    row, group, rank = tl.program_id(0).to(tl.int64), tl.arange(0, GROUPS), tl.arange(0, MOST)
    member, here = tl.arange(0, SIZE), values + row * n_columns
    column = member[:, None] * GROUPS + group[None, :]
    keys = keys_of(tl.load(here + column, mask=column < n_columns, other=0.0))
    least, place = tl.reduce((tl.where(column < n_columns, keys, CLOSED), column), 0, first_smaller)
    best = tl.zeros((MOST,), tl.int32)
    for number in range(count):
        _, which = tl.reduce((least, place), 0, first_smaller)
        best = tl.where(rank == number, which % GROUPS, best)
        least = tl.where(place == which, CLOSED, least)
    column = member[:, None] * GROUPS + best[None, :]
    there = (rank < count)[None, :] & (column < n_columns)
    keys = tl.where(there, keys_of(tl.load(here + column, mask=there, other=0.0)), CLOSED)
    for number in range(count):
        _, which = tl.reduce(tl.reduce((keys, column), 0, first_smaller), 0, first_smaller)
        tl.store(found + row * count + number, which.to(tl.int64))
        keys = tl.where(column == which, CLOSED, keys)
