"""What kernels are made of: products and differences of all pairs of rows, in parts that stay in cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from powerkmeans.types import Array, array_namespace

# values of pairs that are worked on at once: more leave the cache, and fewer are little work for a call
PAIRS_AT_ONCE = 2**17


def in_parts(values: Callable[[Array], Array], X: Array, Y: Array, xp: Any) -> Array:
    """``values`` of consecutive rows of ``X``, each row with all of ``Y``, as one array in float64."""
    n_rows, n_others = X.shape[0], Y.shape[0]
    step = max(1, PAIRS_AT_ONCE // max(1, n_others))
    if n_rows <= step:
        return values(X)
    result = xp.empty((n_rows, n_others), dtype=xp.float64, device=Y.device)
    for start in range(0, n_rows, step):
        part = slice(start, min(start + step, n_rows))
        result[part, :] = values(X[part, :])
    return result


def squared_lengths(X: Array, xp: Any) -> Array:
    """``||x||^2`` of each row, which may be sparse."""
    if hasattr(X, "toarray"):
        return xp.reshape(xp.asarray(X.multiply(X).sum(axis=1)), (-1,))  # of a sparse matrix they are a column
    return xp.linalg.vecdot(X, X)


def add_over_columns(X: Array, Y: Array, term: Callable[[Array], Array]) -> Array:
    """``sum_c term(x_c - y_c)`` of all pairs, a column at a time: near rows keep their digits."""
    xp = array_namespace(Y)
    total = xp.zeros((X.shape[0], Y.shape[0]), dtype=Y.dtype, device=Y.device)
    for column in range(Y.shape[1]):
        others = Y[:, column] + 0.0  # side by side in memory
        total += term(X[:, column][:, None] - others[None, :])
    return total


def as_dense(X: Any) -> Array:
    """Rows as a dense array (blocks of a sparse matrix are small enough)."""
    return X.toarray() if hasattr(X, "toarray") else X
