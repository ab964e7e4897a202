"""Every format gives the same table."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from command_helpers import K, N, ids, read_csv, rows, write_csv
from scipy.sparse import coo_array, csc_array, csr_array, dia_array, save_npz

import powerkmeans
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.reading import named_files, read_file
from powerkmeans.cli.table import Request
from powerkmeans.preparing.spelling import Spelling

HEADER, VALUES = rows()


def everything(header, source):
    return list(range(len(header)))


def read(path, **options):
    (file,) = named_files([str(path)])
    return read_file(file, Request(everything, **options))


def check(tables, *, named=True, with_ids=True):
    (table,) = tables
    assert np.allclose(table.values, VALUES)
    assert table.columns == (tuple(HEADER) if named else ("0", "1", "2", "3"))
    assert (table.ids is not None) == with_ids
    if with_ids:
        assert table.ids.values.tolist() == ids()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_text_however_it_is_cut(tmp_path, delimiter):
    check(read(write_csv(tmp_path / "t.txt", ids(), HEADER, VALUES, delimiter), id_column="id"))


@pytest.mark.parametrize("header", ["a;b\n", ""])
def test_text_with_decimal_commas(tmp_path, header):
    (tmp_path / "t.csv").write_text(header + "1,5;-2,25e1\n3;\n")
    table = read(tmp_path / "t.csv", spelling=Spelling(decimal=","))[0]
    assert table.columns == (("a", "b") if header else ("0", "1"))
    assert np.array_equal(table.values, [[1.5, -22.5], [3, np.nan]], equal_nan=True)


def test_text_without_names(tmp_path):
    np.savetxt(tmp_path / "t.csv", VALUES, delimiter=",", fmt="%.17g")
    check(read(tmp_path / "t.csv"), named=False, with_ids=False)
    np.savetxt(tmp_path / "t.txt", VALUES, fmt="%.17g")
    check(read(tmp_path / "t.txt"), named=False, with_ids=False)
    (table,) = read(tmp_path / "t.csv", header=True)
    assert len(table) == N - 1


def test_text_with_a_nameless_first_column_as_pandas_and_r_write_it(tmp_path):
    path = write_csv(tmp_path / "t.csv", ids(), HEADER, VALUES)
    path.write_text(path.read_text().replace("id,a", ",a", 1))
    check(read(path))
    path.write_text(path.read_text().replace(",a", '"",a', 1))
    check(read(path))


def test_text_packed_with_a_mark_and_other_line_ends(tmp_path):
    path = write_csv(tmp_path / "t.csv", ids(), HEADER, VALUES)
    content = path.read_text()
    with gzip.open(tmp_path / "packed.csv.gz", "wt", newline="") as stream:
        stream.write(content)
    (table,) = read(tmp_path / "packed.csv.gz", id_column="id")
    assert table.name == "packed"
    assert np.allclose(table.values, VALUES)
    path.write_bytes(b"\xef\xbb\xbf" + content.replace("\r\n", "\n").replace("\n", "\r\n").encode())
    check(read(path, id_column="id"))
    path.write_text(content.rstrip("\n") + "\n\n\n")
    check(read(path, id_column="id"))


def test_words_for_what_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\nNA,nan\n,null\nN/A,None\n3,4\n")
    (table,) = read(path)
    assert np.isnan(table.values).sum(axis=1).tolist() == [0, 2, 2, 2, 0]


def test_many_rows_come_in_blocks_and_the_bar_hears_of_them(tmp_path):
    path = tmp_path / "t.csv"
    values = np.arange(30_000).reshape(-1, 3) / 7
    np.savetxt(path, values, "%.17g", ",", header="a,b,c", comments="")
    told = []
    (table,) = read(path, on_read=told.append)
    assert np.array_equal(table.values, values)
    assert told[-1] == 1
    assert told == sorted(told)
    assert table.place(9999) == "line 10001"


def test_arrow(tmp_path):
    pandas, feather = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.feather")
    arrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(VALUES, columns=HEADER)
    frame.insert(0, "id", ids())
    frame.to_parquet(tmp_path / "t.parquet")
    frame.set_index("id").to_parquet(tmp_path / "indexed.parquet")
    feather.write_feather(frame, tmp_path / "t.feather")
    table = arrow.Table.from_pandas(frame)
    with arrow.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    with arrow.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.feather", "t.arrow", "stream.arrow"):
        check(read(tmp_path / name, id_column="id"))
    check(read(tmp_path / "indexed.parquet"))
    (tmp_path / "parts").mkdir()
    frame[:20].to_parquet(tmp_path / "parts/0.parquet")
    frame[20:].to_parquet(tmp_path / "parts/1.parquet")
    check(read(tmp_path / "parts", id_column="id"))


def test_nulls_and_single_precision_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.array([1, 2, np.nan], dtype=np.float32), "b": [True, False, True]})
    frame.to_parquet(tmp_path / "t.parquet")
    (table,) = read(tmp_path / "t.parquet")
    assert table.values.dtype == np.float64  # a truth value is a number, but not a float32
    assert np.isnan(table.values[2, 0])
    frame[["a"]].to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")[0].values.dtype == np.float32
    assert read(tmp_path / "t.parquet", single=True)[0].values.dtype == np.float32


@pytest.mark.parametrize(
    "changed",
    [
        {"indices": np.full(4 * N, 99)},  # columns that are not there
        {"indptr": np.arange(3)},
        {"shape": np.array([-3, 4])},
        {"shape": np.array([N, 4, 1])},
        {"shape": np.array([2.5, np.nan])},
        {"data": np.zeros((2, 2))},
        {"data": np.full(4 * N, "a")},
        {"indices": np.tile(np.arange(4), N) + 0.5},
        {"shape": np.array([4 * N])},
    ],
    ids="-".join,
)
def test_a_sparse_file_that_is_damaged(tmp_path, changed):
    matrix = csr_array(VALUES)
    parts = {name: getattr(matrix, name) for name in ("indices", "indptr", "shape", "data")}
    np.savez(tmp_path / "t.npz", **(parts | {"format": b"csr"} | changed))
    with pytest.raises(UserError, match=r"t\.npz .*(sparse matrix is damaged|of shape|is empty)"):
        read(tmp_path / "t.npz")


def test_arrays_that_are_called_as_those_of_a_sparse_file(tmp_path):
    np.savez(tmp_path / "t.npz", format=VALUES[:, :2], shape=VALUES, data=VALUES)
    assert [table.name for table in read(tmp_path / "t.npz")] == ["format", "shape", "data"]


def test_a_sparse_file_of_another_kind(tmp_path):
    save_npz(tmp_path / "t.npz", dia_array(VALUES))
    with pytest.raises(UserError, match=r"holds a sparse matrix as 'dia'; write it as CSR"):
        read(tmp_path / "t.npz")


def test_arrays(tmp_path):
    np.save(tmp_path / "t.npy", VALUES)
    check(read(tmp_path / "t.npy"), named=False, with_ids=False)
    np.savez(tmp_path / "t.npz", X=VALUES, names=np.array(ids()), y=np.arange(N))
    check(read(tmp_path / "t.npz", id_column="names"), named=False)
    for matrix in (csr_array(VALUES), csc_array(VALUES), coo_array(VALUES)):
        save_npz(tmp_path / "sparse.npz", matrix)
        check(read(tmp_path / "sparse.npz"), named=False, with_ids=False)
    np.savez(tmp_path / "two.npz", first=VALUES[:, :2], second=VALUES[:, 2:], y=np.arange(N))
    first, second = read(tmp_path / "two.npz")
    assert (first.name, second.name) == ("first", "second")
    assert first.notes == ("two.npz: 'y' left out, not of the shape of a table.",)
    assert np.array_equal(np.hstack([first.values, second.values]), VALUES)
    (second,) = read(tmp_path / "two.npz", arrays=("second",))
    assert second.name == "two"


def test_matlab(tmp_path):
    io = pytest.importorskip("scipy.io")
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = VALUES[:, :2], VALUES[:, 2:]
    io.savemat(tmp_path / "t.mat", {"X": cells, "Y": np.arange(N)[:, None]})
    first, second = read(tmp_path / "t.mat")
    assert (first.name, second.name) == ("X_1", "X_2")
    assert np.array_equal(np.hstack([first.values, second.values]), VALUES)
    names = np.array(ids(), dtype=object)
    io.savemat(tmp_path / "one.mat", {"fea": VALUES, "gt": np.arange(N), "names": names})
    check(read(tmp_path / "one.mat", id_column="names"), named=False)


def test_newer_matlab_is_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.mat", "w", userblock_size=512) as file:
        file["X"] = VALUES.T
    content = bytearray((tmp_path / "t.mat").read_bytes())
    content[:128] = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "t.mat").write_bytes(content)
    check(read(tmp_path / "t.mat"), named=False, with_ids=False)


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(tmp_path / "t.zarr"), VALUES)
    check(read(tmp_path / "t.zarr"), named=False, with_ids=False)
    zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    zarr.save_array(str(tmp_path / "g.zarr" / "left"), VALUES[:, :2])  # as the oldest Zarr that is read writes it
    zarr.save_array(str(tmp_path / "g.zarr" / "right"), VALUES[:, 2:])
    assert sorted(table.name for table in read(tmp_path / "g.zarr")) == ["left", "right"]


def annotated(group, values, names, variables, sparse=None, components=None):
    """An annotated matrix as anndata 0.7 and later store it."""
    from scipy.sparse import csc_array, csr_array

    if sparse is None:
        group["X"] = values
    else:
        matrix = (csr_array if sparse == "csr" else csc_array)(values)
        stored = group.create_group("X")
        stored.attrs.update({"encoding-type": f"{sparse}_matrix", "shape": values.shape})
        for part in ("data", "indices", "indptr"):
            stored[part] = getattr(matrix, part)
    for axis, labels in (("obs", names), ("var", variables)):
        frame = group.create_group(axis)
        frame.attrs.update({"encoding-type": "dataframe", "_index": "_index", "column-order": []})
        frame["_index"] = np.array(labels, dtype=object)
    kind = group["obs"].create_group("patient")
    kind["categories"] = np.array([f"p{i}" for i in range(len(names))], dtype=object)
    kind["codes"] = np.arange(len(names))[::-1]
    group.create_group("obsm")["X_umap"] = values[:, :2]
    if components is not None:
        group["obsm/X_pca"] = components


@pytest.mark.parametrize("sparse", [None, "csr", "csc"])
def test_h5ad(tmp_path, sparse):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        annotated(file, VALUES, ids(), HEADER, sparse)
    check(read(tmp_path / "t.h5ad"))
    (table,) = read(tmp_path / "t.h5ad", id_column="patient")
    assert table.ids.values[0] == f"p{N - 1}"
    assert table.scaled
    (table,) = read(tmp_path / "t.h5ad", arrays=("obsm/X_umap",))
    assert np.array_equal(table.values, VALUES[:, :2])
    assert table.columns == ("0", "1")
    assert not table.scaled


def test_principal_components_are_taken_where_there_are_any(run, tmp_path):
    h5py = pytest.importorskip("h5py")
    counts = np.random.default_rng(0).poisson(2, (N, 4)).astype(float)
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        annotated(file, counts, ids(), HEADER, components=VALUES)
    (table,) = read(tmp_path / "t.h5ad")
    assert np.array_equal(table.values, VALUES)
    assert (table.scaled, table.notes) == (False, ())
    run("fit", "t.h5ad", "-k", K, "--scale", "none", "-o", "out")
    labels = (tmp_path / "out/labels.csv").read_text()
    assert run("predict", "out/model.npz", "t.h5ad").out == labels
    (table,) = read(tmp_path / "t.h5ad", arrays=("X",))
    assert np.array_equal(table.values, counts)
    assert (table.scaled, table.notes) == (True, ())  # who says so means it
    run("fit", "t.h5ad", "-k", K, "--array", "X", "-o", "genes", "--no-report")
    (tmp_path / "t.h5ad").rename(tmp_path / "new.h5ad")
    with h5py.File(tmp_path / "new.h5ad", "a") as file:
        del file["obsm/X_pca"]
        file["obsm/X_pca"] = VALUES[:, :3]
    said = run("predict", "genes/model.npz", "new.h5ad").sentence
    assert said.startswith("new.h5ad (obsm/X_pca) lacks 4 of the 4 columns of the model's view 't': 'a'")
    assert run("predict", "genes/model.npz", "new.h5ad", "--array", "X").code == 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            np.ones((N, 2)),
            "t.h5ad has no obsm/X_pca: the 2 columns of .X are used and look like counts. Prepare them",
        ),
        (
            np.full((N, 51), 0.5),
            "the 51 columns of .X are used. Prepare them with scanpy.pp (normalize_total, log1p, ",
        ),
    ],
    ids=["counts", "columns"],
)
def test_columns_without_preparation_are_told_of(tmp_path, values, said):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        annotated(file, values, ids(), [f"gene{i}" for i in range(values.shape[1])])
    (note,) = read(tmp_path / "t.h5ad")[0].notes
    assert said in note
    assert note.endswith("or say that you mean it with --array X.")
    assert read(tmp_path / "t.h5ad", for_fit=False)[0].notes == ()  # the columns of a model are settled


def test_other_contents_of_h5ad_are_told_of(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        annotated(file, VALUES, ids(), HEADER)
        file.create_group("obsm/frame").attrs["encoding-type"] = "dataframe"
    with pytest.raises(UserError, match=r"has no matrix 'obsm/X_pca'; did you mean 'obsm/X_umap'\?"):
        read(tmp_path / "t.h5ad", arrays=("obsm/X_pca",))
    with pytest.raises(UserError, match="has a dataframe in 'obsm/frame' and no matrix; choose one with --array"):
        read(tmp_path / "t.h5ad", arrays=("obsm/frame",))
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        for name, column in (("obs", "index"), ("var", "index"), ("obsm", "X_pca")):
            file[name] = np.zeros(N, dtype=[(column, "f8")])
        file["X"] = VALUES
    with pytest.raises(UserError, match=r"old\.h5ad has no table 'var' .* write it with anndata >= 0\.7"):
        read(tmp_path / "old.h5ad")


def test_h5mu_has_a_view_for_each_modality(run, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5mu", "w") as file:
        annotated(file.create_group("mod/rna"), VALUES[:50, :2], ids()[:50], HEADER[:2], "csr")
        group = file.create_group("mod/protein")
        annotated(group, VALUES[10:, 2:], ids()[10:], HEADER[2:], components=VALUES[10:, :3])
    assert [(t.name, len(t.columns), t.scaled) for t in read(tmp_path / "t.h5mu")] == [
        ("protein", 3, False),
        ("rna", 2, True),
    ]
    answer = run("fit", "t.h5mu", "-k", K, "-o", "out", "--json").json
    coverage = {view["view"]: round(view["coverage"], 3) for view in answer["views"]}
    assert coverage == {"protein": 0.833, "rna": 0.833}
    assert sorted(read_csv(tmp_path / "out/labels.csv")["id"]) == ids()
    assert run("predict", "out/model.npz", "t.h5mu").out == (tmp_path / "out/labels.csv").read_text()


def test_files_that_anndata_wrote(tmp_path):
    anndata = pytest.importorskip("anndata")
    from scipy.sparse import csr_matrix

    data = anndata.AnnData(csr_matrix(VALUES), obs={"name": ids()}, var={"gene": HEADER})
    data.obs_names, data.var_names = ids(), HEADER
    data.write_h5ad(tmp_path / "t.h5ad")
    check(read(tmp_path / "t.h5ad"))


def test_a_model_that_was_kept_in_python_labels_files(run, tmp_path):
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(VALUES.copy(), obsm={"X_pca": VALUES / VALUES.std(axis=0)})
    data.obs_names = ids()
    powerkmeans.sc.cluster(data, K, n_pcs=3, feature_map="identity", model_file=tmp_path / "model.npz")
    data.write_h5ad(tmp_path / "t.h5ad")
    run("predict", "model.npz", "t.h5ad", "-o", "labels.csv")
    found = read_csv(tmp_path / "labels.csv")
    assert found["id"] == ids()
    assert found["cluster"] == data.obs["power_kmeans"].tolist()


def test_components_keep_their_spread(run, tmp_path):
    """The first of them say most; scaled, all would say the same."""
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(VALUES)
    data.obsm["X_pca"] = VALUES * [1, 0.1, 0.01, 0.001]
    data.write_h5ad(tmp_path / "cells.h5ad")
    options = ("-k", K, "--feature-map", "identity", "--no-report", "--json")
    assert run("fit", "cells.h5ad", *options, "-o", "auto").json["scale"] == "none"
    assert run("fit", "cells.h5ad", *options, "-o", "standard", "--scale", "standard").json["scale"] == "standard"
    assert run("fit", "cells.h5ad", *options, "-o", "matrix", "--array", "X").json["scale"] == "standard"


@pytest.mark.parametrize("stored", ["csr", "csc", "dense"])
def test_a_report_of_components_shows_genes(run, tmp_path, stored):
    anndata, sparse = pytest.importorskip("anndata"), pytest.importorskip("scipy.sparse")
    genes = np.abs(np.random.default_rng(0).normal(size=(N, 60))).astype(np.float32)
    genes[:, 5] += 9 * (np.arange(N) % K == 1)
    matrix = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "dense": np.array}[stored](genes)
    data = anndata.AnnData(matrix, obsm={"X_pca": VALUES / VALUES.std(axis=0)})
    data.var_names = [f"gene{i}" for i in range(60)]
    data.write_h5ad(tmp_path / "cells.h5ad")
    fit = ("fit", "cells.h5ad", "-k", K, "--feature-map", "identity", "--no-memberships")
    assert run(*fit).code == 0
    page = (tmp_path / "powerkmeans_output/report.html").read_text(encoding="utf-8")
    assert "48 of the 60 variables of .X" in page
    assert '"gene5"' in page
    if stored == "dense":
        run(*fit, "--array", "X", "-o", "whole")
        assert "variables of .X" not in (tmp_path / "whole/report.html").read_text(encoding="utf-8")
