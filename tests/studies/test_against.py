"""Fits with the sources of two checkouts side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import against, report
from benchmarks.against import HERE, summary
from benchmarks.study.factors import set_constants, starts

from powerkmeans import KernelPowerKMeans

CHECKOUT = Path(__file__).parents[2]


def three_groups(seed):
    y = np.repeat(np.arange(3), 12)
    X = np.random.default_rng(seed).normal(size=(36, 2)) + 8 * np.eye(3)[y][:, :2]
    return X.astype(np.float32), y


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """One set of one view and one of two, and results of their own."""

    def load(name, folder, seed, inputs):
        X, y = three_groups(seed)
        return [X] if name == "tiny" else [X, X[:, ::-1] + 1], y

    monkeypatch.setattr(against, "load", load)
    monkeypatch.setattr(against, "FAMILIES", {"tiny": None, "tiny views": None})
    monkeypatch.setattr(against, "commit_of", lambda checkout: "other")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.delenv("POWERKMEANS_DATA", raising=False)


def test_the_same_sources_give_the_same_fits(tiny, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["against", str(CHECKOUT), "--seeds", "1"])
    against.main()
    told = capsys.readouterr().out
    assert "100.0 → 100.0" in told
    assert "+0.00 ± 0.00" in told
    rows = list(against.Store("against", against.KEYS).rows.values())
    assert {(row["data"], row["sources"]) for row in rows} == {
        (name, sources) for name in ("tiny", "tiny views") for sources in ("other", HERE)
    }
    first, last = (row for row in rows if row["data"] == "tiny views")
    assert first["iterations"] == last["iterations"] > 0


def test_rows_of_the_other_checkout_are_kept_and_ours_measured_anew(tiny, monkeypatch):
    def measured(store, sources, checkout, wanted, folder):
        fitted.append((sources, [key for key in wanted if (key[0], sources, key[1]) not in store.rows]))
        for name, seed in fitted[-1][1]:
            scores = {"ACC": 1.0, "NMI": 1.0, "iterations": 5, "cpu_seconds": 1.0}
            store.add({"data": name, "sources": sources, "seed": seed} | scores)

    monkeypatch.setattr(against, "measure", measured)
    monkeypatch.setattr(sys, "argv", ["against", str(CHECKOUT), "--seeds", "1", "--only", "tiny"])
    for missing in ([("tiny", 0)], []):
        fitted = []
        against.main()
        assert fitted == [("other", missing), (HERE, [("tiny", 0)])]


def test_a_fit_that_dies_is_told(tmp_path):
    with against.fits_of(CHECKOUT) as fitted, pytest.raises(RuntimeError, match="ended with status 1"):
        fitted(tmp_path / "nothing.npz", 0)


def test_only_seeds_that_both_have_are_compared():
    def row(data, sources, seed, acc):
        return {"data": data, "sources": sources, "seed": seed, "ACC": acc} | {
            "NMI": 0.5,
            "iterations": 10,
            "cpu_seconds": 1.0,
        }

    rows = [row("a", "x", 0, 0.5), row("a", HERE, 0, 0.75), row("a", HERE, 1, 0.0), row("b", "x", 0, 0.5)]
    (line,) = summary(rows, "x")
    assert (line["data"], line["fits"], line["ACC"], line["points"]) == ("a", 1, (0.5, 0.75), [25.0])


def test_starts_of_a_level_begin_where_it_says():
    X = np.random.default_rng(0).normal(size=(200, 8))
    with set_constants(starts(2.0, 3.0).constants):
        model = KernelPowerKMeans(3, random_state=0, feature_map="identity").fit(X)
    begun = {restart["init"]: restart["s_init"] / model.critical_exponent_ for restart in model.restarts_}
    assert begun == pytest.approx({"cloud": 2.0, "k-means++": 3.0})
