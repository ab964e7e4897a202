"""The one place that decides how a table is read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from powerkmeans.sources.arrow import open_arrow_table, open_dataset
from powerkmeans.sources.arrow_files import FORMATS, open_arrow
from powerkmeans.sources.columns import Columns, as_columns, positions
from powerkmeans.sources.dask import is_dask, open_dask
from powerkmeans.sources.disk import shortened
from powerkmeans.sources.npy import open_array, open_npy
from powerkmeans.sources.source import Source
from powerkmeans.sources.zarr import is_zarr, open_zarr, open_zarr_array
from powerkmeans.support.install import needed


def open_source(path_or_object: Any, *, columns: Any = None) -> Source:
    """Open a table of numbers that is read block by block, without loading it.

    Parameters
    ----------
    path_or_object : str, path or object
        A ``.npy`` file, a ``.parquet``, ``.arrow`` or ``.feather`` file, a folder of such files (partitioned or
        not), a ``.zarr`` folder; or a 2-D NumPy array or memory map, a pyarrow ``Table`` or ``Dataset``, a Zarr
        array, an array or data frame of Dask.
    columns : list of str or int, default=None
        Names (Parquet and Arrow) or positions of the columns to use, in this order. ``None`` uses all, those
        of a partitioned data set's folders included.

    Returns
    -------
    source : Source
        Has ``shape``, ``dtype`` and ``column_names``, and gives rows with ``blocks(n_rows)`` and ``take(rows)``.

    Examples
    --------
    >>> import numpy as np
    >>> from powerkmeans import open_source
    >>> source = open_source(np.arange(12.0).reshape(4, 3), columns=[2, 0])
    >>> source.shape
    (4, 2)
    >>> [block.tolist() for block in source.blocks(2)][0]
    [[2.0, 0.0], [5.0, 3.0]]

    """
    chosen = as_columns(columns)
    if isinstance(path_or_object, (str, os.PathLike)):
        return _open_path(os.fspath(path_or_object), chosen)
    return _open_object(path_or_object, chosen)


def _open_path(path: Any, columns: Columns) -> Source:
    if not isinstance(path, str):
        raise TypeError(f"The path must be a string, got {path!r}.")
    if not os.path.exists(path):
        remote = "://" in path
        advice = " Open what is not on a disk as a pyarrow.dataset.dataset, and pass that." if remote else ""
        raise FileNotFoundError(f"There is no file or folder {path!r}.{advice}")
    if os.path.isdir(path):
        return open_zarr(path, columns) if is_zarr(path.rstrip(os.sep)) else open_arrow(path, columns)
    return _open_file(path, columns)


def _open_file(path: str, columns: Columns) -> Source:
    extension = os.path.splitext(path)[1].lower()
    if extension == ".zarr":
        raise ValueError(f"{shortened(path)} is a file; a Zarr array is a folder.")
    if extension != ".npy" and extension not in FORMATS:
        known = ", ".join((".npy", *FORMATS, ".zarr"))
        raise ValueError(f"{shortened(path)} has none of the extensions {known}. Convert it to one of them.")
    if os.path.getsize(path) == 0:
        raise ValueError(f"{shortened(path)} is empty (0 bytes). Write or copy it again.")
    return open_npy(path, columns) if extension == ".npy" else open_arrow(path, columns)


def _open_object(given: Any, columns: Columns) -> Source:
    if isinstance(given, np.ndarray):
        return open_array(given, columns)
    if is_dask(given):
        table = open_dask(given, "dask table")
        chosen = positions(columns, table.name, table.column_names, table.shape[1])
        return table if columns is None else table.choose(list(chosen))
    package = type(given).__module__.split(".")[0]  # who has such an object has imported its package
    if package == "pyarrow":
        if isinstance(given, needed("pyarrow", "arrow").Table):
            return open_arrow_table(given, columns)
        if isinstance(given, needed("pyarrow.dataset", "arrow").Dataset):
            return open_dataset(given, columns)
    if package == "zarr" and isinstance(given, needed("zarr", "zarr").Array):
        return open_zarr_array(given, columns)
    raise TypeError(
        "open_source takes a path, a NumPy array, a pyarrow Table or Dataset, a Zarr array, or a table of Dask. "
        f"Got {given!r:.40} ({type(given).__module__}.{type(given).__name__}) instead."
    )
