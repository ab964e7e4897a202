"""Sums of single precision that programs left, added in float64 in a fixed order."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_slots(slots, sums, count, size, WIDTH: tl.constexpr, DEPTH: tl.constexpr):
    """The sums of each group of slots, which are dealt to groups by DEPTH in turn."""
    column, group = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH), tl.program_id(1)
    total = tl.zeros((DEPTH, WIDTH), tl.float64)
    for first in tl.range(group * DEPTH, count, tl.num_programs(1) * DEPTH):
        slot = first + tl.arange(0, DEPTH)
        there = (slot < count)[:, None] & (column < size)[None, :]
        place = slots + slot[:, None].to(tl.int64) * size + column[None, :]
        total += tl.load(place, mask=there, other=0.0).to(tl.float64)
    tl.store(sums + group.to(tl.int64) * size + column, tl.sum(total, 0), mask=column < size)
