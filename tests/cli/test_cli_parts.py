"""Bars, and files that are whole or not at all, by themselves."""

from __future__ import annotations

import io
import os
import signal

import numpy as np
import pytest
from command_helpers import leftovers
from rich.console import Console

from powerkmeans import KernelPowerKMeans
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.memory import duration, size
from powerkmeans.cli.outputs import Outputs
from powerkmeans.cli.progress import Bar, FitListener
from powerkmeans.cli.terminal import Terminal, grid
from powerkmeans.estimators.listeners import listening
from powerkmeans.types import Iteration


class Recorder(Bar):
    def __init__(self):
        super().__init__("Fitting", Console(file=io.StringIO()), shown=False)
        self.shares, self.abouts = [], []

    def update(self, share, about=""):
        self.shares.append(share)
        self.abouts.append(about)


@pytest.mark.parametrize("n", [300, 40_000])
def test_a_fit_fills_its_bar_and_never_goes_back(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)).astype(np.float32) + 6 * (np.arange(n) % 4)[:, None]
    bar = Recorder()
    with listening(FitListener(bar, n)):
        KernelPowerKMeans(4, n_components=10, random_state=0).fit(X)
    assert bar.shares == sorted(bar.shares)
    assert 0 < bar.shares[0] < 0.2
    assert 0.5 < bar.shares[-1] <= 1
    assert bar.abouts[0].startswith("run 1 of 2, iteration 1, s -")
    assert "objective" in bar.abouts[-1]
    if n > 32_768:
        assert any(about.startswith("all 40000 rows") for about in bar.abouts)


def test_a_bar_tells_the_time_left_on_a_terminal_only(monkeypatch):
    clock = iter([0.0, 0.1, 5.0, 6.0, 7.0])
    monkeypatch.setattr("powerkmeans.cli.progress.time.perf_counter", lambda: next(clock))
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    with Bar("Fitting", console, shown=True) as bar:
        bar.update(0.1, "too soon to show")
        assert stream.getvalue() == ""
        bar.update(0.5, "iteration 7")
        assert bar._progress.tasks[0].fields == {"about": "iteration 7", "left": "about 5 s left"}
    with Bar("Fitting", console, shown=False).wait("never seen") as bar:
        bar.update(0.5)
        assert not bar._progress.tasks


def test_a_bar_that_waits_is_seen_after_a_moment():
    stream = io.StringIO()
    with Bar("Writing", Console(file=stream, force_terminal=True, width=100), "model.npz", shown=True).wait(
        "..."
    ) as bar:
        assert stream.getvalue() == ""
        bar._timer.join(timeout=30)
        (task,) = bar._progress.tasks
        assert (task.total, task.fields["about"]) == (None, "model.npz, ...")
        assert "Writing" in stream.getvalue()


def test_a_listener_takes_any_exponent():
    listener = FitListener(Recorder(), 100)
    listener.begin("run 1 of 1: start k-means, s from -inf")
    for s in (-np.inf, -0.5, -30.0):
        assert listener.iteration(Iteration(s, 1.0, 1.0, 0.1, 2, (1.0,))) is False


def write_and(outputs, failure):
    with outputs.staged() as stage:
        (stage / "a").write_text("half")
        raise failure


def test_outputs_are_all_there_or_none(tmp_path):
    outputs = Outputs(tmp_path / "new/deep", ["a", "b"], overwrite=False)
    outputs.check()
    with pytest.raises(RuntimeError):
        write_and(outputs, RuntimeError)
    assert leftovers(tmp_path) == []
    with outputs.staged() as stage:
        (stage / "a").write_text("1")
        (stage / "b").write_text("2")
        assert leftovers(tmp_path / "new/deep")[0].startswith(".powerkmeans-")
    assert leftovers(tmp_path / "new/deep") == ["a", "b", "powerkmeans.json"]
    with pytest.raises(UserError, match="exists already"):
        outputs.check()
    again = Outputs(tmp_path / "new/deep", ["a", "b"], overwrite=True)
    again.check()
    with pytest.raises(KeyboardInterrupt):
        write_and(again, KeyboardInterrupt)
    assert (tmp_path / "new/deep/a").read_text() == "1"
    assert leftovers(tmp_path / "new/deep") == ["a", "b", "powerkmeans.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_all_files_have_their_places(tmp_path, monkeypatch, number):
    outputs, real = Outputs(tmp_path / "out", ["a", "b"], overwrite=False), os.replace

    def replace(*paths):
        os.kill(os.getpid(), number)
        real(*paths)

    def ended(number, frame):
        raise KeyboardInterrupt

    def write():
        with outputs.staged() as stage:
            (stage / "a").write_text("1")
            (stage / "b").write_text("2")

    monkeypatch.setattr(os, "replace", replace)
    before = signal.signal(number, ended)
    try:
        with pytest.raises(KeyboardInterrupt):
            write()
    finally:
        signal.signal(number, before)
    assert leftovers(tmp_path / "out") == ["a", "b", "powerkmeans.json"]


def test_a_file_that_someone_else_wrote_meanwhile_is_kept(tmp_path):
    outputs = Outputs(tmp_path, ["a"], overwrite=False)
    outputs.check()

    def meanwhile():
        with outputs.staged() as stage:
            (stage / "a").write_text("mine")
            (tmp_path / "a").write_text("theirs")

    with pytest.raises(UserError, match="exists already"):
        meanwhile()
    assert leftovers(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "theirs"


def test_no_figure_is_cut_on_a_narrow_terminal(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "40")
    header = ["view", *(f"figure {place}" for place in range(5))]
    Terminal().show(grid(header, [["a view of a long name", *[f"{place}.123" for place in range(5)]]]))
    line = next(line for line in screen.getvalue().splitlines() if "a view" in line)
    assert line.split("a view of a long name")[1].split() == [f"{place}.123" for place in range(5)]


def test_sizes_and_durations_in_words():
    assert [size(n) for n in (12, 999_600, 3_400_000, 12e9)] == ["12 B", "1 MB", "3.4 MB", "12 GB"]
    assert [duration(t) for t in (0.04, 9.96, 75, 200, 7500)] == [
        "40 ms",
        "10 s",
        "75 s",
        "3 min 20 s",
        "2 h 5 min",
    ]
