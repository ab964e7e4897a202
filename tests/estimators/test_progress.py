"""How a fit tells how far it is."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from helpers import blobs, quick
from powerkmeans import on_progress
from powerkmeans.estimators import listeners
from powerkmeans.estimators.listeners import Bar, bar_of
from powerkmeans.fitting import progress as reckoning
from powerkmeans.fitting.progress import Progress, Reckoner

ROWS = blobs(4, 3, size=60, seed=1)[0]


class Terminal(io.StringIO):
    """What is written to it can be written over."""

    def isatty(self):
        return True


def test_a_callback_hears_of_every_iteration():
    heard = []
    with on_progress(heard.append):
        model = quick(4, random_state=0).fit(ROWS)
    assert len(heard) >= model.n_iter_
    shares = [one.share for one in heard]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] == 1
    assert {one.stage for one in heard} >= {"run 1 of 2", "run 2 of 2"}
    assert all(one.rows_per_second > 0 and math.isfinite(one.objective) for one in heard if one.iteration)
    quick(4, random_state=0).fit(ROWS)
    assert len(heard) == len(shares)  # nobody hears of what comes after


def test_what_a_callback_raises_ends_the_fit():
    def stop(progress):
        raise RuntimeError("enough")

    model = quick(4)
    with on_progress(stop), pytest.raises(RuntimeError, match="enough"):
        model.fit(ROWS)
    assert not hasattr(model, "labels_")
    with pytest.raises(TypeError, match="on_progress takes a callable"), on_progress(3):
        pass


def test_long_passes_are_told_of(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 1.5))
    monkeypatch.setattr(reckoning.time, "perf_counter", lambda: float(next(clock)))
    heard = []
    reckoner = Reckoner(heard.append, 1000)
    reckoner.begin("run 1 of 1: start cloud, s from -1")
    reckoner.rows(0.0, 1000)
    reckoner.rows(0.25, 1000)
    assert (heard[-1].iteration, heard[-1].share) == (0, 0.0)
    assert heard[-1].rows_per_second == pytest.approx(0.25 * 1000 / 1.5)
    reckoner.rows(0.5, 10)  # of a sample
    assert len(heard) == 1


@pytest.mark.parametrize("live", [True, False])
def test_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch, live):
    monkeypatch.setattr(listeners, "_PATIENCE", 0.0)
    monkeypatch.setattr(listeners, "_PICTURES", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal() if live else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    quick(4, random_state=0, verbose=1).fit(ROWS)
    text = stream.getvalue()
    assert ("\r" in text) == ("rows/s" in text) == live
    lines = [line.rpartition("\r")[2] for line in text.removesuffix("\n").split("\n")]
    assert any(line.startswith("[powerkmeans] run 1 of 2") for line in lines)
    assert all(line.startswith("[powerkmeans]") for line in lines)  # each bar is wiped before a line
    assert text.endswith("\n")


def test_the_words_of_a_bar():
    said = bar_of(Progress("all 1000000 rows", 12, 0.5, 12_345_678.0, 75.0, 3.0))
    assert said == f"[{'=' * 12}{' ' * 12}]  50%  all 1000000 rows, iteration 12, 12.3 M rows/s, about 1 min left"
    assert bar_of(Progress("run 1 of 2", 0, 0.0, math.nan, None, math.nan)).endswith("0%  run 1 of 2")
    assert "about 2 h 5 min left" in bar_of(Progress("s", 1, 0.1, 5.0, 7500.0, 1.0))
    assert issubclass(Bar, listeners.Printer)


def test_a_bar_fits_its_terminal_and_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(listeners, "_PATIENCE", 0.0)
    monkeypatch.setattr(listeners, "_PICTURES", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "50")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)

    def stop(progress):
        if progress.iteration == 5:
            raise KeyboardInterrupt

    with on_progress(stop), pytest.raises(KeyboardInterrupt):
        quick(4, random_state=0, verbose=1).fit(ROWS)
    last = stream.getvalue().rpartition("\n")[2]
    assert all(len(part) < 50 for part in last.split("\r"))
    assert last.endswith(f"{' ' * len(last.split(chr(13))[-2])}\r")


@pytest.mark.parametrize("stream", [None, "closed", "plain"])
def test_any_stderr_will_do(monkeypatch, stream):
    class Plain:
        def write(self, text):
            pass

    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", {None: None, "closed": closed, "plain": Plain()}[stream])
    if stream == "closed":
        assert not listeners._is_live()
    else:
        quick(4, random_state=0, verbose=1).fit(ROWS)
