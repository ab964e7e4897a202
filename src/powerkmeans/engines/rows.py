"""Rows named by their content: a hash that does not depend on position, chunking or storage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from powerkmeans.types import Array

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def multipliers(n_columns: int, view: int, seed: int) -> NDArray[np.uint64]:
    """Random odd multipliers, one a column of one view."""
    rng = np.random.default_rng([seed, view])
    return rng.integers(2**64, size=n_columns, dtype=np.uint64) | np.uint64(1)


def row_hashes(views: tuple[Array, ...], columns: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """One 64-bit hash a row over all views: equal rows have equal hashes, sparse or dense.

    A zero adds nothing to the sum, so only stored entries of a sparse view need a look.
    """
    total = np.zeros(views[0].shape[0], dtype=np.uint64)
    for view, factor in zip(views, columns, strict=True):
        if hasattr(view, "indptr"):
            terms = _mix(_words(view.data)) * factor[view.indices]
            total += _sums_between(terms, view.indptr)
        else:
            total += np.sum(_mix(_words(view)) * factor, axis=1, dtype=np.uint64)
    return _mix(total)


def _words(values: Array) -> NDArray[np.uint64]:
    positive_zero = np.ascontiguousarray(values) + values.dtype.type(0)
    if values.dtype == np.float64:
        return positive_zero.view(np.uint64)
    return positive_zero.astype(np.float32, copy=False).view(np.uint32).astype(np.uint64)


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
