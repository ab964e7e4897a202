"""Rows written as they arrive, into a .npy file that takes its name when it is complete."""

from __future__ import annotations

import errno
import io
import math
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray

from powerkmeans.sources.ahead import close
from powerkmeans.sources.source import is_source
from powerkmeans.support.files import Target, explained, free_target, replacing


def write_rows(
    out: Target,
    n_rows: int,
    dtype: DTypeLike,
    shape_rest: tuple[int, ...],
    parts: Iterator[NDArray[Any]],
) -> None:
    """Write parts of consecutive rows, each of shape (rows, *shape_rest), as one .npy file of ``n_rows`` rows.

    The file takes its name when it is complete; if anything fails, an older one stays as it was.
    """
    target, form = _checked_target(out), np.dtype(dtype)
    shape = tuple(int(size) for size in (n_rows, *shape_rest))  # NumPy's ints would spoil the header
    header = _header(shape, form)
    n_bytes = len(header) + math.prod(shape) * form.itemsize
    _check_space(target, n_bytes)
    about = f"the file, which needs {n_bytes} bytes"
    try:
        with replacing(out.path, overwrite=out.overwrite, about=about) as stream:
            with explained(target, about):
                stream.write(header)
            for piece in _checked_parts(target, shape, form, parts):  # its errors are not those of the disk
                with explained(target, about):
                    stream.write(piece.reshape(-1).view(np.uint8).data)
    except BaseException:
        close(parts)  # whoever prepares rows ahead may stop
        raise


def check_target(out: Target, inputs: Iterable[Any]) -> None:
    """Reject a file that cannot be written or must be kept, or that the rows are read from."""
    target = Path(os.path.realpath(out.path))
    for table in inputs:
        paths = table.paths if is_source(table) else mapped_files(table)
        if any(os.path.realpath(name) == str(target) for name in paths):
            raise ValueError(f"out={os.fspath(out.path)!r} is the file that the rows are read from; name another.")
    _checked_target(out)


def mapped_files(table: Any) -> list[str]:
    """The file that an array is a map of, or a view on one."""
    while table is not None and getattr(table, "filename", None) is None:
        table = getattr(table, "base", None)
    return [] if table is None else [str(table.filename)]


def _checked_target(out: Target) -> Path:
    name = os.fsdecode(out.path)
    if not name.lower().endswith(".npy") and not os.path.isdir(name):
        raise ValueError(f"{name!r} must end in .npy, which is the format that is written.")
    return free_target(out.path, overwrite=out.overwrite)


def _header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    if dtype.hasobject:
        raise TypeError(f"Only numbers can be written, not {dtype}.")
    stream = io.BytesIO()
    descr = npy_format.dtype_to_descr(dtype)
    npy_format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def _check_space(target: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(target.parent).free
    if free < n_bytes:
        raise OSError(
            errno.ENOSPC, f"No room for the file: it needs {n_bytes} bytes, {free} are free", os.fspath(target)
        )


def _checked_parts(
    target: Path, shape: tuple[int, ...], dtype: np.dtype[Any], parts: Iterator[NDArray[Any]]
) -> Iterator[NDArray[Any]]:
    """Yield the parts in the type of the file, and see that they make up its rows."""
    count, n_rows = 0, shape[0]
    for part in parts:
        if part.ndim == 0 or part.shape[1:] != shape[1:]:
            raise ValueError(f"A part for {target.name} has the shape {part.shape}, expected rows of {shape[1:]}.")
        count += len(part)
        if count > n_rows:
            break
        yield np.ascontiguousarray(part.astype(dtype, casting="same_kind", copy=False))
    if count != n_rows:
        raise ValueError(
            f"{target.name} was to have {n_rows} rows, but {'more' if count > n_rows else count} came."
        )
