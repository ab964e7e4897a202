"""All rows of a table at once, columns by name, arrays by name: what the command reads through sources."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import powerkmeans
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.reading import named_files, read_file
from powerkmeans.cli.table import Request
from powerkmeans.sources import Source, SourceChangedError, UnreadableError, is_source, open_source
from powerkmeans.sources.archives import read_mat, read_npz
from powerkmeans.sources.arrow import is_integer, is_number
from powerkmeans.sources.arrow_files import open_named_columns
from powerkmeans.sources.npy import map_npy, open_array
from powerkmeans.sources.zarr import open_zarr_array, stored_arrays

X = np.random.default_rng(0).normal(size=(70, 3))
X[5, 1], X[6, 2] = np.nan, np.inf
LARGE = np.random.default_rng(1).integers(2**53, 2**62, size=(70, 3))


def parquet(path, rows, names="abc", **columns):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({**{name: rows[:, j] for j, name in enumerate(names)}, **columns})
    pq.write_table(table, path, row_group_size=20)
    return path


def read(path, **options):
    (file,) = named_files([str(path)])
    return read_file(file, Request(lambda header, source: list(range(len(header))), **options))


def opened(kind, folder, rows=X):
    """The rows as a source of that kind."""
    if kind == "npy":
        np.save(folder / "t.npy", rows)
        return open_source(folder / "t.npy")
    if kind == "array":
        return open_source(rows)
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        return open_source(zarr.create_array(folder / "t.zarr", data=rows, chunks=(9, 2)))
    return open_source(parquet(folder / "t.parquet", rows))


@pytest.mark.parametrize("kind", ["npy", "array", "zarr", "parquet"])
def test_all_rows_with_what_is_missing(tmp_path, kind):
    told = []
    values = opened(kind, tmp_path).read(told.append)
    assert np.array_equal(values, X, equal_nan=True)
    assert values.flags.c_contiguous
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet"])
def test_a_file_that_changes_is_noticed(tmp_path, kind):
    source = opened(kind, tmp_path)
    (path,) = source.paths[-1:]
    Path(path).write_bytes(Path(path).read_bytes() + b" ")
    with pytest.raises(SourceChangedError, match="changed while it was being read"):
        source.read()


def test_all_rows_in_several_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("powerkmeans.sources.source.READ_BYTES", 200)
    for kind in ("npy", "zarr"):
        assert np.array_equal(opened(kind, tmp_path).read(), X, equal_nan=True)


def test_a_map_is_not_copied_unless_it_must_be(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((50_000, 8)))
    stored = map_npy("t.npy", str(tmp_path / "t.npy"))
    tracemalloc.start()
    values = open_array(stored, None).read()
    assert tracemalloc.get_traced_memory()[1] < stored.nbytes / 10
    tracemalloc.stop()
    assert np.shares_memory(values, stored)
    assert not values.flags.writeable
    assert not np.shares_memory(open_array(stored, (1, 0)).read(), stored)


def test_zarr_is_read_by_parts(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr("powerkmeans.sources.source.READ_BYTES", 2**20)
    array = zarr.create_array(tmp_path / "t.zarr", data=np.zeros((2**20, 8)), chunks=(2**14, 8))
    source = open_zarr_array(array, None, dtype=np.dtype(np.float32))
    tracemalloc.start()
    values = source.read()
    assert tracemalloc.get_traced_memory()[1] < values.nbytes + array.nbytes / 4
    tracemalloc.stop()


def test_another_precision_is_rounded_once(tmp_path):
    zarr = pytest.importorskip("zarr")
    single, expected = np.dtype(np.float32), LARGE.astype(np.float32)
    assert np.array_equal(open_array(LARGE, None, dtype=single).read(), expected)
    array = zarr.create_array(tmp_path / "t.zarr", data=LARGE)
    assert np.array_equal(open_zarr_array(array, None, dtype=single).read(), expected)
    columns = open_named_columns("t", str(parquet(tmp_path / "t.parquet", LARGE)))
    values = columns.numbers(("c", "a"), dtype=single).read()
    assert np.array_equal(values, LARGE[:, [2, 0]].astype(np.float64).astype(np.float32))


def test_numbers_too_large_for_single_precision_are_infinite_without_a_warning(tmp_path):
    columns = open_named_columns("t", str(parquet(tmp_path / "t.parquet", np.full((3, 3), 1e300))))
    assert np.all(np.isposinf(columns.numbers(None, dtype=np.dtype(np.float32)).read()))


def test_columns_by_name(tmp_path):
    ids = [f"s{i}" for i in range(69)]
    path = parquet(tmp_path / "t.parquet", X, kind=[*ids, None], number=np.arange(70))
    columns = open_named_columns("t", str(path))
    assert columns.header == ["a", "b", "c", "kind", "number"]
    assert columns.texts("kind").tolist() == [*ids, ""]
    assert columns.texts("number").tolist()[:2] == ["0", "1"]
    assert not is_number(columns.type_of("kind"))
    assert is_integer(columns.type_of("number"))
    with pytest.raises(TypeError, match="column 'kind' is of type string, not of numbers"):
        columns.numbers(None)


def test_gaps_of_a_folder(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet(folder / "0.parquet", X[:2])
    pq.write_table(pa.table({"a": [7, 8], "c": [1.0, 2.0]}), folder / "1.parquet")
    columns = open_named_columns("parts", str(folder))
    with pytest.raises(ValueError, match=r"1\.parquet has column 'a' with the type int64"):
        columns.numbers(("a",))
    with pytest.raises(ValueError, match=r"1\.parquet has no column 'b'"):
        columns.numbers(("b",))
    values = columns.numbers(("a", "b"), gaps=True).read()
    assert np.array_equal(values, [*X[:2, :2], [7, np.nan], [8, np.nan]], equal_nan=True)
    assert np.array_equal(read(folder)[0].values[:, :2], values, equal_nan=True)


def test_a_column_of_nulls_is_missing(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": pa.nulls(2)}), tmp_path / "t.parquet")
    with pytest.raises(TypeError, match="column 'b' is of type null"):
        open_source(tmp_path / "t.parquet")
    assert np.all(np.isnan(read(tmp_path / "t.parquet")[0].values[:, 1]))


def test_the_command_takes_the_columns_that_files_hold(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"t/year={year}").mkdir(parents=True)
        parquet(tmp_path / f"t/year={year}/0.parquet", X[7:])
    assert open_source(tmp_path / "t").column_names == ("a", "b", "c", "year")
    assert read(tmp_path / "t")[0].columns == ("a", "b", "c")


def test_one_format_in_a_folder(tmp_path):
    (tmp_path / "t").mkdir()
    parquet(tmp_path / "t/0.parquet", X)
    (tmp_path / "t/notes.txt").write_text("not data")
    assert len(read(tmp_path / "t")[0]) == 70
    (tmp_path / "t/1.arrow").write_bytes(b"x")
    with pytest.raises(UserError, match=r"^t has Parquet and Arrow files; keep one format in a folder\.$"):
        read(tmp_path / "t")


def test_pages_that_are_damaged_are_told_in_a_sentence(tmp_path):
    path = parquet(tmp_path / "t.parquet", X)
    content = bytearray(path.read_bytes())
    content[40:400] = bytes(360)
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=r"^t cannot be read; it may be damaged or incomplete: \w") as caught:
        open_named_columns("t", str(path)).numbers(None).read()
    assert caught.value.reason
    with pytest.raises(UserError, match=r"^t\.parquet cannot be read: \w"):
        read(path)


def test_a_file_whose_rows_became_fewer(tmp_path, monkeypatch):
    source = opened("parquet", tmp_path)
    source.shape = (71, 3)
    with pytest.raises(UnreadableError, match="there are 70 rows instead of the 71 counted before"):
        source.read()


def test_arrays_of_a_group_come_in_one_order(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    for name in ("m", "z", "a"):
        group.create_array(name, data=X)
    group.create_group("inner").create_array("deep", data=X)
    assert list(stored_arrays("g", str(tmp_path / "g.zarr"), nested=False)) == ["a", "m", "z"]
    assert list(stored_arrays("g", str(tmp_path / "g.zarr"), nested=True)) == ["a", "inner/deep", "m", "z"]
    assert [table.name for table in read(tmp_path / "g.zarr")] == ["a", "m", "z"]
    (tmp_path / "none.zarr").mkdir()
    with pytest.raises(UserError, match=r"^none\.zarr cannot be read as Zarr; it may be incomplete\.$"):
        read(tmp_path / "none.zarr")


def test_arrays_of_archives(tmp_path):
    io = pytest.importorskip("scipy.io")
    np.savez(tmp_path / "t.npz", x=X, words=np.array(["a", "b"]))
    assert list(read_npz("t", str(tmp_path / "t.npz"))) == ["x", "words"]
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = X, X[:, :2]
    io.savemat(tmp_path / "t.mat", {"x": cells, "y": X})
    assert {key: array.shape for key, array in read_mat("t", str(tmp_path / "t.mat")).items()} == {
        "x_1": (70, 3),
        "x_2": (70, 2),
        "y": (70, 3),
    }


@pytest.mark.parametrize(
    ("reader", "content", "told"),
    [
        (read_npz, b"junk" * 9, "t cannot be read: it holds Python objects."),
        (read_npz, b"PK\x03\x04junk", "t cannot be read: it is damaged or of another format."),
        (read_mat, b"junk" * 99, "t cannot be read as a MATLAB file; it may be damaged."),
        (map_npy, b"junk" * 9, "t is not a .npy file, or its beginning is damaged."),
    ],
)
def test_archives_that_are_none(tmp_path, reader, content, told):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(UnreadableError, match=f"^{re.escape(told)}$"):
        reader("t", str(tmp_path / "t"))


def test_maps_of_any_array(tmp_path):
    for array in (np.array(["a", "bc"]), np.float64(3), np.asfortranarray(X), np.zeros((0, 3)), np.arange(4)):
        np.save(tmp_path / "t.npy", array)
        stored = map_npy("t", str(tmp_path / "t.npy"))
        assert stored.dtype == np.asarray(array).dtype
        assert np.array_equal(stored, array) or np.array_equal(stored, array, equal_nan=True)


def test_what_is_a_source():
    assert is_source(open_source(X))
    assert not is_source(X)
    assert not is_source(None)


def test_there_is_one_reader_of_each_format():
    """Packages and functions that read files are called in sources alone, and types are told in one place."""
    package = Path(powerkmeans.__file__).parent
    calls = re.compile(r"np\.load\(|loadmat\(|zarr\.open|open_stream\(|\.scanner\(|FileSystemDataset|to_table\(")
    for path in (package / "cli").rglob("*.py"):
        assert not calls.search(path.read_text()), path
    tests = re.compile(r"isinstance\([^()]*\bSource\b")
    for room in ("inputs", "estimators", "report", "cli", "models"):
        for path in (package / room).rglob("*.py"):
            assert not tests.search(path.read_text()), path
    assert issubclass(type(open_source(X)), Source)
