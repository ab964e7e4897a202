"""The profile of a default fit: stages that add up, none counted twice, and the floor of the map."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import fit_profile, report
from benchmarks.fit_profile import COSTS, LANDMARKS, MAPPED, REST, STAGES, Clock, Clocked
from benchmarks.harness.store import Store

BY_GRAPH = {"sample drawn", "graph built", "its agreement", MAPPED, "annealing", COSTS, "finish on all rows",
            "labels and last sums", "advice", REST}  # fmt: skip


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)


@pytest.fixture
def hands(monkeypatch):
    """A clock's hands, which a test moves."""
    now = [0.0]
    monkeypatch.setattr(fit_profile.time, "perf_counter", lambda: now[0])
    return now


def command(*more, shapes=("600x4k3",)):
    fit_profile.main(["--shapes", *shapes, "--threads", "1", "--repeats", "1", "--here", *more])


def stored():
    return Store(fit_profile.NAME, fit_profile.KEYS).rows


def test_a_stage_within_another_is_counted_once(hands):
    clock = Clock()

    def takes(seconds, inner=lambda: None):
        def function():
            hands[0] += seconds
            inner()
            hands[0] += seconds

        return function

    inner = clock.wrapped(takes(1), Clocked("inner"))
    clock.wrapped(takes(10, inner), Clocked("outer"))()
    inner()
    hands[0] += 100  # of nobody
    assert clock.seconds == {"outer": 20, "inner": 4}


def test_a_stage_that_counts_only_within_another(hands):
    clock = Clock()

    def costs():
        hands[0] += 1

    timed = clock.wrapped(costs, Clocked("costs", within="annealing"))
    for outer in ("annealing", "agreement"):
        clock.wrapped(timed, Clocked(outer))()
    timed()
    assert clock.seconds == {"annealing": 0, "costs": 1, "agreement": 1}


def test_a_stage_that_fails_is_closed(hands):
    clock = Clock()

    def fails():
        hands[0] += 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        clock.wrapped(fails, Clocked("failing"))()
    hands[0] += 5
    clock.wrapped(lambda: None, Clocked("next"))()
    assert clock.seconds == {"failing": 1, "next": 0}


def test_the_stages_of_fits_with_one_view_and_with_several(capsys):
    command(shapes=("600x4k3", "400x3+3k3"))
    rows = stored()
    assert set(rows) == {("600x4k3", 1), ("400x3+3k3", 1)}
    for row in rows.values():
        assert row["feature_map"] == "graph"
        assert set(row["stages"]) == BY_GRAPH
        assert all(seconds >= 0 for seconds in row["stages"].values())
        assert row["floor_seconds"] > 0
        assert row["predict_seconds"] > 0
    printed = capsys.readouterr().out
    header = [cell.strip() for cell in printed.splitlines()[0].split("|")[1:-1]]
    assert header == ["stage", "600 x 4, k=3", "400 x 3 + 3, k=3"]
    assert "/ floor" in printed


def test_landmarks_where_the_graph_tells_nothing():
    noise = np.random.default_rng(0).normal(size=(300, 12))
    _, stages, _ = fit_profile.one_fit([noise], 5)
    assert stages[LANDMARKS] > 0
    assert set(stages) == {*BY_GRAPH, LANDMARKS}


def test_functions_are_as_before_after_a_fit():
    before = {name: fit_profile._function(name) for name in fit_profile.FUNCTIONS}
    with fit_profile.clocked_stages():
        assert all(fit_profile._function(name) is not function for name, function in before.items())
    assert all(fit_profile._function(name) is function for name, function in before.items())
    assert {clocked.stage for clocked in fit_profile.FUNCTIONS.values()} == set(STAGES) - {REST}


def test_the_floor_is_arithmetic_and_one_reading(monkeypatch):
    monkeypatch.setattr(fit_profile, "flops_per_second", lambda: 1e3)
    monkeypatch.setattr(fit_profile, "bytes_per_second", lambda X: 1e2)
    views = [np.zeros((10, 3), dtype=np.float32), np.zeros((10, 2), dtype=np.float32)]
    assert fit_profile.floor(views, 7)["floor_seconds"] == pytest.approx(2 * 10 * 7 * 5 / 1e3 + 10 * 5 * 4 / 1e2)
    found = fit_profile.floor(views, [7, 4])
    assert found["floor_seconds"] == pytest.approx(2 * 10 * (7 * 3 + 4 * 2) / 1e3 + 2)
    assert found["landmarks"] == 7


def test_tables_of_what_is_on_file(monkeypatch, tmp_path, capsys):
    fit_profile.main(["--tables"])
    assert "No profile is on file." in capsys.readouterr().out
    row = {"data": "digits", "threads": 2, "stages": {MAPPED: 1.0, REST: 3.0}, "predict_seconds": 0.5}
    row |= {"floor_seconds": 0.25, "landmarks": 9, "gflops": 50.0, "gb_per_second": 5.0}
    Store(fit_profile.NAME, fit_profile.KEYS).add(row | {"feature_map": "graph", "others": 0.1})
    page = tmp_path / "page.md"
    page.write_text(report.table_place("profile"))
    fit_profile.main(["--tables", "--page", str(page)])
    text = page.read_text()
    assert "| all rows mapped | 1 s (25%) |" in text
    assert "| rest            | 3 s (75%) |" in text
    assert "| digits | graph | 9         | 0.25 s | 1 s             | 4.0     | 0.5 s   | 2.0     |" in text
    assert "Threads: 2; at best 50 GFLOP/s, 5 GB/s. Other processes took up to 10% of the cores." in text


def test_a_shape_in_a_process_of_its_own():
    fit_profile.main(["--shapes", "300x3k2", "--threads", "1", "--repeats", "2"])
    (row,) = stored().values()
    assert "error" not in row
