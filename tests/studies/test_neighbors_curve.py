"""The command that draws accuracy by the number of neighbours: rows that are kept, its table and its picture."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import neighbors_curve, report
from benchmarks.harness.store import Store


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)


def run(tmp_path, *more):
    few = ("--sets", "iris", "--counts", "5", "10", "--seeds", "2", "--jobs", "0")
    neighbors_curve.main([*few, "--images", str(tmp_path / "images"), *more])


def test_a_curve_beside_landmarks(tmp_path, capsys):
    run(tmp_path)
    rows = Store("neighbors_curve", neighbors_curve.KEYS).rows
    assert set(rows) == {("iris", count, seed) for count in (0, 5, 10) for seed in (0, 1)}
    assert all(0.5 < row["ACC"] <= 1 for row in rows.values())
    mean = np.mean([rows["iris", 10, seed]["ACC"] for seed in (0, 1)])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| iris"))
    assert line.split("|")[-2].strip() == f"{mean:.3f}"


def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need powerkmeans[plot]")
    run(tmp_path)
    assert (tmp_path / "images" / "graph_neighbors.png").stat().st_size > 10_000


def test_what_is_there_is_not_run_again(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr(neighbors_curve, "measure", lambda job: {"ACC": 0.0, "cpu_seconds": 0.0})
    run(tmp_path)
    assert all(row["ACC"] > 0.5 for row in Store("neighbors_curve", neighbors_curve.KEYS).rows.values())
    run(tmp_path, "--fresh")
    assert all(row["ACC"] == 0 for row in Store("neighbors_curve", neighbors_curve.KEYS).rows.values())


def test_a_number_that_failed_is_a_gap_in_the_curve():
    rows = [{"data": "iris", "neighbors": 5, "ACC": 0.8}, {"data": "iris", "neighbors": 7, "error": "none"}]
    np.testing.assert_equal(neighbors_curve.curve(rows, "iris", [5, 7]), [0.8, np.nan])
