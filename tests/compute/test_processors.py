"""The runs on other processors, and the last line of a test run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import core_types
from benchmarks.core_types import X86, Answer, Found, Setting, find_core_types, find_dispatch

import processors
from closing import NO_BROWSER, NO_SELENIUM, closing_line, lacks_browser, skip_reasons

ROOT = Path(__file__).parents[2]
OWN = Answer(("SkylakeX",), ("X86_V3", "X86_V4"), dict.fromkeys(X86.values(), True))


def pretend(answers):
    """A processor that answers by core type, and for the rest does what it is asked to."""

    def ask(environment):
        if core := environment.get("OPENBLAS_CORETYPE"):
            return answers.get(core, Answer((core,)))
        disabled = environment["NPY_DISABLE_CPU_FEATURES"].split()
        return Answer(OWN.cores, tuple(f for f in OWN.dispatch if f not in disabled))

    return ask


def test_core_types_are_run_once_each_and_only_where_they_can_be():
    answers = {
        "Zen": Answer(("Haswell",)),
        "SkylakeX": Answer(("SkylakeX",)),
        "Cooperlake": Answer(trouble="a process died of SIGILL"),
    }
    own = OWN._replace(features={**OWN.features, "AVX512FP16": False})
    found = find_core_types(own, "x86_64", pretend(answers))
    assert [setting.name for setting in found.settings] == ["Prescott", "Nehalem", "SandyBridge", "Haswell"]
    assert all(setting.whole for setting in found.settings)
    assert found.settings[3].environment == {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4"}
    assert found.settings[1].environment["NPY_DISABLE_CPU_FEATURES"] == "X86_V3 X86_V4"
    assert found.not_here == {
        "Zen": "the same code as Haswell",
        "SkylakeX": "the same code as this machine's own",
        "Cooperlake": "a process died of SIGILL",
        "SapphireRapids": "the processor lacks AVX512FP16",
    }


def test_a_newer_processor_keeps_what_numpy_uses():
    own = OWN._replace(cores=("Haswell",), dispatch=("AVX2", "AVX512F", "AVX512_SPR"))
    found = {setting.name: setting.environment for setting in find_core_types(own, "x86_64", pretend({})).settings}
    assert found["SkylakeX"] == {"OPENBLAS_CORETYPE": "SkylakeX", "NPY_DISABLE_CPU_FEATURES": "AVX512_SPR"}
    assert found["SapphireRapids"] == {"OPENBLAS_CORETYPE": "SapphireRapids"}


def test_all_there_is(monkeypatch):
    own = OWN._replace(dispatch=("X86_V3",), features={"SSE3": True, "AVX2": True})
    monkeypatch.setattr(core_types.platform, "machine", lambda: "x86_64")

    def ask(environment):
        core = environment.get("OPENBLAS_CORETYPE", "SkylakeX")
        return own._replace(
            cores=(core,), dispatch=() if "NPY_DISABLE_CPU_FEATURES" in environment else own.dispatch
        )

    assert [(setting.name, setting.whole) for setting in core_types.find_all(ask).settings] == [
        ("as it is (SkylakeX)", True),
        ("Prescott", True),
        ("Haswell", True),
        ("Zen", True),
        ("Prescott in OpenBLAS alone", False),
        ("NumPy's baseline alone", False),
    ]


def test_an_impossible_core_type_is_never_tried():
    own = Answer(("Nehalem",), (), {"SSE3": True, "SSE42": True})
    tried = []

    def ask(environment):
        tried.append(environment["OPENBLAS_CORETYPE"])
        return Answer((tried[-1],))

    find_core_types(own, "AMD64", ask)
    assert tried == ["Prescott", "Nehalem"]


@pytest.mark.parametrize(
    ("own", "machine", "why"),
    [
        (Answer(("neoversen1",)), "aarch64", "none are known for aarch64"),
        (Answer(), "x86_64", "NumPy's products here are not those of OpenBLAS"),
    ],
)
def test_where_there_is_nothing_to_vary_that_is_said(own, machine, why):
    found = find_core_types(own, machine, pretend({}))
    assert found == Found([], {"core types": why})
    assert "beyond its baseline" in find_dispatch(own, pretend({})).not_here["NumPy's dispatch"]


def test_instruction_sets_of_numpy_are_taken_away_from_the_newest_on():
    found = find_dispatch(OWN, pretend({}))
    assert [(s.name, s.environment["NPY_DISABLE_CPU_FEATURES"]) for s in found.settings] == [
        ("NumPy up to X86_V3 alone", "X86_V4"),
        ("NumPy's baseline alone", "X86_V3 X86_V4"),
    ]
    deaf = find_dispatch(OWN, lambda environment: OWN)
    assert not deaf.settings
    assert set(deaf.not_here.values()) == {"NumPy did not follow"}


def test_this_machine_answers_for_itself(monkeypatch):
    monkeypatch.delenv("NPY_DISABLE_CPU_FEATURES", raising=False)  # the suite itself may run on a lesser processor
    own = core_types.ask({})
    assert own.trouble == ""
    if own.dispatch:
        lowest = core_types.ask({"NPY_DISABLE_CPU_FEATURES": " ".join(own.dispatch)})
        assert lowest == own._replace(dispatch=(), features=lowest.features)


def test_a_child_that_dies_has_answered(monkeypatch):
    monkeypatch.setattr(core_types, "_ASK", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert core_types.ask({}).trouble == "a process died of SIGILL" or not hasattr(signal, "SIGKILL")
    monkeypatch.setattr(core_types, "_ASK", "raise SystemExit('no numpy')")
    assert core_types.ask({}).trouble == "no numpy"


def test_every_processor_has_every_suite_and_one_thread_what_threads_touch():
    core, numpy = Setting("Haswell", {"OPENBLAS_CORETYPE": "Haswell"}, True), Setting("low", {"NPY_X": "1"})
    runs = processors.plan(Found([Setting("own", {}, True), core, numpy], {}))
    assert [(run.name, run.suites) for run in runs] == [
        ("own, 2 threads", processors.ALL),
        ("Haswell, 2 threads", processors.ALL),
        ("low, 2 threads", processors.FORMS),
        ("own, 1 thread", processors.CORE),
        ("Haswell, 1 thread", processors.CORE),
    ]
    assert runs[1].environment["OPENBLAS_CORETYPE"] == "Haswell"
    assert runs[3].environment["OPENBLAS_NUM_THREADS"] == "1"
    assert all((ROOT / suite).exists() for suite in processors.ALL)


def ran(name, ok, **counts):
    return processors.Outcome(name, ok, Counter(counts), "what pytest said", 2.0)


@pytest.mark.parametrize("bad", [False, True])
def test_a_failure_on_any_processor_is_the_exit_code(monkeypatch, capsys, bad):
    found = Found([Setting("own", {}, True)], {"Zen": "the same as Haswell"})
    monkeypatch.setattr(processors, "find_all", lambda: found)
    monkeypatch.setattr(
        processors, "carry_out", lambda run, jobs: ran(run.name, not bad or run.n_threads == 1, passed=5)
    )
    assert processors.main([]) == int(bad)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "not   Zen: the same as Haswell"
    assert ("what pytest said" in told) == bad
    start = "1 of 2 runs failed (own, 2 threads)" if bad else "2 runs green"
    assert told[-1] == f"processors: {start}, 10 tests passed in 4 s; not run: Zen"


def test_counts_are_those_of_the_last_line():
    text = "3 passed of something\n1 failed, 12 passed, 2 skipped in 3.2s\nNot run: 2 tests."
    assert processors.count(text) == {"failed": 1, "passed": 12, "skipped": 2}
    assert processors.count("no tests ran in 0.1s") == {}


def test_a_run_is_a_pytest_in_its_own_environment(tmp_path):
    asked = "import os\ndef test_{0}(): assert os.environ['OPENBLAS_CORETYPE'] == '{0}'\n"
    (tmp_path / "test_it.py").write_text(asked.format("Zen") + asked.format("Haswell"))
    run = processors.Run(Setting("Zen", {"OPENBLAS_CORETYPE": "Zen"}), 1, (str(tmp_path),))
    outcome = processors.carry_out(run, 0)
    assert (outcome.ok, outcome.counts) == (False, {"passed": 1, "failed": 1})
    assert "'Zen' == 'Haswell'" in outcome.text


def test_fits_are_compared_by_partition_labels_and_bits():
    from benchmarks.processors import compared, fitted, problem

    own = [{"labels": [0, 0, 1], "bits": "a", "objective": 2.0}] * 4
    found = [
        own[0],
        {"labels": [0, 0, 1], "bits": "b", "objective": 2.002},
        {"labels": [1, 1, 0], "bits": "c", "objective": 3.0},
        {"labels": [0, 1, 1], "bits": "d", "objective": 4.0},
    ]
    told = compared(found, own)
    assert (told["same_partition"], told["same_labels"], told["same_bits"]) == (3, 2, 1)
    assert told["objectives_apart"] == pytest.approx(1e-3)
    assert told["other_labels_in"] == [2, 3]
    assert fitted(0) == fitted(0)
    assert not np.array_equal(problem(0)[0][:50], problem(1)[0][:50])


def skipped(reason):
    return SimpleNamespace(longrepr=("file.py", 3, f"Skipped: {reason}"))


def test_the_closing_line_says_what_was_not_run_and_how_to_get_it():
    why = [NO_BROWSER] * 35 + ["pip install hdbscan (No module named 'hdbscan')"] * 2
    why += ["could not import 'zarr': No module named 'zarr'", "root reads everything", "has no orthogonal form"]
    reasons = skip_reasons([skipped(reason) for reason in why])
    assert reasons == why
    assert closing_line(reasons) == (
        "Not run: 35 tests (to run: apt-get install chromium chromium-driver); "
        "2 tests (to run: pip install hdbscan); 1 test (to run: pip install zarr); "
        "2 that do not apply here (-rs lists them)."
    )
    assert lacks_browser(reasons)
    assert lacks_browser([NO_SELENIUM])
    assert not lacks_browser(["root reads everything"])
    assert "so this run has failed" in closing_line(reasons, browser_required=True)
    assert "failed" not in closing_line(["root reads everything"], browser_required=True)


def test_a_run_without_a_browser_fails_where_one_is_required(tmp_path):
    """The real suite of the report, on a machine without a browser."""
    environment = {**os.environ, "PATH": str(tmp_path), "POWERKMEANS_REQUIRE_BROWSER": "1"}
    tests = "tests/report/test_report_browser.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "opens", tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert re.match(r"Not run: \d+ tests \(to run: apt-get install chromium chromium-driver\)\.", last)
    assert last.endswith("POWERKMEANS_REQUIRE_BROWSER is set and there is no browser, so this run has failed.")
