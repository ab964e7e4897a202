"""Rows that are not there."""

from __future__ import annotations

import numpy as np

from powerkmeans.types import Array, array_namespace


def zero_where_absent(rows: Array, present: Array) -> Array:
    """Rows with the absent ones set to zero; the same array if there are none."""
    xp = array_namespace(present)
    if xp is np and np.all(present):
        return rows
    if xp is np and not isinstance(rows, np.ndarray) and not hasattr(rows, "indptr"):  # a tensor
        xp = array_namespace(rows)
        present = xp.asarray(present, device=rows.device)
    if hasattr(rows, "indptr"):
        kept = rows.copy()
        kept.data = np.where(np.repeat(present, np.diff(rows.indptr)), rows.data, 0)
        return kept
    return xp.where(present[:, None], rows, xp.zeros((), dtype=rows.dtype, device=rows.device))
