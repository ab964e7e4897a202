from __future__ import annotations

import builtins
import errno
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

from npy_headers import DAMAGED, READABLE
from powerkmeans.sources import Source, SourceChangedError, open_source, read_ahead, write_rows
from powerkmeans.sources.reblocking import reblocked
from powerkmeans.support import files
from powerkmeans.support.files import Target

RNG = np.random.default_rng(0)
X = RNG.normal(size=(103, 5))
NAMES = ["a", "b.c", "ä x", "d", "e"]


def arrow():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.dataset as ds
    import pyarrow.feather as pf
    import pyarrow.parquet as pq

    return pa, ds, pf, pq


def table(rows=X, names=None):
    return arrow()[0].table({name: rows[:, j] for j, name in enumerate(names or NAMES)})


def npy(folder, rows=X, order="C"):
    np.save(folder / "data.npy", np.asarray(rows, order=order))
    return folder / "data.npy"


def parquet(folder, rows=X, names=None, name="data.parquet"):
    arrow()[3].write_table(table(rows, names), folder / name, row_group_size=20)
    return folder / name


def feather(folder, rows=X, extension="feather"):
    arrow()[2].write_feather(table(rows), str(folder / f"data.{extension}"), chunksize=20)
    return folder / f"data.{extension}"


def parquet_folder(folder, rows=X):
    (folder / "set").mkdir()
    for index, start in enumerate(range(0, len(rows), 40)):
        parquet(folder / "set", rows[start : start + 40], name=f"part-{index}.parquet")
    (folder / "set" / "_SUCCESS").touch()
    (folder / "set" / "notes.txt").write_text("not data")
    return folder / "set"


def zarr_folder(folder, rows=X, version=3, group=False):
    zarr = pytest.importorskip("zarr")
    place = str(folder / "data.zarr")
    options = {"shape": rows.shape, "chunks": (16, 2), "dtype": rows.dtype}
    if group:
        root = zarr.open_group(place, mode="w", zarr_format=version)
        root.create_array("labels", shape=(len(rows),), dtype="i8")
        array = root.create_array("rows", **options)
    else:
        array = zarr.create_array(place, zarr_format=version, **options)
    array[:] = rows
    return folder / "data.zarr"


def dataset_object(folder, rows=X):
    return dataset_of(parquet_folder(folder, rows))


def dataset_of(folder):
    return arrow()[1].dataset([str(path) for path in sorted(folder.glob("*.parquet"))])


def memmap(folder, rows=X):
    return np.load(npy(folder, rows), mmap_mode="r")


def zarr_object(folder, rows=X):
    return pytest.importorskip("zarr").open(str(zarr_folder(folder, rows)), mode="r")


KINDS = {
    "npy": npy,
    "npy by column": lambda folder, rows=X: npy(folder, rows, "F"),
    "parquet": parquet,
    "parquet folder": parquet_folder,
    "feather": feather,
    "arrow": lambda folder, rows=X: feather(folder, rows, "arrow"),
    "zarr 3": zarr_folder,
    "zarr 2": lambda folder, rows=X: zarr_folder(folder, rows, version=2),
    "zarr group": lambda folder, rows=X: zarr_folder(folder, rows, group=True),
    "memmap": memmap,
    "array": lambda folder, rows=X: rows,
    "table": lambda folder, rows=X: table(rows),
    "dataset": dataset_object,
    "zarr array": zarr_object,
}
PATHS = [kind for kind in KINDS if kind not in ("memmap", "array", "table", "dataset", "zarr array")]
NAMED = ["parquet", "parquet folder", "feather", "table", "dataset"]

each_kind = pytest.mark.parametrize("kind", KINDS)


def touch(path):
    """Give a file a later time, as a writer would."""
    state = os.stat(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))


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


def test_precision_of_columns(tmp_path):
    pa, _, _, pq = arrow()
    columns = {
        "half": pa.array(np.ones(4, "f2")),
        "single": pa.array(np.ones(4, "f4")),
        "double": pa.array(np.ones(4)),
        "int": pa.array([2**62 + 1, 1, 1, 1]),
        "unsigned": pa.array([2**63, 1, 1, 1], pa.uint64()),
        "bool": pa.array([True, False, True, True]),
        "decimal": pa.array([1, 2, 3, 4], pa.decimal128(5, 2)),
    }
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    for names, dtype in [
        (["half", "single"], np.float32),
        (["half"], np.float32),
        (["single", "double"], np.float64),
        (["single", "int"], np.float64),
        (["single", "bool"], np.float64),
        (list(columns), np.float64),
    ]:
        block = next(open_source(tmp_path / "data.parquet", columns=names).blocks(9))
        assert block.dtype == dtype
        assert np.array_equal(block, np.column_stack([columns[n].to_pylist() for n in names]).astype(dtype))


@pytest.mark.parametrize("kind", ["string", "date32[day]", "timestamp[us]", "list<item: double>", "dictionary"])
def test_columns_without_numbers_are_named(tmp_path, kind):
    pa, _, _, pq = arrow()
    odd = {
        "string": pa.array(["x", "y"]),
        "date32[day]": pa.array([1, 2], pa.date32()),
        "timestamp[us]": pa.array([1, 2], pa.timestamp("us")),
        "list<item: double>": pa.array([[1.0], [2.0]]),
        "dictionary": pa.array(["x", "y"]).dictionary_encode(),
    }[kind]
    given = pa.table({"age": [1.0, 2.0], "odd": odd})
    pq.write_table(given, tmp_path / "data.parquet")
    for place in (given, tmp_path / "data.parquet"):
        with pytest.raises(TypeError, match=r"column 'odd' is of type .*columns=\[\.\.\.\]") as caught:
            open_source(place)
        assert kind.split("<")[0] in str(caught.value)
        assert open_source(place, columns=["age"]).shape == (2, 1)


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


def test_partitioned_folders_have_the_columns_of_their_path(tmp_path):
    pa, ds, _, _ = arrow()
    base = tmp_path / "run=7" / "set"
    given = pa.table({"x": np.arange(6.0), "year": [2001, 2001, 2002, 2002, 2003, 2003]})
    ds.write_dataset(given, base, format="parquet", partitioning=["year"], partitioning_flavor="hive")
    source = open_source(base)
    assert source.column_names == ("x", "year")
    assert np.array_equal(np.concatenate(list(source.blocks(4)))[:, 1], given.column("year").to_numpy())
    assert np.array_equal(source.take(np.array([1, 4])), [[1, 2001], [4, 2003]])
    assert open_source(base, columns=["x"]).dtype == np.float64


def test_an_index_of_pandas_is_no_column_unless_chosen(tmp_path):
    arrow()
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[7, 8, 9])
    frame.to_parquet(tmp_path / "data.parquet")
    assert open_source(tmp_path / "data.parquet").column_names == ("x",)
    chosen = open_source(tmp_path / "data.parquet", columns=["__index_level_0__"])
    assert np.array_equal(next(chosen.blocks(3)), [[7], [8], [9]])


def test_a_filtered_dataset_keeps_its_filter(tmp_path):
    ds = arrow()[1]
    whole = ds.dataset(parquet(tmp_path))
    source = open_source(whole.filter(ds.field("a") > 0))
    kept = X[X[:, 0] > 0]
    assert np.array_equal(np.concatenate(list(source.blocks(9))), kept)
    assert np.array_equal(source.take(np.array([0, 20, len(kept) - 1])), kept[[0, 20, -1]])


def test_a_union_of_datasets(tmp_path):
    ds = arrow()[1]
    one = ds.dataset(parquet(tmp_path))
    source = open_source(ds.dataset([one, one]))
    assert repr(source) == "ParquetSource('dataset', 206 rows x 5 columns, float64)"
    assert np.array_equal(np.concatenate(list(source.blocks(50))), np.r_[X, X])
    assert np.array_equal(source.take(np.array([2, 205])), X[[2, 102]])


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


@pytest.mark.parametrize("kind", ["double", "int32", "bool", "halffloat", "decimal128(5, 2)"])
def test_nulls_are_missing_values(tmp_path, kind):
    pa, _, _, pq = arrow()
    kinds = {"double": pa.float64(), "int32": pa.int32(), "bool": pa.bool_(), "halffloat": pa.float16()}
    ones = [np.float16(1) if kind == "halffloat" else 1] * 7
    ones = [True] * 7 if kind == "bool" else ones
    column = pa.array([*ones, None, ones[0]], kinds.get(kind, pa.decimal128(5, 2)))
    pq.write_table(pa.table({"x": np.ones(9), "age": column}), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data.parquet: NaN in row 7, column 'age'\. Drop or fill"):
        list(open_source(tmp_path / "data.parquet").blocks(4))


def test_values_whose_sum_overflows_are_fine():
    for dtype in (np.float32, np.float64):
        rows = np.full((40, 3), np.finfo(dtype).max)
        assert np.array_equal(next(open_source(rows).blocks(40)), rows)


def test_a_long_double_too_large_is_infinite():
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("no long double here")
    rows = np.full((3, 2), np.finfo(np.longdouble).max)
    with pytest.raises(ValueError, match="array: infinity in row 0, column 0"):
        list(open_source(rows).blocks(2))


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


# --- what cannot be opened


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file or folder '.*none.npy'"):
        open_source(tmp_path / "none.npy")
    with pytest.raises(FileNotFoundError, match=r"pyarrow\.dataset\.dataset"):
        open_source("s3://bucket/data.parquet")
    with pytest.raises(TypeError, match="The path must be a string"):
        open_source(type("P", (os.PathLike,), {"__fspath__": lambda self: b"data.npy"})())


@pytest.mark.parametrize("name", ["data.csv", "data.npz", "data", "data.zarr"])
def test_other_files(tmp_path, name):
    (tmp_path / name).write_text("1,2")
    with pytest.raises(ValueError, match=r"a Zarr array is a folder|none of the extensions .npy, .parquet"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["data.npy", "data.parquet", "data.arrow", "data.feather"])
def test_empty_files(tmp_path, name):
    arrow()
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"{name} is empty"):
        open_source(tmp_path / name)
    if name != "data.npy":
        with pytest.raises(ValueError, match="is empty"):
            open_source(tmp_path)


@pytest.mark.parametrize("kind", ["npy", "parquet", "feather", "arrow"])
@pytest.mark.parametrize("kept", [3, 60, 0.5, -1])
def test_files_that_are_cut_off(tmp_path, kind, kept):
    path = KINDS[kind](tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match=rf"{path.name} (is cut off|is not a .npy|cannot be read)") as caught:
        open_source(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["npy", "parquet", "feather", "arrow"])
def test_files_that_are_something_else(tmp_path, kind):
    path = KINDS[kind](tmp_path)
    path.write_bytes(RNG.bytes(5000))
    with pytest.raises(ValueError, match=rf"{path.name} (is not a .npy|cannot be read)") as caught:
        open_source(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("header", READABLE)
def test_headers_that_are_sound(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(READABLE[header])
    assert open_source(tmp_path / "x.npy").take(np.arange(20)).shape == (20, 3)


@pytest.mark.parametrize("header", DAMAGED)
def test_headers_that_are_damaged(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(DAMAGED[header])
    with pytest.raises(ValueError, match=r"x\.npy is not a \.npy file, or its beginning is damaged\.$"):
        open_source(tmp_path / "x.npy")


def test_pages_that_are_damaged(tmp_path):
    path = parquet(tmp_path)
    content = bytearray(path.read_bytes())
    content[4:1500] = RNG.bytes(1496)
    path.write_bytes(content)
    source = open_source(path)
    with pytest.raises(ValueError, match=r"data.parquet cannot be read; it may be damaged") as caught:
        list(source.blocks(10))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"data.parquet cannot be read; it may be damaged"):
        source.take(np.array([0]))


def test_damaged_zarr(tmp_path):
    path = zarr_folder(tmp_path)
    chunk = next(p for p in sorted((path / "c").rglob("*")) if p.is_file())
    chunk.write_bytes(b"nothing that could be decoded")
    source = open_source(path)
    with pytest.raises(ValueError, match=r"data.zarr cannot be read; it may be damaged"):
        list(source.blocks(10))
    (path / "zarr.json").write_text("{")
    with pytest.raises(ValueError, match=r"data.zarr cannot be read; it may be damaged"):
        open_source(path)
    (path / "zarr.json").unlink()
    with pytest.raises(ValueError, match=r"data.zarr is not a Zarr array"):
        open_source(path)


def test_zarr_groups_without_one_table(tmp_path):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(tmp_path / "data.zarr"), mode="w")
    with pytest.raises(ValueError, match="group without a 2-D array"):
        open_source(tmp_path / "data.zarr")
    for name in ("one", "two"):
        root.create_array(name, shape=(4, 2), dtype="f4")[:] = 1
    with pytest.raises(ValueError, match=r"2 2-D arrays \('one', 'two'\); give the folder of one"):
        open_source(tmp_path / "data.zarr")
    assert open_source(tmp_path / "data.zarr" / "one").shape == (4, 2)


def test_zarr_in_memory(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(9, 2), dtype="f4")
    array[:] = 3
    assert repr(open_source(array)) == "ZarrSource('zarr array', 9 rows x 2 columns, float32)"
    assert next(open_source(array).blocks(20)).sum() == 54


@pytest.mark.parametrize("shape", [(5,), (5, 2, 2), ()])
def test_arrays_that_are_no_table(tmp_path, shape):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(tmp_path / "data.zarr"), shape=shape, dtype="f4")
    for given in (npy(tmp_path, np.zeros(shape)), np.zeros(shape), tmp_path / "data.zarr"):
        with pytest.raises(ValueError, match=r"is an array of shape \(.*expected 2 dimensions"):
            open_source(given)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("parquet folder", "dataset", "memmap")])
def test_tables_without_rows(tmp_path, kind):
    if "zarr" in kind:
        pytest.importorskip("zarr")
    with pytest.raises(ValueError, match="has no rows"):
        open_source(KINDS[kind](tmp_path, X[:0]))


def test_tables_without_columns(tmp_path):
    pa, _, _, pq = arrow()
    pq.write_table(pa.table({}), tmp_path / "data.parquet")
    for given in (np.zeros((3, 0)), npy(tmp_path, np.zeros((3, 0))), tmp_path / "data.parquet", pa.table({})):
        with pytest.raises(ValueError, match="has no columns"):
            open_source(given)


def test_folders_without_data(tmp_path):
    (tmp_path / "set").mkdir()
    with pytest.raises(ValueError, match=r"is a folder without any .parquet, .arrow, .feather file"):
        open_source(tmp_path / "set")
    (tmp_path / "set" / "_hidden.parquet").touch()
    npy(tmp_path / "set")
    with pytest.raises(ValueError, match="is a folder without any"):
        open_source(tmp_path / "set")


def test_folders_of_two_formats(tmp_path):
    parquet(tmp_path)
    feather(tmp_path)
    with pytest.raises(ValueError, match="Parquet and Arrow files; keep one format"):
        open_source(tmp_path)


def test_a_column_that_one_file_lacks(tmp_path):
    folder = parquet_folder(tmp_path)
    parquet(folder, X[:, :4], NAMES[:4], name="part-1.parquet")
    for given in (folder, dataset_of(folder)):
        with pytest.raises(ValueError, match=r": part-1.parquet has no column 'e', but other files"):
            open_source(given)
        assert open_source(given, columns=NAMES[:4]).shape == (40 + 103 + 23, 4)


def test_a_column_that_only_a_later_file_has(tmp_path):
    folder = parquet_folder(tmp_path)
    parquet(folder, np.c_[X, X[:, 0]], [*NAMES, "f"], name="part-1.parquet")
    with pytest.raises(ValueError, match=r": part-1.parquet has column 'f', but other files do not.*columns="):
        open_source(folder)
    assert open_source(folder, columns=NAMES).shape[1] == 5


def test_a_column_that_has_another_type_in_one_file(tmp_path):
    folder = parquet_folder(tmp_path)
    parquet(folder, X.astype(np.float32), name="part-1.parquet")
    with pytest.raises(ValueError, match=r": part-1.parquet has column 'a' with the type float, .* type double"):
        open_source(folder)


def test_a_file_of_a_folder_that_is_damaged(tmp_path):
    folder = parquet_folder(tmp_path)
    (folder / "part-1.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match=r"part-1.parquet cannot be read"):
        open_source(folder)


def test_a_name_that_two_columns_have():
    pa = arrow()[0]
    twice = pa.table([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["x", "x", "y"])
    with pytest.raises(ValueError, match=r"more than one column 'x'. Rename them"):
        open_source(twice)


def test_other_objects(tmp_path):
    for given in ([[1.0, 2.0]], None, 3, arrow()[0].array([1.0])):
        with pytest.raises(TypeError, match="open_source takes a path"):
            open_source(given)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_files_without_permission(tmp_path):
    path = npy(tmp_path)
    path.chmod(0)
    with pytest.raises(ValueError, match=r"data.npy cannot be read.*Permission denied"):
        open_source(path)


def test_permission_is_said_in_one_line(tmp_path, monkeypatch):
    path = npy(tmp_path)

    def refused(*_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(builtins, "open", refused)
    with pytest.raises(ValueError, match=r"data.npy cannot be read.*Permission denied\."):
        open_source(path)


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("d.parquet", "pyarrow", "arrow"), ("d.zarr", "zarr", "zarr")]
)
def test_packages_that_are_not_installed(tmp_path, monkeypatch, name, package, extra):
    for module in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    if extra == "zarr":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text("x")
    with pytest.raises(ImportError, match=rf'pip install "powerkmeans\[{extra}\]"'):
        open_source(tmp_path / name)


def test_optional_packages_are_not_imported_before_they_are_needed():
    code = "import sys, powerkmeans.sources.opening as o; print({'pyarrow', 'zarr', 'pandas'} & set(sys.modules))"
    # scikit-learn may look for them by itself, so the package's own modules are loaded without it
    stub = "import sys, types; p = sys.modules['powerkmeans'] = types.ModuleType('p'); p.__path__ = [{!r}]; "
    root = os.path.dirname(os.path.dirname(sys.modules["powerkmeans.sources"].__file__))
    done = subprocess.run(
        [sys.executable, "-c", stub.format(root) + code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


# --- files that change


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


def test_a_chunk_that_is_added_is_a_change(tmp_path):
    path = zarr_folder(tmp_path)
    source = open_source(path)
    (path / "c" / "99").mkdir()
    (path / "c" / "99" / "0").touch()
    with pytest.raises(SourceChangedError, match=r"data.zarr: c.99.0 changed"):
        source.blocks(10)


# --- reading ahead


def settled():
    gc.collect()
    gc.freeze()  # what is still there is not looked through again and again
    return threading.active_count()


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr 3"])
def test_no_thread_is_left_behind(tmp_path, kind):
    source = open_source(KINDS[kind](tmp_path))
    list(source.blocks(50))  # zarr starts threads of its own, once
    before = settled()
    source.blocks(5)
    early = source.blocks(5)
    next(early)
    assert settled() == before + 1
    early.close()
    assert settled() == before
    for _ in source.blocks(5):
        break
    assert settled() == before
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        for _ in source.blocks(5):
            raise ZeroDivisionError
    assert settled() == before
    list(source.blocks(5))
    assert settled() == before


def test_errors_come_with_their_type_after_the_items_before_them():
    class OwnError(Exception):
        pass

    def items():
        yield 1
        yield 2
        raise OwnError("here")

    before = settled()
    ahead = read_ahead(items(), 2)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(OwnError, match="here"):
        next(ahead)
    assert next(ahead, None) is None
    assert settled() == before


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_more_than_depth_items_are_ahead(depth):
    made, closed = [], []

    def items():
        try:
            for index in range(20):
                made.append(index)
                yield index
        finally:
            closed.append(threading.current_thread())

    ahead = read_ahead(items(), depth)
    assert not made
    assert next(ahead) == 0
    deadline = time.monotonic() + 5
    while len(made) < depth + 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == depth + 1
    ahead.close()
    assert len(made) <= depth + 2
    assert closed[0] is not threading.current_thread()


def test_read_ahead_takes_any_iterator():
    assert list(read_ahead(iter([3, 1, 2]))) == [3, 1, 2]
    assert list(read_ahead(iter([]))) == []
    with pytest.raises(ValueError, match="depth must be at least 1"):
        read_ahead(iter([]), 0)


def test_an_iterator_that_fails_to_close_does_not_block():
    class Stubborn:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

        def close(self):
            raise ValueError("no")

    seen = []
    hook, threading.excepthook = threading.excepthook, seen.append
    try:
        assert list(read_ahead(Stubborn())) == []
    finally:
        threading.excepthook = hook


def test_reblocked_counts_its_rows():
    with pytest.raises(ValueError, match="more than the 5 rows"):
        list(reblocked([X[:3], X[:3]], 2, 5))
    with pytest.raises(ValueError, match="there are 3 rows instead of the 5"):
        list(reblocked([X[:3]], 2, 5))


def test_an_unfinished_run_does_not_keep_the_interpreter_from_ending(tmp_path):
    code = (
        "import sys; from powerkmeans.sources import open_source; b = open_source(sys.argv[1]).blocks(2); next(b)"
    )
    subprocess.run([sys.executable, "-c", code, str(npy(tmp_path))], check=True, timeout=60)


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


def test_memory_does_not_grow_with_a_parquet_file(tmp_path):
    pa, _, _, pq = arrow()
    n_rows, group = 2**22, 2**15
    ones = pa.table({f"x{j}": RNG.random(group) for j in range(8)})
    with pq.ParquetWriter(tmp_path / "large.parquet", ones.schema, compression="none") as writer:
        for _ in range(n_rows // group):
            writer.write_table(ones)
    del ones
    source = open_source(tmp_path / "large.parquet")
    before, highest = pa.total_allocated_bytes(), 0
    for _ in source.blocks(2**13):
        highest = max(highest, pa.total_allocated_bytes() - before)
    assert highest < 2**26  # of 2**28; what Arrow reads ahead varies with how busy the machine is


# --- writing


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
