"""Tables that Dask has as checked views: lengths, presence and weights are found where the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.inputs.presence import missing_in_all, no_view
from powerkmeans.inputs.tables import common_length
from powerkmeans.inputs.weights import check_largest_weight, negative_weight, no_weight
from powerkmeans.sources.columns import needed
from powerkmeans.sources.dask import (
    DaskColumn,
    DaskSource,
    aligned,
    column_like,
    is_dask,
    is_lazy,
    open_dask,
    with_known_rows,
)
from powerkmeans.support.values import listed, wrong
from powerkmeans.types import Views


def with_sources(X: Any) -> Any:
    """What users pass, with sources in place of what Dask has."""
    if isinstance(X, Mapping):  # which a Dataset of xarray is too
        lazy = any(map(is_dask, X.values()))
        return {name: _opened(table, name) for name, table in X.items()} if lazy else X
    if is_dask(X):
        return open_dask(X)
    if isinstance(X, (list, tuple)) and any(map(is_dask, X)):
        return [_opened(table, f"view_{index}") for index, table in enumerate(X)]
    return X


def _opened(table: Any, name: Any) -> Any:
    return open_dask(table, f"view {name!r}") if is_dask(table) else table


def has_lazy(tables: Mapping[str, Any]) -> bool:
    """Whether a view is with Dask."""
    return any(map(is_lazy, tables.values()))


def lazy_views(
    tables: Mapping[str, Any],
    sample_weight: Any,
    present: Any,
    *,
    dtype: Any = None,
    widths: Mapping[str, int] | None = None,
) -> Views:
    """Checked views of tables that Dask has, all of which must be; ``dtype`` is that of a model for new rows.

    One view of new rows is taken as it is: nothing is computed. Of several, who has which is found by rows that
    are all NaN, with one look at all of them.
    """
    alone = len(tables) == 1
    sources = _sources(tables, widths, counted=not alone or dtype is None or present is not None)
    names, n_samples = tuple(tables), sources[0].shape[0]
    if alone and present is None:
        mask = None
    else:
        mask = _presence(names, sources, _given_mask(present, names, sources[0]))
    working = np.dtype(dtype or np.result_type(*(source.dtype for source in sources)))
    return Views(names, tuple(sources), _weight(sample_weight, sources[0], n_samples, working), mask)


def _sources(tables: Mapping[str, Any], widths: Mapping[str, int] | None, *, counted: bool) -> list[DaskSource]:
    """The views with chunks of the same lengths; zeros for a view that no sample has."""
    for name, table in tables.items():
        if table is not None and not is_lazy(table):
            raise TypeError(
                f"view {name!r} is a {type(table).__module__}.{type(table).__name__}, but other views are with "
                "Dask; make it one of Dask's too, for example with dask.array.from_array."
            )
    there = {name: table for name, table in tables.items() if table is not None}
    found = dict(zip(there, with_known_rows(list(there.values())) if counted else there.values(), strict=True))
    if len(tables) > 1:
        common_length(found)
        found = dict(zip(found, aligned(list(found.values())), strict=True))
    first = next(iter(found.values()))
    return [found[name] if name in found else _nothing(name, first, (widths or {})[name]) for name in tables]


def _nothing(name: str, like: DaskSource, width: int) -> DaskSource:
    """Rows that no sample has."""
    filled = partial(np.full, fill_value=np.nan, dtype=like.dtype)
    rows = like.array.map_blocks(
        partial(_rows_of, filled, width), dtype=like.dtype, chunks=(like.array.chunks[0], (width,))
    )
    return DaskSource(f"view {name!r}", rows, None)


def _rows_of(filled: Any, width: int, rows: Any) -> Any:
    return filled((len(rows), width))


def _given_mask(present: Any, names: tuple[str, ...], like: DaskSource) -> Any:
    """Who has which view as users tell it, in chunks as the rows have them."""
    if present is None:
        return None
    dask_array = needed("dask.array", "dask")
    if isinstance(present, Mapping):
        unknown = [name for name in present if name not in names]
        if unknown:
            raise ValueError(f"present names the view {unknown[0]!r}; the views are {listed(names)}.")
        ones = np.ones(like.shape[0], dtype=bool)
        columns = [column_like(present.get(name, ones), like, bool) for name in names]
        return dask_array.stack(columns, axis=1).rechunk({1: -1})
    shape = getattr(present, "shape", np.shape(present))
    expected = (like.shape[0], len(names))
    if tuple(shape) != expected:
        raise ValueError(f"present must have the shape (n_samples, n_views) = {expected}, got {tuple(shape)}.")
    return column_like(present, like, bool).rechunk({1: -1})


def _presence(names: tuple[str, ...], sources: list[DaskSource], given: Any) -> Any:
    """Which samples have which view, (n, L), as an array of Dask; None if all have all."""
    dask_array, dask = needed("dask.array", "dask"), needed("dask", "dask")
    arrays = [source.array for source in sources]
    masks = [] if given is None else [given]
    chunks = (arrays[0].chunks[0], (len(arrays),))
    found = dask_array.map_blocks(
        partial(_there, n_views=len(arrays)),
        *arrays,
        *masks,
        dtype=bool,
        chunks=chunks,
        meta=np.empty((0, 0), bool),
    )
    some = found.any(axis=1)
    counts, covered, bare = dask.compute(found.sum(axis=0), some.all(), some.argmin())
    if not covered:
        raise no_view(int(bare), names)
    return None if np.all(counts == sources[0].shape[0]) else found


def _there(*parts: Any, n_views: int) -> NDArray[np.bool_]:
    """Where rows are not all NaN, and not told to be absent."""
    there = np.stack([~np.all(np.isnan(rows), axis=1) for rows in parts[:n_views]], axis=1)
    return there & parts[n_views] if len(parts) > n_views else there


def _weight(given: Any, like: DaskSource, n_samples: int, dtype: np.dtype[Any]) -> DaskColumn:
    if given is None:
        return DaskColumn(None, n_samples, dtype)
    if isinstance(given, (str, bytes)):
        raise wrong("sample_weight", "an array of numbers >= 0, a number or None", given)
    dask_array, dask = needed("dask.array", "dask"), needed("dask", "dask")
    if np.isscalar(given):
        given = dask_array.full(n_samples, given, chunks=(like.array.chunks[0],))
    shape = tuple(getattr(given, "shape", np.shape(given)))
    if len(shape) != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {len(shape)}D array.")
    if not is_dask(given) and shape != (n_samples,):
        raise ValueError(f"sample_weight.shape == {shape}, expected {(n_samples,)}!")
    column = column_like(given, like, np.float64)
    odd, where, negative, place, largest = dask.compute(
        (~np.isfinite(column)).any(), (~np.isfinite(column)).argmax(), column.min(), column.argmin(), column.max()
    )
    if odd:
        raise ValueError(f"Input sample_weight contains NaN or infinity (sample {int(where)}).")
    if negative < 0:
        raise negative_weight(int(place), float(negative))
    if not largest > 0:
        raise no_weight()
    check_largest_weight(float(largest), n_samples, dtype)
    return DaskColumn(column.astype(dtype), n_samples, dtype)


def check_views_covered(views: Views) -> None:
    """In fit every view must have a sample."""
    if views.present is None:
        return
    counts = np.asarray(views.present.sum(axis=0))
    for name, count in zip(views.names, counts.tolist(), strict=True):
        if count == 0:
            raise missing_in_all(name)
