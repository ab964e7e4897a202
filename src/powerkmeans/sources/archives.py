"""Files that hold arrays by name: .npz of NumPy, .mat of MATLAB. Read at once, and whatever they hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.sparse import coo_array, csc_array, csr_array

from powerkmeans.sources.disk import UnreadableError
from powerkmeans.sources.matlab import check_matlab
from powerkmeans.sources.npy import DAMAGED
from powerkmeans.support.install import needed
from powerkmeans.support.memory import available_memory

_NEWER_MATLAB = "Please use HDF reader"
# an archive may be packed in a way that nobody here unpacks, or be locked, which is a RuntimeError
_BROKEN = (OSError, BadZipFile, zlib.error, NotImplementedError, RuntimeError, *DAMAGED)


def read_npz(name: str, path: str) -> dict[str, NDArray[Any]]:
    """Read the arrays of a .npz file."""
    with open(path, "rb") as stream:  # NumPy would not close one that is damaged
        file = _loaded(name, stream)
        if not hasattr(file, "files"):
            raise UnreadableError(f"{name} is not an archive of arrays, whatever its extension says.")
        try:
            arrays = {key: file[key] for key in file.files}
        except _BROKEN as error:
            raise UnreadableError(f"{name} cannot be read; it is damaged or holds Python objects.") from error
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise UnreadableError(f"{name} cannot be read: what it has as {key!r} is not an array.")
    return arrays


def sparse_in(name: str, arrays: Mapping[str, NDArray[Any]]) -> csr_array | csc_array | coo_array | None:
    """The matrix that ``scipy.sparse.save_npz`` wrote as these arrays; None if they are no such."""
    if not {"format", "shape", "data"} <= set(arrays) or arrays["format"].dtype.kind not in "SU":
        return None
    kind = _word(arrays["format"])
    try:
        shape = tuple(int(size) for size in arrays["shape"].ravel())
        if len(shape) != 2 or arrays["data"].dtype.kind not in "biuf" or not _whole(arrays):
            raise ValueError("no matrix of numbers")
        if kind == "coo":
            return coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
        parts = tuple(arrays[part] for part in ("data", "indices", "indptr"))
        matrix = {"csr": csr_array, "csc": csc_array}[kind](parts, shape=shape)
        matrix.check_format(full_check=True)  # SciPy's loops go wherever the indices say
    except KeyError:
        raise UnreadableError(
            f"{name} holds a sparse matrix as {kind!r}; write it as CSR: save_npz(path, matrix.tocsr())."
        ) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise UnreadableError(f"{name} cannot be read: its sparse matrix is damaged.") from error
    return matrix


def _whole(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether all places in a sparse matrix are whole numbers."""
    places = (arrays[name] for name in ("indices", "indptr", "row", "col") if name in arrays)
    return all(array.dtype.kind in "iu" for array in places)


def _word(array: NDArray[Any]) -> str:
    """A word in an array of none or one, as bytes or text."""
    value = array.ravel()[:1].tolist()
    return value[0].decode(errors="replace") if value and isinstance(value[0], bytes) else str(*value)


def _loaded(name: str, stream: IO[bytes]) -> Any:
    try:
        return np.load(stream, allow_pickle=False)
    except _BROKEN as error:
        pickled = "allow_pickle" in str(error) or "objects" in str(error)
        what = "it holds Python objects" if pickled else "it is damaged or of another format"
        raise UnreadableError(f"{name} cannot be read: {what}.") from error


def read_mat(name: str, path: str) -> dict[str, Any]:
    """Read the variables of a .mat file; a cell array of matrices is one array per cell."""
    try:
        check_matlab(path)
        content = loadmat(path)
    except Exception as error:  # whatever its reader meets in a damaged file
        if _NEWER_MATLAB not in str(error):
            raise _no_matlab(name) from error
        content = _newer_matlab(name, path)
    return dict(_variables(content.items()))


def _no_matlab(name: str) -> UnreadableError:
    return UnreadableError(f"{name} cannot be read as a MATLAB file; it may be damaged.")


def _variables(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what is named in the file, cells by their numbers; what begins with two bars is about the file."""
    for key, value in items:
        cells = _cells(value)
        if key.startswith("__"):
            continue
        if cells is None:
            yield key, value
        else:
            yield from ((f"{key}_{number}", cell) for number, cell in enumerate(cells, 1))


def _cells(value: Any) -> list[NDArray[Any]] | None:
    """The matrices of a MATLAB cell array; None if it is none."""
    if not isinstance(value, np.ndarray) or value.dtype != object or value.size == 0:
        return None
    cells = list(value.ravel())
    return cells if all(getattr(cell, "ndim", 0) == 2 and cell.dtype.kind in "biuf" for cell in cells) else None


def _newer_matlab(name: str, path: str) -> dict[str, Any]:
    """The matrices of a file of MATLAB 7.3 or newer, which is HDF5 with its axes turned round."""
    h5py = needed("h5py", "h5ad")
    try:
        with h5py.File(path, "r") as file:
            plain = {
                key: item for key, item in file.items() if hasattr(item, "shape") and item.dtype.kind in "biuf"
            }
            free = available_memory()
            if free is not None and sum(item.nbytes for item in plain.values()) > free:
                raise UnreadableError(
                    f"{name} cannot be read: its matrices are larger than the memory that is free."
                )
            return {key: np.asarray(item).T for key, item in plain.items()}
    except UnreadableError:
        raise
    except Exception as error:  # as above
        raise _no_matlab(name) from error
