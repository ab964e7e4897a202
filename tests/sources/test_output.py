"""Rows that are written as they come."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from source_helpers import RNG, X, settled

from powerkmeans.sources import open_source, write_rows
from powerkmeans.support import files
from powerkmeans.support.files import Target


def in_parts(rows, size=10):
    return (rows[start : start + size] for start in range(0, len(rows), size))


@pytest.mark.parametrize(
    ("rest", "dtype"), [((5,), np.float64), ((5,), np.float32), ((), np.int32), ((2, 3), "u1")]
)
def test_rows_are_written_as_they_arrive(tmp_path, rest, dtype):
    rows = RNG.integers(100, size=(103, *rest)).astype(dtype)
    path = tmp_path / "out.npy"
    path.write_text("older")
    write_rows(Target(path, overwrite=True), 103, dtype, rest, in_parts(rows))
    read = np.load(path)
    assert read.dtype == np.dtype(dtype)
    assert np.array_equal(read, rows)
    assert [p.name for p in tmp_path.iterdir()] == ["out.npy"]


def test_parts_of_any_layout_and_kind_of_float(tmp_path):
    write_rows(
        Target(str(tmp_path / "out.npy")),
        np.int64(103),
        np.float32,
        (np.int64(5),),
        in_parts(np.asfortranarray(X)),
    )
    assert np.array_equal(np.load(tmp_path / "out.npy"), X.astype(np.float32))
    with pytest.raises(TypeError, match="Cannot cast"):
        write_rows(Target(tmp_path / "out.npy", overwrite=True), 103, np.int32, (5,), in_parts(X))


def check_nothing_happened(folder, parts, error, message, n_rows=103, rest=(5,)):
    path = folder / "out.npy"
    path.write_text("older")
    with pytest.raises(error, match=message) as caught:
        write_rows(Target(path, overwrite=True), n_rows, np.float64, rest, parts)
    assert path.read_text() == "older"
    assert [p.name for p in folder.iterdir()] == ["out.npy"]
    return caught.value


def test_rows_that_do_not_add_up(tmp_path):
    check_nothing_happened(tmp_path, in_parts(X[:50]), ValueError, "was to have 103 rows, but 50 came")
    check_nothing_happened(tmp_path, in_parts(np.r_[X, X]), ValueError, "was to have 103 rows, but more came")
    check_nothing_happened(tmp_path, in_parts(X), ValueError, r"has the shape \(10, 5\), expected", rest=(4,))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, OSError])
def test_errors_of_the_rows_pass_through(tmp_path, error):
    def parts():
        yield X[:10]
        raise error("while reading")

    check_nothing_happened(tmp_path, parts(), error, "^while reading$")


def test_a_failed_write_stops_who_reads_ahead(tmp_path):
    before = settled()
    ahead = open_source(X).blocks(10)
    check_nothing_happened(tmp_path, ahead, ValueError, "expected rows of", rest=(4,))
    assert settled() == before


def full_disk(part):
    class Stream:
        def __init__(self):
            self.inner = part.open("wb")
            self.left = 1000

        def write(self, data):
            self.left -= len(data)
            if self.left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.inner.write(data)

        def close(self):
            self.inner.close()
            raise OSError(errno.ENOSPC, "No space left on device")

    return Stream()


def test_a_disk_that_fills_up(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_create", full_disk)
    error = check_nothing_happened(tmp_path, in_parts(X), OSError, r"needs 4248 bytes: No space left.*out\.npy")
    assert error.errno == errno.ENOSPC


def test_a_file_larger_than_allowed(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    rows = np.zeros((2**17, 8))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, hard))
    try:
        error = check_nothing_happened(tmp_path, in_parts(rows, 1000), OSError, "needs 8388736 bytes", 2**17, (8,))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.errno == errno.EFBIG


def test_a_disk_that_is_too_small_is_noticed_first(tmp_path):
    def parts():
        pytest.fail("nothing should be computed")
        yield X

    error = check_nothing_happened(
        tmp_path, parts(), OSError, r"No room.*needs \d{15,} bytes, \d+ are free.*out\.npy", n_rows=2**55
    )
    assert error.errno == errno.ENOSPC


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(IsADirectoryError, match=r"is a folder; give the name of a file to write"):
        write_rows(Target(tmp_path), 103, np.float64, (5,), in_parts(X))
    with pytest.raises(ValueError, match=r"'.*out\.csv' must end in \.npy"):
        write_rows(Target(tmp_path / "out.csv"), 103, np.float64, (5,), in_parts(X))
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*none' to write 'out\.npy' in"):
        write_rows(Target(tmp_path / "none" / "out.npy"), 103, np.float64, (5,), in_parts(X))
    with pytest.raises(TypeError, match="Only numbers can be written, not object"):
        write_rows(Target(tmp_path / "out.npy"), 103, object, (5,), in_parts(X))

    def refused(part):
        raise PermissionError(errno.EACCES, "Permission denied", str(part))

    monkeypatch.setattr(files, "_create", refused)
    with pytest.raises(PermissionError, match=r"Cannot write the file.*Permission denied.*out\.npy"):
        write_rows(Target(tmp_path / "out.npy"), 103, np.float64, (5,), in_parts(X))
    assert list(tmp_path.iterdir()) == []
