"""Columns of Arrow data sets: numbers as a source, anything as texts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.columns import FLOAT32, FLOAT64, Columns, check_size, positions
from powerkmeans.sources.disk import Stamps, file_name, stamps, unreadable
from powerkmeans.sources.reblocking import check_count, reblocked
from powerkmeans.sources.source import Origin, Source, TableFacts
from powerkmeans.support.install import needed

# rows decoded at once: columns become rows in pieces that stay in cache
BATCH_BYTES = 2**21


class Piece(NamedTuple):
    """A file of a data set, or a data set that cannot be taken apart: something with rows to scan."""

    data: Any
    n_rows: int


class ArrowSource(Source):
    """Columns of an Arrow data set, read in batches."""

    def __init__(self, facts: TableFacts, dataset: Any, pieces: list[Piece]) -> None:
        super().__init__(facts)
        self._arrow = needed("pyarrow", "arrow")
        self._dataset, self._pieces = dataset, pieces

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return reblocked(self._batches(n_rows), n_rows, self.shape[0])

    def _batches(self, n_rows: int) -> Iterator[NDArray[Any]]:
        for piece in self._pieces:
            for batch in self._scanned(piece.data):
                yield self._converted(batch)

    def _all_rows(self, on_read: Callable[[float], None]) -> NDArray[Any]:
        """All rows, each column of a batch put where it belongs; one more batch is decoded meanwhile."""
        values, done = np.empty(self.shape, dtype=self.dtype), 0
        for piece in self._pieces:
            for batch in self._scanned(piece.data, ahead=2):
                self._convert(batch, values[done : done + batch.num_rows])
                done += batch.num_rows
                on_read(done / len(values))
        check_count(done, len(values))
        return values

    def _scanned(self, data: Any, ahead: int = 1) -> Iterator[Any]:
        """Scan batches of a piece in order, holding little more than the one that is used."""
        options: dict[str, Any] = {"columns": list(self.column_names or ()), **self._reading()}
        if data is not self._dataset:
            options["schema"] = self._dataset.schema
        rows = max(1, BATCH_BYTES // (self.shape[1] * self.dtype.itemsize))
        scanner = data.scanner(batch_size=rows, batch_readahead=ahead, fragment_readahead=1, **options)
        for batch in scanner.to_batches():
            batch.validate()  # Arrow believes the lengths that a file tells, and would read beyond its end
            yield batch

    def _reading(self) -> dict[str, Any]:
        return {}

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        taken = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        done = 0
        for start, batch in self._touched(rows):
            stop = int(np.searchsorted(rows, start + batch.num_rows))
            if stop > done:
                taken[done:stop] = self._converted(batch.take(self._arrow.array(rows[done:stop] - start)))
            done = stop
        if done < len(rows):
            raise ValueError(f"there are fewer than the {self.shape[0]} rows counted before")
        return taken

    def _touched(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, Any]]:
        """Yield batches, and the rows they start at, of all parts in which there are wanted rows."""
        for first, piece in _holding(self._pieces, 0, rows):
            for start, part in _holding(self._parts(piece), first, rows):
                row = start
                for batch in self._scanned(part.data):
                    yield row, batch
                    row += batch.num_rows

    def _parts(self, piece: Piece) -> list[Piece]:
        return [piece]

    def _converted(self, batch: Any) -> NDArray[Any]:
        rows = np.empty((batch.num_rows, batch.num_columns), dtype=self.dtype)
        self._convert(batch, rows)
        return rows

    def _convert(self, batch: Any, rows: NDArray[Any]) -> None:
        """Put a batch of columns into rows, NaN for nulls; what is too large for single precision is infinite."""
        with np.errstate(over="ignore"):
            for index, column in enumerate(batch.columns):
                kind = self._arrow.float32() if _is_single(column.type) else self._arrow.float64()
                rows[:, index] = column.cast(kind, safe=False).to_numpy(zero_copy_only=False)


class ParquetSource(ArrowSource):
    """Columns of Parquet files, of which ``take`` reads the row groups it needs."""

    def _reading(self) -> dict[str, Any]:
        # buffers read ahead would be kept until the end of the file
        dataset = needed("pyarrow.dataset", "arrow")
        lean = dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        return {"fragment_scan_options": lean}

    def _parts(self, piece: Piece) -> list[Piece]:
        if not hasattr(piece.data, "split_by_row_group"):
            return [piece]
        groups = piece.data.split_by_row_group()
        return [Piece(g, sum(info.num_rows for info in g.row_groups)) for g in groups]


def _holding(pieces: list[Piece], start: int, rows: NDArray[np.intp]) -> Iterator[tuple[int, Piece]]:
    """Yield those of consecutive pieces that have wanted rows, and the row each starts at."""
    for piece in pieces:
        low, high = np.searchsorted(rows, (start, start + piece.n_rows))
        if low < high:
            yield start, piece
        start += piece.n_rows


@dataclass(frozen=True)
class NamedColumns:
    """A table of named columns, opened.

    name : what messages call it
    data : the data set of Arrow
    stamps, origin : as a source has them
    """

    name: str
    data: Any
    stamps: Stamps
    origin: Origin | None = None

    @property
    def header(self) -> list[str]:
        """The names of all columns."""
        try:
            return list(self.data.schema.names)
        except UnicodeDecodeError as error:
            raise unreadable(self.name, ValueError("the name of a column is no text")) from error

    @property
    def stored_index(self) -> list[Any]:
        """What pandas has stored as the index: names of columns, or ranges."""
        return list((self.data.schema.pandas_metadata or {}).get("index_columns", []))

    def numbers(self, columns: Columns, *, dtype: np.dtype[Any] | None = None, gaps: bool = False) -> ArrowSource:
        """Some columns as a source; ``dtype`` is the precision to use, if not theirs.

        All files must have them, of one type, and some rows. With ``gaps`` the first file's types hold for all,
        what is missing in some file, or everywhere, is NaN, and there may be no rows.
        """
        chosen = _chosen(self, columns)
        check_size(self.name, 1, len(chosen))
        fields = [self.data.schema.field(position) for position in chosen]
        natural = _float_dtype(self.name, fields, nulls=gaps)
        pieces = self._pieces([] if gaps else fields, closed=columns is None and self.origin is not None)
        n_rows = sum(piece.n_rows for piece in pieces)
        check_size(self.name, 1 if gaps else n_rows, len(chosen))
        names = tuple(field.name for field in fields)
        kind = ParquetSource if all(_is_parquet(piece.data) for piece in pieces) else ArrowSource
        shape = (n_rows, len(chosen))
        facts = TableFacts(self.name, shape, dtype or natural, chosen, names, self.stamps, self.origin)
        return kind(facts, self.data, pieces)

    def _pieces(self, fields: list[Any], *, closed: bool) -> list[Piece]:
        known = set(self.header) if closed else None
        return [_checked_piece(self.name, self.data, piece, fields, known) for piece in _fragments(self.data)]

    def type_of(self, column: str) -> Any:
        """The type of a column."""
        return self.data.schema.field(column).type

    def texts(self, column: str) -> NDArray[Any]:
        """A column as texts, nothing for nulls."""
        try:
            found = self.data.to_table(columns=[column]).column(0)
            found.validate(full=True)  # a place beyond the texts would end the process
            values = found.to_pylist()
        except (OSError, ValueError) as error:
            raise unreadable(self.name, error) from error
        return np.array(["" if value is None else str(value) for value in values], dtype=object)


def open_dataset(data: Any, columns: Columns) -> ArrowSource:
    """Take a data set as it is; files that are not local are not watched for changes."""
    files = [os.path.abspath(file) for file in getattr(data, "files", []) if os.path.isfile(file)]
    return NamedColumns("dataset", data, stamps(files)).numbers(columns)


def open_arrow_table(table: Any, columns: Columns) -> ArrowSource:
    """Take a table in memory as it is."""
    check_size("table", table.num_rows, table.num_columns)
    return NamedColumns("table", needed("pyarrow.dataset", "arrow").dataset(table), {}).numbers(columns)


def is_number(kind: Any, *, nulls: bool = False) -> bool:
    """Whether a type is one of numbers, or of nothing but nulls if those count."""
    types = needed("pyarrow", "arrow").types
    kinds = [types.is_integer, types.is_floating, types.is_boolean, types.is_decimal]
    return any(is_kind(kind) for is_kind in (*kinds, *([types.is_null] if nulls else [])))


def is_integer(kind: Any) -> bool:
    """Whether a type is one of integers."""
    return bool(needed("pyarrow", "arrow").types.is_integer(kind))


def _is_single(kind: Any) -> bool:
    types = needed("pyarrow", "arrow").types
    return bool(types.is_float32(kind) or types.is_float16(kind))


def _chosen(table: NamedColumns, columns: Columns) -> tuple[int, ...]:
    """Where the chosen columns stand; an index that pandas has stored is none unless it was chosen."""
    name, header = table.name, table.header
    repeated = [label for label, count in Counter(header).items() if count > 1]
    if repeated:
        raise ValueError(f"{name} has more than one column {repeated[0]!r}. Rename them.")
    chosen = positions(columns, name, header, len(header))
    index = table.stored_index if columns is None else []
    return tuple(position for position in chosen if header[position] not in index)


def _float_dtype(name: str, fields: list[Any], *, nulls: bool) -> np.dtype[Any]:
    """The precision that all columns share; a TypeError names one that has no numbers."""
    for field in fields:
        if not is_number(field.type, nulls=nulls):
            raise TypeError(
                f"{name}: column {field.name!r} is of type {field.type}, not of numbers. Leave it out: name the "
                "columns to use with columns=[...]."
            )
    return FLOAT32 if all(_is_single(field.type) for field in fields) else FLOAT64


def _fragments(opened: Any) -> list[Any]:
    try:
        return list(opened.get_fragments())
    except ValueError:  # one with a filter cannot be taken apart
        return [opened]


def _checked_piece(name: str, opened: Any, data: Any, fields: list[Any], known: set[str] | None) -> Piece:
    """A file of a data set that has all columns, of the types they have elsewhere; and no others, if ``known``."""
    try:
        schema = opened.schema if data is opened else data.physical_schema
        n_rows = int(data.count_rows())
    except MemoryError:
        raise
    except Exception as error:
        raise unreadable(_label(name, opened, data), error) from error
    problem = _difference(schema, _partition_keys(data), fields, known)
    if problem:
        raise ValueError(f"{_label(name, opened, data)} {problem}")
    return Piece(data, n_rows)


def _label(name: str, opened: Any, data: Any) -> str:
    path = getattr(data, "path", None)
    return file_name(name, path, opened.files) if path and hasattr(opened, "files") else name


def _difference(schema: Any, keys: set[str], fields: list[Any], known: set[str] | None) -> str:
    """What a file has otherwise than the data set; columns in ``keys`` come from its path."""
    types = dict(zip(schema.names, schema.types, strict=True))
    for field in fields:
        if field.name in keys:
            continue
        if field.name not in types:
            return f"has no column {field.name!r}, but other files of the data set do."
        if types[field.name] != field.type:
            return (
                f"has column {field.name!r} with the type {types[field.name]}, but other files have it with the "
                f"type {field.type}. Write all files with one type."
            )
    extra = [label for label in schema.names if known is not None and label not in known]
    return f"has column {extra[0]!r}, but other files do not. Choose columns with columns=[...]." if extra else ""


def _partition_keys(data: Any) -> set[str]:
    """Names of the columns whose values stand in a file's path."""
    expression = getattr(data, "partition_expression", None)
    return set() if expression is None else set(needed("pyarrow.dataset", "arrow").get_partition_keys(expression))


def _is_parquet(data: Any) -> bool:
    return getattr(getattr(data, "format", None), "default_extname", None) == "parquet"
