"""Arrays, in memory and in .npy files."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from source_helpers import RNG, X, npy

from npy_headers import DAMAGED, READABLE
from powerkmeans.sources import open_source


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("f2", "f4"),
        ("f4", "f4"),
        (">f4", "f4"),
        ("f8", "f8"),
        (">f8", "f8"),
        ("g", "f8"),
        ("i1", "f8"),
        ("u8", "f8"),
        ("?", "f8"),
    ],
)
def test_precision_of_arrays(tmp_path, stored, read):
    rows = (X * 10).astype(np.int8).astype(stored)
    for given in (rows, npy(tmp_path, rows)):
        block = next(open_source(given).blocks(103))
        assert block.dtype == np.dtype(read)
        assert block.dtype.isnative
        assert np.array_equal(block, rows.astype(read))


@pytest.mark.parametrize("dtype", ["c16", "U3", "O", "M8[s]", "i4,f8"])
def test_arrays_without_numbers(tmp_path, dtype):
    np.save(tmp_path / "data.npy", np.zeros((3, 2), dtype=dtype), allow_pickle=True)
    for given in (tmp_path / "data.npy", np.zeros((3, 2), dtype=dtype)):
        with pytest.raises(TypeError, match=r"not real numbers. Save it as float32 or float64"):
            open_source(given)


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    rows = np.empty((1, 1), dtype=object)
    rows[0, 0] = Trap()
    np.save(tmp_path / "data.npy", rows, allow_pickle=True)
    with pytest.raises(TypeError, match="Python objects"):
        open_source(tmp_path / "data.npy")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns", [None, [6, 2]])
def test_rows_near_and_far_in_a_large_file(tmp_path, order, columns):
    rows = np.arange(2**20, dtype=np.float32).reshape(-1, 8)
    source = open_source(npy(tmp_path, rows, order), columns=columns)
    for gap in (1, 3, 600, 5000, 50000):
        chosen = np.unique(np.r_[np.arange(0, len(rows), gap), len(rows) - 1, RNG.integers(len(rows), size=3)])
        assert np.array_equal(source.take(chosen), rows[chosen][:, columns or slice(None)])


def test_masked_arrays_are_rejected():
    with pytest.raises(TypeError, match="masked"):
        open_source(np.ma.masked_less(X, 0))


def test_a_long_double_too_large_is_infinite():
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("no long double here")
    rows = np.full((3, 2), np.finfo(np.longdouble).max)
    with pytest.raises(ValueError, match="array: infinity in row 0, column 0"):
        list(open_source(rows).blocks(2))


@pytest.mark.parametrize("header", READABLE)
def test_headers_that_are_sound(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(READABLE[header])
    assert open_source(tmp_path / "x.npy").take(np.arange(20)).shape == (20, 3)


@pytest.mark.parametrize("header", DAMAGED)
def test_headers_that_are_damaged(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(DAMAGED[header])
    with pytest.raises(ValueError, match=r"x\.npy is not a \.npy file, or its beginning is damaged\.$"):
        open_source(tmp_path / "x.npy")


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_the_file(tmp_path, order):
    path = tmp_path / "large.npy"
    array = np.lib.format.open_memmap(path, "w+", np.float64, (2**20, 8), fortran_order=order == "F")
    array[:] = 1.0
    del array
    source = open_source(path)
    tracemalloc.start()
    try:
        assert sum(float(block.sum()) for block in source.blocks(2**13)) == 2**23
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
