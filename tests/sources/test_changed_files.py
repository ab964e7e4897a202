"""Files that change while they are open."""

from __future__ import annotations

import os

import numpy as np
import pytest
from source_helpers import KINDS, PATHS, RNG, memmap, npy, parquet, parquet_folder

from powerkmeans.sources import SourceChangedError, open_source


def touch(path):
    """Give a file a later time, as a writer would."""
    state = os.stat(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))


@pytest.mark.parametrize("kind", [*PATHS, "memmap", "dataset", "zarr array"])
def test_a_file_that_changed_is_not_read(tmp_path, kind):
    given = KINDS[kind](tmp_path)
    source = open_source(given)
    running = source.blocks(10)
    next(running)
    files = [p for p in sorted(tmp_path.rglob("*")) if p.is_file() and p.name not in ("_SUCCESS", "notes.txt")]
    touch(files[-1])
    with pytest.raises(RuntimeError, match="changed while it was being read; open it again"):
        list(running)
    with pytest.raises(SourceChangedError, match="changed while it was being read"):
        source.blocks(10)
    with pytest.raises(SourceChangedError, match="changed while it was being read"):
        source.take(np.array([1]))
    assert len(list(open_source(given).blocks(10))) == 11


@pytest.mark.parametrize("kind", ["npy", "npy by column"])
def test_a_file_that_is_cut_does_not_end_the_process(tmp_path, kind):
    rows = RNG.normal(size=(20000, 8))
    source = open_source(KINDS[kind](tmp_path, rows))
    running = source.blocks(100)
    next(running)
    os.truncate(tmp_path / "data.npy", 4096)  # perhaps while the thread is reading
    with pytest.raises(SourceChangedError, match=r"data.npy changed while"):
        list(running)
    with pytest.raises(SourceChangedError, match=r"data.npy changed while"):
        source.take(np.array([19999]))
    with pytest.raises(ValueError, match="the file ends early"):
        source._take(np.array([19999]))


def test_a_map_of_a_file_that_was_cut_is_not_touched(tmp_path):
    source = open_source(memmap(tmp_path, RNG.normal(size=(20000, 8))))
    running = source._checked_blocks(100, None)  # without a thread that may be reading
    next(running)
    os.truncate(tmp_path / "data.npy", 4096)
    with pytest.raises(SourceChangedError, match=r"data.npy changed while"):
        list(running)
    with pytest.raises(SourceChangedError, match=r"data.npy changed while"):
        source.take(np.array([19999]))


def test_a_file_that_is_gone(tmp_path):
    path = npy(tmp_path)
    source = open_source(path)
    path.unlink()
    with pytest.raises(SourceChangedError, match=r"data.npy changed while"):
        source.blocks(10)


def test_the_file_that_changed_is_named(tmp_path):
    folder = parquet_folder(tmp_path)
    source = open_source(folder)
    touch(folder / "part-2.parquet")
    with pytest.raises(SourceChangedError, match=r"set: part-2.parquet changed while"):
        source.take(np.array([0]))


def test_a_change_explains_other_errors(tmp_path):
    path = parquet(tmp_path)
    source = open_source(path)
    running = source._checked_blocks(10, None)  # without a thread that may be done already
    path.write_bytes(RNG.bytes(100))
    with pytest.raises(SourceChangedError, match=r"data.parquet changed while"):
        list(running)
