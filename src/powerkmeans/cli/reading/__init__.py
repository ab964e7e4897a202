"""Files in, tables out: the one place that knows which reader a file needs."""

from __future__ import annotations

import os
from collections.abc import Callable

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.given import TEXT, Given, extension, named_files
from powerkmeans.cli.reading.arrays import read_mat, read_npy, read_npz, read_zarr
from powerkmeans.cli.reading.arrow import EXTENSIONS as ARROW
from powerkmeans.cli.reading.arrow import read_arrow
from powerkmeans.cli.reading.excel import read_excel
from powerkmeans.cli.reading.hdf5 import read_h5ad, read_h5mu
from powerkmeans.cli.reading.text import read_text
from powerkmeans.cli.reading.words import told_of
from powerkmeans.cli.table import Request, Table
from powerkmeans.sources.zarr import is_zarr

__all__ = ["TEXT", "Given", "extension", "named_files", "read_file"]

Reader = Callable[[str, str, str, Request], list[Table]]

READERS: dict[str, Reader] = {
    **dict.fromkeys(TEXT, read_text),
    **dict.fromkeys(ARROW, read_arrow),
    ".xlsx": read_excel,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".zarr": read_zarr,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
}
_SAVE_AS = (".xls", ".ods")


def read_file(file: Given, request: Request) -> list[Table]:
    """The tables of a file: one, or one for each array or modality."""
    with told_of(file.source):
        return _reader(file)(file.path, file.source, file.name, request)


def _reader(file: Given) -> Reader:
    if file.path == "-":
        return read_text
    kind = extension(file.path).lower()
    if os.path.isdir(file.path):
        return read_zarr if is_zarr(file.path.rstrip(os.sep)) else read_arrow
    if kind in _SAVE_AS:
        raise UserError(f"{file.source} is a spreadsheet of another kind; save it as .xlsx or CSV.")
    if kind not in READERS:
        raise UserError(f"{file.source} has none of the extensions that are read: {', '.join(READERS)}.")
    return READERS[kind]
