"""The few smallest values of each row, by one program a row: chosen one after another, in registers."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def smallest_columns(values, found, n_columns, count, COLUMNS: tl.constexpr):
    """Where the ``count`` smallest of ``n_columns`` values are, the smallest first; of equal ones the first."""
    row, column = tl.program_id(0).to(tl.int64), tl.arange(0, COLUMNS)
    left = tl.load(values + row * n_columns + column, mask=column < n_columns, other=float("inf"))
    open_ = column < n_columns
    for rank in range(count):
        best = tl.min(tl.where(open_, left, float("inf")), 0)
        # the first that is as small: infinite ones, too, while columns are left
        which = tl.min(tl.where(open_ & (left == best), column, COLUMNS), 0)
        tl.store(found + row * count + rank, which.to(tl.int64))
        open_ = open_ & (column != which)
