"""Files in, tables out: the one place that knows which reader a file needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from powerkmeans.cli.errors import UserError, usage
from powerkmeans.cli.reading.arrays import read_mat, read_npy, read_npz, read_zarr
from powerkmeans.cli.reading.arrow import EXTENSIONS as ARROW
from powerkmeans.cli.reading.arrow import read_arrow
from powerkmeans.cli.reading.hdf5 import read_h5ad, read_h5mu
from powerkmeans.cli.reading.text import read_text
from powerkmeans.cli.reading.words import told_of
from powerkmeans.cli.table import Request, Table
from powerkmeans.sources.zarr import is_zarr
from powerkmeans.support.escapes import printable

__all__ = ["TEXT", "Given", "extension", "named_files", "read_file"]

Reader = Callable[[str, str, str, Request], list[Table]]

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
READERS: dict[str, Reader] = {
    **dict.fromkeys(TEXT, read_text),
    **dict.fromkeys(ARROW, read_arrow),
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".zarr": read_zarr,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
}
_SAVE_AS_CSV = (".xlsx", ".xls", ".ods")


class Given(NamedTuple):
    """A file as it was named: the view it holds, where it is, and what messages call it."""

    name: str
    path: str
    source: str
    explicit: bool


def named_files(arguments: Sequence[str]) -> list[Given]:
    """``path``, ``name=path`` or ``-`` for what is piped in; files must be there and views' names differ."""
    files = [_given(argument) for argument in arguments]
    names = [file.name for file in files]
    for file in files:
        if names.count(file.name) > 1:
            raise usage(f"Two files give a view called {file.name!r}; name them: first={files[0].path} second=...")
    return files


def _given(argument: str) -> Given:
    name, equals, path = argument.partition("=")
    explicit = bool(equals and name and not os.path.exists(argument))
    if not explicit:
        name, path = "", argument
    if path == "-":
        return Given(name or "stdin", path, "standard input", explicit)
    if not os.path.exists(path):
        raise UserError(f"There is no file {path!r}.")
    base = os.path.basename(path.rstrip(os.sep))
    return Given(name or base.removesuffix(extension(base)) or base, path, printable(base), explicit)


def extension(path: str) -> str:
    """The ending that decides how a file is read, with its case."""
    stem, last = os.path.splitext(path)
    return os.path.splitext(stem)[1] + last if last.lower() == ".gz" else last


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
    if kind in _SAVE_AS_CSV:
        raise UserError(f"{file.source} is a spreadsheet; save it as CSV.")
    if kind not in READERS:
        raise UserError(f"{file.source} has none of the extensions that are read: {', '.join(READERS)}.")
    return READERS[kind]
