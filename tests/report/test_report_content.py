"""What the report says: sizes, means, views, outliers, and what it leaves out of many rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from report_helpers import Page, blobs, report
from sklearn.exceptions import ConvergenceWarning

import powerkmeans
from helpers import quick, quick_views
from powerkmeans import KernelPowerKMeans, explain_views
from powerkmeans.objective.membership import Possibilistic
from powerkmeans.report import facts as facts_module
from powerkmeans.report import profiles as profiles_module
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
    plain = quick_views(3, feature_map="rff", random_state=0).fit(views)
    shares, nearest = shares_of_views(plain, checked), np.min(plain.transform(views), axis=1) ** 2
    np.testing.assert_allclose(np.nansum(shares, axis=1), nearest, rtol=1e-6, atol=1e-9)


def test_the_view_that_stands_out_and_the_column(tmp_path):
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(200, 3)), "b": rng.normal(size=(200, 3))}
    for view in views.values():
        view[:100] += 8
    views["b"][7, 1] += 40
    views["a"][150, 2] -= 40
    model = quick_views(2, random_state=0).fit(views)
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
    table = quick_views(3, random_state=0).fit(X)
    assert "hidden" in report(tmp_path, table, X).all("section", id="views-section")[0]
    assert "hidden" not in report(tmp_path, *several).all("section", id="views-section")[0]


def test_fuzzy_has_borderline_samples_instead_of_outliers(tmp_path):
    X = blobs()
    model = KernelPowerKMeans(3, feature_map="nystroem", n_components=48, random_state=0).fit(X)
    page = report(tmp_path, model, X)
    assert "Borderline samples" in page.said
    assert "has no outlier scores" in page.said
    assert "stand out" not in page.said
    assert page.data["scored"] is False
    assert page.data["map"]["outlier"] == []
    least = np.argsort(model.predict_proba(X).max(axis=1).astype(np.float32), kind="stable")[:100]
    assert [int(i) for i in re.findall(r'<span class="id" title="(\d+)">', page.text)] == least.tolist()


def test_a_graph_is_explained_by_neighbours_and_a_kernel_by_centroids(tmp_path, scored, several):
    graph, kernel = report(tmp_path, *several), report(tmp_path, *scored)
    assert several[0].feature_map_.tolist() == ["graph"] * 3
    for page, other, words in (
        (graph, kernel, ["its distance to its neighbours lies beyond", "that chains of near neighbours connect"]),
        (kernel, graph, ["its distance to the nearest centroid lies beyond", "near the same centroid"]),
    ):
        assert all(word in page.said and word not in other.said for word in words)


def test_what_automatic_choices_became(tmp_path, scored, several):
    became = dict(
        re.findall(r"<code>(\w+)</code></th><td><code>\w+</code><span> = ([^<]*)", report(tmp_path, *several).text)
    )
    assert became["feature_map"] == "graph"
    assert became["membership"] == "fuzzy"
    assert became["n_components"] == "300, 300, 300"
    assert {"bandwidth", "entropy", "reference_distance"}.isdisjoint(became)
    became = dict(
        re.findall(r"<code>(\w+)</code></th><td><code>\w+</code><span> = ([^<]*)", report(tmp_path, *scored).text)
    )
    assert {"feature_map", "membership"}.isdisjoint(became)  # words that stand for themselves
    assert {"bandwidth", "n_components", "reference_distance"} <= set(became)


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
        model = quick(3, feature_map="nystroem", max_iter=2, random_state=0).fit(X)
    page = report(tmp_path, model, X)
    assert "did not converge in max_iter=2" in page.said
    duplicates = np.repeat(np.eye(3), 10, axis=0)
    with pytest.warns(ConvergenceWarning):
        model = quick(5, feature_map="identity", random_state=0).fit(duplicates)
    page = report(tmp_path, model, duplicates)
    assert "found smaller than n_clusters" in page.said
    assert "of 5 asked for" in page.said
    model = quick(3, random_state=0).fit(X)
    assert "this page is about 100" in report(tmp_path, model, X[:100]).said
    assert "Note." not in report(tmp_path, model, X).said


def test_many_warnings_are_folded(tmp_path, monkeypatch):
    X = blobs(60)
    model = quick(3, random_state=0).fit(X)
    for many in (4, 5):
        texts = [f"view 'v{i}' is odd." for i in range(many)]
        monkeypatch.setattr("powerkmeans.report.sections.warnings_of", lambda *_, texts=texts: texts)
        said = report(tmp_path, model, X).said
        assert said.count("Note.") == many
        assert "View 'v0' is odd." in said
        assert ("2 more notes" in said) == (many == 5)


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
    model = quick(2, feature_map="identity", membership="possibilistic", s_init=-3.0, random_state=0)
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
    model = quick(3, membership="possibilistic", random_state=0).fit(X)
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
        report(tmp_path, quick(3, feature_map="nystroem", random_state=0).fit(X), X, noise_threshold=0.5)
