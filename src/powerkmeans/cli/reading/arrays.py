"""Files of arrays: NumPy, MATLAB and Zarr. One that holds several has a view for each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from powerkmeans.cli.errors import UserError, listed, near
from powerkmeans.cli.memory import check_room
from powerkmeans.cli.table import Ids, Request, Table, checked_ids
from powerkmeans.sources.columns import needed
from powerkmeans.sources.npy import DAMAGED, read_header

_NEWER_MATLAB = "Please use HDF reader"


def read_npy(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read a .npy file."""
    return tables_of({name: load_npy(path, source, mmap_mode="r")}, source, request, alone=True)


def read_npz(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the arrays of a .npz file."""
    with _loaded(path, source) as file:
        if not hasattr(file, "files"):
            raise UserError(f"{source} is not an archive of arrays, whatever its extension says.")
        try:
            arrays = {key: file[key] for key in file.files}
        except (OSError, BadZipFile, *DAMAGED) as error:
            raise UserError(f"{source} cannot be read; it is damaged or holds Python objects.") from error
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise UserError(f"{source} cannot be read: what it has as {key!r} is not an array.")
    return tables_of(arrays, source, request, alone_as=name)


def read_mat(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the matrices of a .mat file; a cell array of matrices is a view each."""
    try:
        content = loadmat(path)
    except NotImplementedError as error:
        if _NEWER_MATLAB not in str(error):
            raise
        content = _newer_matlab(path, source)
    except (ValueError, TypeError, OSError, MatReadError, EOFError) as error:
        raise UserError(f"{source} cannot be read as a MATLAB file; it may be damaged.") from error
    arrays: dict[str, Any] = {}
    for key, value in content.items():
        cells = _cells(value)
        if not key.startswith("__"):
            arrays |= {key: value} if cells is None else {f"{key}_{i + 1}": cell for i, cell in enumerate(cells)}
    return tables_of(arrays, source, request, alone_as=name)


def read_zarr(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read a Zarr array, or the arrays of a group."""
    zarr = needed("zarr", "zarr")
    try:
        opened = zarr.open(path, mode="r")
    except Exception as error:
        raise UserError(f"{source} cannot be read as Zarr; it may be incomplete.") from error
    if isinstance(opened, zarr.Array):
        return tables_of({name: opened}, source, request, alone=True)
    return tables_of(dict(opened.arrays()), source, request, alone_as=name)


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
        raise UserError(f"{source} is an array of shape {shape}; a table has 2 dimensions, one row a sample.")
    if dtype.kind not in "biuf":
        raise UserError(f"{source} holds {'Python objects' if dtype.hasobject else dtype}, not numbers.")
    if 0 in shape:
        raise UserError(f"{source} is empty: its shape is {shape}.")
    header = [str(place) for place in range(shape[1])]
    chosen = request.choose(header, source)
    whole = chosen == list(range(shape[1]))
    check_room(shape[0] * len(chosen) * request.dtype(dtype).itemsize, source)
    rows = array.toarray() if hasattr(array, "toarray") else array[:]
    values = np.ascontiguousarray(rows if whole else rows[:, chosen], dtype=request.dtype(dtype))
    table = Table(name, source, tuple(header[place] for place in chosen), values, notes=notes)
    if ids is None:
        return table
    if len(ids.values) != len(table):
        raise UserError(f"{source} has {len(table)} rows and {len(ids.values)} ids in {ids.column!r}.")
    return replace(table, ids=checked_ids(ids, table))


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


def _cells(value: Any) -> list[NDArray[Any]] | None:
    """The matrices of a MATLAB cell array; None if it is none."""
    if not isinstance(value, np.ndarray) or value.dtype != object or value.size == 0:
        return None
    cells = list(value.ravel())
    return cells if all(getattr(cell, "ndim", 0) == 2 and cell.dtype.kind in "biuf" for cell in cells) else None


def _newer_matlab(path: str, source: str) -> dict[str, Any]:
    """The matrices of a file of MATLAB 7.3 or newer, which is HDF5 with its axes turned round."""
    with needed("h5py", "h5ad").File(path, "r") as file:
        plain = {key: item for key, item in file.items() if hasattr(item, "shape") and item.dtype.kind in "biuf"}
        return {key: np.asarray(item).T for key, item in plain.items()}


def load_npy(path: str, source: str, mmap_mode: Any = None) -> NDArray[Any]:
    """The array of a .npy file."""
    if os.path.getsize(path) == 0:
        raise UserError(f"{source} is empty (0 bytes).")
    try:
        header = read_header(source, path)
    except ValueError as error:
        raise UserError(str(error)) from error
    if header.dtype.hasobject:
        raise UserError(f"{source} cannot be read: it holds Python objects.")
    loaded: NDArray[Any] = _loaded(path, source, mmap_mode)
    return loaded


def _loaded(path: str, source: str, mmap_mode: Any = None) -> Any:
    if os.path.getsize(path) == 0:
        raise UserError(f"{source} is empty (0 bytes).")
    try:
        return np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except (OSError, BadZipFile, *DAMAGED) as error:
        what = (
            "it holds Python objects"
            if "allow_pickle" in str(error) or "objects" in str(error)
            else "it is damaged or of another format"
        )
        raise UserError(f"{source} cannot be read: {what}.") from error
