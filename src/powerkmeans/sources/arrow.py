"""Parquet and Arrow: files, folders of files, data sets, and tables in memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.base import Origin, Source, Stamps, Table, place, shortened, stamps, unreadable
from powerkmeans.sources.columns import FLOAT32, FLOAT64, Columns, check_size, needed, positions
from powerkmeans.sources.stream import reblocked

FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc"}
# rows decoded at once: columns become rows in pieces that stay in cache
BATCH_BYTES = 2**21


class Piece(NamedTuple):
    """A file of a data set, or a data set that cannot be taken apart: something with rows to scan."""

    data: Any
    n_rows: int


class ArrowSource(Source):
    """Columns of an Arrow data set, read in batches."""

    def __init__(self, table: Table, dataset: Any, pieces: list[Piece]) -> None:
        super().__init__(table)
        self._arrow = needed("pyarrow", "arrow")
        self._dataset, self._pieces = dataset, pieces
        self._type = self._arrow.float32() if self.dtype == FLOAT32 else self._arrow.float64()

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return reblocked(self._batches(), n_rows, self.shape[0])

    def _batches(self) -> Iterator[NDArray[Any]]:
        for piece in self._pieces:
            for batch in self._scanned(piece.data):
                yield self._converted(batch)

    def _scanned(self, data: Any) -> Iterator[Any]:
        """Scan batches of a piece in order, holding little more than the one that is used."""
        options: dict[str, Any] = {"columns": list(self.column_names or ()), **self._reading()}
        if data is not self._dataset:
            options["schema"] = self._dataset.schema
        rows = max(1, BATCH_BYTES // (self.shape[1] * self.dtype.itemsize))
        return iter(data.scanner(batch_size=rows, batch_readahead=1, fragment_readahead=1, **options).to_batches())

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
        """A batch of columns as rows, with NaN for nulls."""
        rows = np.empty((batch.num_rows, batch.num_columns), dtype=self.dtype)
        for index, column in enumerate(batch.columns):
            rows[:, index] = column.cast(self._type, safe=False).to_numpy(zero_copy_only=False)
        return rows


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


def open_arrow(path: str, columns: Columns) -> ArrowSource:
    """Open a Parquet or Arrow file, or a folder of such files."""
    dataset = needed("pyarrow.dataset", "arrow")
    name, full = shortened(path), os.path.abspath(path)
    files = _data_files(name, full) if os.path.isdir(full) else [full]
    kind = _format(name, files)
    seen = stamps(files)
    for file in files:
        if os.path.getsize(file) == 0:
            raise ValueError(f"{place(name, file, files)} is empty (0 bytes). Write or copy it again.")
    try:
        opened = _discovered(dataset, full, files, kind)
    except Exception as error:
        raise unreadable(name, error) from error
    return _open(opened, name, columns, seen, Origin(open_arrow, full, columns))


def open_dataset(opened: Any, columns: Columns) -> ArrowSource:
    """Take a data set as it is; files that are not local are not watched for changes."""
    files = [os.path.abspath(file) for file in getattr(opened, "files", []) if os.path.isfile(file)]
    return _open(opened, "dataset", columns, stamps(files), None)


def open_table(table: Any, columns: Columns) -> ArrowSource:
    """Take a table in memory as it is."""
    check_size("table", table.num_rows, table.num_columns)
    return _open(needed("pyarrow.dataset", "arrow").dataset(table), "table", columns, {}, None)


def _open(opened: Any, name: str, columns: Columns, seen: Stamps, origin: Origin | None) -> ArrowSource:
    chosen = _chosen(name, opened.schema, columns)
    check_size(name, 1, len(chosen))
    fields = [opened.schema.field(position) for position in chosen]
    dtype = _float_dtype(name, fields)
    known = set(opened.schema.names) if columns is None and origin is not None else None
    pieces = [_checked_piece(name, opened, piece, fields, known) for piece in _fragments(opened)]
    n_rows = sum(piece.n_rows for piece in pieces)
    check_size(name, n_rows, len(chosen))
    names = tuple(field.name for field in fields)
    kind = ParquetSource if all(_is_parquet(piece.data) for piece in pieces) else ArrowSource
    return kind(Table(name, (n_rows, len(chosen)), dtype, chosen, names, seen, origin), opened, pieces)


def _chosen(name: str, schema: Any, columns: Columns) -> tuple[int, ...]:
    """Where the chosen columns stand; an index that pandas has stored is none unless it was chosen."""
    header = schema.names
    repeated = [label for label, count in Counter(header).items() if count > 1]
    if repeated:
        raise ValueError(f"{name} has more than one column {repeated[0]!r}. Rename them.")
    chosen = positions(columns, name, header, len(header))
    index = (schema.pandas_metadata or {}).get("index_columns", []) if columns is None else []
    return tuple(position for position in chosen if header[position] not in index)


def _float_dtype(name: str, fields: list[Any]) -> np.dtype[Any]:
    """The precision that all columns share; a TypeError names one that has no numbers."""
    types = needed("pyarrow", "arrow").types
    for field in fields:
        kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        if not any(is_kind(field.type) for is_kind in kinds):
            raise TypeError(
                f"{name}: column {field.name!r} is of type {field.type}, not of numbers. Leave it out: name the "
                "columns to use with columns=[...]."
            )
    single = all(types.is_float32(field.type) or types.is_float16(field.type) for field in fields)
    return FLOAT32 if single else FLOAT64


def _fragments(opened: Any) -> list[Any]:
    try:
        return list(opened.get_fragments())
    except ValueError:  # one with a filter has its rows only as a whole
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
    return place(name, path, opened.files) if path and hasattr(opened, "files") else name


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


def _data_files(name: str, folder: str) -> list[str]:
    """List the data files below a folder in the order of their paths, without hidden ones, as Arrow does."""
    found = []
    for where, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith((".", "_"))]
        seen = [f for f in files if not f.startswith((".", "_")) and os.path.splitext(f)[1].lower() in FORMATS]
        found += [os.path.join(where, f) for f in seen]
    if not found:
        raise ValueError(f"{name} is a folder without any {', '.join(FORMATS)} file, and not a Zarr array.")
    return sorted(found)


def _format(name: str, files: list[str]) -> str:
    kinds = {FORMATS[os.path.splitext(file)[1].lower()] for file in files}
    if len(kinds) > 1:
        raise ValueError(f"{name} has Parquet and Arrow files; keep one format in a folder.")
    return kinds.pop()


def _discovered(dataset: Any, base: str, files: list[str], kind: str) -> Any:
    """A data set of files, with columns from folders such as ``year=2024`` below ``base``."""
    folder = base if os.path.isdir(base) else os.path.dirname(base)
    by_folder = dataset.HivePartitioning.discover()
    options = dataset.FileSystemFactoryOptions(partition_base_dir=folder, partitioning=by_folder)
    form = dataset.ParquetFileFormat() if kind == "parquet" else dataset.IpcFileFormat()
    local = needed("pyarrow.fs", "arrow").LocalFileSystem()
    return dataset.FileSystemDatasetFactory(local, files, form, options).finish()
