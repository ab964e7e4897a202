"""The table from raw rows: shapes by name, what a fit is measured by, rows that are kept, ratios of one run."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import raw_rows, raw_sets, report
from benchmarks.harness.store import Store
from benchmarks.methods import OURS, REFERENCE
from benchmarks.raw_sets import Shape

SMALL = "600x4k3"


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)


def command(*more, sets=(SMALL,), methods=(OURS,)):
    raw_rows.main(["--sets", *sets, "--methods", *methods, "--threads", "1", "--here", *more])


def stored():
    return Store(raw_rows.NAME, raw_rows.KEYS).rows


@pytest.mark.parametrize(
    ("name", "shape", "title"),
    [
        ("1e6x10k20", Shape(1_000_000, (10,), 20), "1,000,000 x 10, k=20"),
        ("2e5x50k20", Shape(200_000, (50,), 20), "200,000 x 50, k=20"),
        ("600x5+5k3", Shape(600, (5, 5), 3), "600 x 5 + 5, k=3"),
    ],
)
def test_names_of_shapes(name, shape, title):
    assert raw_sets.shape_of(name) == shape
    assert raw_sets.title(name) == title
    assert raw_sets.checked_name(name) == name


@pytest.mark.parametrize("name", ["", "HW3", "1e6x10", "1e6xk3", "x5k3", "1e6x5+k3"])
def test_other_names_are_told_what_there_is(name):
    with pytest.raises(ValueError, match=r"HW2, .*1e6x5\+5k20"):
        raw_sets.checked_name(name)


def test_views_of_a_mixture_are_its_columns():
    together, y = raw_sets.load("50x6k2", None)
    views, same = raw_sets.load("50x2+4k2", None)
    assert [view.shape for view in views] == [(50, 2), (50, 4)]
    assert np.array_equal(np.hstack(views), together[0])
    assert np.array_equal(y, same)


def test_sets_of_a_folder_need_it(monkeypatch):
    monkeypatch.delenv("POWERKMEANS_DATA", raising=False)
    with pytest.raises(ValueError, match="HW2 is read from a folder"):
        raw_sets.load("HW2", None)
    with pytest.raises(SystemExit, match="POWERKMEANS_DATA"):
        command(sets=("HW2",))


def test_all_methods_on_one_view_and_on_several(capsys):
    names = list(raw_rows.METHODS)
    command(sets=(SMALL, "300x3+3k3", "digits"), methods=names)
    rows = stored()
    assert len(rows) == 3 * len(names)
    good = [row for row in rows.values() if "error" not in row]
    assert all(row["error"].startswith("not installed: pip install") for row in rows.values() if row not in good)
    assert {row["method"] for row in good} >= set(names) - {"faiss", "fastkmeans"}
    for row in good:
        assert row["fit_seconds"] > 0
        assert row["peak_mb"] >= 0
        assert (row["predict_seconds"] is None) == row["method"].startswith("Spectral")
        assert ("ACC" in row) == (row["data"] == "digits")
        assert 0 < row.get("ARI", row.get("ACC")) <= 1
        reference = rows[row["data"], REFERENCE, 0]
        assert row["cost"] >= 0.99 * reference["cost"]
        assert row["run"] == reference["run"]
    assert rows[SMALL, raw_rows.IDENTITY, 0]["own_cost"]
    assert not rows["300x3+3k3", raw_rows.IDENTITY, 0]["own_cost"]
    assert "| 600 x 4, k=3 " in capsys.readouterr().out


def test_a_method_that_is_not_there_or_too_small_has_a_line(monkeypatch, capsys):
    entry = raw_rows._other(raw_rows.METHODS[REFERENCE].single, module="no_such_module", install="nothing")
    small = raw_rows._other(raw_rows.METHODS[REFERENCE].single, most_rows=10)
    monkeypatch.setattr(raw_rows, "METHODS", {REFERENCE: raw_rows.METHODS[REFERENCE], "gone": entry, "few": small})
    command(methods=("gone", "few"))
    printed = capsys.readouterr().out
    assert "| gone       | not installed: pip install nothing " in printed
    assert "| few        | not attempted: for at most 10 rows " in printed


def measured_as(seconds):
    return lambda job: {"fit_seconds": seconds, "peak_mb": 1.0, "predict_seconds": None, "cost": 2.0,
                        "own_cost": job.method == REFERENCE, "ARI": 0.5, "others": 0.25}  # fmt: skip


def test_an_unfinished_set_is_run_again_whole(monkeypatch):
    monkeypatch.setattr(raw_rows, "measure", measured_as(1.0))
    command()
    before = stored()
    command()
    assert stored() == before
    Store(raw_rows.NAME, raw_rows.KEYS).discard(lambda row: row["method"] == OURS)
    command()
    assert stored()[SMALL, REFERENCE, 0]["run"] != before[SMALL, REFERENCE, 0]["run"]
    again = stored()
    command("--fresh")
    assert stored()[SMALL, OURS, 0]["run"] != again[SMALL, OURS, 0]["run"]


def test_ratios_are_of_one_run(monkeypatch, capsys):
    monkeypatch.setattr(raw_rows, "measure", measured_as(1.0))
    command(methods=(OURS, "MiniBatchKMeans"))
    monkeypatch.setattr(raw_rows, "measure", measured_as(3.0))
    command("--fresh")
    lines = {line.split("|")[2].strip("* "): [cell.strip() for cell in line.split("|")[3:-1]]
             for line in capsys.readouterr().out.splitlines()[-6:] if line.startswith("|")}  # fmt: skip
    assert lines[OURS] == ["3", "1.00", "-", "1", "ARI 0.500", "(1.0000)"]
    assert lines[REFERENCE] == ["3", "1.00", "-", "1", "ARI 0.500", "1.0000"]
    assert lines["MiniBatchKMeans"] == ["1", "-", "-", "1", "ARI 0.500", "-"]


def test_medians_over_repeats_and_the_largest_peak():
    rows = [
        {"fit_seconds": s, "peak_mb": p, "predict_seconds": None, "run": 1}
        for s, p in [(1.0, 5.0), (9.0, 2.0), (2.0, 1.0)]
    ]
    found = raw_rows.summary([*rows, {"error": "over time"}])
    assert (found["fit_seconds"], found["peak_mb"], found["predict_seconds"]) == (2.0, 5.0, None)
    assert raw_rows.summary([{"error": "over time"}]) is None


def test_tables_fit_nothing_and_fill_a_page(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(raw_rows, "measure", measured_as(1.0))
    command()
    written = capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{report.table_place('from raw rows')}\n\nafter\n")
    monkeypatch.setattr(raw_rows, "measure", None)
    raw_rows.main(["--tables", "--page", str(page)])
    assert capsys.readouterr().out == written
    assert written.strip() in page.read_text()
    assert page.read_text().startswith("before")
    assert page.read_text().endswith("after\n")
    page.write_text("no place")
    with pytest.raises(ValueError, match="one place for the table 'from raw rows'"):
        raw_rows.main(["--tables", "--page", str(page)])


def test_a_fit_in_a_process_of_its_own():
    raw_rows.main(["--sets", "300x3k2", "--methods", REFERENCE, "--threads", "1"])
    (row,) = stored().values()
    assert row["threads"] == 1
    assert row["fit_seconds"] > 0


def test_options():
    arguments = raw_rows.parse(["--sets", "digits", "1e4x5k3"])
    assert arguments.sets == ["digits", "1e4x5k3"]
    assert arguments.methods == list(raw_rows.METHODS)
    with pytest.raises(SystemExit):
        raw_rows.parse(["--sets", "nothing"])
    with pytest.raises(SystemExit):
        raw_rows.parse(["--methods", "nothing"])
