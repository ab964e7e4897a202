"""Parquet, Feather and Arrow files, and folders of them."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.memory import check_room
from powerkmeans.cli.reading.text import with_gaps
from powerkmeans.cli.reading.words import check_not_empty
from powerkmeans.cli.table import Ids, Request, Table, checked_header, checked_ids, id_place
from powerkmeans.sources import UnreadableError
from powerkmeans.sources.arrow import NamedColumns, is_integer, is_number
from powerkmeans.sources.arrow_files import FORMATS, open_named_columns

EXTENSIONS = (*FORMATS, ".ipc")


def read_arrow(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read one table; an index that pandas has stored holds the ids."""
    opened = open_arrow(path, source)
    header = opened.header
    checked_header(header, source)
    where = id_place(header, request, source)
    where = _index_place(opened) if where is None else where
    rest = [label for place, label in enumerate(header) if place != where]
    chosen = [rest[place] for place in request.choose(rest, source)]
    wordy = [label for label in chosen if not is_number(opened.type_of(label), nulls=True)]
    values = _values(opened, [label for label in chosen if label not in wordy], request)
    table = _with_words(Table(name, source, tuple(chosen), values), opened, wordy, request)
    if where is None:
        return [table]
    id_label = header[where]
    called = "id" if id_label.startswith("__index_level") else id_label
    ids = Ids(called, opened.texts(id_label), is_integer(opened.type_of(id_label)))
    return [replace(table, ids=checked_ids(ids, table))]


def open_arrow(path: str, source: str) -> NamedColumns:
    """The columns of a file, or of a folder of .parquet files."""
    check_not_empty(path, source)
    if os.path.isdir(path) and not any(
        file.endswith(".parquet") for _, _, found in os.walk(path) for file in found
    ):
        raise UserError(f"{source} is a folder without any .parquet file, and not a Zarr array.")
    try:
        return open_named_columns(source, path)
    except UnreadableError as error:
        if not error.reason:
            raise
        kind = "Parquet" if os.path.isdir(path) or path.lower().endswith(".parquet") else "Ipc"
        raise UserError(f"{source} cannot be read as {kind}: {error.reason}.") from error


def _with_words(table: Table, opened: NamedColumns, wordy: list[str], request: Request) -> Table:
    """The same table, with the columns that are no numbers as words."""
    if not wordy:
        return table
    places = [place for place, label in enumerate(table.columns) if label not in wordy]
    words = {
        place: with_gaps([text.strip() for text in opened.texts(label)], request.spelling)
        for place, label in enumerate(table.columns)
        if label in wordy
    }
    n_rows = len(next(iter(words.values())))
    if n_rows == 0:
        raise UserError(f"{opened.name} has columns and no rows.")
    values = np.full((n_rows, len(table.columns)), np.nan, dtype=table.values.dtype)
    values[:, places] = table.values if places else np.nan
    return replace(table, values=values, words=words)


def _values(opened: NamedColumns, chosen: list[str], request: Request) -> NDArray[np.floating]:
    if not chosen:
        return np.empty((0, 0), dtype=np.float32 if request.single else np.float64)
    single = np.dtype(np.float32) if request.single else None
    numbers = opened.numbers(tuple(chosen), dtype=single, gaps=True)
    n_rows, n_columns = numbers.shape
    if n_rows == 0:
        raise UserError(f"{opened.name} has columns and no rows.")
    check_room(n_rows * n_columns * numbers.dtype.itemsize, opened.name)
    return numbers.read(request.on_read)


def _index_place(opened: NamedColumns) -> int | None:
    """Where the index of a pandas frame stands, if it has one of one level."""
    index = opened.stored_index
    stored = len(index) == 1 and isinstance(index[0], str) and index[0] in opened.header
    return opened.header.index(index[0]) if stored else None
