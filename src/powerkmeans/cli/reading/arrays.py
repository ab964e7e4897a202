"""Files of arrays: NumPy, MATLAB and Zarr. One that holds several has a view for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from powerkmeans.cli.errors import UserError, listed, near
from powerkmeans.cli.memory import check_room
from powerkmeans.cli.reading.words import check_not_empty
from powerkmeans.cli.table import Ids, Request, Table, checked_ids
from powerkmeans.sources import Source, UnreadableError, archives
from powerkmeans.sources.npy import map_npy, open_array
from powerkmeans.sources.zarr import open_zarr_array, stored_arrays


def read_npy(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read a .npy file."""
    check_not_empty(path, source)
    return tables_of({name: map_npy(source, path)}, source, request, alone=True)


def read_npz(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the arrays of a .npz file, or the sparse matrix in it, which becomes dense."""
    check_not_empty(path, source)
    arrays = archives.read_npz(source, path)
    sparse = archives.sparse_in(source, arrays)
    if sparse is None:
        return tables_of(arrays, source, request, alone_as=name)
    check_room(sparse.shape[0] * sparse.shape[1] * sparse.dtype.itemsize, source)
    if sparse.dtype == np.float16:  # which SciPy's loops do not know
        sparse = sparse.astype(np.float32)
    return tables_of({name: sparse.toarray()}, source, request, alone=True)


def read_mat(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the matrices of a .mat file; a cell array of matrices is one view per cell."""
    return tables_of(archives.read_mat(source, path), source, request, alone_as=name)


def read_zarr(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read a Zarr array, or the arrays of a group."""
    try:
        arrays = stored_arrays(source, path, nested=False)
    except UnreadableError as error:
        raise UserError(f"{source} cannot be read as Zarr; it may be incomplete.") from error
    if "" in arrays:
        return tables_of({name: arrays[""]}, source, request, alone=True)
    return tables_of(arrays, source, request, alone_as=name)


def tables_of(
    arrays: Mapping[str, Any], source: str, request: Request, *, alone: bool = False, alone_as: str | None = None
) -> list[Table]:
    """A table for each array that looks like one, or that was asked for.

    ``alone``: the file is one array. ``alone_as``: what the view is called if only one array is found.
    """
    ids = _ids(arrays, request, source)
    others = {key: value for key, value in arrays.items() if key != request.id_column}
    chosen = others if alone else _chosen(others, request.arrays, source)
    lengths = {key: _shape(value)[0] for key, value in chosen.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{key!r} ({length})" for key, length in lengths.items())
        raise UserError(f"{source} has arrays of different length: {shown} rows; choose with --array.")
    left = [key for key in others if key not in chosen] if not request.arrays else []
    notes = (f"{source}: {listed(left)} left out, not of the shape of a table.",) if left else ()
    tables = list[Table]()
    for key, value in chosen.items():
        name = alone_as if alone_as is not None and len(chosen) == 1 else key
        label = source if alone or len(chosen) == 1 else f"{source}, {key!r}"
        tables.append(_table(value, name, label, ids, request, () if tables else notes))
    return tables


def _table(array: Any, name: str, source: str, ids: Ids | None, request: Request, notes: tuple[str, ...]) -> Table:
    shape, dtype = _shape(array), np.dtype(array.dtype)
    if len(shape) != 2:
        raise UserError(f"{source} is an array of shape {shape}; a table has 2 dimensions, one row per sample.")
    if dtype.kind not in "biuf":
        raise UserError(f"{source} holds {'Python objects' if dtype.hasobject else dtype}, not numbers.")
    if 0 in shape:
        raise UserError(f"{source} is empty: its shape is {shape}.")
    header = [str(place) for place in range(shape[1])]
    chosen = request.choose(header, source)
    check_room(shape[0] * len(chosen) * request.dtype(dtype).itemsize, source)
    values = _opened(array, chosen, source, request.dtype(dtype)).read(request.on_read)
    table = Table(name, source, tuple(header[place] for place in chosen), values, notes=notes)
    if ids is None:
        return table
    if len(ids.values) != len(table):
        raise UserError(f"{source} has {len(table)} rows and {len(ids.values)} ids in {ids.column!r}.")
    return replace(table, ids=checked_ids(ids, table))


def _opened(array: Any, chosen: list[int], source: str, dtype: np.dtype[Any]) -> Source:
    """Some columns of an array, whatever it is one of."""
    if hasattr(array, "toarray"):
        return open_array(array.toarray(), tuple(chosen), name=source, dtype=dtype)
    opener = open_array if isinstance(array, np.ndarray) else open_zarr_array
    return opener(array, tuple(chosen), name=source, dtype=dtype)


def _chosen(arrays: Mapping[str, Any], wanted: tuple[str, ...], source: str) -> dict[str, Any]:
    for key in wanted:
        if key not in arrays:
            hint = near(key, list(arrays)) or f"; it has {listed(list(arrays))}."
            raise UserError(f"{source} has no array {key!r}{hint}")
    if wanted:
        return {key: arrays[key] for key in wanted}
    found = {key: value for key, value in arrays.items() if _is_table(value)}
    if not found:
        raise UserError(f"{source} has no array of the shape of a table; it has {listed(list(arrays)) or 'none'}.")
    return found


def _ids(arrays: Mapping[str, Any], request: Request, source: str) -> Ids | None:
    key = request.id_column
    if key is None or (request.id_optional and key not in arrays):
        return None
    if key not in arrays:
        hint = near(key, list(arrays)) or f"; it has {listed(list(arrays))}."
        raise UserError(f"{source} has no array {key!r} for --id{hint}")
    values = np.asarray(arrays[key]).ravel()
    texts = [_text(value) for value in values.tolist()]
    return Ids(key, np.array(texts, dtype=object), values.dtype.kind in "iu")


def _text(value: Any) -> str:
    """An id as text; MATLAB keeps a text as an array of one."""
    while isinstance(value, (list, np.ndarray)) and len(value):
        value = value[0]
    return value.decode() if isinstance(value, bytes) else str(value).strip()


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in array.shape) or (0,)


def _is_table(array: Any) -> bool:
    """Whether an array has rows of several numbers: a single column or row is more likely to hold labels."""
    return len(_shape(array)) == 2 and np.dtype(array.dtype).kind in "biuf" and min(_shape(array)) > 1
