"""Fits that are cut short and gone on with."""

from __future__ import annotations

import os

import numpy as np
import pytest

from helpers import blobs, quick, quick_views
from powerkmeans.exceptions import CheckpointError
from powerkmeans.fitting import checkpoints
from powerkmeans.fitting.task import Task

ROWS = blobs(5, 4, size=60, spread=1.6, seed=2)[0]
KINDS = {
    "graph": (quick, {"feature_map": "graph"}, ROWS),
    "landmarks": (quick, {"feature_map": "nystroem"}, ROWS),
    "Fourier, given exponent": (quick, {"feature_map": "rff", "s_init": -2.0, "n_init": 3}, ROWS),
    "exact": (quick, {"feature_map": "exact", "membership": "possibilistic"}, ROWS),
    "views": (quick_views, {"feature_map": "nystroem"}, [ROWS[:, :2], ROWS[:, 2:]]),
}


class Cut(BaseException):
    """As an interrupt, which nobody catches."""


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch):
    monkeypatch.setattr(checkpoints, "ITERATIONS", 1)
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # which takes most of the time, a hundred times a fit


@pytest.fixture
def passes(monkeypatch):
    """Counts passes, and ends a fit after so many."""
    seen = {"count": 0, "most": np.inf}
    run_pass = Task.run_pass

    def counted(self, parameters, s):
        seen["count"] += 1
        if seen["count"] > seen["most"]:
            raise Cut
        return run_pass(self, parameters, s)

    monkeypatch.setattr(Task, "run_pass", counted)
    return seen


def same(model, other):
    """The same to the last bit."""
    for name in ("labels_", "inertia_", "objective_", "s_", "view_weights_"):
        assert np.array_equal(getattr(model, name), getattr(other, name)), name
    for a, b in zip(model.cluster_centers_, other.cluster_centers_, strict=True):
        assert np.array_equal(a, b)
    for name, column in model.history_.items():
        assert np.array_equal(column, other.history_[name]), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_was_cut_short_comes_to_the_same(kind, passes, tmp_path):
    make, settings, X = KINDS[kind]
    path = tmp_path / "fit.checkpoint"
    whole = make(5, random_state=0, **settings).fit(X)
    n_passes = passes["count"]
    for share in (0.1, 0.7):
        passes.update(count=0, most=int(share * n_passes))
        with pytest.raises(Cut):
            make(5, random_state=0, **settings).fit(X, checkpoint=path)
        passes.update(count=0, most=np.inf, most_before=int(share * n_passes))
        same(whole, make(5, random_state=0, **settings).fit(X, resume_from=path))
        assert passes["count"] <= n_passes - passes["most_before"] + 3
        path.unlink()


def test_cut_again_and_again(passes, tmp_path):
    whole = quick(5, random_state=0).fit(ROWS)
    path, given = tmp_path / "fit.checkpoint", {"checkpoint": tmp_path / "fit.checkpoint"}
    for _ in range(200):
        passes.update(count=0, most=12)
        try:
            found = quick(5, random_state=0).fit(ROWS, **given)
            break
        except Cut:
            given = {"resume_from": path}
    same(whole, found)


def test_without_a_seed_that_of_the_checkpoint_is_used(passes, tmp_path):
    path = tmp_path / "fit.checkpoint"
    whole = quick(5).fit(ROWS, checkpoint=path)
    same(whole, quick(5).fit(ROWS, resume_from=path))


def test_a_checkpoint_changes_nothing(tmp_path):
    path = tmp_path / "fit.checkpoint"
    same(quick(5, random_state=0).fit(ROWS), quick(5, random_state=0).fit(ROWS, checkpoint=path))
    assert os.listdir(tmp_path) == ["fit.checkpoint"]
    other = tmp_path / "other.checkpoint"
    same(
        quick(5, random_state=0).fit(ROWS), quick(5, random_state=0).fit(ROWS, checkpoint=other, resume_from=path)
    )
    assert other.exists()


def test_what_is_wrong_with_a_file_is_told(tmp_path):
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(FileNotFoundError):
        quick(5).fit(ROWS, resume_from=path)
    model = quick(5, random_state=0).fit(ROWS, checkpoint=path)
    for change, word in (
        ({"n_clusters": 4}, "n_clusters"),
        ({"random_state": 1}, "random_state"),
        ({"feature_map": "rff"}, "feature_map"),
    ):
        with pytest.raises(CheckpointError, match=f"another fit, which differs in {word}"):
            quick(5, random_state=0).set_params(**change).fit(ROWS, resume_from=path)
    with pytest.raises(CheckpointError, match="differs in rows"):
        quick(5, random_state=0).fit(ROWS[1:], resume_from=path)
    with pytest.raises(CheckpointError, match="other rows"):
        quick(5, random_state=0).fit(3 * ROWS + 1, resume_from=path)
    for X, weight in ((-ROWS, None), (ROWS[::-1] + 1e-9, None), (ROWS, np.arange(1.0, 301))):
        with pytest.raises(CheckpointError, match="other rows or weights"):
            quick(5, random_state=0).fit(X, sample_weight=weight, resume_from=path)
    same(model, quick(5, random_state=0).fit(ROWS, resume_from=path))  # and the file is as it was
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[:-30], whole[:100], whole.replace(b"powerkmeans checkpoint", b"another")):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="not a checkpoint of powerkmeans, or is damaged"):
            quick(5, random_state=0).fit(ROWS, resume_from=path)
    model.save(tmp_path / "model.npz")
    with pytest.raises(CheckpointError, match="not a checkpoint"):  # and it is not replaced by one
        quick(5).fit(ROWS, checkpoint=tmp_path / "model.npz")
    with pytest.raises(FileNotFoundError, match="no folder"):
        quick(5).fit(ROWS, checkpoint=tmp_path / "none" / "fit.checkpoint")
    with pytest.raises((TypeError, ValueError), match="checkpoint"):
        quick(5).fit(ROWS, checkpoint=3)


def test_a_full_disk_leaves_the_last_state(monkeypatch, tmp_path):
    path = tmp_path / "fit.checkpoint"
    quick(5, random_state=0).fit(ROWS, checkpoint=path)
    before = path.read_bytes()

    def full(stream, header, arrays):
        stream.write(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_archive", full)
    with pytest.raises(OSError, match="No space left"):
        quick(5, random_state=1).fit(ROWS, checkpoint=path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit.checkpoint"]


def test_arrays_that_are_not_what_they_should_be(tmp_path):
    from powerkmeans.models.files.archive import Archive, write_archive

    path = tmp_path / "fit.checkpoint"
    quick(5, random_state=0).fit(ROWS, checkpoint=path)
    with open(path, "rb") as stream:
        archive = Archive(stream)
        header, arrays = archive.header, archive.arrays()
    changes = [
        {"costs": np.zeros((2, 2))},
        {"costs": np.zeros(())},
        {"run0.centers": np.full_like(arrays["run0.centers"], np.nan)},
        {"run0.centers": arrays["run0.centers"][0]},
        {"run0.centers": arrays["run0.centers"][:2]},
        {"run0.lines": arrays["run0.lines"][:-1]},
        {"weights": np.zeros(0)},
    ]
    for change in changes:
        with open(path, "wb") as stream:
            write_archive(stream, header, {**arrays, **change})
        with pytest.raises(CheckpointError, match="damaged"):
            quick(5, random_state=0).fit(ROWS, resume_from=path)
    for name in ("fit", "ends", "drawn", "seed"):
        with open(path, "wb") as stream:
            write_archive(stream, {**header, name: 3 if name != "seed" else "x"}, arrays)
        with pytest.raises(CheckpointError, match="damaged"):
            quick(5, random_state=0).fit(ROWS, resume_from=path)


def test_what_is_known_is_written_wherever_a_fit_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 1e9)

    def cut(*args):
        raise Cut

    monkeypatch.setattr("powerkmeans.fitting.fit.finish", cut)
    with pytest.raises(Cut):
        quick(5, random_state=0).fit(ROWS, checkpoint=tmp_path / "fit.checkpoint")
    assert (tmp_path / "fit.checkpoint").exists()
