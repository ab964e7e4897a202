"""The command that counts how often clusters are said to follow totals: rows and table."""

from __future__ import annotations

from benchmarks import report, row_totals
from benchmarks.harness.store import Store


def test_said_of_counts_and_not_of_flowers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setitem(row_totals.FAMILIES, "cells, depths 0.8", row_totals.Cells(0.8, n_cells=200, n_genes=300))
    monkeypatch.setattr(row_totals, "MAPS", ("nystroem",))
    row_totals.main(["--sets", "cells, depths 0.8", "iris", "--seeds", "1", "--jobs", "0"])
    rows = Store("row_totals", row_totals.KEYS).rows
    cells, iris = rows["cells, depths 0.8", "nystroem", 0], rows["iris", "nystroem", 0]
    assert (cells["said"], iris["said"]) == (True, False)
    assert cells["cosine"] > 0.9
    assert cells["ARI"] < 0.5
    printed = capsys.readouterr().out
    assert "1 of 1" in printed
    assert "0 of 1" in printed
