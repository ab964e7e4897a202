"""Parquet, Feather and Arrow files, and folders of them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.memory import check_room
from powerkmeans.cli.table import Ids, Request, Table, checked_header, checked_ids, id_place, not_numbers
from powerkmeans.sources.columns import needed

EXTENSIONS = (".parquet", ".arrow", ".feather", ".ipc")


def read_arrow(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read one table; an index that pandas has stored holds the ids."""
    opened = open_arrow(path, source)
    header = list(opened.schema.names)
    checked_header(header, source)
    where = id_place(header, request, source)
    where = _stored_index(opened.schema) if where is None else where
    rest = [label for place, label in enumerate(header) if place != where]
    chosen = [rest[place] for place in request.choose(rest, source)]
    for label in chosen:
        _check_numeric(opened.schema.field(label), source, request)
    table = Table(name, source, tuple(chosen), _values(opened, chosen, source, request))
    if where is None:
        return [table]
    column = opened.to_table(columns=[header[where]]).column(0)
    integers = needed("pyarrow", "arrow").types.is_integer(column.type)
    label = "id" if header[where].startswith("__index_level") else header[where]
    return [replace(table, ids=checked_ids(Ids(label, as_text(column), integers), table))]


def open_arrow(path: str, source: str) -> Any:
    """The file or folder as a data set: it knows its schema, and gives tables of some columns."""
    dataset = needed("pyarrow.dataset", "arrow")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise UserError(f"{source} is empty (0 bytes).")
    kind = "parquet" if path.endswith(".parquet") or os.path.isdir(path) else "ipc"
    if os.path.isdir(path) and not any(
        name.endswith(".parquet") for _, _, names in os.walk(path) for name in names
    ):
        raise UserError(f"{source} is a folder without any .parquet file, and not a Zarr array.")
    try:
        try:
            return dataset.dataset(path, format=kind)
        except (OSError, ValueError):
            if kind == "parquet":
                raise
            with needed("pyarrow.ipc", "arrow").open_stream(path) as stream:  # a stream that was kept as a file
                return dataset.dataset(stream.read_all())
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{source} cannot be read as {kind.capitalize()}: {reason.rstrip('.')}.") from error


def as_text(column: Any) -> NDArray[Any]:
    """A column as texts, nothing for nulls."""
    return np.array(["" if value is None else str(value) for value in column.to_pylist()], dtype=object)


def _values(opened: Any, chosen: list[str], source: str, request: Request) -> NDArray[Any]:
    n_rows, types = opened.count_rows(), needed("pyarrow", "arrow").types
    if n_rows == 0:
        raise UserError(f"{source} has columns and no rows.")
    kinds = [opened.schema.field(label).type for label in chosen]
    narrow = request.single or all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds)
    values = np.empty((n_rows, len(chosen)), dtype=np.float32 if narrow else np.float64)
    check_room(values.nbytes, source)
    done = 0
    for batch in opened.scanner(columns=chosen, batch_readahead=2, fragment_readahead=1).to_batches():
        rows = slice(done, done + batch.num_rows)
        for index, column in enumerate(batch.columns):
            values[rows, index] = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
        done = rows.stop
        request.on_read(done / n_rows)
    return values


def _stored_index(schema: Any) -> int | None:
    """Where the index of a pandas frame stands, if it has one of one level."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    stored = len(index) == 1 and isinstance(index[0], str) and index[0] in schema.names
    return list(schema.names).index(index[0]) if stored else None


def _check_numeric(field: Any, source: str, request: Request) -> None:
    types = needed("pyarrow", "arrow").types
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if not any(is_kind(field.type) for is_kind in kinds):
        advice = not_numbers(field.name, request)
        raise UserError(f"{source}, column {field.name!r} holds {field.type} values, not numbers{advice}")
