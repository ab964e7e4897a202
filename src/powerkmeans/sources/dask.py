"""Rows that Dask has or will make, here or on a cluster: what is asked of them is done where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.columns import float_dtype
from powerkmeans.sources.reblocking import reblocked
from powerkmeans.sources.source import OddValue, Source, TableFacts
from powerkmeans.sources.unit import unit_rows
from powerkmeans.support.absent import zero_where_absent
from powerkmeans.support.install import needed
from powerkmeans.types import Views

# packages whose tables are made by Dask
_PACKAGES = ("dask", "xarray")


class DaskSource(Source):
    """A 2-D Dask array, one chunk wide, whose chunks may be of any length, known or not.

    ``array`` has the numbers as floats. ``parts`` are the views that are side by side in it, if there are several.
    On this machine it reads as any other source; an engine on Dask never asks it to.
    """

    def __init__(
        self, name: str, array: Any, column_names: tuple[str, ...] | None, parts: tuple[DaskSource, ...] = ()
    ) -> None:
        n_rows = array.shape[0] if math.isnan(array.shape[0]) else int(array.shape[0])
        columns = tuple(range(int(array.shape[1])))
        super().__init__(TableFacts(name, (n_rows, len(columns)), array.dtype, columns, column_names, {}, None))
        self.array, self.parts = array, parts

    def odd_error(self, found: OddValue) -> ValueError:
        """What to raise for a value, by the view that it is in."""
        column = found.column
        for part in self.parts:
            if column < part.shape[1]:
                return part.odd_error(found._replace(column=column))
            column -= part.shape[1]
        return super().odd_error(found)

    def with_array(self, array: Any) -> DaskSource:
        """The same table of another array."""
        return DaskSource(self.name, array, self.column_names, self.parts)

    def unit(self) -> DaskSource:
        """The same rows, each over its length."""
        return self.with_array(self.array.map_blocks(unit_rows, dtype=self.dtype))

    def choose(self, positions: list[int]) -> Source:
        """Some of the columns."""
        names = None if self.column_names is None else tuple(self.column_names[p] for p in positions)
        return DaskSource(self.name, _one_wide(self.array[:, list(positions)]), names)

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return reblocked(self._batches(n_rows), n_rows, self.shape[0])

    def _batches(self, n_rows: int) -> Iterator[NDArray[Any]]:
        for number in range(self.array.numblocks[0]):
            rows = np.asarray(self.array.blocks[number].compute())
            if len(rows):
                yield rows

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return np.asarray(self.array[rows].compute())

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskSource, (self.name, self.array, self.column_names, self.parts)


class DaskColumn:
    """One weight per row, of which Dask has the numbers, or all one: the few things that are asked of weights."""

    def __init__(self, array: Any, n_rows: int, dtype: Any) -> None:
        self.array, self.dtype, self._n_rows = array, np.dtype(dtype), n_rows

    def __len__(self) -> int:
        return self._n_rows

    @cached_property
    def total(self) -> float:
        """What they add up to."""
        return float(self._n_rows if self.array is None else self.array.sum(dtype=np.float64).compute())

    def __mul__(self, mask: Any) -> DaskColumn:
        column = mask.astype(self.dtype) if self.array is None else self.array * mask
        return DaskColumn(column, self._n_rows, self.dtype)

    @property
    def all_positive(self) -> bool:
        """Whether no row has the weight zero."""
        return self.array is None or bool((self.array > 0).all().compute())


def is_lazy(table: Any) -> TypeGuard[DaskSource]:
    """Whether rows are with Dask."""
    return isinstance(table, DaskSource)


def are_lazy(views: Views) -> bool:
    """Whether the rows of views are with Dask."""
    return any(map(is_lazy, views.arrays))


def is_dask(given: Any) -> bool:
    """Whether an object is of Dask: an array, a data frame, or what xarray has of them."""
    package = type(given).__module__.partition(".")[0]
    return package in _PACKAGES and hasattr(given, "__dask_graph__") and given.__dask_graph__() is not None


def open_dask(given: Any, name: str = "X") -> DaskSource:
    """A table of Dask as a source; nothing is computed."""
    dask_array = needed("dask.array", "dask")
    array, names = _array_and_names(given, name)
    if not isinstance(array, dask_array.Array):
        raise TypeError(f"{name} is a {type(array).__name__} of Dask; expected an array or a data frame.")
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} dimensions; expected 2, one row per sample. Reshape it first.")
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns; there is nothing to cluster.")
    dtype = float_dtype(name, np.dtype(array.dtype))
    if not isinstance(array._meta, np.ndarray):
        array = array.map_blocks(dense_rows, dtype=array.dtype, meta=np.empty((0, 0), dtype=array.dtype))
    return DaskSource(name, _one_wide(array.astype(dtype, copy=False)), names)


def _array_and_names(given: Any, name: str) -> tuple[Any, tuple[str, ...] | None]:
    if hasattr(type(given), "to_dask_array"):  # a data frame
        if given.ndim == 1:
            raise ValueError(f"{name} is a Series; expected a table: use its to_frame().")
        odd = [label for label, dtype in zip(given.columns, given.dtypes, strict=True) if not _is_number(dtype)]
        if odd:
            raise TypeError(
                f"{name}: the columns {', '.join(map(repr, odd[:6]))} do not hold numbers. Drop or encode them."
            )
        return given.astype(_common(given.dtypes)).to_dask_array(), _names(given.columns)
    if type(given).__module__.startswith("xarray"):
        return given.data, _names(given.coords[given.dims[-1]].values) if given.dims[-1] in given.coords else None
    return given, None


def _common(dtypes: Any) -> np.dtype[Any]:
    """The float type that numbers of all columns become."""
    single = all(getattr(t, "kind", "O") == "f" and t.itemsize <= 4 for t in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


def _names(labels: Any) -> tuple[str, ...] | None:
    """Names of columns; the levels of a MultiIndex as ``view:name``."""
    plain = [":".join(map(str, label)) if isinstance(label, tuple) else label for label in labels]
    return tuple(plain) if all(isinstance(label, str) for label in plain) else None


def dense_rows(rows: Any) -> NDArray[Any]:
    """A chunk of any kind, such as a sparse one, as an array."""
    return np.asarray(rows.todense() if hasattr(rows, "todense") else rows)


def _one_wide(array: Any) -> Any:
    """The array with all columns in one chunk."""
    if array.numblocks[1] <= 1:
        return array
    return array.rechunk({1: -1})


def counted_array(array: Any) -> Any:
    """An array of Dask with chunks of known lengths."""
    return array.copy().compute_chunk_sizes() if math.isnan(array.shape[0]) else array


def with_known_rows(sources: Sequence[DaskSource]) -> list[DaskSource]:
    """The sources with chunks of known lengths."""
    return [source.with_array(counted_array(source.array)) for source in sources]


def with_known_chunks(views: Views) -> Views:
    """The same views with chunks of known lengths."""
    if not are_lazy(views) or not math.isnan(views.arrays[0].shape[0]):
        return views
    arrays = tuple(with_known_rows(views.arrays))
    weight = DaskColumn(views.weight.array, int(arrays[0].shape[0]), views.dtype)
    return views._replace(arrays=arrays, weight=weight)


def aligned(sources: Sequence[DaskSource]) -> list[DaskSource]:
    """Sources of equally many rows with the same chunks, those of the first; lengths must be known."""
    rows = sources[0].array.chunks[0]
    return [
        source if source.array.chunks[0] == rows else source.with_array(source.array.rechunk({0: rows}))
        for source in sources
    ]


def join_lazy(views: Views) -> DaskSource:
    """Rows of all views next to each other, then one column for each view that is one where it is present."""
    arrays = [source.array for source in views.arrays]
    widths = [int(array.shape[1]) for array in arrays]
    dtype = np.result_type(*(array.dtype for array in arrays))
    masks = [] if views.present is None else [views.present]
    dask_array = needed("dask.array", "dask")
    joined = dask_array.map_blocks(
        partial(_side_by_side, n_views=len(arrays), dtype=dtype),
        *arrays,
        *masks,
        dtype=dtype,
        chunks=(arrays[0].chunks[0], (sum(widths) + len(arrays),)),
        meta=np.empty((0, 0), dtype=dtype),
    )
    return DaskSource("views", joined, None, tuple(views.arrays))


def _side_by_side(*parts: Any, n_views: int, dtype: Any) -> NDArray[Any]:
    rows = parts[:n_views]
    present = parts[n_views] if len(parts) > n_views else np.ones((len(rows[0]), n_views), dtype=bool)
    zeroed = [zero_where_absent(part, present[:, view]) for view, part in enumerate(rows)]
    return np.concatenate([*zeroed, present], axis=1, dtype=dtype)
