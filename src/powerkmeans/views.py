"""User data in, aligned and checked views out: the one place that rejects data.

scikit-learn's own checks speak where they exist, so messages are the ones its users know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from powerkmeans.tables import column_groups, filled_rows, is_several, named_tables, take_columns
from powerkmeans.types import Array, Views

FLOATS = [np.float64, np.float32]
# missing rows are looked for in pieces, so that a file larger than memory is never held whole
ROWS_AT_ONCE = 8192


def check_single_view(estimator: Any, X: Any, sample_weight: Any = None, *, fitting: bool) -> Views:
    """Check one array of rows and its weights.

    New data is cast to the precision that the model was fitted in.
    """
    dtype = FLOATS if fitting else [estimator._fit.model.dtype]
    X = validate_data(estimator, X, reset=fitting, accept_sparse="csr", dtype=dtype, order="C")
    X = _canonical(X) if hasattr(X, "indptr") else X
    if fitting:
        check_enough_rows(X.shape[0], estimator.n_clusters)
    return Views(("X",), (X,), check_weight(sample_weight, X.shape[0], X.dtype))


def check_several_views(
    estimator: Any, X: Any, sample_weight: Any = None, present: Any = None, *, fitting: bool
) -> Views:
    """Check views in any of the forms that people have them, and align them with the model's.

    A row that is all NaN, None, or not marked in ``present`` is one that the view does not have.
    """
    tables = _tables(estimator, X, fitting=fitting)
    names, n_samples = tuple(tables), _common_length(tables)
    mask = _check_present(present, names, n_samples)
    dtype = FLOATS if fitting else [estimator._fit.model.dtype]
    width = dict(zip(names, [0] * len(names) if fitting else estimator._fit.model.view_widths, strict=True))
    arrays = []
    for index, (name, table) in enumerate(tables.items()):
        empty = np.full((n_samples, width[name]), np.nan)
        arrays.append(_check_table(estimator, name, empty if table is None else table, dtype))
        mask[:, index] &= ~_absent_rows(name, arrays[-1], mask[:, index])
        if not fitting and arrays[-1].shape[1] != width[name]:
            raise ValueError(
                f"view {name!r} has {arrays[-1].shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{width[name]} features as input."
            )
    common = np.result_type(*(array.dtype for array in arrays))
    arrays = [array.astype(common, copy=False) for array in arrays]
    weight = check_weight(sample_weight, n_samples, common)
    _check_coverage(names, mask, weight if fitting else None)
    if fitting:
        check_enough_rows(n_samples, estimator.n_clusters)
        if is_several(X):
            estimator.n_features_in_ = sum(array.shape[1] for array in arrays)
            vars(estimator).pop("feature_names_in_", None)
    return Views(names, tuple(arrays), weight, None if np.all(mask) else mask)


def _tables(estimator: Any, X: Any, *, fitting: bool) -> dict[str, Any]:
    """Named tables, of the model's views in their order unless fitting."""
    known = () if fitting else estimator._fit.model.view_names
    if is_several(X):
        if fitting and estimator.views is not None:
            raise ValueError("views= chooses columns of one table, but X holds its views apart; leave views=None.")
        tables = named_tables(X)
        for name in [name for name, table in tables.items() if table is None and fitting]:
            raise ValueError(f"view {name!r} is None; in fit every view must have samples. Leave it out.")
        return tables if fitting else _aligned(tables, known, by_name=isinstance(X, Mapping))
    groups = column_groups(X, estimator.views)
    if groups is None:
        if len(known) > 1:
            raise ValueError(
                f"X is one table, but the model was fitted on the views {_listed(known)}; pass a dict or a list "
                "of one table each."
            )
        dtype = FLOATS if fitting else [estimator._fit.model.dtype]
        table = validate_data(estimator, X, reset=fitting, accept_sparse="csr", dtype=dtype, order="C")
        return {known[0] if known else "X": table}
    validate_data(estimator, X, reset=fitting, skip_check_array=True)
    tables = {name: take_columns(X, columns) for name, columns in groups.items()}
    return tables if fitting else _aligned(tables, known, by_name=True)


def _aligned(tables: dict[str, Any], known: tuple[str, ...], *, by_name: bool) -> dict[str, Any]:
    """The model's views in their order."""
    if not by_name:
        if len(tables) != len(known):
            raise ValueError(
                f"X has {len(tables)} views, but the model was fitted on {len(known)}: {_listed(known)}."
            )
        return dict(zip(known, tables.values(), strict=True))
    for name in tables:
        if name not in known:
            raise ValueError(f"X has the unknown view {name!r}; the model was fitted on {_listed(known)}.")
    for name in known:
        if name not in tables:
            raise ValueError(
                f"X lacks the view {name!r} that the model was fitted on; pass None for a view that no sample has."
            )
    return {name: tables[name] for name in known}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _common_length(tables: dict[str, Any]) -> int:
    """The number of samples; the rows of data frames must be the same ones in the same order."""
    lengths = {name: t.shape[0] if hasattr(t, "shape") else len(t) for name, t in tables.items() if t is not None}
    if not lengths:
        raise ValueError("X has no views: all of them are None.")
    first, expected = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != expected:
            raise ValueError(f"view {name!r} has {length} samples, expected {expected} (from view {first!r}).")
    indexed = {name: t.index for name, t in tables.items() if _has_labels(t)}
    for name, index in indexed.items():
        other = next(iter(indexed))
        differs = np.flatnonzero(np.asarray(index != indexed[other]))
        if len(differs):
            row = int(differs[0])
            raise ValueError(
                f"Row {row} is {index[row]!r} in view {name!r} but {indexed[other][row]!r} in view {other!r}: the "
                "views must have the same samples in the same order. Reindex them to a common index."
            )
    return int(expected)


def _has_labels(table: Any) -> bool:
    """Whether a data frame names its rows (an index that counts from 0 does not)."""
    index = getattr(table, "index", None)
    return hasattr(index, "is_unique") and not hasattr(index, "start")


def _check_table(estimator: Any, name: str, table: Any, dtype: Any) -> Array:
    """One view as a float array or CSR matrix; NaN is left for the caller to judge."""
    try:
        array = check_array(
            filled_rows(table),
            accept_sparse="csr",
            dtype=dtype,
            ensure_all_finite="allow-nan",
            ensure_min_features=1,
            input_name=f"view {name!r}",
            estimator=estimator,
        )
    except (ValueError, TypeError) as error:
        raise type(error)(str(error) if repr(name) in str(error) else f"view {name!r}: {error}") from error
    if hasattr(array, "indptr"):
        return _canonical(array)
    by_row = array.strides[1] == array.itemsize or array.shape[1] == 1
    return array if by_row or isinstance(array, np.memmap) else np.ascontiguousarray(array)


def _canonical(matrix: Any) -> Any:
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix


def _absent_rows(name: str, array: Array, expected: Array) -> Array:
    """Which rows are all NaN; a row that is partly NaN, and expected to be there, is an error."""
    absent = np.zeros(array.shape[0], dtype=bool)
    entries = array.data if hasattr(array, "indptr") else array
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(entries)):
            return absent
    for start in range(0, array.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        part = array[rows]
        nan = np.isnan(part.toarray() if hasattr(part, "toarray") else part)
        absent[rows] = np.all(nan, axis=1)
        partly = np.any(nan, axis=1) & ~absent[rows] & expected[rows]
        if np.any(partly):
            row = int(np.flatnonzero(partly)[0])
            raise ValueError(
                f"view {name!r} contains NaN: sample {start + row} is partly NaN (column {np.argmax(nan[row])}). "
                "A sample has a view whole or not at all: impute the value, or set the whole row to NaN."
            )
    return absent


def _check_present(present: Any, names: tuple[str, ...], n_samples: int) -> NDArray[np.bool_]:
    """Which samples have which views, (n, L); all, unless told otherwise."""
    if present is None:
        return np.ones((n_samples, len(names)), dtype=bool)
    if isinstance(present, Mapping):
        unknown = [name for name in present if name not in names]
        if unknown:
            raise ValueError(f"present names the view {unknown[0]!r}; the views are {_listed(names)}.")
        columns = [np.asarray(present.get(name, np.ones(n_samples, dtype=bool))) for name in names]
        wrong = [name for name, column in zip(names, columns, strict=True) if column.shape != (n_samples,)]
        if wrong:
            raise ValueError(f"present[{wrong[0]!r}] must have one entry for each of the {n_samples} samples.")
        present = np.stack(columns, axis=1)
    mask = np.asarray(present)
    if mask.shape != (n_samples, len(names)):
        raise ValueError(
            f"present must have the shape (n_samples, n_views) = {(n_samples, len(names))}, got {mask.shape}."
        )
    if mask.dtype != bool and not np.all((mask == 0) | (mask == 1)):
        raise ValueError("present must hold True where a sample has a view and False where not.")
    return mask.astype(bool)


def _check_coverage(names: tuple[str, ...], mask: NDArray[np.bool_], weight: Array | None) -> None:
    """Every sample has a view and, in fit, every view has a sample of positive weight."""
    bare = np.flatnonzero(~np.any(mask, axis=1))
    if len(bare):
        raise ValueError(f"Sample {bare[0]} has no view: it is NaN or absent in {_listed(names)}. Leave it out.")
    if weight is None:
        return
    for name, column in zip(names, mask.T, strict=True):
        if not np.any(column & (weight > 0)):
            raise ValueError(f"view {name!r} is missing in all samples (of positive weight). Leave it out.")


def split_init(estimator: Any, X: Any, views: Views) -> dict[str, Any]:
    """Given centroids as one table a view: in any form that ``X`` may have, or as ``cluster_centers_``."""
    init = estimator.init
    if is_several(init):
        return _aligned(named_tables(init), views.names, by_name=isinstance(init, Mapping))
    groups = None if is_several(X) else column_groups(X, estimator.views)
    if groups is None and len(views.names) == 1:
        return {views.names[0]: init}
    if groups is None or np.ndim(init) != 2 or np.shape(init)[1] != estimator.n_features_in_:
        raise ValueError(
            f"init must be a list or dict of one table of centroids for each of the views {_listed(views.names)}."
        )
    return {name: np.asarray(init)[:, columns] for name, columns in groups.items()}


def check_enough_rows(n_samples: int, n_clusters: int) -> None:
    """Reject fewer rows than clusters, in scikit-learn's words."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")


def check_weight(sample_weight: Any, n_samples: int, dtype: Any) -> Array:
    """Return one finite weight >= 0 per row, in the precision of the data."""
    if sample_weight is None:
        return np.ones(n_samples, dtype=dtype)
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    given = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if given.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {given.ndim}D array.")
    if len(given) != n_samples:
        raise ValueError(f"sample_weight.shape == {given.shape}, expected {(n_samples,)}!")
    if np.any(given < 0):
        row = int(np.flatnonzero(given < 0)[0])
        raise ValueError(f"Negative values in data passed to sample_weight: row {row} has {given[row]:g}.")
    if not np.any(given > 0):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    # squares of weights, and their sums over rows, must stay inside the type
    largest, limit = float(np.max(given)), float(np.finfo(dtype).max) ** 0.5
    if not n_samples / limit < largest < limit / n_samples:
        raise ValueError(
            f"sample_weight reaches {largest:g}, outside the range of {np.dtype(dtype)} sums; divide it by its "
            "largest value."
        )
    return given.astype(dtype)


def check_init(init: Any, n_clusters: int, n_features: int, n_outputs: int, dtype: Any) -> Array:
    """Check given centroids: rows of data space, or of feature space if the width says so."""
    if np.ndim(init) != 2:
        raise ValueError(f"The initial centers must be a 2D array, got {np.ndim(init)} dimension(s).")
    centers = check_array(init, dtype=np.float64, input_name="init")
    if len(centers) != n_clusters:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match n_clusters={n_clusters}."
        )
    if centers.shape[1] not in (n_features, n_outputs):
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the data: expected "
            f"{n_features} columns (points of the data) or {n_outputs} (points of the feature space)."
        )
    return centers.astype(dtype)
