"""Parquet and Arrow files, and folders of them, as data sets."""

from __future__ import annotations

import os
from typing import Any

from powerkmeans.sources.arrow import ArrowSource, NamedColumns
from powerkmeans.sources.columns import Columns
from powerkmeans.sources.disk import UnreadableError, file_name, shortened, stamps, unreadable
from powerkmeans.sources.source import Origin
from powerkmeans.support.install import needed

FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc"}


def open_arrow(path: str, columns: Columns) -> ArrowSource:
    """Open a Parquet or Arrow file, or a folder of such files, with columns from folders such as ``year=2024``."""
    needed("pyarrow.dataset", "arrow")
    name, full = shortened(path), os.path.abspath(path)
    files = _data_files(name, full)
    kind = _format(name, files)
    stamped = stamps(files)
    for file in files:
        if os.path.getsize(file) == 0:
            raise ValueError(f"{file_name(name, file, files)} is empty (0 bytes). Write or copy it again.")
    folder = full if os.path.isdir(full) else os.path.dirname(full)
    try:
        data = _discovered(files, kind, partition_folder=folder)
    except Exception as error:
        raise unreadable(name, error) from error
    return NamedColumns(name, data, stamped, Origin(open_arrow, full, columns)).numbers(columns)


def open_named_columns(name: str, path: str) -> NamedColumns:
    """Open a file, a folder of files, or a stream that was kept as a file, for the columns that files hold."""
    needed("pyarrow.dataset", "arrow")
    files = _data_files(name, path)
    kind, stamped = _format(name, files), stamps(files)
    try:
        return NamedColumns(name, _discovered(files, kind), stamped)
    except (OSError, ValueError) as error:
        if kind == "parquet":
            raise unreadable(name, error) from error
    return NamedColumns(name, _stream(name, files[0]), stamped)


def _stream(name: str, path: str) -> Any:
    """A stream that was kept as a file, which is read at once: it has no list of its parts."""
    try:
        with needed("pyarrow.ipc", "arrow").open_stream(path) as stream:
            return needed("pyarrow.dataset", "arrow").dataset(stream.read_all())
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error


def _data_files(name: str, path: str) -> list[str]:
    """A file itself, or those below a folder in the order of their paths, without hidden ones, as Arrow does."""
    if not os.path.isdir(path):
        return [path]
    found = []
    for where, folders, files in os.walk(path):
        folders[:] = [f for f in folders if not f.startswith((".", "_"))]
        found += [
            os.path.join(where, f) for f in files if not f.startswith((".", "_")) and _extension(f) in FORMATS
        ]
    if not found:
        raise UnreadableError(f"{name} is a folder without any {', '.join(FORMATS)} file, and not a Zarr array.")
    return sorted(found)


def _format(name: str, files: list[str]) -> str:
    kinds = {FORMATS.get(_extension(file), "ipc") for file in files}
    if len(kinds) > 1:
        raise UnreadableError(f"{name} has Parquet and Arrow files; keep one format in a folder.")
    return kinds.pop()


def _extension(file: str) -> str:
    return os.path.splitext(file)[1].lower()


def _discovered(files: list[str], kind: str, partition_folder: str | None = None) -> Any:
    """A data set of files, with columns from the names of folders below ``partition_folder`` if there is one."""
    dataset = needed("pyarrow.dataset", "arrow")
    options = dataset.FileSystemFactoryOptions()
    if partition_folder is not None:
        by_folder = dataset.HivePartitioning.discover()
        options = dataset.FileSystemFactoryOptions(partition_base_dir=partition_folder, partitioning=by_folder)
    form = dataset.ParquetFileFormat() if kind == "parquet" else dataset.IpcFileFormat()
    local = needed("pyarrow.fs", "arrow").LocalFileSystem()
    return dataset.FileSystemDatasetFactory(local, files, form, options).finish()
