"""One table checked as scikit-learn does; whether all of many numbers are finite is told by all threads first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from powerkmeans.compute.blas import single_threaded_blas

# numbers that one thread adds up at a time: fewer are no work for a second one
NUMBERS_AT_ONCE = 2**20


def checked_table(estimator: Any, X: Any, dtype: Any, *, reset: bool) -> Any:
    """``X`` as an array of finite numbers, or a CSR matrix; what is wrong with it is told by scikit-learn."""
    known = _is_plain(X, dtype) and all_finite(X, getattr(estimator.engine, "n_threads", None))
    return validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=dtype, order="C", ensure_all_finite=not known
    )


def _is_plain(X: Any, dtype: Any) -> bool:
    """Whether this very array is what the check would look at, number by number, for long."""
    return (
        type(X) is np.ndarray and X.flags.c_contiguous and X.dtype in dtype and X.size > NUMBERS_AT_ONCE
    )  # fmt: skip


def all_finite(X: np.ndarray[Any, Any], n_threads: int | None = None) -> bool:
    """Whether all numbers are finite for sure: a sum of such may leave the range of its type.

    By so many threads, or as many as BLAS may have.
    """
    flat = X.reshape(-1)
    parts = (flat[start : start + NUMBERS_AT_ONCE] for start in range(0, flat.size, NUMBERS_AT_ONCE))
    with single_threaded_blas() as allowed, ThreadPoolExecutor(n_threads or allowed) as threads:
        return all(threads.map(_finite_sum, parts))


def _finite_sum(numbers: np.ndarray[Any, Any]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(numbers)))
