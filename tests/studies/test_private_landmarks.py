"""The command that tells what averaged landmarks cost: its rows and its table."""

from __future__ import annotations

from benchmarks import private_landmarks, report
from benchmarks.harness.store import Store


def test_means_beside_as_many_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    private_landmarks.main(["--sets", "iris", "--rows", "1", "3", "--seeds", "1", "--jobs", "0"])
    rows = Store("private_landmarks", private_landmarks.KEYS).rows
    assert len(rows) == 6
    for name in private_landmarks.MAPS:
        means, as_many = (rows["iris", name, kind, 3, 0] for kind in ("means", "as many rows"))
        assert means["n_landmarks"] == as_many["n_landmarks"] <= 50
        assert rows["iris", name, "means", 1, 0]["n_landmarks"] > 100
    printed = capsys.readouterr().out
    found = rows["iris", "auto", "means", 3, 0]
    assert f"{found['ACC']:.3f}, {found['ARI']:.3f} ({found['n_landmarks']})" in printed
    assert "| -" in printed  # rows as they are have no second line
