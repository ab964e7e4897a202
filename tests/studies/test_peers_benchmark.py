import sys

import numpy as np
import pytest
from benchmarks import measure, peers, report
from benchmarks.methods import OURS, PEERS, REFERENCE, Answer

OPTIONAL = {"faiss", "faiss, 10 starts", "fastkmeans"}


@pytest.fixture
def without_optional_peers(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(measure, "threads", lambda: 1)  # one thread does not mind how busy the others are
    for module in ("faiss", "fastkmeans"):
        monkeypatch.setitem(sys.modules, module, None)


def test_quick_run_measures_every_method_and_says_how_to_install_the_others(without_optional_peers, capsys):
    peers.main(["--quick"])
    printed = capsys.readouterr().out
    rows = report.read_lines("peers_quick")
    for kind, methods in PEERS.items():
        assert {row["method"] for row in rows if row["kind"] == kind} == methods.keys() - OPTIONAL
    for name in {name for methods in PEERS.values() for name in methods} - OPTIONAL:
        assert f"| {name} " in printed or f"| **{name}** " in printed
    assert "faiss is skipped: pip install faiss-cpu" in printed
    assert "fastkmeans is skipped: pip install fastkmeans" in printed
    assert all(np.isfinite(row["cost"]) and row["cost"] > 0 for row in rows if row["method"] == OURS)
    assert all(row["cost_ratio"] == row["time_ratio"] == 1 for row in rows if row["method"] == REFERENCE)
    assert {row["seed"] for row in rows} == {0, 1}


def test_hard_cost_is_that_of_the_means_whatever_the_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(3, 1, (50, 4)).astype(np.float32), rng.integers(0, 5, 50)
    expected = sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in range(5))
    monkeypatch.setattr(measure, "_BLOCK", 7)
    assert measure.hard_cost(X, labels) == pytest.approx(expected, rel=1e-5)


def test_empty_clusters_cost_nothing():
    X = np.array([[0.0], [2.0], [9.0]], dtype=np.float32)
    scores = measure.scored(Answer(np.array([0, 0, 4])), X, np.array([0, 0, 1]))
    assert (scores["cost"], scores["ACC"], scores["clusters"]) == (2.0, 1.0, 2)


def test_new_rows_replace_those_of_their_method_only():
    old = [{"kind": "raw", "data": "a", "method": name, "seed": s} for name in ("x", "y") for s in (0, 1)]
    new = [{"kind": "raw", "data": "a", "method": "x", "seed": 0}]
    assert peers.merged(old, new) == [*old[2:], *new]


def test_picture_of_two_sets(tmp_path):
    pytest.importorskip("matplotlib")
    shape = {"kind": "features", "n": 10, "p": 2, "k": 2}
    points = [(OURS, 0.5, 0.99), (REFERENCE, 1.0, 1.0), ("fastkmeans", 0.1, 1.02)]
    rows = [
        shape | {"data": data, "method": name, "time_ratio": time, "cost_ratio": cost}
        for data in ("a", "b")
        for name, time, cost in points
    ]
    peers.try_picture(rows, tmp_path / "images" / "peers.png")
    assert (tmp_path / "images" / "peers.png").stat().st_size > 0


def test_large_data_leave_out_what_cannot_take_them():
    wanted = list(PEERS["raw"])
    assert "SpectralClustering" in peers.choose("raw", wanted, 5_000)
    assert "SpectralClustering" not in peers.choose("raw", wanted, 5_001)
    assert list(peers.choose("raw", [OURS])) == [REFERENCE, OURS]
