"""What a kernel matrix can be made of: checks for views whose kernel is exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from powerkmeans.features.maps.exact import check_memory
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.inputs.settings import Settings, check_settings
from powerkmeans.sources import is_source
from powerkmeans.sources.dask import is_lazy
from powerkmeans.sources.tensors import is_tensors
from powerkmeans.support.memory import KERNEL_ROWS
from powerkmeans.types import Array, Views

# a given kernel matrix may differ from its transpose by this share of its largest entry
ASYMMETRY = 1e-6


def check_exact_views(views: Views, settings: Settings, given: Any) -> None:
    """Reject what no kernel matrix can be made of: files, too many rows, and given matrices that are none."""
    chosen = settings.of_views(views.names)
    exact = [i for i, one in enumerate(chosen) if MAPS[one.feature_map].dual]
    for i in exact:
        if is_source(views.arrays[i]) and not is_tensors(views.arrays[i]):
            kind = "with Dask" if is_lazy(views.arrays[i]) else "a file"
            raise ValueError(
                f"view {views.names[i]!r} is {kind}, but feature_map={chosen[i].feature_map!r} needs all rows in "
                "memory: pass an array."
            )
    if exact:
        widths = [0 if chosen[i].given else views.arrays[i].shape[1] for i in exact]
        check_memory(views.arrays[0].shape[0], widths)
    for i in exact:
        if chosen[i].given:
            counted = views.alone(i).weight > 0
            _check_order(views.names[i], _table(given, i, views.names[i]))
            _check_kernel_matrix(views.names[i], views.arrays[i], counted)


def given_kernels(estimator: Any, names: tuple[str, ...], *, fitting: bool) -> dict[str, Array | None]:
    """The views that are kernel matrices, with the shares of the training samples in a fitted model."""
    if fitting:
        chosen = check_settings(estimator.get_params(deep=False), several_views=True).of_views(names)
        return {name: None for name, one in zip(names, chosen, strict=True) if one.given}
    model = estimator._fit.model
    if model.fuses:
        return {}
    used = zip((model.view_names[i] for i in model.used_views), (m.base for m in model.maps), strict=True)
    return {name: base.share for name, base in used if base.given}


def without_absent(matrix: Array, present: Array, share: Array | None) -> Array:
    """A kernel matrix with zeros for the samples that lack the view: what it holds for them does not matter.

    In fit (no ``share``) they are those not ``present``, which is changed in place, and those whose k(x, x) is
    NaN; with a fitted model those all of whose kernels are NaN, and columns of training samples without weight.
    """
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    if share is None:
        if matrix.shape[0] != matrix.shape[1]:
            return matrix  # which is told elsewhere
        present &= ~np.isnan(matrix.diagonal())
    elif len(share) == matrix.shape[1]:
        present &= ~np.all(np.isnan(matrix[:, share > 0]), axis=1)
    columns = ~present if share is None else share == 0
    if len(columns) != matrix.shape[1] or (np.all(present) and not np.any(columns)):
        return matrix
    matrix = matrix.copy()
    matrix[:, columns] = 0
    matrix[~present] = 0
    return matrix


def _table(given: Any, index: int, name: str) -> Any:
    """The table that one view came as, of one table or several."""
    if isinstance(given, Mapping):
        return given.get(name)
    return given[index] if isinstance(given, (list, tuple)) else given


def _check_order(name: str, table: Any) -> None:
    """Reject a data frame whose columns are its rows in another order."""
    index, columns = getattr(table, "index", None), getattr(table, "columns", None)
    if index is None or columns is None or callable(index):
        return
    rows, labels = list(index), list(columns)
    if rows != labels and len(rows) == len(labels) and set(rows) == set(labels):
        raise ValueError(
            f"view {name!r}: the columns of the kernel matrix are its rows in another order; take "
            "X.loc[:, X.index]."
        )


def _check_kernel_matrix(name: str, matrix: Array, counted: Array) -> None:
    """Reject what cannot be a kernel matrix, as far as pairs of samples tell."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"view {name!r}: with kernel='precomputed' X is the square matrix of kernels between all samples, got "
            f"the shape {matrix.shape}."
        )
    diagonal = np.where(counted, matrix.diagonal(), 0).astype(np.float64)
    _check_diagonal(name, diagonal)
    margin = max(ASYMMETRY, 64 * float(np.finfo(matrix.dtype).eps)) * float(np.max(diagonal))
    for start in range(0, len(diagonal), KERNEL_ROWS):
        part = slice(start, start + KERNEL_ROWS)
        rows, columns = (_dense(m) * counted[part, None] * counted for m in (matrix[part], matrix[:, part].T))
        if np.max(np.abs(rows - columns)) > margin:
            raise ValueError(f"view {name!r}: kernel='precomputed' needs a symmetric matrix.")
        _check_pairs(name, rows, diagonal, start, margin)


def _check_diagonal(name: str, diagonal: Array) -> None:
    if np.any(diagonal < 0):
        row = int(np.argmin(diagonal))
        raise ValueError(
            f"view {name!r}: the matrix has the negative diagonal entry {diagonal[row]:g} (sample {row}), but "
            "k(x, x) is a squared length. Pass kernels, not distances."
        )
    if not np.any(diagonal > 0):
        raise ValueError(
            f"view {name!r}: the matrix has a diagonal of zeros, so it is not one of kernels k(x, x) > 0. Pass "
            "kernels, not distances."
        )


def _check_pairs(name: str, rows: Array, diagonal: Array, start: int, margin: float) -> None:
    """``k(x, y)^2 <= k(x, x) k(y, y)`` for rows of the matrix from ``start`` on."""
    largest = np.sqrt(diagonal)
    excess = np.abs(rows) - largest[start : start + len(rows), None] * largest
    if np.max(excess) > margin:
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        raise ValueError(
            f"view {name!r}: the matrix is not positive semi-definite: k(x, y) of samples {start + i} and {j} "
            "exceeds sqrt(k(x, x) k(y, y)). Distances have no meaning then; use a kernel that is."
        )


def _dense(rows: Array) -> Array:
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.nan_to_num(dense.astype(np.float64))
