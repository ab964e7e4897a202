"""The command behind the table of how often choose_k is right."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import choose_k, report
from benchmarks.harness.store import Store


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(choose_k, "REAL", [])
    monkeypatch.setattr(choose_k, "N_ROWS", 300)
    few = ("3 blobs, 5-D", "two moons, noise 0.06")
    monkeypatch.setattr(choose_k, "SYNTHETIC", [case for case in choose_k.SYNTHETIC if case.name in few])
    monkeypatch.delenv("POWERKMEANS_DATA", raising=False)


def stored():
    return Store("choose_k", choose_k.KEYS).rows


def test_rows_are_kept_and_counted(capsys, monkeypatch):
    choose_k.main(["--seeds", "1"])
    rows = stored()
    assert [key[0] for key in rows] == ["3 blobs, 5-D", "two moons, noise 0.06"]
    blobs, moons = rows.values()
    assert (blobs["k"], blobs["by"]) == (3, "cost")
    assert (moons["k"], moons["by"]) == (2, "neighbours")
    assert all(0 < row["graph_seconds"] < row["processor_seconds"] for row in rows.values())
    printed = capsys.readouterr().out
    assert "| 3 blobs, 5-D          | 3     | 1 of 1 | 3     | 0             |" in printed
    monkeypatch.setattr(choose_k, "run", lambda case, seed: pytest.fail("a row that is there"))
    choose_k.main(["--seeds", "1"])
    choose_k.main(["--seeds", "2", "--table"])
    assert stored() == rows


@pytest.mark.parametrize("case", choose_k.SYNTHETIC, ids=lambda case: case.name)
def test_sets_are_drawn_by_their_seed(case):
    one, again, other = (_columns(case.make(seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.isfinite(one).all()


def _columns(X):
    return np.hstack(list(X.values())) if isinstance(X, dict) else np.asarray(X)
