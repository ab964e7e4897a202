"""Every mistake ends in one sentence, an exit code that tells its kind, and nothing written."""

from __future__ import annotations

import errno
import json
import os
import re

import numpy as np
import pytest
from command_helpers import LANDMARKS, K, N, ids, leftovers, rows, write_csv

from powerkmeans.models import saving
from powerkmeans.support.install import install_line

USAGE, DATA, OUTPUT = 2, 3, 4


@pytest.fixture
def fails(run, tmp_path):
    """Run a command that must fail; what it said."""

    def check(code, *arguments, **options):
        before = leftovers(tmp_path)
        done = run(*arguments, **options)
        assert done.code == code, (done.code, done.err, done.out)
        assert done.out == ""
        assert leftovers(tmp_path) == before
        return done.error

    return check


def text(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.csv is empty (0 bytes)."),
        ("\n\n  \n", "t.csv is empty."),
        ("a,b\n", "t.csv has a header and no rows."),
        ("a,b\n1,2\n3\n4,5\n", "t.csv has 1 field in line 3, but 2 in its first line."),
        ("a,b\n1,2\n3,4,5\n", "t.csv has 3 fields in line 3, but 2 in its first line."),
        ("a,b\n1,2\n3,x7\n", "b       'x7' in line 3 is not a number  --na x7 if it means missing, or --drop b"),
        ("a;b\n1,5;2\n3;4\n", "'1,5' in line 2 is not a number  --decimal , if commas stand before decimals"),
        ("a,b\n1,2\n3,\0\n", "t.csv is not text: it holds zero bytes."),
        ("a:b\n1:2\n3:4\n", "a:b     2 words: 1:2, 3:4  --encode a:b, or --drop a:b"),
        ("a,a\n1,2\n3,4\n", "t.csv has more than one column 'a'"),
        ('a,b\n1,"2\n3,4\n', "t.csv is not a proper table"),
        ("a,b\n1,2\n3,inf\n", "t.csv has an infinite value in line 3, column 'b'."),
        ("a,b\n7,7\n7,7\n7,7\n", "All columns are constant ('a', 'b'): there is nothing to cluster."),
        ("a,b\n1,2\n,\n3,4\n", "1 missing cell, the first in line 3"),
        ("a,b\n1,2\n3,4\n", "There are 2 samples, fewer than the 3 clusters that -k asks for."),
    ],
)
def test_bad_tables(fails, tmp_path, content, message):
    text(tmp_path, content)
    assert message in fails(DATA, "fit", "t.csv", "-k", K)


def test_text_that_is_not_utf8(fails, run, tmp_path):
    values = rows()[1]
    content = "name,x\n" + "".join(f"Zoë{i},{v}\n" for i, v in enumerate(values[:, 0]))
    text(tmp_path, content.encode("latin-1"))
    said = fails(DATA, "fit", "t.csv", "--id", "name", "-k", K)
    assert "t.csv is not UTF-8 text (byte 0xeb)" in said
    assert "--encoding latin-1" in said
    assert run("fit", "t.csv", "--id", "name", "-k", K, "--encoding", "latin-1", "-o", "out").code == 0
    assert "There is no encoding 'latin1000'" in fails(USAGE, "fit", "t.csv", "-k", K, "--encoding", "latin1000")
    text(tmp_path, content.encode("utf-16"), "wide.csv")
    assert "--encoding utf-16" in fails(DATA, "fit", "wide.csv", "-k", K)


def test_a_wrong_delimiter(fails, run, tmp_path):
    write_csv(tmp_path / "t.csv", None, *rows(), delimiter=";")
    said = fails(DATA, "fit", "t.csv", "-k", K, "--delimiter", ",")
    assert "t.csv is not cut at ',' but, it seems, at semicolons" in said
    assert run("fit", "t.csv", "-k", K, "-o", "out").code == 0  # found out
    assert "must be one character" in fails(USAGE, "fit", "t.csv", "-k", K, "--delimiter", "::")


def test_decimal_commas(fails, tmp_path):
    text(tmp_path, "a;b\n1,5;2\n1.234;4\n")
    said = fails(DATA, "fit", "t.csv", "-k", K, "--decimal", ",")
    assert "'1.234' in line 3 is not a number  with --decimal , no point may stand in it" in said
    said = fails(USAGE, "fit", "t.csv", "-k", K, "--decimal", ",", "--delimiter", ",")
    assert said == "--delimiter and --decimal are both ','."


def test_a_column_of_words_is_not_offered_as_a_second_id(fails, tmp_path):
    text(tmp_path, "name,kind,x\na,red,1\nb,blue,2\nc,red,3\n")
    said = fails(DATA, "fit", "t.csv", "-k", 1)
    assert "name    3 words, each once: a, b, c  --id name, or --drop name" in said
    assert "kind    2 words: blue, red           --encode kind, or --drop kind" in said  # all at once
    said = fails(DATA, "fit", "t.csv", "-k", 1, "--id", "name")
    assert "--id" not in said


def test_predict_does_not_advise_options_that_it_lacks(fails, run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out")
    text(tmp_path, "id,a,b,c,d\nx,1,2,red,4\n")
    said = fails(DATA, "predict", "out/model.npz", "t.csv")
    assert said == "t.csv, line 2, column 'c': 'red' is not a number. Say --na red if it means missing."


def test_missing_values_are_counted_by_column(fails, tmp_path):
    header, values = rows()
    values[3, 1] = values[7, 1] = values[9, 2] = np.nan
    write_csv(tmp_path / "t.csv", None, header, values)
    said = fails(DATA, "fit", "t.csv", "-k", K)
    assert "b       2 missing cells, the first in line 5  --impute median, knn or drop-rows" in said
    assert "c       1 missing cell, the first in line 11" in said
    said = fails(DATA, "fit", "t.csv", "-k", K, "--view", "x=a,b", "--view", "y=c,d")
    assert "A sample has a view whole or not at all." in said


def test_ids(fails, tmp_path, table):
    header, values = rows()
    twice = ids()
    twice[9] = twice[4]
    write_csv(tmp_path / "twice.csv", twice, header, values)
    said = fails(DATA, "fit", "twice.csv", "--id", "id", "-k", K)
    assert said == "twice.csv has the id 's004' twice, in line 6 and line 11; ids must be unique."
    none = ids()
    none[2] = ""
    write_csv(tmp_path / "none.csv", none, header, values)
    assert "none.csv has no 'id' in line 4" in fails(DATA, "fit", "none.csv", "--id", "id", "-k", K)
    assert "has no column 'ids' for --id; did you mean 'id'?" in fails(DATA, "fit", table, "--id", "ids", "-k", K)
    write_csv(tmp_path / "other.csv", [f"P{i}" for i in range(N)], ["e", "f"], values[:, :2])
    said = fails(DATA, "fit", table, "other.csv", "--id", "id", "-k", K)
    assert "No id of rows.csv ('s000', 's001', ...) is in any other file ('P0', 'P1', ...)" in said


def test_files_of_different_length_need_ids(fails, tmp_path):
    header, values = rows()
    write_csv(tmp_path / "x.csv", None, header[:2], values[:, :2])
    write_csv(tmp_path / "y.csv", None, header[2:], values[:40, 2:])
    said = fails(DATA, "fit", "x.csv", "y.csv", "-k", K)
    assert "x.csv has 60 rows and y.csv has 40" in said
    assert "--id" in said


def test_samples_without_any_view(fails, tmp_path):
    header, values = rows()
    values[4] = np.nan
    write_csv(tmp_path / "t.csv", ids(), header, values)
    said = fails(DATA, "fit", "t.csv", "--id", "id", "-k", K, "--view", "x=a,b", "--view", "y=c,d")
    assert "1 sample without any view, the first is id 's004'" in said


def test_views(fails, table):
    common = ("fit", table, "--id", "id", "-k", K)
    write = table.read_text().replace("id,a,b,c,d", "id,Alpha,beta,gamma,delta")
    table.write_text(write)
    assert "rows.csv has no column 'alpha'; did you mean 'Alpha'?" in fails(DATA, *common, "--view", "x=alpha")
    assert "has no column like 'rna_*'; it has 'Alpha', 'beta'" in fails(DATA, *common, "--view", "x=rna_*")
    assert "is not of the form name=column" in fails(USAGE, *common, "--view", "x")
    said = fails(USAGE, *common, "--view", "x=Alpha,beta", "--view", "y=beta,gamma")
    assert "Column 'beta' is in the views 'x' and 'y'" in said
    assert "has 4 columns, so '2:9' is not a range" in fails(DATA, *common, "--view", "x=2:9")
    assert "has no column 'betta'; did you mean 'beta'" in fails(DATA, *common, "--drop", "betta")
    assert "--drop leaves no column of rows.csv" in fails(USAGE, *common, "--drop", "*")
    said = fails(USAGE, "fit", table, table, "-k", K, "--view", "x=Alpha")
    assert "Two files give a view called 'rows'" in said


def test_files_that_cannot_be_read(fails, tmp_path):
    assert fails(DATA, "fit", "nowhere.csv", "-k", K) == "There is no file 'nowhere.csv'."
    text(tmp_path, "x", "t.xyz")
    assert "t.xyz has none of the extensions that are read" in fails(DATA, "fit", "t.xyz", "-k", K)
    text(tmp_path, "x", "t.xlsx")
    assert "t.xlsx cannot be read as a spreadsheet" in fails(DATA, "fit", "t.xlsx", "-k", K)
    text(tmp_path, "x", "t.ods")
    assert "save it as .xlsx or CSV" in fails(DATA, "fit", "t.ods", "-k", K)
    for name in ("t.npy", "t.npz", "t.mat", "t.h5ad", "t.parquet", "t.feather", "t.csv.gz"):
        text(tmp_path, b"not what it says, but long enough to be looked at" * 20, name)
        assert fails(DATA, "fit", name, "-k", K).startswith("t."), name
    for name in ("t.npy", "t.npz", "t.parquet", "t.feather"):
        text(tmp_path, b"", name)
        assert f"{name} is empty (0 bytes)." in fails(DATA, "fit", name, "-k", K)
    (tmp_path / "folder").mkdir()
    assert "folder is a folder without any .parquet file" in fails(DATA, "fit", "folder", "-k", K)


def test_arrays_of_the_wrong_kind(fails, tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros(9))
    assert "flat.npy is an array of shape (9,)" in fails(DATA, "fit", "flat.npy", "-k", K)
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object))
    assert "holds Python objects" in fails(DATA, "fit", "objects.npy", "-k", K)
    np.savez(tmp_path / "two.npz", x=np.zeros((9, 2)), y=np.zeros((8, 2)))
    assert "has arrays of different length: 'x' (9), 'y' (8) rows" in fails(DATA, "fit", "two.npz", "-k", K)
    assert "has no array 'z'" in fails(DATA, "fit", "two.npz", "-k", K, "--array", "z")
    np.savez(tmp_path / "labels.npz", y=np.zeros(9))
    assert "has no array of the shape of a table; it has 'y'" in fails(DATA, "fit", "labels.npz", "-k", K)


def test_text_in_a_column_of_parquet(fails, tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": [1.0, 2.0], "kind": ["x", "y"]}).to_parquet(tmp_path / "t.parquet")
    said = fails(DATA, "fit", "t.parquet", "-k", K)
    assert "kind    2 words: x, y" in said
    assert "--drop kind" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "How many clusters? Say -k 3, for example; `powerkmeans choose-k`"),
        (["-k", "0"], "0 is not in the range x>=1"),
        (["-k", "three"], "'three' is not a valid integer"),
        (["-k", "3", "--bandwidth", "wide"], "--bandwidth must be"),
        (["-k", "3", "--components", "0"], "--components must be"),
        (["-k", "3", "--scale", "minmax"], "'minmax' is not one of"),
        (["-k", "3", "--set", "s_inti=-5"], "There is no parameter 's_inti'; did you mean 's_init'?"),
        (["-k", "3", "--set", "s_init=5"], "--set s_init=5 must be negative"),
        (["-k", "3", "--set", "n_clusters=5"], "n_clusters is set with -k"),
        (["-k", "3", "--set", "s_init"], "is not of the form parameter=value"),
        (["-k", "3", *LANDMARKS, "--membership", "fuzzy", "--outliers", "0.1"], "--outliers needs scores"),
        (["-k", "3", *LANDMARKS, "--set", "membership=fuzzy", "--outliers", "0.1"], "--outliers needs scores"),
        (["-k", "3", "--nonsense"], "No such option"),
        (["-k", "3", "--format", "xlsx"], "'xlsx' is not one of"),
    ],
)
def test_wrong_options_are_told_before_anything_is_read(fails, tmp_path, options, message):
    text(tmp_path, "a,b\nnot,read\n")
    assert message in fails(USAGE, "fit", "t.csv", *options)


def test_wrong_commands(fails):
    assert "--rows 100 are too few for 99 clusters" in fails(USAGE, "bench", "--rows", 100, "-k", 99)
    assert "No such command 'fti'" in fails(USAGE, "fti")


def test_an_existing_file_is_kept_unless_told_otherwise(fails, run, table, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/labels.csv").write_text("mine")
    text(tmp_path, "not even read", "t.csv")
    assert "'out/labels.csv' exists already; say --overwrite" in fails(
        OUTPUT, "fit", "t.csv", "-k", K, "-o", "out"
    )
    assert (tmp_path / "out/labels.csv").read_text() == "mine"
    assert run("fit", table, "--id", "id", "-k", K, "-o", "out", "--overwrite").code == 0
    assert (tmp_path / "out/labels.csv").read_text().startswith("id,cluster")


def test_a_file_that_is_read_is_never_replaced(fails, run, table, tmp_path):
    table.rename(tmp_path / "labels.csv")
    said = fails(OUTPUT, "fit", "labels.csv", "--id", "id", "-k", K, "-o", ".", "--overwrite")
    assert said == "'labels.csv' is read from; write to another file."
    run("fit", "labels.csv", "--id", "id", "-k", K, "-o", "out")
    common = ("predict", "out/model.npz", "labels.csv", "--overwrite", "-o")
    assert "is read from" in fails(OUTPUT, *common, tmp_path / "labels.csv")


def test_a_folder_that_cannot_be_written_to(fails, table, tmp_path):
    (tmp_path / "file").write_text("")
    said = fails(OUTPUT, "fit", table, "--id", "id", "-k", K, "-o", "file/below")
    assert "Cannot write to 'file/below': Not a directory." in said
    (tmp_path / "out").mkdir()
    (tmp_path / "out/model.npz").mkdir()
    assert "'out/model.npz' is a folder" in fails(OUTPUT, "fit", table, "-k", K, "-o", "out")


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have no place among files elsewhere")
def test_only_regular_files_are_replaced(fails, run, table, tmp_path, monkeypatch):
    run("fit", table, "--id", "id", "-k", K, "-o", "model")
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out/labels.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null.csv").symlink_to(os.devnull)
    (tmp_path / "gone.csv").symlink_to("nowhere.csv")
    text(tmp_path, "not even read", "unread.csv")
    for name in ("replace", "link", "rename"):
        monkeypatch.setattr(os, name, lambda *paths: pytest.fail("a file was put in the place of something else"))
    for more in ((), ("--overwrite",)):
        common = ("predict", "model/model.npz", table, *more, "-o")
        said = fails(OUTPUT, "fit", table, "--id", "id", "-k", K, "-o", "out", *more)
        assert said.startswith("'out/labels.csv' is a pipe and not a regular file")
        assert "'pipe.csv' is a pipe and not a regular file" in fails(OUTPUT, *common, "pipe.csv")
        assert "'null.csv' is a device and not a regular file" in fails(OUTPUT, *common, "null.csv")
        assert "'gone.csv' is a link to " in fails(OUTPUT, *common, "gone.csv")
        said = fails(OUTPUT, "fit", "unread.csv", "-k", K, "-o", "gone.csv", *more)
        assert said == "'gone.csv' is a link that leads nowhere; remove it or name another folder."


def test_a_folder_without_permission(fails, table, tmp_path, monkeypatch):
    """Root may write anywhere, so the refusal is played."""
    import tempfile

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert "Cannot write to 'out': Permission denied." in fails(OUTPUT, "fit", table, "-k", K, "-o", "out")


@pytest.mark.parametrize("writer", ["save_prepared", "write_page", "write_table"])
def test_a_full_disk(fails, table, monkeypatch, writer):
    def full(path, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"powerkmeans.cli.actions.fit.{writer}", full)
    said = fails(OUTPUT, "fit", table, "--id", "id", "-k", K, "-o", "new/out")
    assert said == "Cannot write to 'new/out': No space left on device."


def test_an_output_without_a_name(fails, table):
    """As of a variable of the shell that nobody set."""
    assert fails(USAGE, "fit", table, "-k", K, "-o", "") == "The name of the output is empty."


@pytest.mark.parametrize("content", [b"", b"PK", b"not a model", None])
def test_corrupt_models(fails, run, table, tmp_path, content):
    if content is None:
        run("fit", table, "--id", "id", "-k", K, "-o", "out")
        whole = (tmp_path / "out/model.npz").read_bytes()
        content = whole[: len(whole) // 2]
    text(tmp_path, content, "bad.npz")
    for command in (("predict", "bad.npz", table), ("explain", "bad.npz")):
        assert "is not a powerkmeans model, or is damaged" in fails(DATA, *command)
    assert "There is no model file 'none.npz'" in fails(DATA, "explain", "none.npz")


@pytest.mark.parametrize(
    ("entry", "value", "sentence"),
    [
        ("threshold", "high", "extra.threshold is 'high', which is no number that it can be"),
        ("scale", "other", "extra.scale must be one of"),
        ("scale", "rows", "extra.scale tells of rows that the model does not scale"),
        ("views", {"list": []}, "extra.found.views.view has 1 entries, but V is 0"),
        ("found", {"dict": {"sizes": {"list": [1]}}}, "extra.found.sizes must be an array of numbers"),
        ("found", {"dict": {"views": {"dict": {}}}}, "extra.found.views.view is missing"),
        ("found", {"dict": {"n_noise": {"float": "nan"}}}, "extra.found.n_noise must be an integer"),
        ("more", 1, "extra has the unknown entry 'more'"),
    ],
)
def test_what_is_kept_beside_a_model_is_checked(fails, run, table, tmp_path, entry, value, sentence):
    run("fit", table, "--id", "id", "-k", K, "-o", "out")
    header, arrays = saving.read(tmp_path / "out/model.npz")
    header["extra"]["dict"][entry] = value
    saving.write(tmp_path / "bad.npz", header, _referred(header, arrays))
    assert re.search(sentence, fails(DATA, "explain", "bad.npz"))


def _referred(header, arrays):
    """The arrays that are still spoken of."""
    spoken = json.dumps(header)
    return {name: a for name, a in arrays.items() if not name.startswith("parameter") or f'"{name}"' in spoken}


def test_a_model_with_any_byte_wrong_never_ends_in_a_traceback(fails, run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out")
    whole = bytearray((tmp_path / "out/model.npz").read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 12, replace=False):
        broken = whole.copy()
        broken[place] ^= 0xFF
        text(tmp_path, bytes(broken), "bad.npz")
        done = run("predict", "bad.npz", table)
        assert done.code in (0, DATA), done.err
        assert "Traceback" not in done.err


def test_new_data_that_does_not_fit_the_model(fails, run, table, tmp_path):
    header, values = rows()
    run("fit", table, "--id", "id", "-k", K, "-o", "out")
    write_csv(tmp_path / "less.csv", ids(), header[:3], values[:, :3])
    said = fails(DATA, "predict", "out/model.npz", "less.csv")
    assert "less.csv lacks 1 of the 4 columns of the model's view 'rows': 'd'" in said
    write_csv(tmp_path / "none.csv", ids(), ["x", "y"], values[:, :2])
    assert "none.csv has none of the columns that the model knows" in fails(
        DATA, "predict", "out/model.npz", "none.csv"
    )
    np.save(tmp_path / "wide.npy", np.zeros((4, 7)))
    assert "lacks 4 of the 4 columns" in fails(DATA, "predict", "out/model.npz", "wide.npy")
    said = fails(USAGE, "predict", "out/model.npz", table, "-o", "labels.xlsx")
    assert "'labels.xlsx' must end in one of .csv, .tsv, .parquet." in said
    assert "exists already" in fails(OUTPUT, "predict", "out/model.npz", table, "-o", "out/labels.csv")


def test_evaluate_needs_labels_of_one_length(fails, tmp_path):
    text(tmp_path, "cluster\n0\n1\n1\n", "labels.csv")
    text(tmp_path, "class\nx\ny\n", "truth.csv")
    said = fails(DATA, "evaluate", "labels.csv", "truth.csv")
    assert "labels.csv has 3 rows and truth.csv has 2" in said
    text(tmp_path, "id,class\na,x\nb,y\nc,y\n", "ids.csv")
    assert "labels.csv has no column 'id' for --id" in fails(
        DATA, "evaluate", "labels.csv", "ids.csv", "--id", "id"
    )
    said = fails(DATA, "evaluate", "labels.csv", "ids.csv")
    assert said.endswith(
        "has the columns 'id', 'class'; say which one counts with --truth-column, and which names "
        "the rows with --id."
    )
    text(tmp_path, "id,cluster\nz,0\n", "others.csv")
    assert "No id of others.csv" in fails(DATA, "evaluate", "others.csv", "ids.csv", "--id", "id")
    text(tmp_path, "class\nx\n\nna\n", "gap.csv")
    text(tmp_path, "id,class\na,x\nb,\nc,y\n", "gap.csv")
    said = fails(DATA, "evaluate", "labels.csv", "gap.csv", "--truth-column", "class")
    assert "gap.csv has 1 row without a 'class', the first is row 1." in said


def test_what_is_missing_is_named_with_the_way_to_install_it(fails, tmp_path, monkeypatch):
    import importlib

    real = importlib.import_module

    def without(name, package=None):
        if name.split(".")[0] in ("pyarrow", "zarr", "h5py"):
            raise ImportError(f"No module named {name!r}")
        return real(name, package)

    monkeypatch.setattr("powerkmeans.support.install.import_module", without)
    for name, extra in (("t.parquet", "arrow"), ("t.feather", "arrow"), ("t.h5ad", "h5ad"), ("t.h5mu", "h5ad")):
        text(tmp_path, "x", name)
        assert install_line(extra) in fails(5, "fit", name, "-k", K)
    (tmp_path / "t.zarr").mkdir()
    assert install_line("zarr") in fails(5, "fit", "t.zarr", "-k", K)
    text(tmp_path, "a\n1\n", "t.csv")
    assert install_line("arrow") in fails(5, "fit", "t.csv", "-k", K, "--format", "parquet")


def test_an_error_nobody_thought_of_is_still_a_sentence(fails, table, monkeypatch):
    def broken(*args):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr("powerkmeans.cli.actions.fit.read_inputs", broken)
    said = fails(1, "fit", table, "-k", K)
    assert said == "RuntimeError: something odd (set POWERKMEANS_DEBUG=1 for the traceback)"
    monkeypatch.setattr("powerkmeans.cli.memory.available_memory", lambda: 10)


def test_what_does_not_fit_in_memory(fails, tmp_path, monkeypatch):
    np.save(tmp_path / "t.npy", np.zeros((100, 10)))
    monkeypatch.setattr("powerkmeans.cli.memory.available_memory", lambda: 1000)
    said = fails(1, "fit", "t.npy", "-k", K)
    assert "t.npy takes 8 kB in memory, and 1 kB are free." in said
