"""Rows that come in batches of any lengths, cut into blocks of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def reblocked(batches: Iterable[NDArray[Any]], n_rows: int, n_total: int) -> Iterator[NDArray[Any]]:
    """Cut consecutive batches of any lengths into blocks of ``n_rows`` rows, the last one shorter.

    Blocks are fresh arrays. A number of rows other than ``n_total`` is a ValueError.
    """
    block: NDArray[Any] | None = None
    filled, left = 0, n_total
    for batch in batches:
        if len(batch) > left - filled:
            raise ValueError(f"there are more than the {n_total} rows counted before")
        start = 0
        while start < len(batch):
            if block is None:
                block, filled = np.empty((min(n_rows, left), batch.shape[1]), dtype=batch.dtype), 0
            count = min(len(block) - filled, len(batch) - start)
            block[filled : filled + count] = batch[start : start + count]
            filled, start = filled + count, start + count
            if filled == len(block):
                left -= filled
                yield block
                block, filled = None, 0
    check_count(n_total - left + filled, n_total)


def check_count(found: int, expected: int) -> None:
    """Reject another number of rows than was counted when the table was opened."""
    if found != expected:
        raise ValueError(f"there are {found} rows instead of the {expected} counted before")
