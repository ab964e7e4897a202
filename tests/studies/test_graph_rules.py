"""The command that tells what each rule of the graph buys: every rule can be taken away, and the table adds up."""

from __future__ import annotations

import pytest
from benchmarks import graph_rules, report
from benchmarks.harness.store import Store
from benchmarks.study.factors import set_constants


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)


def test_every_rule_on_one_set(capsys):
    graph_rules.main(["--sets", "iris", "--seeds", "1", "--jobs", "0"])
    rows = Store("graph_rules", graph_rules.KEYS).rows
    assert set(rows) == {("iris", rule, 0) for rule in graph_rules.RULES}
    assert all(row["ACC"] > 0.5 for row in rows.values())
    assert "| iris" in capsys.readouterr().out


@pytest.mark.parametrize("rule", graph_rules.RULES)
def test_what_a_rule_names_is_there(rule):
    with set_constants(graph_rules.RULES[rule].constants):
        pass


def test_differences_their_mean_and_the_worst():
    found = {("a", "nothing"): 0.9, ("a", "x"): 0.8, ("b", "nothing"): 0.5, ("b", "x"): 0.7}
    rows = [{"data": data, "rule": rule, "ACC": value} for (data, rule), value in found.items()]
    assert graph_rules.lines(rows, ["a", "b"], ["nothing", "x"]) == [
        ["a", "90.0", "-10.0"],
        ["b", "50.0", "+20.0"],
        ["mean", "70.0", "+5.0"],
        ["worst", "", "-10.0"],
    ]
