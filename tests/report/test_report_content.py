"""The report without a browser: what it says, what it escapes, and how it is written."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, explain_views, open_source
from powerkmeans.objective.membership import Possibilistic
from powerkmeans.report import facts as facts_module
from powerkmeans.report import page as page_module
from powerkmeans.report import profiles as profiles_module
from powerkmeans.report import write_report, writing
from powerkmeans.report.charts import Line, line_chart, log_ticks, ticks
from powerkmeans.report.markup import LONGEST_TEXT, fixed, percent, plain_text
from powerkmeans.report.original import original_views
from powerkmeans.report.samples import (
    MOST_LISTED,
    MOST_POINTS,
    Samples,
    drawn_rows,
    outlier_fence,
    shares_of_views,
)

# fixtures have views of noise, on purpose
pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")

VOID = {"meta", "link", "br", "input"}


class Page(HTMLParser):
    """Elements that stand open must be closed in turn; collects texts and tables by the id of their section."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.open, self.elements, self.words = text, [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        content = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.text, re.DOTALL)[1]
        assert not re.search("[<>&]", content)
        return json.loads(content, parse_constant=pytest.fail)

    def all(self, tag, **wanted):
        return [a for t, a in self.elements if t == tag and all(a.get(k) == v for k, v in wanted.items())]


def report(tmp_path, estimator, X, **options):
    path = write_report(tmp_path / "report.html", estimator, X, overwrite=True, **options)
    return Page(path.read_text(encoding="utf-8"))


def blobs(n=240, k=3, p=4, seed=0, far=4):
    rng = np.random.default_rng(seed)
    X = 6 * rng.normal(size=(k, p))[np.arange(n) % k] + rng.normal(size=(n, p))
    X[:far] += 25
    return X


@pytest.fixture(scope="module")
def scored():
    X = blobs()
    return KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X), X


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(1)
    X = blobs(n=300, k=3, p=6)
    views = {"left": X[:, :3].copy(), "right": X[:, 3:].copy(), "noise": rng.normal(size=(300, 4))}
    views["right"][::6] = np.nan
    return MultiViewPowerKMeans(3, random_state=0).fit(views), views


# what it says


def test_sizes_and_summary(tmp_path, scored):
    model, X = scored
    page = report(tmp_path, model, X, title="My blobs")
    sizes = np.bincount(model.labels_)
    assert page.data["sizes"] == sizes.tolist()
    assert len(page.all("button", **{"class": "cluster"})) == 3
    assert "<title>My blobs</title>" in page.text
    n_outliers = sum(page.data["outliers"])
    assert n_outliers >= 4
    assert (
        f"240 samples fall into 3 clusters of {sizes.min()} to {sizes.max()}" in page.said
        or "80 each" in page.said
    )
    assert f"{n_outliers} samples" in page.said
    assert "All 240 samples" in page.said


def test_means_are_those_of_all_rows_in_original_units(tmp_path, scored):
    model, X = scored
    original = 1000 + 50 * X
    page = report(tmp_path, model, X, original=original, feature_names=list("abcd"), scaling="standard")
    profiles = page.data["profiles"]
    assert sorted(profiles["name"]) == list("abcd")
    for place, name in enumerate(profiles["name"]):
        column = original[:, "abcd".index(name)]
        means = [column[model.labels_ == c].mean() for c in range(3)]
        np.testing.assert_allclose(profiles["means"][place], means, rtol=1e-4)
        assert profiles["overall"][place] == pytest.approx(column.mean(), rel=1e-4)
        assert profiles["deviation"][place] == pytest.approx(column.std(), rel=1e-3)
        between = sum(np.mean(model.labels_ == c) * (m - column.mean()) ** 2 for c, m in enumerate(means))
        assert profiles["explained"][place] == pytest.approx(between / column.var(), abs=1e-3)
    assert profiles["explained"] == sorted(profiles["explained"], reverse=True)
    assert "Means are computed on all 240 samples" in page.said
    assert "The fit itself saw scaled columns (standard)" in page.said
    assert "Columns were not scaled" in report(tmp_path, model, X, scaling="none").said
    assert "caled" not in report(tmp_path, model, X).said.replace("view_scaling", "")


def test_points_and_table_agree_with_the_model(tmp_path, scored):
    model, X = scored
    page = report(tmp_path, model, X, ids=[f"s{i}" for i in range(240)])
    points = page.data["map"]
    assert points["id"] == [f"s{i}" for i in range(240)]
    assert points["cluster"] == model.labels_.tolist()
    np.testing.assert_allclose(points["typicality"], model.typicality(X), atol=6e-4)
    np.testing.assert_allclose(points["probability"], model.predict_proba(X).max(axis=1), atol=6e-4)
    scores = model.outlier_score(X)
    listed = re.findall(r'<span class="id" title="s(\d+)">', page.text)
    assert [int(i) for i in listed] == np.argsort(-scores, kind="stable")[:50].tolist()
    assert {0, 1, 2, 3} <= set(points["outlier"])


def test_the_next_cluster_is_the_second_most_probable(tmp_path, scored):
    model, X = scored
    page = report(tmp_path, model, X)
    rows = re.findall(r"<tr data-cluster=.*?</tr>", page.text)
    second = np.argsort(-model.predict_proba(X), axis=1)[:, 1]
    for row in rows:
        sample = int(re.search(r'title="(\d+)"', row)[1])
        found = re.findall(r'class="tag" data-cluster="(\d+)"', row)
        assert [int(c) for c in found] == [model.labels_[sample], second[sample]]


def test_shares_of_views_add_up_to_the_distance(several):
    model, views = several
    checked = model._check_new(views, None, None)
    shares = shares_of_views(model, checked)
    np.testing.assert_array_equal(np.isnan(shares[:, 1]), np.isnan(views["right"][:, 0]))
    assert not np.any(np.isnan(shares[:, [0, 2]]))
    nearest = np.min(model.transform(views), axis=1) ** 2
    assert np.all(np.nansum(shares, axis=1) > nearest * (1 - 1e-6))  # also what the landmarks miss
    plain = MultiViewPowerKMeans(3, feature_map="rff", random_state=0).fit(views)
    shares, nearest = shares_of_views(plain, checked), np.min(plain.transform(views), axis=1) ** 2
    np.testing.assert_allclose(np.nansum(shares, axis=1), nearest, rtol=1e-6, atol=1e-9)


def test_the_view_that_stands_out_and_the_column(tmp_path):
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(200, 3)), "b": rng.normal(size=(200, 3))}
    for view in views.values():
        view[:100] += 8
    views["b"][7, 1] += 40
    views["a"][150, 2] -= 40
    model = MultiViewPowerKMeans(2, random_state=0).fit(views)
    page = report(tmp_path, model, views, feature_names={"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"]})
    for sample, view, column in ((7, "b", "b1"), (150, "a", "a2")):
        row = re.search(rf'<tr[^>]*>(?:(?!</tr>).)*title="{sample}".*?</tr>', page.text)[0]
        assert f">{view}<" in row
        assert f">{column}<" in row


def test_views_are_explained_and_the_useless_one_is_named(tmp_path, several):
    model, views = several
    page = report(tmp_path, model, views)
    table = explain_views(model, views)
    best = table["view"][np.argmax(table["weight"])]
    assert f"the view \u201c{best}\u201d mattered most" in page.said
    assert "\u201cnoise\u201d says little about the clusters" in page.said
    assert "Coverage" in page.said
    assert "83 %" in page.said
    assert page.data["views"] == ["left", "right", "noise"]


def test_missing_views_are_left_out_of_the_means(tmp_path, several):
    model, views = several
    page = report(tmp_path, model, views, feature_names={"right": ["r0", "r1", "r2"]})
    profiles = page.data["profiles"]
    place = profiles["name"].index("r1")
    column = views["right"][:, 1]
    expected = [np.nanmean(column[model.labels_ == c]) for c in range(3)]
    np.testing.assert_allclose(profiles["means"][place], expected, rtol=1e-3)


def test_a_view_that_no_sample_has(tmp_path, several):
    model, views = several
    page = report(tmp_path, model, {**views, "right": np.full((300, 3), np.nan)})
    profiles = page.data["profiles"]
    absent = [i for i, view in enumerate(profiles["view"]) if view == 1]
    assert [profiles["overall"][i] for i in absent] == [None] * 3
    assert [profiles["means"][i] for i in absent] == [[None] * 3] * 3


def test_lists_of_rows(tmp_path, scored):
    model, X = scored
    assert report(tmp_path, model, X.tolist()).data == report(tmp_path, model, X).data


def test_one_view_has_no_section_of_views(tmp_path, scored, several):
    model, X = scored
    one = report(tmp_path, model, X)
    assert "hidden" in one.all("section", id="views-section")[0]
    assert "Stands out in" not in one.said
    table = MultiViewPowerKMeans(3, random_state=0).fit(X)
    assert "hidden" in report(tmp_path, table, X).all("section", id="views-section")[0]
    assert "hidden" not in report(tmp_path, *several).all("section", id="views-section")[0]


def test_fuzzy_has_borderline_samples_instead_of_outliers(tmp_path):
    X = blobs()
    model = KernelPowerKMeans(3, random_state=0).fit(X)
    page = report(tmp_path, model, X)
    assert "Borderline samples" in page.said
    assert "has no outlier scores" in page.said
    assert "stand out" not in page.said
    assert page.data["scored"] is False
    assert page.data["map"]["outlier"] == []
    least = np.argsort(model.predict_proba(X).max(axis=1).astype(np.float32), kind="stable")[:100]
    assert [int(i) for i in re.findall(r'<span class="id" title="(\d+)">', page.text)] == least.tolist()


def test_how_the_fit_went(tmp_path, several):
    model, views = several
    page = report(tmp_path, model, views)
    for name in model.get_params():
        assert name in page.said
    assert len(page.all("svg", **{"class": "chart"})) == 5
    assert str(model.n_iter_) in page.said
    assert all(run["init"] in page.said for run in model.restarts_)
    assert f"powerkmeans {powerkmeans.__version__}" in page.said
    given = re.findall(r'<tr class="given"><th scope="row"><code>(\w+)</code>', page.text)
    assert given == ["n_clusters", "random_state"]


def test_warnings_of_the_fit_are_told(tmp_path):
    X = blobs()
    with pytest.warns(ConvergenceWarning):
        model = KernelPowerKMeans(3, max_iter=2, random_state=0).fit(X)
    page = report(tmp_path, model, X)
    assert "did not converge in max_iter=2" in page.said
    duplicates = np.repeat(np.eye(3), 10, axis=0)
    with pytest.warns(ConvergenceWarning):
        model = KernelPowerKMeans(5, feature_map="identity", random_state=0).fit(duplicates)
    page = report(tmp_path, model, duplicates)
    assert "found smaller than n_clusters" in page.said
    assert "of 5 asked for" in page.said
    model = KernelPowerKMeans(3, random_state=0).fit(X)
    assert "this page is about 100" in report(tmp_path, model, X[:100]).said
    assert "Note." not in report(tmp_path, model, X).said


def test_many_warnings_are_folded(tmp_path, monkeypatch):
    X = blobs(60)
    model = KernelPowerKMeans(3, random_state=0).fit(X)
    for many in (4, 5):
        texts = [f"view 'v{i}' is odd." for i in range(many)]
        monkeypatch.setattr("powerkmeans.report.sections.warnings_of", lambda *_, texts=texts: texts)
        said = report(tmp_path, model, X).said
        assert said.count("Note.") == many
        assert "View 'v0' is odd." in said
        assert ("2 more notes" in said) == (many == 5)


def test_ticks_of_a_line_that_hardly_moves_differ():
    drawn = str(line_chart([Line(np.linspace(11.27671, 11.27679, 9))], "hardly"))
    levels = re.findall(r'text-anchor="end">([\d.]+)</text>', drawn)[:-1]
    assert len(levels) >= 2
    assert len(set(levels)) == len(levels)
    counts = str(line_chart([Line(np.array([1.0, 1.0, 2.0]))], "centroids", scale="zero"))
    assert re.findall(r'text-anchor="end">([\d.]+)</text>', counts)[:-1] == ["0", "1", "2"]


@pytest.mark.parametrize("fuzziness", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("width", [1, 2, 10])
def test_few_samples_of_a_normal_cloud_are_outliers(width, fuzziness):
    squared = np.sum(np.random.default_rng(0).normal(size=(50_000, width)) ** 2, axis=1)
    typicality = 1 / (1 + squared ** (1 / (fuzziness - 1)))
    share = np.mean(1 - typicality > outlier_fence(typicality, Possibilistic(fuzziness)))
    assert 0.002 < share < 0.02


# samples of many rows


def test_what_is_left_out_is_stated(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal(size=(9000, 2)), rng.normal(size=(40, 2)) + 60, 30 * rng.standard_t(1, (900, 2))]
    )
    model = KernelPowerKMeans(2, feature_map="identity", membership="possibilistic", s_init=-3.0, random_state=0)
    with np.errstate(all="ignore"):
        model.fit(X)
    page = report(tmp_path, model, X)
    points = page.data["map"]
    drawn = len(points["x"])
    assert drawn <= MOST_POINTS
    assert f"A sample of {drawn:,} of the {len(X):,} samples" in page.said
    assert all(len(points[key]) == drawn for key in ("y", "cluster", "typicality", "probability", "id"))
    n_outliers = sum(page.data["outliers"])
    assert n_outliers > MOST_LISTED
    assert f"Listed are the 500 highest scores of {n_outliers:,} outliers" in page.said
    listed = re.findall(r'<span class="id" title="(\d+)">', page.text)
    assert len(listed) == MOST_LISTED
    assert set(listed) <= set(points["id"])


def test_small_clusters_are_drawn_more_densely():
    labels = np.concatenate([np.zeros(60_000, int), np.ones(50, int), np.full(9950, 2)]).astype(np.int32)
    samples = Samples(labels, np.ones(70_000), np.ones(70_000), 3, 0.5)
    rows = drawn_rows(samples, np.array([5, 69_999]), 1000)
    assert len(rows) <= 1000
    assert np.all(np.diff(rows) > 0)
    assert {5, 69_999} <= set(rows.tolist())
    counts = np.bincount(labels[rows])
    assert counts[1] >= 30
    assert 4 < counts[0] / counts[2] < 8


def test_columns_beyond_what_the_page_holds_are_counted(tmp_path, scored, monkeypatch):
    model, X = scored
    monkeypatch.setattr(profiles_module, "MOST_CELLS", 6)
    page = report(tmp_path, model, X)
    assert len(page.data["profiles"]["name"]) == 2
    assert page.data["profiles"]["n"] == 4
    assert "The page holds the 2 most telling of 4 columns." in page.said


def test_no_answer_of_n_by_k_is_asked_for(tmp_path, monkeypatch):
    X = blobs(n=3000)
    model = KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)
    asked = []

    def counted(block, inputs, inner=facts_module.block_probabilities):
        asked.append(len(block.weight))
        return inner(block, inputs)

    monkeypatch.setattr(facts_module, "block_probabilities", counted)
    for name in ("predict_proba", "transform"):
        monkeypatch.setattr(KernelPowerKMeans, name, None)
    report(tmp_path, model, X)
    assert sum(asked) <= MOST_LISTED


def test_rows_are_read_in_blocks(tmp_path, scored, monkeypatch):
    model, X = scored
    whole = report(tmp_path, model, X).text
    monkeypatch.setattr(profiles_module, "BLOCK_NUMBERS", 33 * 4)
    assert report(tmp_path, model, X).data == Page(whole).data


# whatever people have


def test_the_same_page_for_the_same_model(tmp_path, several):
    model, views = several
    first = report(tmp_path, model, views).text
    assert report(tmp_path, model, views).text == first
    model.save(tmp_path / "model.npz")
    assert report(tmp_path, powerkmeans.load(tmp_path / "model.npz"), views).text == first


def test_forms_of_several_views(tmp_path, several):
    model, views = several
    expected = report(tmp_path, model, views).data
    as_list = MultiViewPowerKMeans(3, random_state=0).fit(list(views.values()))
    assert report(tmp_path, as_list, list(views.values())).data["views"] == ["view_0", "view_1", "view_2"]
    mapped = {}
    for name, view in views.items():
        np.save(tmp_path / f"{name}.npy", view)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    assert report(tmp_path, model, mapped).data == expected
    filled = {name: np.nan_to_num(view, nan=9.0) for name, view in views.items()}
    present = {"right": ~np.isnan(views["right"][:, 0])}
    assert report(tmp_path, model, filled, present=present).data == expected


def test_one_table_cut_into_views(tmp_path):
    X = blobs(p=5)
    cut = {"a": [4, 0], "b": slice(1, 3)}
    model = MultiViewPowerKMeans(3, views=cut, random_state=0).fit(X)
    names = report(tmp_path, model, X).data["profiles"]["name"]
    assert sorted(names) == ["x0", "x1", "x2", "x4"]
    page = report(tmp_path, model, X, feature_names=["c0", "c1", "c2", "c3", "c4"])
    profiles = page.data["profiles"]
    assert sorted(profiles["name"]) == ["c0", "c1", "c2", "c4"]
    place = profiles["name"].index("c4")
    assert page.data["views"][profiles["view"][place]] == "a"
    assert profiles["overall"][place] == pytest.approx(X[:, 4].mean(), rel=1e-3)
    assert sorted(report(tmp_path, model, X, feature_names=list("pqrs")).data["profiles"]["name"]) == list("pqrs")
    frame = pd.DataFrame(X[:, :4], columns=["a:u", "a:v", "b:u", "b:w"])
    model = MultiViewPowerKMeans(3, random_state=0).fit(frame)
    page = report(tmp_path, model, frame)
    assert sorted(page.data["profiles"]["name"]) == ["u", "u", "v", "w"]
    assert page.data["views"] == ["a", "b"]


def test_frames_name_columns_and_samples(tmp_path, scored):
    _, X = scored
    frame = pd.DataFrame(X, columns=["alpha", "beta", "gamma", "delta"], index=[f"row {i}" for i in range(240)])
    frame["beta"] = frame["beta"].astype("float32")
    model = KernelPowerKMeans(3, random_state=0).fit(frame)
    page = report(tmp_path, model, frame)
    assert sorted(page.data["profiles"]["name"]) == ["alpha", "beta", "delta", "gamma"]
    assert page.data["map"]["id"][:2] == ["row 0", "row 1"]
    polars = pl.DataFrame(X, schema=["alpha", "beta", "gamma", "delta"])
    page = report(tmp_path, KernelPowerKMeans(3, random_state=0).fit(polars), polars)
    assert sorted(page.data["profiles"]["name"]) == ["alpha", "beta", "delta", "gamma"]
    assert page.data["map"]["id"][:2] == ["0", "1"]
    counted = frame.reset_index(drop=True)
    counted.index = counted.index + 7
    page = report(tmp_path, KernelPowerKMeans(3, random_state=0).fit(counted), counted)
    assert page.data["map"]["id"][0] == "7"


def test_original_with_gaps_and_integers(tmp_path, scored):
    model, X = scored
    original = pd.DataFrame(np.round(10 * X), columns=list("abcd"))
    original["a"] = original["a"].astype("Int64").mask(np.arange(240) % 3 == 0)
    page = report(tmp_path, model, X, original=original)
    profiles = page.data["profiles"]
    column = original["a"].to_numpy(float, na_value=np.nan)
    expected = [np.nanmean(column[model.labels_ == c]) for c in range(3)]
    np.testing.assert_allclose(profiles["means"][profiles["name"].index("a")], expected, rtol=1e-3)


def test_sparse_rows_and_files(tmp_path):
    X = np.maximum(blobs(), 0)
    sparse = csr_array(X)
    model = KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)
    expected = report(tmp_path, model, X).data["profiles"]
    assert report(tmp_path, model, sparse).data["profiles"] == expected
    np.save(tmp_path / "rows.npy", X)
    source = open_source(tmp_path / "rows.npy")
    assert report(tmp_path, model, source).data["profiles"] == expected
    both = MultiViewPowerKMeans(3, random_state=0).fit({"s": sparse, "d": X})
    assert len(report(tmp_path, both, {"s": sparse, "d": X}).data["profiles"]["name"]) == 8


def test_exact_kernels(tmp_path):
    X = blobs(n=120)
    model = KernelPowerKMeans(3, feature_map="exact", membership="possibilistic", random_state=0).fit(X)
    page = report(tmp_path, model, X)
    np.testing.assert_allclose(page.data["map"]["typicality"], model.typicality(X), atol=6e-4)
    with pytest.raises(ValueError, match="X has 100, the model 120"):
        report(tmp_path, model, X[:100])
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 50)
    given = KernelPowerKMeans(3, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    page = report(tmp_path, given, K)
    assert page.data["profiles"]["name"] == []
    assert "hidden" in page.all("section", id="profiles-section")[0]
    assert len(report(tmp_path, given, K, original=X).data["profiles"]["name"]) == 4
    mixed = MultiViewPowerKMeans(
        3, feature_map={"k": "exact", "x": "rff"}, kernel={"k": "precomputed"}, random_state=0
    ).fit({"k": K, "x": X})
    page = report(tmp_path, mixed, {"k": K, "x": X})
    assert len(page.data["profiles"]["name"]) == 4
    assert "have no columns to show: k" in page.said


def test_the_map_keeps_distances_of_the_feature_space(tmp_path):
    X = blobs(n=150, p=2, far=0)
    model = KernelPowerKMeans(3, feature_map="identity", random_state=0).fit(X)
    points = np.array([report(tmp_path, model, X).data["map"][axis] for axis in "xy"]).T
    ours, plain = (np.linalg.norm(P[:, None] - P, axis=2) for P in (points, X))
    np.testing.assert_allclose(ours / ours.max(), plain / plain.max(), atol=2e-3)


def test_the_map_weighs_the_views(tmp_path):
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(150, 1)) + 8 * (np.arange(150) % 2)[:, None], "b": rng.normal(size=(150, 1))}
    model = MultiViewPowerKMeans(2, feature_map="identity", random_state=0).fit(views)
    assert not 0.3 < model.view_weights_[0] < 0.7
    points = np.array([report(tmp_path, model, views).data["map"][axis] for axis in "xy"]).T
    scales = [feature_map.scale for feature_map in model._fit.model.maps]
    space = np.hstack(
        [w**0.5 * s * view for w, s, view in zip(model.view_weights_, scales, views.values(), strict=True)]
    )
    ours, plain = (np.linalg.norm(P[:, None] - P, axis=2) for P in (points, space))
    np.testing.assert_allclose(ours / ours.max(), plain / plain.max(), atol=2e-3)


@pytest.mark.parametrize("case", ["ten", "one cluster", "many clusters", "one column", "wide", "one sample each"])
def test_extremes(tmp_path, case):
    n, k, p = {
        "ten": (10, 2, 3),
        "one cluster": (50, 1, 3),
        "many clusters": (300, 60, 3),
        "one column": (80, 2, 1),
        "wide": (60, 2, 3000),
        "one sample each": (6, 6, 2),
    }[case]
    X = blobs(n=n, k=k, p=p, far=0)
    model = KernelPowerKMeans(k, membership="possibilistic", random_state=0).fit(X)
    page = report(tmp_path, model, X)
    data = page.data
    assert len(data["sizes"]) == k
    assert len(data["map"]["x"]) == n
    assert len(data["profiles"]["name"]) == p
    assert "nan" not in page.said.lower()
    assert ("Next cluster" in page.said) == (k > 1)
    if case == "one cluster":
        assert "fall into one cluster" in page.said
        assert "hidden" in page.all("select", id="filter")[0]
    if case == "one column":
        identity = KernelPowerKMeans(2, feature_map="identity", random_state=0).fit(X)
        assert "vary in one direction only" in report(tmp_path, identity, X).said


def test_columns_far_from_zero_keep_their_digits(tmp_path, scored):
    model, X = scored
    page = report(tmp_path, model, X, original=X + 1.7e12)
    deviations = dict(zip(page.data["profiles"]["name"], page.data["profiles"]["deviation"], strict=True))
    np.testing.assert_allclose([deviations[f"x{i}"] for i in range(4)], X.std(axis=0), rtol=1e-2)


def test_constant_columns_and_views(tmp_path):
    X = blobs()
    X[:, 1] = 7.25
    model = KernelPowerKMeans(3, random_state=0).fit(X)
    profiles = report(tmp_path, model, X).data["profiles"]
    place = profiles["name"].index("x1")
    assert profiles["deviation"][place] == 0
    assert profiles["explained"][place] == 0
    assert profiles["means"][place] == [7.25] * 3
    views = {"a": X, "flat": np.ones((240, 2))}
    with pytest.warns(UserWarning, match="constant"):
        model = MultiViewPowerKMeans(3, random_state=0).fit(views)
    assert "constant, not used" in report(tmp_path, model, views).said


def test_after_a_stream(tmp_path):
    X = blobs(n=3000)
    model = KernelPowerKMeans(3, random_state=0)
    for start in range(0, 3000, 500):
        model.partial_fit(X[start : start + 500])
    page = report(tmp_path, model, X)
    assert sum(page.data["sizes"]) == 3000


# nothing that a user names becomes markup

NASTY = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "it's & <b>bold</b>",
    "line\u2028and\u2029paragraph",
    "\x00nul \x1b esc \ud800 half",
    "$title ${data} $$",
    "\u65e5\u672c\u8a9e \u0438\u043c\u044f \u202eabc",
    "x" * 5000,
]


def test_everything_is_escaped(tmp_path):
    X = blobs(n=len(NASTY) * 4, p=len(NASTY))
    views = {NASTY[0]: X, NASTY[1]: X + 1}
    model = MultiViewPowerKMeans(2, random_state=0).fit(views)
    page = report(
        tmp_path, model, views, ids=NASTY * 4, title=NASTY[1], scaling=NASTY[2], feature_names=NASTY + NASTY
    )
    assert [tag for tag, _ in page.elements if tag in ("script", "img", "b")] == ["script", "script"]
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    raw = re.sub(r"(?s)<script>\n?\"use strict\".*?</script>", "", page.text)
    assert "alert(" in page.said
    assert not re.search("[\u2028\u2029\x00\x1b\ud800]", raw.split('id="data">')[1])
    assert page.data["views"] == NASTY[:2]
    assert set(page.data["map"]["id"]) == {plain_text(name) for name in NASTY}
    assert set(page.data["profiles"]["name"]) == {plain_text(name) for name in NASTY}
    assert NASTY[1] in page.said
    assert max(len(name) for name in page.data["map"]["id"]) == LONGEST_TEXT


def test_ids_of_any_kind(tmp_path, scored):
    model, X = scored
    for ids in (
        np.arange(240),
        np.arange(240.0),
        [b"bytes %d" % i for i in range(240)],
        pd.Series([f"s{i}" for i in range(240)], index=range(240, 0, -1)),
        pl.Series([f"s{i}" for i in range(240)]),
        pd.MultiIndex.from_product([range(24), list("abcdefghij")]),
        (f"g{i}" for i in range(240)),
        [None] * 240,
    ):
        page = report(tmp_path, model, X, ids=ids)
        assert len(page.data["map"]["id"]) == 240
    assert plain_text(np.float64(3.0)) == "3"
    assert plain_text("  ") == "\u2014"


def test_the_page_needs_nothing_else(tmp_path, several):
    page = report(tmp_path, *several)
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert not re.search(r"@import|url\(|\beval\(|innerHTML|\bfetch\(|XMLHttpRequest", page.text)
    assert [a.get("href") for a in page.all("link")] == ["data:,"]
    assert all("src" not in attributes for _, attributes in page.elements)
    assert all(a["href"].startswith("#") for a in page.all("a"))
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy.startswith("default-src 'none'; ")
    script = re.search(r"<script>(.*?)</script>", page.text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page.text, re.DOTALL)[1]
    for kind, content in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in page.elements)  # the policy would drop them


def test_ids_and_anchors_of_the_page_are_sound(tmp_path, several):
    page = report(tmp_path, *several)
    found = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(found) == len(set(found))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, found[0]) in found
    assert {a["href"][1:] for a in page.all("a")} <= set(found)
    assert len(page.all("main")) == len(page.all("h1")) == 1
    script = page_module.asset("report.js")
    assert set(re.findall(r'byId\("([\w-]+)"\)', script)) <= set(found)


def test_assets_are_part_of_the_package():
    for name in ("template.html", "report.css", "report.js"):
        assert files("powerkmeans.report").joinpath(name).is_file()


def contrast(first, second):
    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_contrast_in_both_schemes():
    schemes = re.findall(r"\{([^{}]*--page: #[^{}]*--c9[^{}]*)\}", page_module.asset("report.css"))
    palettes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme)) for scheme in schemes]
    assert len(palettes) == 3
    assert palettes[1] == palettes[2]  # dark by the system and by the button
    for colours in palettes[:2]:
        for text in ("ink", "muted", "accent", "good", "weak", "warn"):
            assert all(contrast(colours[text], colours[back]) >= 4.5 for back in ("page", "surface", "sunk"))
        assert contrast(colours["ink"], colours["accent-soft"]) >= 4.5
        assert contrast(colours["muted"], colours["accent-soft"]) >= 4.5
        assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
        for mark in [f"c{i}" for i in range(10)] + ["edge", "above", "below"]:
            assert contrast(colours[mark], colours["page"]) >= 3
            assert contrast(colours[mark], colours["surface"]) >= 3


# how it is written


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
        write_report(path, KernelPowerKMeans(3), X)
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


def test_numbers_for_readers():
    assert percent(0.0) == "0\u00a0%"
    assert percent(0.0004) == "< 0.1\u00a0%"
    assert percent(0.0456) == "4.6\u00a0%"
    assert percent(0.456) == "46\u00a0%"
    assert percent(0.9996) == "> 99.9\u00a0%"
    assert percent(1.0) == "100\u00a0%"
    assert percent(float("nan")) == "\u2014"
    assert fixed(1234.5, 1) == "1,234.5"
    assert fixed(-0.00000012, 9) == "\u22121.200e\u221207"
    for low, high in ((0.729, 1.53), (-349, 46), (9.5, 10.5), (0, 1e-9), (3, 3.0001)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 6
        assert all(low <= level <= high for level in found)
    assert len(log_ticks(0.3, 0.31)) >= 2


def test_outliers_by_a_threshold_of_ones_own(tmp_path, scored):
    model, X = scored
    scores = model.outlier_score(X)
    threshold = float(np.quantile(scores, 0.9))
    page = report(tmp_path, model, X, noise_threshold=threshold)
    assert f"above {threshold:.3f}, as was asked for" in page.text
    assert f"are all {np.sum(scores > threshold)} outliers" in page.text
    with pytest.raises(ValueError, match="'noise_threshold' parameter must be a number between 0 and 1"):
        report(tmp_path, model, X, noise_threshold=2)
    with pytest.raises(ValueError, match="noise_threshold needs outlier scores"):
        report(tmp_path, KernelPowerKMeans(3, random_state=0).fit(X), X, noise_threshold=0.5)
