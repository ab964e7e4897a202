"""The table of what each rule buys: its names are the library's, its rows compare like with like."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from benchmarks import ablation, house, report, rules
from benchmarks.ablation import CASES, Case, jobs, measure, pairs, summary
from benchmarks.rules import GUARDS, NOTHING, RULES

from powerkmeans.fitting import starts

MEASURED = ("features", "objective", "solver", "fitting", "support")


def at(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.fixture
def tiny(monkeypatch):
    """Three groups of twelve rows, in one view and in two."""
    y = np.repeat(np.arange(3), 12)
    X = np.random.default_rng(0).normal(size=(36, 2)) + 8 * np.eye(3)[y][:, :2]
    monkeypatch.setitem(CASES, "tiny", Case(lambda folder, seed: ([X], y)))
    monkeypatch.setitem(CASES, "tiny views", Case(lambda folder, seed: ([X, X[:, ::-1] + 1], y), {rules.SEVERAL}))


def test_every_name_is_one_of_the_library():
    named = {name for rule in RULES.values() for name in rule.constants}
    assert len(named) > 30
    assert all(at(name) is not None for name in named | {f"powerkmeans.{name}" for name in GUARDS})


def test_every_number_has_a_row_or_a_reason_why_not():
    measured = {name.removeprefix("powerkmeans.") for rule in RULES.values() for name in rule.constants}
    for path, tree in house.trees():
        module = ".".join(path.relative_to(house.SOURCE).with_suffix("").parts)
        if module.split(".")[0] in MEASURED:
            for name in house.constants(tree):
                imported = any(other.endswith(f".{name}") for other in measured)
                assert imported or f"{module}.{name}" in GUARDS, f"{module}.{name} has no row"


def test_every_rule_changes_something_and_says_what():
    for name, rule in RULES.items():
        assert rule.text
        assert name == NOTHING or rule.draw or rule.constants or rule.parameters
        assert all(at(constant) != value for constant, value in rule.constants.items())
        assert any(case.takes(rule) for case in CASES.values())


def test_a_row_is_computed_and_constants_are_put_back(tiny):
    before = starts.HARD_EXPONENT, starts.Unfolding
    row = measure("tiny", "hand-over: none", 0)
    assert (starts.HARD_EXPONENT, starts.Unfolding) == before
    assert row["ACC"] == 1.0
    assert row["cost"] > 0
    assert (row["data"], row["rule"], row["seed"]) == ("tiny", "hand-over: none", 0)
    assert measure("tiny", "hurrying", 0)["iterations"] != measure("tiny", NOTHING, 0)["iterations"]


def test_every_rule_can_be_taken_away(tiny):
    for name, rule in RULES.items():
        assert measure("tiny views" if rule.on else "tiny", name, 0)["ACC"] > 0.5


def test_special_sets_are_for_rules_of_their_kind():
    wanted = jobs(RULES, CASES, 1)
    assert ("mixture, 40,000 rows", "pilot", 0) in wanted
    assert ("mixture, 40,000 rows", "moves", 0) not in wanted
    assert ("moons", "baseline", 0) not in wanted
    assert jobs(["moves"], {"moons": CASES["moons"]}, 1) == [("moons", NOTHING, 0), ("moons", "moves", 0)]


def test_sets_count_the_same_whatever_their_seeds():
    def row(data, rule, seed, acc, cost=1.0, seconds=1.0):
        timed = {"cpu_seconds": seconds, "iterations": 10}
        return {"data": data, "rule": rule, "seed": seed, "ACC": acc, "cost": cost} | timed

    rows = [
        *(row("a", NOTHING, seed, 0.9) for seed in range(2)),
        *(row("a", "moves", seed, 0.8, cost=2.0) for seed in range(2)),
        row("b", NOTHING, 0, 0.5),
        row("b", "moves", 0, 0.6, cost=0.5, seconds=4.0),
        row("b", "moves", 1, 0.0),  # without the fit to set it beside
    ]
    found = summary("moves", pairs(rows)["moves"])
    assert found["points"] == pytest.approx(0.0)
    assert (found["worst"], found["fits"]) == ("a", 3)
    assert found["worst_points"] == pytest.approx(-10.0)
    assert found["cost"] == pytest.approx(1.0)
    assert found["time"] == pytest.approx(2.0)


def test_gaps_leave_every_sample_a_view():
    views, _ = CASES["spoilt views, 30 % missing"].load(None, 0)
    absent = np.array([np.isnan(view[:, 0]) for view in views])
    assert 0.15 < np.mean(absent) < 0.3
    assert not np.any(np.all(absent, axis=0))


def test_a_run_goes_on_where_it_was(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(ablation, "CASES", {"tiny": CASES["tiny"]})
    monkeypatch.delenv("POWERKMEANS_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["ablation", "--seeds", "1", "--only", "moves"])
    ablation.main()
    first = capsys.readouterr().out
    monkeypatch.setattr(ablation, "measure", None)
    ablation.main()
    assert capsys.readouterr().out == first
    assert "| moves " in first
