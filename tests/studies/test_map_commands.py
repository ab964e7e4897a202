"""The commands that hold a feature map against landmarks: rows that are kept, tables, and what a failure does."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import (
    contender,
    default_map,
    doubts,
    graph_quality,
    map_scaling,
    noise_columns,
    report,
    telling_columns,
)
from benchmarks.contender import Contender
from benchmarks.harness.store import Store
from benchmarks.methods import REFERENCE


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)


def quality(*more):
    graph_quality.main(["--sets", "iris", "--seeds", "2", "--subsamples", "1", "--jobs", "0", *more])


def stored(name="graph_quality", keys=graph_quality.KEYS):
    return Store(name, keys).rows


def test_quality_over_seeds_and_subsamples_beside_landmarks(capsys):
    quality("--feature-map", "rff", "--with", "membership=fuzzy", "n_components=20")
    rows = stored()
    named = "rff, membership=fuzzy, n_components=20"
    assert {key[1] for key in rows} == {named, contender.REFERENCE_MAP}
    assert {key[2:] for key in rows} == {("seed", 0), ("seed", 1), ("subsample", 0)}
    assert all(0.5 < row["ACC"] <= 1 and row["clusters"] == 3 for row in rows.values())
    printed = capsys.readouterr().out
    acc = report.mean_std([rows["iris", named, "seed", seed]["ACC"] for seed in (0, 1)])
    assert f"| {named} " in printed
    assert f"| {acc} " in printed
    assert "mean of 1 sets" in printed


def test_a_second_run_fits_only_what_is_missing(monkeypatch):
    quality("--feature-map", "rff", "--alone")
    before = stored()
    monkeypatch.setattr(graph_quality, "measure", lambda job, folder: {"ACC": 0.0, "NMI": 0.0, "cpu_seconds": 0.0})
    quality("--feature-map", "rff", "--alone")
    assert stored() == before
    quality("--feature-map", "rff", "--alone", "--subsamples", "2")
    assert [row["ACC"] for key, row in stored().items() if key not in before] == [0.0]
    quality("--feature-map", "rff", "--alone", "--fresh")
    assert all(stored()[key]["ACC"] == 0.0 for key in before)


def test_a_fit_that_failed_is_told_and_tried_again(monkeypatch, capsys):
    quality("--feature-map", "nothing", "--alone")
    told = capsys.readouterr()
    assert "iris, nothing, seed, 0: " in told.err
    assert "| iris | nothing | -" in told.out
    assert all("'feature_map'" in row["error"] for row in stored().values())
    monkeypatch.setattr(graph_quality, "measure", lambda job, folder: {"ACC": 1.0, "NMI": 1.0, "cpu_seconds": 1.0})
    quality("--feature-map", "nothing", "--alone")
    assert all("error" not in row for row in stored().values())


def test_subsamples_are_distinct_rows_in_their_order():
    job = graph_quality.Job("iris", Contender("rff"), graph_quality.SUBSAMPLE, 3)
    rows = graph_quality.rows_of(job, 200)
    assert len(rows) == 180
    assert np.all(np.diff(rows) > 0)
    assert not np.array_equal(rows, graph_quality.rows_of(job._replace(number=4), 200))
    assert np.array_equal(graph_quality.rows_of(job._replace(varied=graph_quality.SEED), 5), np.arange(5))


def test_real_sets_need_the_folder(capsys, monkeypatch):
    monkeypatch.delenv("POWERKMEANS_DATA", raising=False)
    graph_quality.main(["--sets", "HW2", "iris", "--seeds", "1", "--subsamples", "0", "--jobs", "0", "--alone",
                        "--feature-map", "rff"])  # fmt: skip
    assert {row["data"] for row in stored().values()} == {"iris"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("a=15", ("a", 15)), ("a=fuzzy", ("a", "fuzzy")), ("a=null", ("a", None)), ("a=[1,2]", ("a", [1, 2]))],
)
def test_parameters_by_name(text, value):
    assert contender._parameter(text) == value


def make_folder(path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    views = {f"view_{i}": rng.normal(0, 2, (3, 4))[y] + rng.normal(size=(90, 4)) for i in range(2)}
    np.savez(path / "HW2.npz", y=y, **views)
    return path


def test_noise_columns(tmp_path, capsys):
    folder = make_folder(tmp_path)
    arguments = ["--data", str(folder), "--sets", "HW2", "--seeds", "2", "--jobs", "0", "--feature-map", "rff"]
    noise_columns.main(arguments)
    rows = stored("noise_columns", noise_columns.KEYS)
    assert len(rows) == 2 * 4 * 2
    for (_, _, columns, _), row in rows.items():
        assert (row["noise_weight"] is None) == (columns == 0)
        assert row["least_weight"] <= (0.5 if columns == 0 else (1 - row["noise_weight"]) / 2)
    assert "| rff      | none " in capsys.readouterr().out


def test_scaling_in_processes_of_their_own(capsys):
    map_scaling.main(["--maps", "rff", "nothing", "--rows", "600", "1200", "--repeats", "1", "--threads", "1"])
    told = capsys.readouterr()
    rows = report.read_lines("map_scaling")
    assert {(row["method"], row["rows"]) for row in rows} == {
        (method, n) for method in ("rff", "nothing", REFERENCE) for n in (600, 1200)
    }
    ours = next(row for row in rows if row["method"] == "rff")
    assert 0 < ours["map_seconds"] < ours["fit_seconds"]
    assert all("map_seconds" not in row for row in rows if row["method"] == REFERENCE)
    assert "1,200 rows, nothing: ValueError: The 'feature_map'" in told.err
    assert "slopes in logarithms" in told.out
    assert "| nothing    | -" in told.out


def test_slopes_of_powers_are_their_exponents():
    lines = [{"rows": n, "fit_seconds": 3.0 * n**1.5, "peak_mb": 0.0} for n in (10, 100, 1000)]
    assert map_scaling.slope(lines, "fit_seconds") == pytest.approx(1.5)
    assert map_scaling.slope(lines, "peak_mb") is None
    assert map_scaling.slope(lines[:1], "fit_seconds") is None


def test_the_default_beside_landmarks(capsys):
    default_map.main(["--sets", "iris", "wine", "--jobs", "0"])
    rows = stored("default_map", default_map.KEYS)
    assert [row["map"] for row in rows.values()] == ["graph", "graph"]
    for row in rows.values():
        difference = round(row["n"] * (row["ACC"] - row["ACC_landmarks"]))
        assert row["only_default"] - row["only_landmarks"] == difference
        assert 0 < row["choosing_seconds"] < row["cpu_seconds"]
    assert "| wine | graph |" in capsys.readouterr().out


def test_samples_that_are_right():
    y, labels = np.array(["a", "a", "b", "b", "b"]), np.array([4, 4, 4, 7, 7])
    assert default_map.right(y, labels).tolist() == [True, True, False, True, True]


def test_chance_of_a_loss():
    assert default_map.chance(0, 6) == pytest.approx(2**-6)
    assert default_map.chance(6, 0) == 1
    assert default_map.chance(0, 0) == 1
    assert default_map.corrected([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_families_of_telling_columns(monkeypatch, capsys):
    family = telling_columns.Family(n=60, columns=12, telling=4, k=2, apart=4.0, uneven=True, shared=0.5)
    X, y = family.draw(0)
    within = [np.std(X[y == one, :4], axis=0).max() for one in (0, 1)]
    assert X.shape == (60, 12)
    assert max(within) < 1.2
    assert np.sum(y == 1) > 2 * np.sum(y == 0)
    monkeypatch.setattr(telling_columns, "FAMILIES", {"small": family})
    telling_columns.main(["--seeds", "1"])
    assert "small" in capsys.readouterr().out


def test_methods_of_others_have_lines_of_their_own(capsys):
    graph_quality.main(["--sets", "iris", "--seeds", "1", "--subsamples", "2", "--jobs", "0", "--alone",
                        "--feature-map", "rff", "--peers", "KMeans(1)"])  # fmt: skip
    rows = [row for row in stored().values() if row["contender"] == "KMeans(1)"]
    assert len(rows) == 3
    assert all(row["clusters"] == 3 for row in rows)
    assert "| KMeans(1) " in capsys.readouterr().out


@pytest.mark.parametrize("name", doubts.FAMILIES)
def test_families_of_doubts(name):
    X, y = doubts.FAMILIES[name](np.random.default_rng(0))
    assert len(X) == len(y)
    assert np.isfinite(X).all()
    assert len(np.unique(y)) in (2, 3, 4, 5)


def test_doubts_tell_which_map_was_taken(monkeypatch, capsys):
    small = {"one column": doubts.partial(doubts.clouds, sizes=(40, 40), apart=8.0)}
    monkeypatch.setattr(doubts, "FAMILIES", small)
    doubts.main(["--seeds", "1"])
    assert "| one column | 1.000   |" in (printed := capsys.readouterr().out)
    assert "| 1 of 1" in printed
