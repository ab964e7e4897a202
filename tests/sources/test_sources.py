"""What every kind of source has in common: blocks, rows, columns, names and errors that say where."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from source_helpers import KINDS, NAMES, PATHS, X, arrow, npy, parquet

from powerkmeans.sources import Source, open_source

NAMED = ["parquet", "parquet folder", "feather", "table", "dataset"]
each_kind = pytest.mark.parametrize("kind", KINDS)


# --- what is read


@each_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_and_rows_are_those_of_the_table(tmp_path, kind, dtype):
    rows = X.astype(dtype)
    source = open_source(KINDS[kind](tmp_path, rows))
    assert isinstance(source, Source)
    assert (source.shape, source.dtype) == (rows.shape, dtype)
    for n_rows in (1, 7, 16, 40, 103, 1000):
        blocks = list(source.blocks(n_rows))
        assert [len(block) for block in blocks[:-1]] == [n_rows] * (len(blocks) - 1)
        assert 0 < len(blocks[-1]) <= n_rows
        assert all(b.flags.c_contiguous and b.flags.writeable and not np.shares_memory(b, rows) for b in blocks)
        assert all(type(b) is np.ndarray and b.dtype == dtype for b in blocks)
        assert np.array_equal(np.concatenate(blocks), rows)
    for chosen in ([], [0], [102], [0, 39, 40, 41, 79, 80, 102], range(103)):
        taken = source.take(np.array(chosen, dtype=np.intp))
        assert taken.flags.c_contiguous
        assert type(taken) is np.ndarray
        assert taken.dtype == dtype
        assert np.array_equal(taken, rows[list(chosen)])


@each_kind
def test_columns_by_position_keep_the_order_asked_for(tmp_path, kind):
    source = open_source(KINDS[kind](tmp_path), columns=np.array([3, 0, -1]))
    assert source.shape == (103, 3)
    assert np.array_equal(np.concatenate(list(source.blocks(10))), X[:, [3, 0, 4]])
    assert np.array_equal(source.take(np.array([5, 50])), X[[5, 50]][:, [3, 0, 4]])


@pytest.mark.parametrize("kind", NAMED)
def test_columns_by_name(tmp_path, kind):
    given = KINDS[kind](tmp_path)
    assert open_source(given).column_names == tuple(NAMES)
    source = open_source(given, columns=["ä x", "b.c"])
    assert source.column_names == ("ä x", "b.c")
    assert np.array_equal(next(source.blocks(200)), X[:, [2, 1]])
    with pytest.raises(ValueError, match=r"has no column 'z'; it has 'a', 'b.c'"):
        open_source(given, columns=["z"])


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ([], ValueError, "columns is empty"),
        ([1, 1], ValueError, "column 1 twice"),
        ([1, -4], ValueError, "column -4 twice"),
        ([5], ValueError, "has 5 columns, so there is no column 5"),
        (["a"], ValueError, "has no column names, so there is no column 'a'; give positions"),
        ("a", TypeError, "columns must be a list"),
        (3, TypeError, "columns must be a list"),
        ([True], TypeError, "True is a bool"),
        ([1.5], TypeError, "1.5 is a float"),
    ],
)
def test_bad_columns(columns, error, message):
    with pytest.raises(error, match=message):
        open_source(X, columns=columns)


def test_many_columns_are_found_quickly():
    pa = arrow()[0]
    names = [f"x{j}" for j in range(20000)]
    wide = pa.table([pa.array([float(j)]) for j in range(20000)], names=names)
    source = open_source(wide, columns=names[::-1])
    assert np.array_equal(next(source.blocks(1))[0], np.arange(20000.0)[::-1])


# --- what is said


@pytest.mark.parametrize("kind", PATHS)
def test_repr_and_pickle(tmp_path, kind, monkeypatch):
    path = KINDS[kind](tmp_path)
    monkeypatch.chdir(tmp_path)
    source = open_source(path.name, columns=[1, 0])
    assert repr(source).endswith(f"Source({path.name!r}, 103 rows x 2 columns, float64)")
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(source))
    assert repr(copy) == repr(source)
    assert np.array_equal(next(copy.blocks(103)), X[:, [1, 0]])


def test_names_of_classes(tmp_path):
    assert repr(open_source(npy(tmp_path))).startswith("NpySource('")
    assert repr(open_source(X)) == "ArraySource('array', 103 rows x 5 columns, float64)"
    assert repr(open_source(parquet(tmp_path))).startswith("ParquetSource('")


def test_objects_are_not_pickled():
    with pytest.raises(TypeError, match="opened from an object; open it from a path"):
        pickle.dumps(open_source(X))


def test_a_pickled_source_must_still_be_the_same_table(tmp_path):
    stored = pickle.dumps(open_source(npy(tmp_path)))
    npy(tmp_path, X[:50])
    with pytest.raises(RuntimeError, match=r"changed while it was being read: it is NpySource.*50 rows"):
        pickle.loads(stored)


@each_kind
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")], ids=["nan", "inf", "-inf"]
)
def test_values_that_are_not_finite_are_located(tmp_path, kind, value, word):
    rows = X.copy()
    rows[[71, 71, 90], [2, 3, 0]] = value
    source = open_source(KINDS[kind](tmp_path, rows), columns=[4, 2, 3, 0])
    label = "'ä x'" if source.column_names else "2"
    expected = f"{source.name}: {word} in row 71, column {label}. Drop or fill such rows first."
    for n_rows in (10, 103):
        with pytest.raises(ValueError, match="in row") as caught:
            list(source.blocks(n_rows))
        assert str(caught.value) == expected
    with pytest.raises(ValueError, match="in row") as caught:
        source.take(np.array([3, 71, 90]))
    assert str(caught.value) == expected
    assert len(source.take(np.array([3, 70, 91]))) == 3


def test_values_whose_sum_overflows_are_fine():
    for dtype in (np.float32, np.float64):
        rows = np.full((40, 3), np.finfo(dtype).max)
        assert np.array_equal(next(open_source(rows).blocks(40)), rows)


@pytest.mark.parametrize("n_rows", [0, -1, 2.5, True, None])
def test_bad_block_sizes(n_rows):
    with pytest.raises(ValueError, match="n_rows must be an int >= 1"):
        open_source(X).blocks(n_rows)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([2, 1], ValueError, "ascend without repetition"),
        ([1, 1], ValueError, "ascend without repetition"),
        ([-1, 1], ValueError, "rows 0 to 102, not -1 to 1"),
        ([1, 103], ValueError, "rows 0 to 102, not 1 to 103"),
        ([0.5], TypeError, "1-D array of ints"),
        ([[1]], TypeError, "1-D array of ints"),
    ],
)
def test_bad_rows(rows, error, message):
    with pytest.raises(error, match=message):
        open_source(X).take(np.array(rows))
