"""Labels and classes from files: one column of words or numbers, and the ids of its rows if there are any."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError, counted, listed, near
from powerkmeans.cli.reading import TEXT, extension, named_files
from powerkmeans.cli.reading.arrow import EXTENSIONS, open_arrow
from powerkmeans.cli.reading.text import open_rows
from powerkmeans.cli.reading.words import check_not_empty, told_of
from powerkmeans.cli.spreadsheet import unguarded
from powerkmeans.cli.table import Ids, Request, Table, checked_ids
from powerkmeans.sources.npy import map_npy

# what fit and predict write beside labels
_SCORES = ("typicality", "outlier_score")


class Labels(NamedTuple):
    """Labels as texts, in the order of the file."""

    source: str
    column: str
    values: NDArray[Any]
    ids: NDArray[Any] | None


def read_labels(
    path: str, column: str | None, id_column: str | None, *, option: str, usual: str | None = None
) -> Labels:
    """Read one column; ``usual`` is the one to take if none is named by ``option`` and the file has it."""
    (file,) = named_files([path])
    kind = extension(file.path).lower()
    if kind == ".npy":
        return _from_array(file.path, file.source, id_column)
    if kind not in (*TEXT, *EXTENSIONS):
        raise UserError(
            f"{file.source} has none of the extensions of labels: {', '.join((*TEXT, *EXTENSIONS, '.npy'))}."
        )
    with told_of(file.source):
        columns = (_text_columns if kind in TEXT else _arrow_columns)(file.path, file.source)
    if id_column is not None and id_column not in columns:
        raise UserError(
            f"{file.source} has no column {id_column!r} for --id{near(id_column, list(columns)) or '.'}"
        )
    name = column or _only(list(columns), id_column, usual, option, file.source)
    _check_column(name, columns, file.source)
    if id_column is None:
        return Labels(file.source, name, columns[name], None)
    table = Table(name, file.source, (), np.zeros((len(columns[name]), 0)))
    ids = checked_ids(Ids(id_column, columns[id_column], False), table)
    return Labels(file.source, name, columns[name], ids.values)


def _check_column(name: str, columns: dict[str, NDArray[Any]], source: str) -> None:
    """Reject a column that does not exist or has gaps."""
    if name not in columns:
        hint = near(name, list(columns)) or f"; it has {listed(list(columns))}."
        raise UserError(f"{source} has no column {name!r}{hint}")
    empty = np.flatnonzero(columns[name] == "")
    if len(empty):
        raise UserError(
            f"{source} has {counted(len(empty), 'row')} without a {name!r}, the first is row {empty[0]}."
        )


def _only(header: list[str], id_column: str | None, usual: str | None, option: str, source: str) -> str:
    """The column that must be meant if none is named."""
    if usual in header:
        assert usual is not None
        return usual
    rest = [name for name in header if name != id_column and name not in ("row", *_SCORES)]
    if len(rest) != 1:
        or_id = "" if id_column is not None else ", and which names the rows with --id"
        raise UserError(f"{source} has the columns {listed(header)}; say which one counts with {option}{or_id}.")
    return rest[0]


def _text_columns(path: str, source: str) -> dict[str, NDArray[Any]]:
    with open_rows(path, source, Request(lambda header, source: [])) as text:
        rows = []
        for line, row in text.rows:
            if len(row) != len(text.header):
                width = len(text.header)
                fields = counted(len(row), "field")
                raise UserError(f"{source} has {fields} in line {line}, but {width} in its first line.")
            rows.append([unguarded(field.strip()) for field in row])
        header = text.header
    if not rows:
        raise UserError(f"{source} has a header and no rows.")
    return {
        name: np.array(column, dtype=object) for name, column in zip(header, zip(*rows, strict=True), strict=True)
    }


def _arrow_columns(path: str, source: str) -> dict[str, NDArray[Any]]:
    opened = open_arrow(path, source)
    return {label: opened.texts(label) for label in opened.header}


def _from_array(path: str, source: str, id_column: str | None) -> Labels:
    if id_column is not None:
        raise UserError(f"{source} is an array and has no column {id_column!r} for --id.")
    check_not_empty(path, source)
    with told_of(source):
        values = map_npy(source, path)
    if values.ndim == 0 or values.size != len(values):
        raise UserError(f"{source} is an array of shape {values.shape}; labels have one dimension.")
    return Labels(
        source, "labels", np.array([str(value) for value in values.ravel().tolist()], dtype=object), None
    )
