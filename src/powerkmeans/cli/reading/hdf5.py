"""Annotated matrices of single cells: .h5ad, and .h5mu with one view per modality. Read as HDF5 stores them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from powerkmeans.cli.errors import UserError, listed, near
from powerkmeans.cli.memory import check_room
from powerkmeans.cli.table import Ids, Request, Table, checked_header, checked_ids
from powerkmeans.inputs.cells import PCA, about_raw
from powerkmeans.support.install import needed

MATRIX, COMPONENTS = "X", f"obsm/{PCA}"
# what h5py, NumPy and SciPy meet in files that are damaged, or hold other things than anndata writes
_BROKEN = (
    OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError, ArithmeticError, SystemError,
    MemoryError,
)  # fmt: skip


def read_h5ad(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the matrices that were asked for (``obsm/X_pca``, ``layers/counts``), a view each, or the usual one."""
    with _opened(path, source) as file:
        if not request.arrays:
            return [_usual_table(file, name, source, request)]
        tables = []
        for key in request.arrays:
            view = name if len(request.arrays) == 1 else key.rpartition("/")[2]
            tables.append(_table(file, key, view, source, request))
        return tables


def read_h5mu(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read a matrix of each modality: the one that was asked for, or the usual one."""
    if len(request.arrays) > 1:
        raise UserError(f"{source}: --array names one matrix, which is taken from every modality.")
    with _opened(path, source) as file:
        if "mod" not in file or not len(file["mod"]):
            raise UserError(f"{source} has no modalities; is it an .h5ad file?")
        order = [str(name) for name in file["mod"].attrs.get("mod-order", list(file["mod"]))]
        if not order or not set(order) <= set(file["mod"]):
            raise UserError(f"{source} lists modalities that it does not have; it may be damaged.")
        read = partial(_table, key=request.arrays[0]) if request.arrays else _usual_table
        return [
            read(file["mod"][name], name=name, source=f"{source}, modality {name!r}", request=request)
            for name in order
        ]


def read_genes(path: str, source: str, arrays: tuple[str, ...]) -> tuple[Any, list[str]] | None:
    """The matrix X behind components that are clustered, sparse if it is stored so, and the names of its columns.

    None where X is clustered itself, or there is none that goes with the observations.
    """
    with _opened(path, source) as file:
        wanted = arrays or ((COMPONENTS,) if PCA in _items(file, "obsm") else (MATRIX,))
        item = file.get(MATRIX)
        if item is None or not all(key.startswith("obsm/") for key in wanted):
            return None
        names, shape = _index(file, "var", source).tolist(), _shape(item, MATRIX, source)
        if shape != (len(_index(file, "obs", source)), len(names)):
            return None
        return _stored(item, shape, f"{source} (X)"), names


def _stored_bytes(item: Any) -> int:
    parts = [item[part] for part in ("data", "indices", "indptr")] if hasattr(item, "keys") else [item]
    return sum(int(part.size) * part.dtype.itemsize for part in parts)


@contextmanager
def _opened(path: str, source: str) -> Iterator[Any]:
    """A file to read; whatever its reader meets in it is the file's fault, and said so."""
    h5py = needed("h5py", "h5ad")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except _BROKEN as error:
        raise UserError(
            f"{source} cannot be read: it is damaged or incomplete, or holds something else than anndata writes."
        ) from error


def _usual_table(group: Any, name: str, source: str, request: Request) -> Table:
    """What ``powerkmeans.sc.cluster`` takes if nobody says: principal components if there are any, else X."""
    if PCA in _items(group, "obsm"):
        return _table(group, COMPONENTS, name, f"{source} ({COMPONENTS})", request)  # nobody has named it
    table = _table(group, MATRIX, name, source, request)
    # those of a model are settled
    about = about_raw(table.values, "used") if request.for_fit else None
    if about is None:
        return table
    return replace(
        table, notes=(f"{source} has no {COMPONENTS}: {about}, or say that you mean it with --array X.",)
    )


def _items(group: Any, folder: str) -> Any:
    """The matrices in a folder; files of anndata < 0.7 have none that is read here."""
    found = group.get(folder)
    return found if hasattr(found, "keys") else ()


def _table(group: Any, key: str, name: str, source: str, request: Request) -> Table:
    if key not in group:
        known = [MATRIX, *(f"{part}/{item}" for part in ("layers", "obsm") for item in _items(group, part))]
        hint = near(key, known) or f"; it has {listed(known)}."
        raise UserError(f"{source} has no matrix {key!r}{hint}")
    item = group[key]
    shape = _shape(item, key, source)
    by_gene = key == MATRIX or key.startswith("layers/")
    header = _index(group, "var", source).tolist() if by_gene else [str(place) for place in range(shape[1])]
    _check_length(len(header), shape[1], "columns", source)
    checked_header(header, source)
    chosen = request.choose(header, source)
    dtype = request.dtype(np.dtype(item["data"].dtype if hasattr(item, "keys") else item.dtype))
    check_room(shape[0] * shape[1] * dtype.itemsize, source)
    values = _dense(item, shape, source)[:, chosen].astype(dtype)
    columns = tuple(header[place] for place in chosen)
    table = Table(name, source, columns, np.ascontiguousarray(values), scaled=not key.startswith("obsm/"))
    ids = _ids(group, request, source)
    _check_length(len(ids.values), shape[0], "rows", source)
    return replace(table, ids=checked_ids(ids, table))


def _check_length(n_names: int, length: int, what: str, source: str) -> None:
    if n_names != length:
        raise UserError(f"{source} has names for {n_names} {what} and a matrix of {length}; it may be damaged.")


def _shape(item: Any, key: str, source: str) -> tuple[int, int]:
    if hasattr(item, "keys") and "shape" not in item.attrs:
        kind = item.attrs.get("encoding-type", "folder")
        raise UserError(f"{source} has a {kind} in {key!r} and no matrix; choose one with --array.")
    stored = item.attrs["shape"] if hasattr(item, "keys") else item.shape
    shape = tuple(int(n) for n in stored)
    if len(shape) != 2 or min(shape) < 1:
        raise UserError(f"{source} has a matrix of shape {shape}; expected rows and columns.")
    return shape[0], shape[1]


def _dense(item: Any, shape: tuple[int, int], source: str) -> NDArray[Any]:
    """A stored matrix as rows, whether it was stored dense or sparse."""
    found = _stored(item, shape, source)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def _stored(item: Any, shape: tuple[int, int], source: str) -> Any:
    """A matrix as it is stored, dense or sparse."""
    check_room(_stored_bytes(item), source)
    if not hasattr(item, "keys"):
        return np.asarray(item[:])
    kind = str(item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", "")))
    parts = tuple(item[part][:] for part in ("data", "indices", "indptr"))
    if kind.startswith(("csr", "csc")):
        matrix = (csr_array if kind.startswith("csr") else csc_array)(parts, shape=shape)
        matrix.check_format(full_check=True)  # SciPy's loops go wherever the indices say
        return matrix
    raise UserError(f"{source} stores its matrix as {kind or 'something'!r}, which is neither dense, CSR nor CSC.")


def _ids(group: Any, request: Request, source: str) -> Ids:
    """The names of the observations, or another column of theirs."""
    id_column = request.id_column
    if id_column is None or (request.id_optional and id_column not in group["obs"]):
        return Ids("id", _index(group, "obs", source), False)
    if id_column not in group["obs"]:
        columns = [key for key in group["obs"] if not key.startswith("_")]
        hint = near(id_column, columns) or f"; it has {listed(columns)}." if columns else "."
        raise UserError(f"{source} has no column {id_column!r} for --id{hint}")
    return Ids(id_column, _texts(group["obs"][id_column]), False)


def _index(group: Any, axis: str, source: str) -> NDArray[Any]:
    """The names of the observations or variables."""
    frame = group.get(axis)
    if frame is None or not hasattr(frame, "keys"):
        raise UserError(
            f"{source} has no table {axis!r} in a form that is read here; write it with anndata >= 0.7."
        )
    return _texts(frame[str(frame.attrs.get("_index", "_index"))])


def _texts(item: Any) -> NDArray[Any]:
    """A stored column as texts; categories are looked up."""
    if hasattr(item, "keys") and "categories" in item:
        categories = _texts(item["categories"])
        return np.array([categories[code] if code >= 0 else "" for code in item["codes"][:]], dtype=object)
    stored = item["values"] if hasattr(item, "keys") else item
    check_room(int(stored.size) * stored.dtype.itemsize, "a column of names")
    values = stored.asstr()[:] if stored.dtype.kind == "O" else stored[:]
    return np.array([value.decode() if isinstance(value, bytes) else str(value) for value in values], dtype=object)
