"""Parquet, Feather, tables and datasets of Arrow."""

from __future__ import annotations

import numpy as np
import pytest
from source_helpers import NAMES, RNG, X, arrow, dataset_of, feather, parquet, parquet_folder

from powerkmeans.sources import open_source


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
