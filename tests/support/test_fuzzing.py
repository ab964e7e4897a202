"""The fuzzer's own parts: what its children do is told of them, and runs add up."""

from __future__ import annotations

import json
import os
import time

import pytest
from benchmarks.fuzz import __main__ as fuzz
from benchmarks.fuzz import workers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


def misbehaving(number):
    if number == 1:
        os._exit(3)
    if number == 2:
        os.kill(os.getpid(), 9)
    if number == 3:
        raise KeyError("mine")
    if number == 4:
        time.sleep(60)
    if number == 5:
        bytearray(9 * 2**30)
    return f"fine ({len(os.listdir())} files)"


def test_a_child_that_ends_or_hangs_is_one_outcome_of_many(monkeypatch):
    monkeypatch.setattr(workers, "SECONDS", 0.5)
    told = list(workers.tried(misbehaving, range(7)))
    assert [case.number for case in told] == list(range(7))
    fine, ended, killed, raised, hangs, large, last = (case.outcome for case in told)
    assert fine == last == "fine (0 files)"
    assert ended == "MISS the process ended (exit 3)"
    assert killed == "MISS the process ended (SIGKILL)"
    assert raised.startswith("MISS in the judge: KeyError at misbehaving")
    assert hangs == "MISS the process hangs for 0 s"
    assert large.startswith("MISS in the judge: MemoryError")


def test_runs_add_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "FILE", tmp_path / "fuzz.jsonl")
    monkeypatch.setattr(fuzz, "_judge", lambda part, seed: (misbehaving, 2))
    assert fuzz.new_seed() == 0
    for seed in (0, 4):
        fuzz.write_run(seed, {"models": fuzz.fuzzed("models", seed, 9, 10)}, sanitized=False)
    assert fuzz.new_seed() == 5
    assert "models, seed 4, case 1: MISS the process ended" in capsys.readouterr().out
    lines = [json.loads(line) for line in (tmp_path / "fuzz.jsonl").read_text().splitlines()]
    assert lines[1]["parts"]["models"]["fine"] == lines[1]["parts"]["models"]["MISS"] == 1
    fuzz.print_totals()
    assert "models, of 100,000: 4 in 0 min (2 fine, 2 MISS)" in capsys.readouterr().out
