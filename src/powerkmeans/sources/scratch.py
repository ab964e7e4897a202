"""Rows kept in a temporary file that has no name: it is gone with who reads it, however the process ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.npy import Header, NpySource
from powerkmeans.sources.source import TableFacts

# where large temporary files belong, unless these variables say where; others, such as /tmp, may be in memory
LARGE_FILES, CHOSEN = Path("/var/tmp"), ("TMPDIR", "TEMP", "TMP")
# times as much as is written has to be free: others write there too
LEFT = 2


class ScratchSource(NpySource):
    """Rows that were written to a file without a name, which all who read share."""

    def __init__(self, file: IO[bytes], shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        facts = TableFacts("a temporary file", shape, dtype, tuple(range(shape[1])), None, {}, None)
        super().__init__(facts, "", Header(shape, dtype))
        self._file, self._reading = file, Lock()
        weakref.finalize(self, file.close)

    def _opened(self) -> AbstractContextManager[IO[bytes]]:
        return nullcontext(self._file)

    def _stored_rows(self, stream: IO[bytes], start: int, stop: int) -> NDArray[Any]:
        with self._reading:  # a thread may be reading ahead
            return super()._stored_rows(stream, start, stop)


def scratch_folder(n_bytes: int) -> str | None:
    """Where a temporary file of so many bytes may go; None where there is no such folder, or no room in it."""
    said = (os.environ.get(name) for name in CHOSEN)
    folder = next(filter(_writable, [*filter(None, said), str(LARGE_FILES)]), None)
    try:
        return None if folder is None or shutil.disk_usage(folder).free < LEFT * n_bytes else folder
    except OSError:
        return None


def _writable(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.W_OK)


def written_aside(
    parts: Iterable[NDArray[Any]], shape: tuple[int, int], dtype: np.dtype[Any], folder: str
) -> ScratchSource | None:
    """Consecutive rows, written as they come; None if the disk does not take them."""
    try:
        file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - the source closes it
    except OSError:
        return None
    source = ScratchSource(file, shape, dtype)
    whole = all(_written(file, part.astype(dtype, copy=False)) for part in parts)
    return source if whole else None


def _written(file: IO[bytes], part: NDArray[Any]) -> bool:
    """Whether all of it was written; the system may take less at a time."""
    left = np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
    try:
        while left:
            left = left[file.write(left) :]
    except OSError:
        return False
    return True
