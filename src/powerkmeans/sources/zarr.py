"""Zarr arrays: in a folder, in a group that has one table, or already open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.columns import Columns, check_table, float_dtype, positions
from powerkmeans.sources.disk import UnreadableError, shortened, stamps, unreadable
from powerkmeans.sources.reblocking import reblocked
from powerkmeans.sources.source import Origin, Source, TableFacts
from powerkmeans.support.install import needed

MARKS = ("zarr.json", ".zarray", ".zgroup")


class ZarrSource(Source):
    """A 2-dimensional Zarr array, read chunk by chunk.

    Chunks that do not exist have the array's fill value: Zarr does not tell lost ones from those never written.
    """

    def __init__(self, facts: TableFacts, array: Any, folder: str | None) -> None:
        super().__init__(facts)
        self._array, self._folder = array, folder
        self._left, self._right = min(facts.columns), max(facts.columns) + 1

    def _paths(self) -> list[str]:
        return [] if self._folder is None else _files(self._folder)

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return reblocked(self._batches(n_rows), n_rows, self.shape[0])

    def _batches(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows in steps of full chunks, each of which is decoded once."""
        chunk = int(self._array.chunks[0])
        step = chunk * max(1, n_rows // chunk)
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            yield self._converted(self._array[start:stop, self._left : self._right])

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._converted(self._array.oindex[rows, slice(self._left, self._right)])

    def _converted(self, found: Any) -> NDArray[Any]:
        chosen = np.asarray(found)[:, [column - self._left for column in self._columns]]
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(chosen, dtype=self.dtype)


def is_zarr(folder: str) -> bool:
    """Whether a folder is a Zarr array or group."""
    return folder.lower().endswith(".zarr") or any(os.path.isfile(os.path.join(folder, m)) for m in MARKS)


def open_zarr(path: str, columns: Columns) -> ZarrSource:
    """Open a Zarr folder."""
    name, full = shortened(path), os.path.abspath(path)
    stamped = stamps(_files(full))
    arrays = stored_arrays(name, full, nested=True)
    array = _only(name, {key: found for key, found in arrays.items() if key == "" or found.ndim == 2})
    facts = _facts(name, array, columns)
    return ZarrSource(facts._replace(stamps=stamped, origin=Origin(open_zarr, full, columns)), array, full)


def open_zarr_array(
    array: Any, columns: Columns, *, name: str | None = None, dtype: np.dtype[Any] | None = None
) -> ZarrSource:
    """Take a Zarr array as it is; what is stored elsewhere than in a folder is not watched for changes.

    ``dtype`` is the precision to use, if not the array's.
    """
    root = getattr(array.store, "root", None)
    folder = None if root is None else os.path.abspath(os.path.join(root, array.path))
    called = "zarr array" if folder is None else shortened(folder)
    folder = folder if folder is not None and os.path.isdir(folder) else None
    facts = _facts(name or called, array, columns)
    stamped = stamps([] if folder is None else _files(folder))
    return ZarrSource(facts._replace(stamps=stamped, dtype=dtype or facts.dtype), array, folder)


def stored_arrays(name: str, path: str, *, nested: bool) -> dict[str, Any]:
    """The arrays of a group by their paths, with those of groups in it if ``nested``; an array itself as ''."""
    zarr = needed("zarr", "zarr")
    if not any(os.path.isfile(os.path.join(path, mark)) for mark in MARKS):
        raise UnreadableError(f"{name} is not a Zarr array: it has neither {MARKS[0]} nor {MARKS[1]}.")
    try:
        node = zarr.open(path, mode="r")
        # one by one: members that Zarr opens at the same time print a traceback each if they are damaged
        keys = [] if isinstance(node, zarr.Array) else _members(path, nested)
        members = {"": node} | {key: zarr.open(os.path.join(path, key), mode="r") for key in keys}
    except Exception as error:
        raise unreadable(name, error) from error
    return {key: member for key, member in members.items() if isinstance(member, zarr.Array)}


def _members(path: str, nested: bool) -> list[str]:
    """The folders of a group that are arrays or groups, in one order, those in other folders too if ``nested``."""
    found = list[str]()
    for where, folders, _ in os.walk(path):
        inside = [os.path.join(where, folder) for folder in folders]
        marked = [one for one in inside if any(os.path.isfile(os.path.join(one, mark)) for mark in MARKS)]
        found += [os.path.relpath(one, path).replace(os.sep, "/") for one in marked]
        folders[:] = folders if nested else []
    return sorted(found)


def _only(name: str, tables: dict[str, Any]) -> Any:
    if not tables:
        raise ValueError(f"{name} is a Zarr group without a 2-D array.")
    if len(tables) > 1:
        shown = ", ".join(repr(key) for key in sorted(tables)[:6])
        raise ValueError(
            f"{name} is a Zarr group with {len(tables)} 2-D arrays ({shown}); give the folder of one."
        )
    return next(iter(tables.values()))


def _facts(name: str, array: Any, columns: Columns) -> TableFacts:
    dtype = float_dtype(name, np.dtype(array.dtype))
    check_table(name, array.shape)
    chosen = positions(columns, name, None, int(array.shape[1]))
    return TableFacts(name, (int(array.shape[0]), len(chosen)), dtype, chosen, None, {}, None)


def _files(folder: str) -> list[str]:
    """List all files below a folder: metadata and chunks."""
    return [os.path.join(where, file) for where, _, files in os.walk(folder) for file in files]
