"""Rows in a temporary file without a name: they come back as they were, and nothing stays behind."""

from __future__ import annotations

import errno
import gc
import os
import tempfile
import threading
from collections import namedtuple

import numpy as np
import pytest

from powerkmeans.sources import scratch
from powerkmeans.sources.scratch import scratch_folder, written_aside

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(1003, 7)).astype(np.float32)


def parts_of(rows, size=100):
    return (rows[start : start + size] for start in range(0, len(rows), size))


def aside(folder, rows=ROWS):
    return written_aside(parts_of(rows), rows.shape, rows.dtype, str(folder))


class Faulty:
    """A file that takes few bytes at a time, and no more than so many in all."""

    def __init__(self, file, most):
        self._file, self._left = file, most

    def write(self, values):
        if not self._left:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = self._file.write(values[: min(1000, self._left)])
        self._left -= count
        return count

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.fixture
def faulty(monkeypatch):
    """Make temporary files faulty, and know them."""
    make, made = tempfile.TemporaryFile, []

    def spoil(most):
        def opened(**options):
            made.append(Faulty(make(**options), most))
            return made[-1]

        monkeypatch.setattr(scratch.tempfile, "TemporaryFile", opened)
        return made

    return spoil


def test_rows_come_back_as_they_were_written(tmp_path):
    source = aside(tmp_path)
    assert (source.shape, source.dtype) == (ROWS.shape, ROWS.dtype)
    assert np.array_equal(np.concatenate(list(source.blocks(64))), ROWS)
    some = np.array([0, 5, 6, 500, 1002])
    assert np.array_equal(source.take(some), ROWS[some])


def test_parts_are_written_in_the_type_and_order_of_the_table(tmp_path):
    turned = (np.asfortranarray(part.astype(np.float64)) for part in parts_of(ROWS))
    source = written_aside(turned, ROWS.shape, ROWS.dtype, str(tmp_path))
    assert np.array_equal(source.read(), ROWS)


def test_the_file_has_no_name_and_ends_with_its_reader(tmp_path):
    source = aside(tmp_path)
    file = source._file
    assert not list(tmp_path.iterdir())
    del source
    gc.collect()
    assert file.closed


def test_who_reads_at_the_same_time_gets_the_right_rows(tmp_path):
    source, wrong = aside(tmp_path), []

    def read(size):
        for _ in range(20):
            if not np.array_equal(np.concatenate(list(source.blocks(size))), ROWS):
                wrong.append(size)

    threads = [threading.Thread(target=read, args=(size,)) for size in (17, 64, 301)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_system_that_takes_less_at_a_time_is_given_the_rest(tmp_path, faulty):
    faulty(ROWS.nbytes)
    assert np.array_equal(aside(tmp_path).read(), ROWS)


def test_a_full_disk_gives_nothing_and_keeps_nothing(tmp_path, faulty):
    made = faulty(ROWS.nbytes // 2)
    assert aside(tmp_path) is None
    gc.collect()
    assert made[0].closed


def test_a_folder_that_cannot_be_written_to_gives_nothing(tmp_path):
    assert aside(tmp_path / "missing") is None


def test_parts_that_fail_leave_no_file_open(tmp_path, faulty):
    def failing():
        yield ROWS[:100]
        raise RuntimeError("interrupted")

    made = faulty(ROWS.nbytes)
    with pytest.raises(RuntimeError, match="interrupted"):
        written_aside(failing(), ROWS.shape, ROWS.dtype, str(tmp_path))
    gc.collect()
    assert made[0].closed


def test_the_folder_is_where_large_files_go_unless_a_variable_says_another(tmp_path, monkeypatch):
    for name in scratch.CHOSEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(scratch, "LARGE_FILES", tmp_path)
    assert scratch_folder(1) == str(tmp_path)
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path / "other"))
    assert scratch_folder(1) == str(tmp_path)  # which is not there
    (tmp_path / "other").mkdir()
    assert scratch_folder(1) == os.fspath(tmp_path / "other")


def test_no_folder_that_may_be_in_memory_takes_its_place(tmp_path, monkeypatch):
    """Nor is it an error where a process may write nowhere at all."""
    for name in scratch.CHOSEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(scratch, "LARGE_FILES", tmp_path / "missing")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [os.fspath(tmp_path / "missing")])
    assert scratch_folder(1) is None


def test_a_folder_needs_twice_the_room(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda folder: usage(0, 0, 100))
    assert scratch_folder(50) is not None
    assert scratch_folder(51) is None


def test_a_folder_that_is_gone_has_no_room(tmp_path, monkeypatch):
    def gone(folder):
        raise FileNotFoundError(folder)

    monkeypatch.setattr(scratch.shutil, "disk_usage", gone)
    assert scratch_folder(1) is None
