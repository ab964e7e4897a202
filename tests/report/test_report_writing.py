"""How the report is written: whole or not at all, and never over another file unasked."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from report_helpers import report
from sklearn.exceptions import NotFittedError

from helpers import quick
from powerkmeans.report import write_report, writing
from powerkmeans.report.original import original_views

# fixtures have views of noise, on purpose
pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")


def test_an_existing_file_is_kept(tmp_path, scored):
    model, X = scored
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists and is kept; pass overwrite=True"):
        write_report(path, model, "told before the data are looked at")
    assert path.read_text() == "mine"
    assert write_report(path, model, X, overwrite=True) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_failed_write_leaves_nothing(tmp_path, scored, monkeypatch, overwrite):
    model, X = scored
    path = tmp_path / "page.html"
    if overwrite:
        path.write_text("mine")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(path, model, X, overwrite=overwrite)
    assert os.listdir(tmp_path) == (["page.html"] if overwrite else [])
    assert not overwrite or path.read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, scored, monkeypatch):
    model, X = scored
    path = tmp_path / "page.html"
    render = writing.render

    def slow(*arguments):
        path.write_text("another's")
        return render(*arguments)

    monkeypatch.setattr(writing, "render", slow)
    with pytest.raises(FileExistsError, match="is kept"):
        write_report(path, model, X)
    assert path.read_text() == "another's"
    assert os.listdir(tmp_path) == ["page.html"]


def test_bad_input_is_told_before_anything_is_written(tmp_path, scored, several):
    model, X = scored
    path = tmp_path / "page.html"
    with pytest.raises(TypeError, match="takes a fitted estimator of powerkmeans, got a str"):
        write_report(path, "model", X)
    with pytest.raises(NotFittedError):
        write_report(path, quick(3), X)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(tmp_path, model, X)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write_report(tmp_path / "none" / "page.html", model, X)
    with pytest.raises(ValueError, match="ids has 3 entries, expected one for each of the 240"):
        write_report(path, model, X, ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="original has 239 samples, expected 240"):
        write_report(path, model, X, original=X[1:])
    with pytest.raises(ValueError, match="original has 3 columns, expected 4"):
        write_report(path, model, X, original=X[:, :3])
    with pytest.raises(ValueError, match="feature_names has 2 names, but there are 4 columns"):
        write_report(path, model, X, feature_names=["a", "b"])
    words = pd.DataFrame(X, columns=list("abcd")).assign(c="red")
    with pytest.raises(ValueError, match="The report needs numbers"):
        write_report(path, model, X, original=words)
    views = several[1]
    with pytest.raises(ValueError, match="original lacks the view 'noise'"):
        write_report(path, *several, original={"left": views["left"], "right": views["right"]})
    with pytest.raises(ValueError, match="names the view 'rigth'"):
        write_report(path, *several, feature_names={"rigth": ["a"]})
    with pytest.raises(ValueError, match="has 1 names for view 'right', which has 3"):
        write_report(path, *several, feature_names={"right": ["a"]})
    assert os.listdir(tmp_path) == []


def test_the_data_are_not_touched(tmp_path, several):
    model, views = several
    before = {name: view.copy() for name, view in views.items()}
    report(tmp_path, model, views)
    for name, view in views.items():
        np.testing.assert_array_equal(view, before[name])
    assert [view.name for view in original_views(model, views, None, None, 300)] == list(views)
