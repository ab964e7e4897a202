"""Tables that Dask has as checked views: lengths, presence and weights are looked at where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.inputs.presence import missing_in_all, no_view, not_a_mask
from powerkmeans.inputs.tables import column_names, common_length
from powerkmeans.inputs.tensors import check_one_device, numbers_here, open_tensor, opened_tables
from powerkmeans.inputs.weights import check_largest_weight, negative_weight, no_weight
from powerkmeans.sources.dask import (
    DaskColumn,
    DaskSource,
    aligned,
    counted_array,
    is_dask,
    is_lazy,
    open_dask,
    with_known_rows,
)
from powerkmeans.support.install import needed
from powerkmeans.support.tensors import foreign_in, is_foreign
from powerkmeans.support.values import listed, wrong
from powerkmeans.types import T, Views


def with_sources(X: Any) -> Any:
    """What users pass, with sources in place of tensors and of what Dask has."""
    if foreign_in(X) is not None:
        return _with_tensors(X)
    if isinstance(X, Mapping):  # which a Dataset of xarray is too
        lazy = any(map(is_dask, X.values()))
        return {name: _opened(table, name) for name, table in X.items()} if lazy else X
    if is_dask(X):
        return open_dask(X)
    if isinstance(X, (list, tuple)) and any(map(is_dask, X)):
        return [_opened(table, f"view_{index}") for index, table in enumerate(X)]
    return X


def _with_tensors(X: Any) -> Any:
    if is_foreign(X):
        return open_tensor(X, "X")
    if isinstance(X, Mapping):
        tables = opened_tables(X.items())
        check_one_device(tables)
        return tables
    if all(len(getattr(one, "shape", ())) == 1 for one in X):  # rows of one table
        return [numbers_here(row, "X") for row in X]
    named = opened_tables((f"view_{index}", table) for index, table in enumerate(X))
    check_one_device(named)
    return list(named.values())


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
    fitting, alone = dtype is None, len(tables) == 1 and present is None
    sources = _sources(tables, widths, counted=fitting or not alone or sample_weight is not None)
    names, first = tuple(tables), sources[0]
    working = np.dtype(dtype or np.result_type(*(source.dtype for source in sources)))
    weight = _weight(sample_weight, first, working)
    if alone or first.shape[0] == 0:
        return Views(names, tuple(sources), weight)
    mask = _presence(names, sources, _given_mask(present, names, first), weight, fitting=fitting)
    return Views(names, tuple(sources), weight, mask)


def _sources(tables: Mapping[str, Any], widths: Mapping[str, int] | None, *, counted: bool) -> list[DaskSource]:
    """The views with chunks of the same lengths; rows of NaN for a view that no sample has."""
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
    shape: dict[str, Any] = {"chunks": (like.array.chunks[0], (width,)), "meta": np.empty((0, 0), like.dtype)}
    rows = like.array.map_blocks(partial(_rows_of, width), dtype=like.dtype, **shape)
    return DaskSource(f"view {name!r}", rows, None)


def _rows_of(width: int, rows: Any) -> NDArray[Any]:
    return np.full((len(rows), width), np.nan, dtype=rows.dtype)


def _looked_at(look: Callable[..., T], *arrays: Any) -> list[T]:
    """What is seen of the chunks of some arrays, side by side and in order; of those that are not empty."""
    dask = needed("dask", "dask")
    chunks = zip(*(array.to_delayed().reshape(-1) for array in arrays), strict=True)
    lengths = arrays[0].chunks[0]
    seen = [dask.delayed(look)(*some) for some, length in zip(chunks, lengths, strict=True) if length]
    return list(dask.compute(*seen))


def _first(places: Sequence[int], lengths: Sequence[int]) -> int:
    """The number of the first row that chunks tell of, each by its own numbers; -1 for none."""
    start = 0
    for place, length in zip(places, lengths, strict=True):
        if place >= 0:
            return start + place
        start += length
    return -1


def _place(where: NDArray[np.bool_]) -> int:
    return int(np.argmax(where)) if np.any(where) else -1


def _column(name: str, given: Any, like: DaskSource) -> Any:
    """Numbers for each row, in chunks as the rows have them."""
    dask_array = needed("dask.array", "dask")
    if hasattr(given, "to_dask_array"):
        given = given.to_dask_array()
    elif is_dask(given) and hasattr(given, "dims"):
        given = given.data
    array = counted_array(given) if is_dask(given) else dask_array.from_array(np.asarray(given), chunks=-1)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}.")
    if array.shape[:1] != (like.shape[0],):
        raise ValueError(f"{name} has the shape {array.shape}, but there are {like.shape[0]} samples.")
    whole = array.rechunk({0: like.array.chunks[0]})
    return whole.rechunk({1: -1}) if whole.ndim > 1 else whole


def _given_mask(present: Any, names: tuple[str, ...], like: DaskSource) -> Any:
    """Who has which view as users tell it, in chunks as the rows have them."""
    if present is None:
        return None
    labels = column_names(present)
    if isinstance(present, Mapping) or (labels is not None and any(isinstance(label, str) for label in labels)):
        return _mask_by_name(present, list(present) if labels is None else labels, names, like)
    mask, expected = _column("present", present, like), (like.shape[0], len(names))
    if mask.shape != expected:
        raise ValueError(f"present must have the shape (n_samples, n_views) = {expected}, got {mask.shape}.")
    return mask.map_blocks(_checked_mask, dtype=bool)


def _mask_by_name(present: Any, given: list[Any], names: tuple[str, ...], like: DaskSource) -> Any:
    dask_array = needed("dask.array", "dask")
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"present names the view {unknown[0]!r}; the views are {listed(names)}.")
    complete = dask_array.ones(like.shape[0], chunks=(like.array.chunks[0],), dtype=bool)
    columns = [
        _column(f"present[{name!r}]", present[name], like).map_blocks(_checked_mask, dtype=bool)
        if name in given
        else complete
        for name in names
    ]
    return dask_array.stack(columns, axis=1).rechunk({1: -1})


def _checked_mask(values: Any) -> NDArray[np.bool_]:
    mask = np.asarray(values)
    if not np.all((mask == 0) | (mask == 1)):
        raise not_a_mask()
    return mask.astype(bool)


class _Seen(NamedTuple):
    """Of the rows of a chunk: how many each view has, how many of those with weight, and who has none."""

    counts: NDArray[np.intp]
    weighed: NDArray[np.intp]
    bare: int


def _presence(
    names: tuple[str, ...], sources: list[DaskSource], given: Any, weight: DaskColumn, *, fitting: bool
) -> Any:
    """Which samples have which view, (n, L), as an array of Dask; None if all have all."""
    dask_array = needed("dask.array", "dask")
    arrays = [source.array for source in sources]
    shape: dict[str, Any] = {"chunks": (arrays[0].chunks[0], (len(arrays),)), "meta": np.empty((0, 0), bool)}
    masks = [] if given is None else [given]
    found = dask_array.map_blocks(partial(_there, n_views=len(arrays)), *arrays, *masks, dtype=bool, **shape)
    seen = _looked_at(_seen, found, *([] if weight.array is None else [weight.array]))
    bare = _first([one.bare for one in seen], [length for length in found.chunks[0] if length])
    if bare >= 0:
        raise no_view(bare, names)
    for name, count in zip(names, np.sum([one.weighed for one in seen], axis=0).tolist(), strict=True):
        if fitting and count == 0:
            raise missing_in_all(name)
    return None if np.all(np.sum([one.counts for one in seen], axis=0) == sources[0].shape[0]) else found


def _seen(mask: Any, weight: Any = None) -> _Seen:
    weighed = mask if weight is None else mask[np.asarray(weight) > 0]
    return _Seen(np.sum(mask, axis=0), np.sum(weighed, axis=0), _place(~np.any(mask, axis=1)))


def _there(*parts: Any, n_views: int) -> NDArray[np.bool_]:
    """Where rows are not all NaN, and not told to be absent."""
    there = np.stack([~np.all(np.isnan(rows), axis=1) for rows in parts[:n_views]], axis=1)
    return there & parts[n_views] if len(parts) > n_views else there


def _weight(given: Any, like: DaskSource, dtype: np.dtype[Any]) -> DaskColumn:
    n_samples = like.shape[0]
    if given is None:
        return DaskColumn(None, n_samples if math.isnan(n_samples) else int(n_samples), dtype)
    if isinstance(given, (str, bytes)):
        raise wrong("sample_weight", "an array of numbers >= 0, a number or None", given)
    if np.isscalar(given):
        given = np.broadcast_to(given, (n_samples,))
    column = _column("sample_weight", given, like).astype(np.float64)
    if column.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {column.ndim}D array.")
    seen = _looked_at(_about_weight, column)
    lengths = [length for length in column.chunks[0] if length]
    odd, negative = _first([one.odd for one in seen], lengths), _first([one.below for one in seen], lengths)
    if odd >= 0:
        raise ValueError(f"Input sample_weight contains NaN or infinity (sample {odd}).")
    if negative >= 0:
        raise negative_weight(negative, next(one.value for one in seen if one.below >= 0))
    largest = max((one.largest for one in seen), default=0.0)
    if not largest > 0:
        raise no_weight()
    check_largest_weight(largest, n_samples, dtype)
    return DaskColumn(column.astype(dtype), int(n_samples), dtype)


class _Weights(NamedTuple):
    """Of a chunk: where the first is that is no number and the first below zero, its value, and the largest."""

    odd: int
    below: int
    value: float
    largest: float


def _about_weight(column: Any) -> _Weights:
    below = _place(column < 0)
    value = float(column[below]) if below >= 0 else 0.0
    return _Weights(_place(~np.isfinite(column)), below, value, float(np.max(column)))
