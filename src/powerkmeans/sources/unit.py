"""Rows scaled to unit length: in memory, or block by block as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.npy import open_array
from powerkmeans.sources.output import mapped_files
from powerkmeans.sources.source import Source, TableFacts, is_source
from powerkmeans.types import Array

# numbers that are scaled at once: what is made on the way to a length stays in cache
NUMBERS_AT_ONCE = 2**16


def unit_table(table: Array) -> Array:
    """A table whose rows have unit length: a copy of one in memory; rows of a file are scaled as they are read."""
    if is_source(table):
        return table.unit() or UnitSource(table)
    return UnitSource(open_array(table, None)) if mapped_files(table) else unit_rows(table)


def unit_rows(rows: Array) -> Array:
    r"""Rows divided by their Euclidean lengths, dense or CSR; a row of zeros has no direction and stays zero.

    .. math:: x / \|x\| = y / \|y\|, \qquad y = x / \max_j |x_j|

    The way by ``y`` keeps squares inside the range of the type, and makes equal to the last bit what are exact
    multiples of each other. Squares are added in float64 by the order of the columns, to which zeros add nothing:
    neither how rows are stored nor how they are cut into blocks matters. What is not finite does not become so.
    """
    if hasattr(rows, "indptr"):
        return _unit_csr(rows)
    return _unit_dense(rows) if isinstance(rows, np.ndarray) else _unit_tensor(rows)


def _unit_tensor(rows: Any) -> Any:
    """The same of a tensor, to the last bit: squares are added one by one."""
    largest = rows.abs().amax(dim=1, keepdim=True)
    unit = rows / largest.where(largest > 0, 1)
    squares = unit.new_zeros(len(unit), dtype=float)
    for column in unit.T:
        squares += column.double() ** 2
    squares = squares.where(squares > 0, 1)
    if squares.is_cpu:  # where PyTorch's roots are off by a bit now and then
        np.sqrt(squares.numpy(), out=squares.numpy())
    else:
        squares.sqrt_()
    return (unit.double() / squares[:, None]).to(rows.dtype)


def _unit_dense(rows: NDArray[Any]) -> NDArray[Any]:
    width, unit = rows.shape[1], np.empty(rows.shape, dtype=rows.dtype)
    step = max(1, NUMBERS_AT_ONCE // width)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        scaled = _scaled(part.reshape(-1), width * np.arange(len(part) + 1))
        unit[start : start + step] = scaled.reshape(part.shape)
    return unit


def _unit_csr(rows: Any) -> Any:
    unit, n_stored = copy(rows), int(rows.indptr[-1])  # a shallow copy: the columns are not copied
    unit.indices, unit.data = rows.indices[:n_stored], np.empty(n_stored, dtype=rows.dtype)
    for first, last in _runs(rows.indptr):
        stored = slice(rows.indptr[first], rows.indptr[last])
        unit.data[stored] = _scaled(rows.data[stored], rows.indptr[first : last + 1] - rows.indptr[first])
    return unit


def _runs(bounds: NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """Yield runs of rows with about as many stored numbers as are scaled at once, or a single row with more."""
    first, n_rows = 0, len(bounds) - 1
    while first < n_rows:
        last = int(np.searchsorted(bounds, bounds[first] + NUMBERS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield first, last
        first = last


def _scaled(values: NDArray[Any], bounds: NDArray[np.integer]) -> NDArray[Any]:
    """The values of consecutive rows, each row over its length; ``bounds`` is where rows begin and end."""
    counts = np.diff(bounds)
    filled, owner = counts > 0, np.repeat(np.arange(len(counts)), counts)
    largest = np.zeros(len(counts), dtype=values.dtype)
    with np.errstate(invalid="ignore"):  # rows that a view lacks may hold anything
        largest[filled] = np.maximum.reduceat(np.abs(values), bounds[:-1][filled])
        unit = values / np.where(largest > 0, largest, 1)[owner]
        squares = np.bincount(owner, np.square(unit, dtype=np.float64), len(counts))  # adds one by one
        unit /= np.sqrt(np.where(squares > 0, squares, 1))[owner]
    return unit


class UnitSource(Source):
    """Another source, every row scaled to unit length as it is read."""

    def __init__(self, inner: Source) -> None:
        names = (inner.name, inner.shape, inner.dtype, inner._columns, inner.column_names)
        super().__init__(TableFacts(*names, inner._stamps, inner._origin))
        self._inner = inner

    def take(self, rows: NDArray[np.intp], present: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Read the given rows, as the other source does."""
        return unit_rows(super().take(rows, present))

    def read(self, on_read: Callable[[float], None] | None = None) -> NDArray[Any]:
        """All rows as one array; what is missing is NaN, and with it its row."""
        return unit_rows(super().read(on_read))

    def choose(self, positions: list[int]) -> Source:
        """Some of the columns, of which rows are then scaled by themselves."""
        return UnitSource(self._inner.choose(positions))

    def _checked_blocks(self, n_rows: int, present: NDArray[np.bool_] | None) -> Iterator[NDArray[Any]]:
        """Scale blocks after they are checked, so that errors tell of the table, and where they are read ahead."""
        for block in super()._checked_blocks(n_rows, present):
            yield unit_rows(block)
            del block  # so that it is not held while the next one is read

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return self._inner._blocks(n_rows)

    def _batches(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return self._inner._batches(n_rows)

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._inner._take(rows)

    def _all_rows(self, on_read: Callable[[float], None]) -> NDArray[Any]:
        return self._inner._all_rows(on_read)

    def _paths(self) -> Iterable[str]:
        return self._inner._paths()

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitSource, (self._inner,)
