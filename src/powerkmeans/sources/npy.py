"""Arrays: .npy files, memory maps, and arrays in memory."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from powerkmeans.sources.columns import Columns, check_table, float_dtype, positions
from powerkmeans.sources.disk import Stamps, UnreadableError, shortened, stamps, unreadable
from powerkmeans.sources.source import Origin, Source, TableFacts

# single rows: what lies between two of them is read along if it is short, up to so many bytes in all
BRIDGED_BYTES = 2**14
RUN_BYTES = 2**22
# what NumPy's reader of headers raises for one that is damaged
DAMAGED = (
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    EOFError,
    SyntaxError,
    RecursionError,
    MemoryError,
    TokenError,
    struct.error,
)


class Header(NamedTuple):
    """The layout of an array: where its values begin, and whether they go by column."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool = False
    offset: int = 0


class ArraySource(Source):
    """An array or a memory map that somebody else holds."""

    def __init__(self, facts: TableFacts, array: NDArray[Any]) -> None:
        super().__init__(facts)
        self._array = array

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        for start in range(0, self.shape[0], n_rows):
            yield self._copied(slice(start, start + n_rows))

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._copied(rows)

    def _copied(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Copy rows, so that no view keeps the file's pages; touching a map of a file that was cut is fatal."""
        self.check_unchanged()
        found = self._chosen(np.asarray(self._array[rows]))
        with np.errstate(over="ignore"):  # a long double may be too large, which is found out later
            return np.array(found, dtype=self.dtype, order="C", copy=True)

    def _all_rows(self, on_read: Callable[[float], None]) -> NDArray[Any]:
        """The array itself where it is what is wanted: a map takes no memory."""
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(self._chosen(self._array), dtype=self.dtype)
        on_read(1.0)
        return values

    def _chosen(self, found: NDArray[Any]) -> NDArray[Any]:
        return found if self._columns == tuple(range(found.shape[1])) else found[:, self._columns]


class NpySource(Source):
    """A .npy file, read rather than mapped: a file that is cut meanwhile is then an error and not a crash."""

    def __init__(self, facts: TableFacts, path: str, header: Header) -> None:
        super().__init__(facts)
        self._path, self._header = path, header

    def _opened(self) -> AbstractContextManager[IO[bytes]]:
        return open(self._path, "rb", buffering=0)

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        with self._opened() as stream:
            for start in range(0, self.shape[0], n_rows):
                self.check_unchanged()
                yield self._converted(self._stored_rows(stream, start, min(start + n_rows, self.shape[0])))

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        taken = np.empty((len(rows), self.shape[1]), dtype=self._header.dtype)
        with self._opened() as stream:
            for low, high in self._runs(rows):
                first, last = int(rows[low]), int(rows[high - 1])
                taken[low:high] = self._stored_rows(stream, first, last + 1)[rows[low:high] - first]
        return self._converted(taken)

    def _runs(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
        """Yield where runs of rows begin and end that are near enough to be read at once."""
        (_, n_columns), dtype, by_column, _ = self._header
        width = n_columns * dtype.itemsize
        apart = max(1, BRIDGED_BYTES // (dtype.itemsize if by_column else width))
        window = max(1, RUN_BYTES // width)
        breaks = (np.flatnonzero((np.diff(rows) > apart) | (np.diff(rows // window) > 0)) + 1).tolist()
        yield from zip([0, *breaks], [*breaks, len(rows)], strict=True)

    def _converted(self, found: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(found, dtype=self.dtype)

    def _stored_rows(self, stream: IO[bytes], start: int, stop: int) -> NDArray[Any]:
        """Read consecutive rows as they are stored."""
        (n_rows, n_columns), dtype, by_column, offset = self._header
        if not by_column:
            rows = np.empty((stop - start, n_columns), dtype=dtype)
            _fill(stream, offset + start * n_columns * dtype.itemsize, rows.reshape(-1))
            return rows if self._columns == tuple(range(n_columns)) else rows[:, self._columns]
        columns = np.empty((len(self._columns), stop - start), dtype=dtype)
        for column, values in zip(self._columns, columns, strict=True):
            _fill(stream, offset + (column * n_rows + start) * dtype.itemsize, values)
        return columns.T


def _fill(stream: IO[bytes], position: int, values: NDArray[Any]) -> None:
    """Read as many bytes as ``values`` has; the system may give fewer at a time."""
    stream.seek(position)
    left = values.view(np.uint8).data
    while len(left):
        count = stream.readinto(left)  # type: ignore[attr-defined]
        if not count:
            raise ValueError("the file ends early")
        left = left[count:]


def open_npy(path: str, columns: Columns) -> NpySource:
    """Open a .npy file by its header."""
    name, full = shortened(path), os.path.abspath(path)
    stamped = stamps([full])
    header = read_header(name, full)
    return NpySource(_facts(name, header, columns, stamped, Origin(open_npy, full, columns)), full, header)


def open_array(
    array: NDArray[Any], columns: Columns, *, name: str | None = None, dtype: np.dtype[Any] | None = None
) -> ArraySource:
    """Take an array or a memory map as it is; ``dtype`` is the precision to use, if not the array's."""
    filename = getattr(array, "filename", None)
    called = "array" if filename is None else shortened(os.fspath(filename))
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("A masked array cannot be read; leave out rows with masked values first.")
    stamped = {} if filename is None else stamps([os.path.abspath(filename)])
    facts = _facts(name or called, Header(array.shape, array.dtype), columns, stamped, None)
    return ArraySource(facts._replace(dtype=dtype or facts.dtype), array)


def map_npy(name: str, path: str) -> NDArray[Any]:
    """The array of a .npy file as it is stored, whatever its shape and type, as a map that is not written to."""
    header = read_header(name, path)
    if header.dtype.hasobject:
        raise UnreadableError(f"{name} cannot be read: it holds Python objects.")
    order: Any = "F" if header.by_column else "C"
    return np.memmap(path, header.dtype, "r", header.offset, header.shape, order)


def _facts(name: str, header: Header, columns: Columns, stamped: Stamps, origin: Origin | None) -> TableFacts:
    dtype = float_dtype(name, header.dtype)
    check_table(name, header.shape)
    n_rows, n_columns = header.shape
    chosen = positions(columns, name, None, n_columns)
    return TableFacts(name, (n_rows, len(chosen)), dtype, chosen, None, stamped, origin)


def read_header(name: str, path: str) -> Header:
    """Read the header of a .npy file; nothing in it is executed, and the file must have all that it tells of."""
    try:
        with open(path, "rb") as stream:
            header = _header_of(stream)
    except OSError as error:
        raise unreadable(name, error) from error
    except DAMAGED as error:
        raise UnreadableError(f"{name} is not a .npy file, or its beginning is damaged.") from error
    size, expected = os.path.getsize(path), header.offset + math.prod(header.shape) * header.dtype.itemsize
    if size < expected and not header.dtype.hasobject:
        raise UnreadableError(f"{name} is cut off: it has {size} of {expected} bytes. Write or copy it again.")
    return header


def _header_of(stream: IO[bytes]) -> Header:
    version = npy_format.read_magic(stream)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"version {version}")
    # version 3 differs in the encoding of field names only, and tables have none
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    shape, by_column, dtype = read(stream)
    if any(isinstance(size, bool) or not 0 <= size < 2**63 for size in shape):
        raise ValueError(f"shape {shape}")
    return Header(shape, dtype, by_column, stream.tell())
