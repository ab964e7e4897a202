"""User data in, aligned and checked views out: the one place that rejects data.

scikit-learn's own checks speak where they exist, so messages are the ones its users know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.inputs.finite import checked_table
from powerkmeans.inputs.gaps import telling_of_cells
from powerkmeans.inputs.kernel_matrices import given_kernels, without_absent
from powerkmeans.inputs.lazy import has_lazy, lazy_views, with_sources
from powerkmeans.inputs.presence import absent_rows, check_coverage, check_present
from powerkmeans.inputs.tables import (
    as_table,
    check_no_container,
    column_groups,
    column_names,
    common_length,
    count_columns,
    filled_rows,
    is_several,
    named_tables,
    plain_label,
    take_columns,
)
from powerkmeans.inputs.tensors import check_values, numbers_here
from powerkmeans.inputs.weights import check_enough_rows, check_weight
from powerkmeans.sources import Source, is_source
from powerkmeans.sources.dask import is_lazy
from powerkmeans.sources.tensors import is_tensors
from powerkmeans.support.values import listed, naming, within_floats
from powerkmeans.types import Array, Views

FLOATS = [np.float64, np.float32]


class Layout(NamedTuple):
    """How the views of a fit were laid out, to hold new ones to.

    labels : per view the names of its columns, None if it had none
    columns : per view the positions of its columns, if the input was one table
    """

    labels: tuple[tuple[Any, ...] | None, ...]
    columns: dict[str, list[int]] | None


def check_single_view(
    estimator: Any, X: Any, sample_weight: Any = None, *, fitting: bool, first: bool | None = None
) -> Views:
    """Check one array of rows and its weights.

    New data is cast to the precision that the model was fitted in. ``first`` is given for a chunk of a stream: it
    may have few rows, and others must be like the first.
    """
    check_no_container(X)
    given, X = X, with_sources(X)
    dtype = FLOATS if fitting else [estimator._fit.model.dtype]
    if is_tensors(X) and _is_kernel_matrix(estimator):
        X = X.read()
    if is_tensors(X):
        check_values(X, given)
        X = X if fitting else X.cast(np.dtype(dtype[0]))
    if is_source(X):
        _check_source(estimator, X, fitting=fitting, first=first)
    else:
        reset = fitting if first is None else first
        with within_floats("X"), telling_of_cells(X):
            X = checked_table(estimator, X, dtype, reset=reset)
    X = _canonical(X) if hasattr(X, "indptr") else X
    if is_lazy(X):
        views = lazy_views({"X": X}, sample_weight, None, dtype=None if fitting else dtype[0])
        X = views.arrays[0]
    if fitting and first is None:
        check_enough_rows(X.shape[0], estimator.n_clusters)
    if is_lazy(X):
        return views
    return Views(("X",), (X,), _weight(sample_weight, (X,), X.dtype if fitting else dtype[0]))


def _is_kernel_matrix(estimator: Any) -> bool:
    """Whether rows are those of a given kernel matrix, which is looked at as a whole."""
    return isinstance(estimator.kernel, str) and estimator.kernel == PRECOMPUTED


def _check_source(estimator: Any, X: Source, *, fitting: bool, first: bool | None = None) -> None:
    """Check the columns of a table on disk; what it holds is checked as it is read."""
    if fitting and first is False:  # a chunk like those before
        validate_data(estimator, X, reset=False, skip_check_array=True)
    elif fitting:
        validate_data(estimator, X, reset=True, skip_check_array=True)
        if X.column_names is not None:
            estimator.feature_names_in_ = np.array(X.column_names, dtype=object)
    if fitting:
        return
    fitted = getattr(estimator, "feature_names_in_", None)
    _check_labels("X", X.column_names, None if fitted is None else tuple(fitted))
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def _weight(given: Any, arrays: Sequence[Array], dtype: Any) -> Array:
    """Weights of the samples; those of a file that has none take no memory."""
    n_samples = arrays[0].shape[0]
    if given is None and any(map(is_source, arrays)):
        return np.broadcast_to(np.ones((), dtype=dtype), (n_samples,))
    return check_weight(given, n_samples, dtype)


def check_several_views(
    estimator: Any, X: Any, sample_weight: Any = None, present: Any = None, *, chunk: bool = False
) -> tuple[Views, Layout]:
    """Check views to fit, in any of the forms that people have them, and tell how they were laid out.

    A row that is all NaN, None, or not marked in ``present`` is one that the view does not have. A chunk of a
    stream may have few rows, and none of some view.
    """
    X = with_sources(X)
    if is_several(X):
        columns, tables = None, _separate_tables(estimator, X)
    else:
        X = as_table(X)
        columns = column_groups(X, estimator.views)
        tables = _tables_of_one(estimator, X, columns, FLOATS, "X", fitting=True)
    views = _fitted_views(estimator, tables, sample_weight, present, chunk=chunk)
    if is_several(X):
        estimator.n_features_in_ = sum(array.shape[1] for array in views.arrays)
        vars(estimator).pop("feature_names_in_", None)
    single = not is_several(X) and columns is None
    layout = Layout(tuple(_labels(n, X if single else table) for n, table in tables.items()), columns)
    return views, layout


def _fitted_views(
    estimator: Any, tables: dict[str, Any], sample_weight: Any, present: Any, *, chunk: bool
) -> Views:
    if has_lazy(tables):
        views = lazy_views(tables, sample_weight, present)
        check_enough_rows(views.arrays[0].shape[0], estimator.n_clusters)
        return views
    names, n_samples = tuple(tables), common_length(tables)
    with naming("present"):
        mask = check_present(present, tables, n_samples)
    arrays, mask = _check_tables(estimator, tables, mask, FLOATS)
    if not chunk:
        check_enough_rows(n_samples, estimator.n_clusters)
    weight = _weight(sample_weight, arrays, np.result_type(*(array.dtype for array in arrays)))
    check_coverage(names, mask, None if chunk else weight)
    return Views(names, tuple(arrays), weight, None if np.all(mask) else mask)


def check_new_views(estimator: Any, X: Any, sample_weight: Any = None, present: Any = None) -> Views:
    """Check views for a fitted model, and put them in its order."""
    model, layout = estimator._fit.model, estimator._layout
    names, widths = model.view_names, dict(zip(model.view_names, model.view_widths, strict=True))
    # a model in double precision takes single as it is; the other way round it is cast
    dtype = FLOATS if model.dtype == np.float64 else [np.float32]
    X = with_sources(X)
    if is_several(X):
        tables = _aligned(named_tables(X), names, by_name=isinstance(X, Mapping))
    else:
        tables = _new_tables_of_one(estimator, as_table(X), layout, dtype)
    single = not is_several(X) and layout.columns is None and len(names) == 1
    lazy = has_lazy(tables)
    if lazy:
        views = lazy_views(tables, sample_weight, present, dtype=model.dtype, widths=widths)
    else:
        n_samples = common_length(tables)
        with naming("present"):
            mask = check_present(present, tables, n_samples)
    for name, labels in zip(names, layout.labels, strict=True):
        _check_labels(name, _labels(name, X if single else tables[name]), labels)
    if lazy:
        _check_widths(estimator, views.arrays, widths)
        return views
    arrays, mask = _check_tables(estimator, tables, mask, dtype, widths)
    _check_widths(estimator, arrays, widths)
    weight = _weight(sample_weight, arrays, model.dtype)
    check_coverage(names, mask, None)
    return Views(names, tuple(arrays), weight, None if np.all(mask) else mask)


def _check_widths(estimator: Any, arrays: Sequence[Array], widths: dict[str, int]) -> None:
    for (name, width), array in zip(widths.items(), arrays, strict=True):
        if array.shape[1] != width:
            raise ValueError(
                f"view {name!r} has {array.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{width} features as input."
            )


def _check_labels(name: str, found: tuple[Any, ...] | None, expected: tuple[Any, ...] | None) -> None:
    if found is not None and expected is not None and found != expected:
        lacking = [label for label in expected if label not in set(found)]
        unknown = [label for label in found if label not in set(expected)]
        if lacking or unknown:
            raise ValueError(
                f"view {name!r} has other columns than in fit. Lacking: {_few(lacking) or 'none'}; unknown: "
                f"{_few(unknown) or 'none'}."
            )
        raise ValueError(f"view {name!r} has the columns of the fit in another order: {_few(expected)} there.")


def split_init(estimator: Any, views: Views, layout: Layout) -> dict[str, Any]:
    """Given centroids as one table per view: in any form that ``X`` may have, or as ``cluster_centers_``."""
    init, names = numbers_here(estimator.init, "init"), views.names
    if is_several(init):
        with naming("init"):
            tables = named_tables(init)
        if isinstance(init, Mapping) and set(tables) == set(names):
            return tables
        if not isinstance(init, Mapping) and len(tables) == len(names):
            return dict(zip(names, tables.values(), strict=True))
        if not isinstance(init, Mapping) and len(tables) == 1 and _fuses(estimator):
            return dict.fromkeys(names, *tables.values())  # points of the space that views have in common
    elif layout.columns is None and len(names) == 1:
        return {names[0]: init}
    elif layout.columns is not None and np.ndim(init) == 2 and np.shape(init)[1] == estimator.n_features_in_:
        return {name: np.asarray(init)[:, columns] for name, columns in layout.columns.items()}
    raise ValueError(
        f"init must be a list or dict of one table of centroids for each of the views {listed(names)}."
    )


def _fuses(estimator: Any) -> bool:
    """Whether one map may take all views together."""
    name = estimator.feature_map
    return isinstance(name, str) and name in MAPS and MAPS[name].fuses


def _separate_tables(estimator: Any, X: Any) -> dict[str, Any]:
    if estimator.views is not None:
        raise ValueError("views= chooses columns of one table, but X holds its views apart; leave views=None.")
    tables = named_tables(X)
    absent = [name for name, table in tables.items() if table is None]
    if absent:
        raise ValueError(f"view {absent[0]!r} is None; in fit every view must have samples. Leave it out.")
    return tables


def _tables_of_one(
    estimator: Any, X: Any, columns: dict[str, list[int]] | None, dtype: Any, name: str, *, fitting: bool
) -> dict[str, Any]:
    """One table cut into views, or as the only one."""
    if columns is None and is_source(X):
        _check_source(estimator, X, fitting=fitting)
        return {name: X}
    if columns is None:
        table = filled_rows(X)
        with within_floats("X"):
            X = checked_table(estimator, table, dtype, reset=fitting)
        return {name: X}
    if is_source(X) and (fitting or estimator._layout.columns is not None):
        _check_source(estimator, X, fitting=fitting)
    elif fitting or estimator._layout.columns is not None:
        validate_data(estimator, X, reset=fitting, skip_check_array=True)
    return {view: take_columns(X, positions) for view, positions in columns.items()}


def _new_tables_of_one(estimator: Any, X: Any, layout: Layout, dtype: Any) -> dict[str, Any]:
    names = estimator._fit.model.view_names
    if layout.columns is not None:
        count_columns(X)  # which refuses what is no table before its width is compared
    columns = layout.columns or column_groups(X, None)
    if columns is None and len(names) > 1:
        raise ValueError(
            f"X is one table, but the model was fitted on the views {listed(names)}; pass a dict or a list of "
            "one table each."
        )
    fewer = _views_it_has(X, getattr(estimator, "feature_names_in_", None), layout.columns)
    if fewer is not None:
        return fewer
    tables = _tables_of_one(estimator, X, columns, dtype, names[0], fitting=False)
    return tables if columns is None else _aligned(tables, names, by_name=True)


def _views_it_has(X: Any, fitted: Any, columns: dict[str, list[int]] | None) -> dict[str, Any] | None:
    """The views of a table that has all columns of some views of the fit, none of the others, and no more."""
    header = column_names(X)
    if header is None or fitted is None or columns is None or not set(header) < set(fitted):
        return None
    place = {label: position for position, label in enumerate(header)}
    tables: dict[str, Any] = {}
    for view, positions in columns.items():
        wanted = [fitted[position] for position in positions]
        found = [place[label] for label in wanted if label in place]
        if 0 < len(found) < len(wanted):
            return None
        tables[view] = take_columns(X, found) if found else None
    return tables


def _aligned(tables: dict[str, Any], known: tuple[str, ...], *, by_name: bool) -> dict[str, Any]:
    """The model's views in their order."""
    if not by_name:
        if len(tables) != len(known):
            raise ValueError(
                f"X has {len(tables)} views, but the model was fitted on {len(known)}: {listed(known)}."
            )
        return dict(zip(known, tables.values(), strict=True))
    for name in tables:
        if name not in known:
            raise ValueError(f"X has the unknown view {name!r}; the model was fitted on {listed(known)}.")
    for name in known:
        if name not in tables:
            raise ValueError(
                f"X lacks the view {name!r} that the model was fitted on; pass None for a view that no sample has."
            )
    return {name: tables[name] for name in known}


def _few(labels: Sequence[Any]) -> str:
    return listed(labels) if len(labels) <= 6 else f"{listed(labels[:5])}, ..."


def _labels(view: str, table: Any) -> tuple[Any, ...] | None:
    """Names of a view's columns without the view's own, as numbers and strings."""
    names = column_names(table)
    return None if names is None else tuple(plain_label(view, name) for name in names)


def _check_tables(
    estimator: Any,
    tables: dict[str, Any],
    mask: NDArray[np.bool_],
    dtype: Any,
    widths: dict[str, int] | None = None,
) -> tuple[list[Array], NDArray[np.bool_]]:
    """Every view as a float array, and which samples have it; rows that a view lacks may hold anything."""
    arrays, kernels = list[Array](), given_kernels(estimator, tuple(tables), fitting=widths is None)
    for index, (name, table) in enumerate(tables.items()):
        if table is None and widths is not None:  # no memory for a view that no sample has
            arrays.append(np.broadcast_to(np.zeros((), dtype[0]), (len(mask), widths[name])))
            mask[:, index] = False
            continue
        if is_source(table) and not is_tensors(table):
            arrays.append(table)
            continue
        if is_tensors(table) and name not in kernels:
            array = table
        else:
            array = _check_table(estimator, name, table.read() if is_tensors(table) else table, dtype)
        array = without_absent(array, mask[:, index], kernels[name]) if name in kernels else array
        mask[:, index] &= ~absent_rows(name, array, mask[:, index])
        arrays.append(array)
    return arrays, mask


def _check_table(estimator: Any, name: str, table: Any, dtype: Any) -> Array:
    """One view as a float array or CSR matrix; NaN and infinities are left for the caller to judge."""
    with naming(f"view {name!r}"):
        array = check_array(
            filled_rows(table),
            accept_sparse="csr",
            dtype=dtype,
            ensure_all_finite=False,
            input_name=f"view {name!r}",
            estimator=estimator,
        )
    if hasattr(array, "indptr"):
        return _canonical(array)
    by_row = array.strides[1] == array.itemsize or array.shape[1] == 1
    return array if by_row or isinstance(table, np.memmap) else np.ascontiguousarray(array)


def _canonical(matrix: Any) -> Any:
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix
