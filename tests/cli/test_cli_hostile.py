"""Names and files that mean harm: formulas, escape sequences, numbers that are none, damaged headers."""

from __future__ import annotations

import io
import json
import re
import zipfile

import numpy as np
import pytest
from command_helpers import K, N, ids, leftovers, read_csv, rows, write_csv
from rich.console import Console

from npy_headers import DAMAGED, READABLE
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.labels import read_labels
from powerkmeans.cli.outputs import write_csv as write_columns
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.reading import named_files, read_file
from powerkmeans.cli.spreadsheet import guarded, unguarded
from powerkmeans.cli.table import Request
from powerkmeans.support.escapes import printable

# what a spreadsheet would run, and what only looks like it
FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "'=1", "''+x", "\uff1d1", "-", "--1", "+1+1"]
HARMLESS = ["-1", "+1", "-1.5e3", "-.5", "+7.", "s=1", "a-b", "'quoted'", "'", "x'=1", "0-1", "naïve", "日本"]
STEERING = "\x1b]0;owned\x07\x1b[31mred\r\x9b2J\u202e\u2028"


def nasty_ids(first):
    return [*first, *ids()][:N]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_no_cell_is_a_formula_and_ids_come_back(run, tmp_path, kind):
    names = nasty_ids([*FORMULAS, *HARMLESS])
    write_csv(tmp_path / "t.csv", names, *rows())
    assert run("fit", "t.csv", "--id", "id", "-k", K, "-o", "out", "--format", "csv").code == 0
    assert run("predict", "out/model.npz", "t.csv", "-o", f"p.{kind}").code == 0
    written = [line.split("," if kind == "csv" else "\t")[0] for line in read_lines(tmp_path / f"p.{kind}")][1:]
    for table in (read_csv(tmp_path / "out/labels.csv")["id"], read_csv(tmp_path / "out/memberships.csv")["id"]):
        assert table == [guarded(unguarded(name)) for name in names]  # one that has its guard keeps it
    number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e\d+)?")
    assert all(cell[:1] not in "=+-@\uff1d" or number.fullmatch(cell) for cell in written)
    # by id, against a file that nobody guarded
    truth = "id,class\n" + "".join(f"{quoted(name)},{i % K}\n" for i, name in enumerate(names))
    (tmp_path / "truth.csv").write_text(truth, encoding="utf-8")
    answer = run("evaluate", f"p.{kind}", "truth.csv", "--id", "id", "--json").json
    assert (answer["n_samples"], answer["accuracy"], answer["notes"]) == (N, 1, [])
    # an output is an input
    again = run("fit", "t.csv", "more=out/memberships.csv", "--id", "id", "-k", K, "-o", "two", "--json").json
    assert answer["n_samples"] == again["n_samples"] == N


def read_lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("text", [*FORMULAS, *HARMLESS, "", " =1", "' =1", "\t=1", "\rx", "\n-"])
def test_guards_are_taken_away_again(text):
    assert unguarded(guarded(text)) == text
    assert (guarded(text) != text) == (text not in HARMLESS and text != "")


def test_the_name_of_the_column_of_ids_is_no_formula_either(run, table, tmp_path):
    table.write_text(table.read_text().replace("id,a", "=id,a", 1))
    assert run("fit", table, "--id", "=id", "-k", K, "-o", "out").code == 0
    assert next(iter(read_csv(tmp_path / "out/labels.csv"))) == "'=id"
    (tmp_path / "truth.csv").write_text("=id,class\n" + "".join(f"{name},x\n" for name in ids()))
    assert run("evaluate", "out/labels.csv", "truth.csv", "--id", "=id", "--json").json["n_samples"] == N


def test_ids_stay_in_their_cell_whatever_they_hold():
    names = ["a;=1+1", "a\r=1+1", "a\n=1+1", 'a",=1+1', "a\t=1+1", "a,b", "a|=1"]
    columns = {"id": np.array(names, dtype=object), "cluster": np.zeros(len(names), dtype=np.int32)}
    stream = io.StringIO()
    write_columns(stream, iter([columns]))
    assert stream.getvalue() == "id,cluster\n" + "".join(f"{quoted(name)},0\n" for name in names)


def test_parquet_keeps_ids_as_they_are(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    names = nasty_ids(FORMULAS[:4])
    write_csv(tmp_path / "t.csv", names, *rows())
    run("fit", "t.csv", "--id", "id", "-k", K, "-o", "out", "--format", "parquet")
    assert parquet.read_table(tmp_path / "out/labels.parquet").to_pydict()["id"] == names


@pytest.mark.parametrize("names", [["--1"], ["1" * 5000], ["9" * 19], ["-0"], ["\u0661"]])
def test_odd_numbers_as_ids(run, tmp_path, names):
    names = [*names, *(str(i) for i in range(N))][:N]
    write_csv(tmp_path / "t.csv", names, *rows())
    done = run("fit", "t.csv", "--id", "id", "-k", K, "-o", "out")
    assert done.code == 0, done.err
    assert [unguarded(name) for name in read_csv(tmp_path / "out/labels.csv")["id"]] == names


# --- what is shown


def steers(text):
    """Whether a text has anything but characters and ends of lines."""
    return re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", text) is not None


def test_what_cannot_be_seen_is_written_out():
    assert printable("plain, naïve, 日本, e\u0301 👩\u200d🔬") == "plain, naïve, 日本, e\u0301 👩\u200d🔬"
    assert printable(STEERING) == r"\x1b]0;owned\x07\x1b[31mred\r\x9b2J\u202e\u2028"
    assert printable("a\nb\tc", keep="\n") == "a\nb\\tc"
    assert printable("half \ud800") == r"half \ud800"


def test_nothing_that_names_something_steers_the_terminal(run, tmp_path):
    header, values = rows()
    names = [f"{STEERING}{name}" for name in header]
    file = f"t{STEERING}.csv"
    write_csv(tmp_path / file, [f"{STEERING.replace(chr(13), '')}{name}" for name in ids()], names, values)
    table = (tmp_path / file).read_text().replace("id,", f"{quoted(STEERING + 'id')},", 1)
    (tmp_path / file).write_text(table)
    view = f"--view=x{STEERING}=0:2", f"--view=y{STEERING}=2:4"
    said = [
        run("fit", file, "--id", f"{STEERING}id", "-k", K, "-o", "out"),
        run("fit", file, "--id", f"{STEERING}id", "-k", K, "-o", f"o{STEERING}", *view),
        run("explain", "out/model.npz"),
        run("explain", f"o{STEERING}/model.npz"),
        run("fit", file, "--id", f"{STEERING}di", "-k", K),
        run("fit", file, "-k", K, "-o", "three"),
        run("fit", file, "--id", f"{STEERING}id", "--drop", f"{STEERING}q", "-k", K),
        run("fit", file, f"{STEERING}no.csv", "-k", K),
        run("fit", file, "-k", K, f"--{STEERING}"),
        run("predict", "out/model.npz", file, "-o", f"{STEERING}.csv"),
        run("evaluate", f"{STEERING}.csv", f"{STEERING}.csv", "--id", f"{STEERING}id"),
    ]
    assert [done.code for done in said] == [0, 0, 0, 0, 3, 3, 3, 3, 2, 0, 0]
    for done in said:
        assert not steers(done.out + done.err), (done.out, done.err)
    assert r"\x1b[31mred" in said[0].out
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    data = page.split('id="data">')[1].split("</script>")[0]
    assert not steers(data)
    assert json.loads(data)["map"]["id"][0].startswith(r"\x1b]0;owned\x07\x1b[31mred")
    assert not steers(re.sub("(?s)<(script|style)>.*?</\\1>", "", page))


def test_a_table_on_a_terminal_does_not_steer_it():
    class Screen(io.StringIO):
        def isatty(self):
            return True

    columns = {STEERING: np.array([STEERING, "=1"], dtype=object), "cluster": np.zeros(2, dtype=np.int32)}
    for stream, raw in ((Screen(), False), (io.StringIO(), True)):
        write_columns(stream, iter([columns]))
        assert steers(stream.getvalue().replace("\r", "")) == raw


def test_a_bar_takes_no_orders_from_names():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with Bar("Reading", console, "[/dim][red]x\x1b]0;owned\x07.csv", shown=True) as bar:
        bar._draw(0.5, "half", "")
    assert "]0;owned\x07" not in stream.getvalue()
    assert "[/dim][red]x" in stream.getvalue()


# --- numbers that are none


@pytest.mark.parametrize(
    "word",
    ["1_000", "\u0661\u0662", "\uff11\uff12", "1\u0660", "0x10", "1e", "\u221e", "\u2212 5", "TRUE"],
)
@pytest.mark.parametrize("decimal", [".", ","])
def test_texts_that_only_python_reads_as_numbers(run, tmp_path, word, decimal):
    header, values = rows()
    lines = [";".join(header), *(";".join(f"{v:.0f}" for v in row) for row in values)]
    lines[7] = ";".join(["1", word, "3", "4"])
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = leftovers(tmp_path)
    done = run("fit", "t.csv", "-k", K, "--decimal", decimal, "--delimiter", ";")
    assert done.code == 3
    assert f"b       {word!r} in line 8 is not a number" in done.error
    assert leftovers(tmp_path) == before


def test_a_header_of_foreign_digits_is_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("1_0,\u0661\n1,2\n3,4\n", encoding="utf-8")
    (table,) = read(tmp_path / "t.csv")
    assert table.columns == ("1_0", "\u0661")
    assert table.values.tolist() == [[1, 2], [3, 4]]


def test_words_for_numbers_are_as_documented(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n NaN ,\u00a03\u00a0\n-nan,+4.5E0\n")
    (table,) = read(tmp_path / "t.csv")
    assert np.array_equal(table.values, [[1, 2], [np.nan, 3], [np.nan, 4.5]], equal_nan=True)
    for word in ("inf", "-Infinity", "1e999"):
        (tmp_path / "t.csv").write_text(f"a,b\n1,2\n3,{word}\n5,6\n")
        said = run("fit", "t.csv", "-k", 2)
        assert (said.code, said.sentence) == (3, "t.csv has an infinite value in line 3, column 'b'.")


# --- damaged headers


def read(path):
    (file,) = named_files([str(path)])
    return read_file(file, Request(lambda header, source: list(range(len(header)))))


@pytest.mark.parametrize("header", READABLE)
def test_sound_headers(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(READABLE[header])
    assert read(tmp_path / "x.npy")[0].values.shape == (20, 3)


@pytest.mark.parametrize("header", DAMAGED)
def test_damaged_headers(run, tmp_path, header):
    (tmp_path / "x.npy").write_bytes(DAMAGED[header])
    told = "x.npy is not a .npy file, or its beginning is damaged."
    done = run("fit", "x.npy", "-k", K)
    assert (done.code, done.sentence) == (3, told)
    (tmp_path / "truth.csv").write_text("class\nx\n")
    done = run("evaluate", "x.npy", "truth.csv")
    assert (done.code, done.sentence) == (3, told)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", DAMAGED[header])
    done = run("fit", "x.npz", "-k", K)
    assert (done.code, "x.npz" in done.sentence) == (3, True)


def test_labels_that_are_one_number(tmp_path):
    np.save(tmp_path / "x.npy", np.float64(3))
    with pytest.raises(UserError, match=r"x\.npy is an array of shape \(\); labels have one dimension"):
        read_labels(str(tmp_path / "x.npy"), None, None, option="--labels-column")
