"""Sums of single precision that programs left, added in float64 in a fixed order."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_slots(slots, sums, count, size, WIDTH: tl.constexpr):
    """The sums of each group of slots: of every slot whose number leaves the group's by the number of groups."""
    column, group = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH), tl.program_id(1)
    there, total = column < size, tl.zeros((WIDTH,), tl.float64)
    for slot in tl.range(group, count, tl.num_programs(1)):
        total += tl.load(slots + tl.cast(slot, tl.int64) * size + column, mask=there, other=0.0).to(tl.float64)
    tl.store(sums + group.to(tl.int64) * size + column, total, mask=there)
