"""What a notebook shows of a fitted model."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.utils import estimator_html_repr

import powerkmeans
from helpers import blobs, quick
from powerkmeans import MultiViewPowerKMeans

X, _ = blobs(size=20)
WEIGHT = np.repeat([1.0, 3.0], 30)


class Cells(HTMLParser):
    """The texts of the cells, row by row, and whether tags were closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def below(model):
    """What follows scikit-learn's own diagram; ids in it count up."""
    shown = model._repr_html_()
    assert model._repr_mimebundle_()["text/html"][-300:] == shown[-300:]
    start = shown.rindex('<div style="font-family')
    found = Cells(shown[start:])
    assert found.open == []
    return shown[start:], found.rows


def test_sizes_map_and_status_stand_below_the_diagram():
    model = quick(3, feature_map="nystroem", random_state=0).fit(X, sample_weight=WEIGHT)
    markup, rows = below(model)
    assert "feature map: nystroem · converged" in markup
    assert rows[0] == ["cluster", "samples", "share"]
    sizes = np.bincount(model.labels_, weights=WEIGHT)
    assert [row[:2] for row in rows[1:]] == [[str(j), f"{size:g}"] for j, size in enumerate(sizes)]
    assert rows[1][2] == f"{sizes[0] / 120:.1%}"
    assert "<script" not in markup
    assert model._repr_html_().startswith(estimator_html_repr(model)[:50])


def test_views_are_there_and_everything_is_escaped():
    views = {"<b>a</b>": X, "b&c": np.random.default_rng(0).normal(size=X.shape), "same": np.ones((60, 1))}
    with pytest.warns(UserWarning, match="constant"):
        model = MultiViewPowerKMeans(3, feature_map="nystroem", random_state=0).fit(views)
    markup, rows = below(model)
    assert "&lt;b&gt;a&lt;/b&gt;" in markup
    assert "<b>" not in markup
    found = {"".join(row[:-2]): row[-2:] for row in rows[-3:]}
    assert found["<b>a</b>"] == [f"{model.view_weights_[0]:.3f}", "nystroem"]
    assert found["same"] == ["0.000", "not used"]


def test_many_clusters_are_counted_and_files_keep_it(tmp_path):
    model = quick(24, feature_map="identity", random_state=0, s_init=-np.inf).fit(X)
    assert below(model)[1][-1] == ["4 more"]
    exact = quick(3, feature_map="exact", random_state=0).fit(X)
    exact.save(tmp_path / "exact.npz")
    assert below(powerkmeans.load(tmp_path / "exact.npz")) == below(exact)


def test_what_is_not_fitted_is_scikit_learns():
    assert "samples" not in quick(3)._repr_html_()
    assert "cluster" not in quick(3)._repr_mimebundle_()["text/html"].rpartition("</div>")[2]
    with config_context(display="text"):
        assert list(quick(3).fit(X)._repr_mimebundle_()) == ["text/plain"]
