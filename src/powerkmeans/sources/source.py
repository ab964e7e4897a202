"""What every source has in common: how its rows are asked for, its checks, its errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.ahead import read_ahead
from powerkmeans.sources.columns import Columns
from powerkmeans.sources.disk import SourceChangedError, Stamps, file_name, stamps, unreadable
from powerkmeans.sources.reblocking import check_count

# rows that a table is read by when all of it goes into one array
READ_BYTES = 2**24


class Origin(NamedTuple):
    """How to open a source again: the function, and what it is given."""

    opener: Callable[[str, Columns], Source]
    path: str
    columns: Columns


class TableFacts(NamedTuple):
    """What a source knows of its table when it is opened.

    name : the path, shortened
    shape, dtype : of the chosen columns, as blocks have them
    columns : where the chosen columns stand in the file
    column_names : their names, None if the format has none
    stamps : the files' state, taken before anything was read
    origin : how to open it again, None for an object
    """

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    columns: tuple[int, ...]
    column_names: tuple[str, ...] | None
    stamps: Stamps
    origin: Origin | None


class OddValue(NamedTuple):
    """Where in a table a value is missing or infinite, and what it is."""

    row: int
    column: int
    what: str


def odd_value(rows: NDArray[Any], present: NDArray[np.bool_] | None) -> OddValue | None:
    """The first value that is missing or infinite, in rows that are present."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(rows)):
            return None
    odd = ~np.isfinite(rows)
    if present is not None:
        odd &= present[:, None]
    row, column = divmod(int(np.argmax(odd)), rows.shape[1])
    if not odd[row, column]:  # only the sum was too large
        return None
    return OddValue(row, column, "NaN" if np.isnan(rows[row, column]) else "infinity")


class Source(ABC):
    """One table of numbers, read in blocks of consecutive rows or by the numbers of its rows.

    ``held`` tells that all of it is in memory already, ``any_order`` that rows may be taken in any.

    All values of ``blocks`` and ``take`` are finite. Whatever else stands in the table is a ValueError that says
    where, and a file that changed since it was opened is a SourceChangedError.
    """

    held = False
    any_order = False

    def __init__(self, facts: TableFacts) -> None:
        self.name = facts.name
        self.shape = facts.shape
        self.dtype = facts.dtype
        self.column_names = facts.column_names
        self._columns = facts.columns
        self._stamps = facts.stamps
        self._origin = facts.origin

    @abstractmethod
    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield fresh blocks of ``n_rows`` rows; values may be anything."""

    def _batches(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in batches of any lengths, some ``n_rows`` each; values may be anything."""
        return self._blocks(n_rows)

    @abstractmethod
    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Read the given rows; values may be anything."""

    def blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[NDArray[Any]]:
        """Yield consecutive blocks of ``n_rows`` rows from row 0, the last one shorter, prepared ahead.

        Rows that are not ``present`` may hold anything.
        """
        if isinstance(n_rows, bool) or not isinstance(n_rows, Integral) or n_rows < 1:
            raise ValueError(f"n_rows must be an int >= 1, got {n_rows!r}.")
        self.check_unchanged()
        return read_ahead(self._checked_blocks(min(int(n_rows), self.shape[0]), present))

    def device_blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[Any]:
        """Yield the same blocks where the rows are, if that is a device with arrays of its own."""
        return self.blocks(n_rows, present)

    def take(self, rows: NDArray[np.intp], present: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Read the given rows, which ascend and do not repeat; those not ``present`` may hold anything."""
        wanted = self._checked_rows(rows)
        self.check_unchanged()
        if len(wanted) == 0:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        with self._explained():
            block = self._take(wanted)
        self._check_finite(block, wanted, present)
        return block

    def read(self, on_read: Callable[[float], None] | None = None) -> NDArray[Any]:
        """All rows as one array; values may be anything, and what is missing is NaN.

        ``on_read`` is told of the share that has been read.
        """
        self.check_unchanged()
        with self._explained():
            values = self._all_rows(on_read or (lambda share: None))
        self.check_unchanged()
        return values

    def _all_rows(self, on_read: Callable[[float], None]) -> NDArray[Any]:
        values, done = np.empty(self.shape, dtype=self.dtype), 0
        for batch in self._batches(max(1, READ_BYTES // (self.shape[1] * self.dtype.itemsize))):
            values[done : done + len(batch)] = batch
            done += len(batch)
            on_read(done / len(values))
        check_count(done, len(values))
        return values

    def choose(self, positions: list[int]) -> Source:
        """Some of the columns, as another source."""
        if self._origin is None:
            raise TypeError(f"{self!r} was opened from an object; open it from a path to choose columns of it.")
        chosen = self._origin.opener(self._origin.path, tuple(self._columns[p] for p in positions))
        chosen.name = self.name
        return chosen

    def unit(self) -> Source | None:
        """The same with every row over its length, if that is not done as rows are read."""
        return None

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return list(self._paths())

    def check_unchanged(self) -> None:
        """Raise SourceChangedError if a file is not what it was when it was opened."""
        now = stamps(self._paths())
        if now == self._stamps:
            return
        paths = {**self._stamps, **now}
        changed = next(path for path in paths if now.get(path) != self._stamps.get(path))
        where = file_name(self.name, changed, paths)
        raise SourceChangedError(
            f"{where} changed while it was being read; open it again once nothing writes to it."
        )

    def _paths(self) -> Iterable[str]:
        return self._stamps

    def _checked_blocks(self, n_rows: int, present: NDArray[np.bool_] | None) -> Iterator[NDArray[Any]]:
        start = 0
        for block in self._explained_blocks(n_rows):
            rows = slice(start, start + len(block))
            self._check_finite(block, range(rows.start, rows.stop), None if present is None else present[rows])
            start += len(block)
            yield block
            del block  # so that it is not held while the next one is read
        self.check_unchanged()

    def _explained_blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        with self._explained():
            yield from self._blocks(n_rows)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in one line what a reader had to say; that a file has changed explains everything else."""
        try:
            yield
        except (MemoryError, SourceChangedError):
            raise
        except Exception as error:
            self.check_unchanged()
            raise unreadable(self.name, error) from error

    def _checked_rows(self, rows: Any) -> NDArray[np.intp]:
        wanted = np.asarray(rows)
        if wanted.ndim != 1 or (wanted.dtype.kind not in "iu" and len(wanted)):
            raise TypeError(f"rows must be a 1-D array of ints, got shape {wanted.shape} of {wanted.dtype}.")
        if np.any(wanted[1:] <= wanted[:-1]):
            raise ValueError("rows must ascend without repetition; use numpy.unique.")
        if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < self.shape[0]:
            raise ValueError(f"{self.name} has rows 0 to {self.shape[0] - 1}, not {wanted[0]} to {wanted[-1]}.")
        return wanted.astype(np.intp)

    def _check_finite(
        self, block: NDArray[Any], rows: range | NDArray[np.intp], present: NDArray[np.bool_] | None
    ) -> None:
        """Raise a ValueError that names the first value that is missing or infinite."""
        found = odd_value(block, present)
        if found is not None:
            self.check_unchanged()
            raise self.odd_error(found._replace(row=int(rows[found.row])))

    def odd_error(self, found: OddValue) -> ValueError:
        """What to raise for a value, given by its row and column in the table."""
        label = self._columns[found.column] if self.column_names is None else repr(self.column_names[found.column])
        return ValueError(
            f"{self.name}: {found.what} in row {found.row}, column {label}. Drop or fill such rows first."
        )

    def __repr__(self) -> str:
        size = f"{self.shape[0]} rows x {self.shape[1]} columns"
        return f"{type(self).__name__}({self.name!r}, {size}, {self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._origin is None:
            raise TypeError(f"{self!r} was opened from an object; open it from a path to pickle it.")
        return _reopened, (self._origin, self.name, self.shape, self.dtype, self.column_names)


def _reopened(origin: Origin, name: str, *known: Any) -> Source:
    """Open a source that was pickled; it must still be the table it was."""
    source = origin.opener(origin.path, origin.columns)
    source.name = name
    if (source.shape, source.dtype, source.column_names) != known:
        raise SourceChangedError(f"{name} changed while it was being read: it is {source!r} now. Open it again.")
    return source


def is_source(table: Any) -> TypeGuard[Source]:
    """Whether a table is read in blocks rather than held in memory."""
    return isinstance(table, Source)
