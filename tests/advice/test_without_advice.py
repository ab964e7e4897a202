"""Advice can be switched off: nothing is examined then, and what went wrong in the fit is still told."""

from __future__ import annotations

import json
import math
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning

import powerkmeans
from helpers import quick, quick_views
from powerkmeans import choose_k
from powerkmeans.advice import findings as findings_module
from powerkmeans.advice import thresholds
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.models import saving

WINE = load_wine().data
VIEWS = {"left": WINE[:, :6], "right": WINE[:, 6:], "blank": np.ones((178, 2))}
CASES = [(quick, WINE), (quick_views, VIEWS)]


def said(model, X):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X)
    return [(one.category, str(one.message)) for one in record]


@pytest.mark.parametrize(("estimator", "X"), CASES, ids=["one", "several"])
def test_without_advice_no_row_is_examined_and_nothing_is_said(estimator, X, monkeypatch):
    ((category, _),) = said(estimator(3, random_state=0), X)
    assert category is DataGuidanceWarning

    def examined(*arguments):
        raise AssertionError("rows were examined")

    for name in ("examined_rows", "unrelated_views", "typicality_out_of_proportion"):
        monkeypatch.setattr(findings_module, name, examined)
    silent = estimator(3, advice=False, random_state=0)
    assert said(silent, X) == []
    assert silent._fit.advice == silent._fit.shortfalls == ()


@pytest.mark.parametrize(("estimator", "X"), CASES, ids=["one", "several"])
def test_advice_changes_no_result(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        silent, told = (estimator(3, advice=advice, random_state=0).fit(X) for advice in (False, True))
    assert np.array_equal(silent.labels_, told.labels_)
    assert silent.objective_ == told.objective_
    assert silent.n_iter_ == told.n_iter_


def test_what_went_wrong_in_the_fit_is_told_without_advice():
    X, _ = make_blobs(300, centers=4, n_features=10, cluster_std=3, random_state=0)
    collapse = {"bandwidth": 8.0, "s_init": -0.1, "max_iter": 20, "n_components": 300}
    few = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 10, axis=0)
    for rows, settings, words in (
        (X, collapse, "All 4 centroids collapsed into one: s went from -0.1 to "),
        (few, {"n_clusters": 6}, "Number of distinct clusters (4) found smaller than n_clusters (6)."),
        (WINE, {"max_iter": 2}, "The annealing did not converge in max_iter=2 iterations"),
    ):
        model = quick(**({"n_clusters": 4, "random_state": 0, "advice": False} | settings))
        ((category, text),) = said(model, rows)
        assert category is ConvergenceWarning
        assert text.startswith(words)
        assert "\n- " not in text
        assert model._fit.shortfalls == (text,)


def test_outliers_that_end_a_fit_are_found_by_a_look_at_rows():
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[0] = 1e15
    model = quick(3, feature_map="identity", random_state=0)
    ((category, text),) = said(model, X)
    assert category is ConvergenceWarning
    assert text.startswith("What is left of the cost is nothing beside far outliers (view 'X')")
    ((category, text),) = said(clone(model).set_params(advice=False), X)
    assert category is ConvergenceWarning
    assert text == "Number of distinct clusters (2) found smaller than n_clusters (3). Use n_clusters=2."


def without_seconds(text):
    return [re.sub(r": \S+ s$", "", line) for line in text.splitlines()]


def test_verbose_notes_the_error_of_a_map_after_the_runs_and_only_with_advice(capsys):
    rows = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)
    quick(3, feature_map="nystroem", random_state=0, verbose=1).fit(rows)
    lines = without_seconds(capsys.readouterr().err)
    assert "kernel error" in lines[-1]
    quick(3, feature_map="nystroem", random_state=0, verbose=1, advice=False).fit(rows)
    assert without_seconds(capsys.readouterr().err) == lines[:-1]


def test_the_first_fits_of_a_stream_are_not_examined(monkeypatch):
    asked = []
    original = findings_module._about_view
    monkeypatch.setattr(findings_module, "_about_view", lambda *of: asked.append(of) or original(*of))
    X, _ = make_blobs(1100, centers=3, n_features=4, random_state=0)
    model = quick(3, random_state=0)
    model.partial_fit(X[:600])
    assert hasattr(model, "labels_")
    assert asked == []
    model.partial_fit(X[600:])
    assert len(asked) == 1


@pytest.mark.parametrize("value", [None, 1, "no"])
def test_advice_is_a_truth_value(value):
    with pytest.raises(ValueError, match="'advice' parameter must be True or False"):
        quick(3, advice=value).fit(WINE)


def test_choose_k_takes_no_advice():
    with pytest.raises(TypeError, match="choose_k decides on advice itself; leave it out"):
        choose_k(WINE, k_max=3, advice=False)


def test_advice_is_kept_in_model_files_and_those_from_before_have_the_default(tmp_path):
    model = quick(3, advice=False, random_state=0).fit(WINE)
    model.save(tmp_path / "new.npz")
    assert powerkmeans.load(tmp_path / "new.npz").advice is False
    header, arrays = saving.read(tmp_path / "new.npz")
    del header["parameters"]["advice"]
    saving.write(tmp_path / "old.npz", header, arrays)
    old = powerkmeans.load(tmp_path / "old.npz")
    assert old.advice is True
    assert np.array_equal(old.predict(WINE), model.labels_)


def test_the_command_has_an_option(tmp_path, monkeypatch):
    click_testing = pytest.importorskip("click.testing")
    from powerkmeans.cli.app import app

    monkeypatch.chdir(tmp_path)
    np.savetxt("wine.csv", WINE, delimiter=",", header=",".join(f"c{i}" for i in range(13)), comments="")
    fit = ["fit", "wine.csv", "-k", "3", "--scale", "none", "--no-report", "--json"]
    for arguments, n_notes in (([], 1), (["--no-advice"], 0)):
        done = click_testing.CliRunner().invoke(app, [*fit, "-o", f"out{n_notes}", *arguments])
        notes = [note for note in json.loads(done.stdout)["notes"] if "of the variance" in note]
        assert len(notes) == n_notes


def test_there_are_few_thresholds():
    named = [name for name, value in vars(thresholds).items() if isinstance(value, (int, float))]
    assert len(named) <= 15
    assert all(math.isfinite(getattr(thresholds, name)) for name in named)
