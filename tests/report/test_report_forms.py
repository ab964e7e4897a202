"""The report of whatever people have: forms of data, kernels, extremes and streams."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from report_helpers import blobs, report
from scipy.sparse import csr_array

import powerkmeans
from helpers import quick, quick_views
from powerkmeans import open_source

# fixtures have views of noise, on purpose
pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")


def test_the_same_page_for_the_same_model(tmp_path, several):
    model, views = several
    first = report(tmp_path, model, views).text
    assert report(tmp_path, model, views).text == first
    model.save(tmp_path / "model.npz")
    assert report(tmp_path, powerkmeans.load(tmp_path / "model.npz"), views).text == first


def test_forms_of_several_views(tmp_path, several):
    model, views = several
    expected = report(tmp_path, model, views).data
    as_list = quick_views(3, random_state=0).fit(list(views.values()))
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
    model = quick_views(3, views=cut, random_state=0).fit(X)
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
    model = quick_views(3, random_state=0).fit(frame)
    page = report(tmp_path, model, frame)
    assert sorted(page.data["profiles"]["name"]) == ["u", "u", "v", "w"]
    assert page.data["views"] == ["a", "b"]


def test_frames_name_columns_and_samples(tmp_path, scored):
    _, X = scored
    frame = pd.DataFrame(X, columns=["alpha", "beta", "gamma", "delta"], index=[f"row {i}" for i in range(240)])
    frame["beta"] = frame["beta"].astype("float32")
    model = quick(3, random_state=0).fit(frame)
    page = report(tmp_path, model, frame)
    assert sorted(page.data["profiles"]["name"]) == ["alpha", "beta", "delta", "gamma"]
    assert page.data["map"]["id"][:2] == ["row 0", "row 1"]
    polars = pl.DataFrame(X, schema=["alpha", "beta", "gamma", "delta"])
    page = report(tmp_path, quick(3, random_state=0).fit(polars), polars)
    assert sorted(page.data["profiles"]["name"]) == ["alpha", "beta", "delta", "gamma"]
    assert page.data["map"]["id"][:2] == ["0", "1"]
    counted = frame.reset_index(drop=True)
    counted.index = counted.index + 7
    page = report(tmp_path, quick(3, random_state=0).fit(counted), counted)
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
    model = quick(3, membership="possibilistic", random_state=0).fit(X)
    expected = report(tmp_path, model, X).data["profiles"]
    assert report(tmp_path, model, sparse).data["profiles"] == expected
    np.save(tmp_path / "rows.npy", X)
    source = open_source(tmp_path / "rows.npy")
    assert report(tmp_path, model, source).data["profiles"] == expected
    both = quick_views(3, random_state=0).fit({"s": sparse, "d": X})
    assert len(report(tmp_path, both, {"s": sparse, "d": X}).data["profiles"]["name"]) == 8


def test_exact_kernels(tmp_path):
    X = blobs(n=120)
    model = quick(3, feature_map="exact", membership="possibilistic", random_state=0).fit(X)
    page = report(tmp_path, model, X)
    np.testing.assert_allclose(page.data["map"]["typicality"], model.typicality(X), atol=6e-4)
    with pytest.raises(ValueError, match="X has 100, the model 120"):
        report(tmp_path, model, X[:100])
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 50)
    given = quick(3, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    page = report(tmp_path, given, K)
    assert page.data["profiles"]["name"] == []
    assert "hidden" in page.all("section", id="profiles-section")[0]
    assert len(report(tmp_path, given, K, original=X).data["profiles"]["name"]) == 4
    mixed = quick_views(
        3, feature_map={"k": "exact", "x": "rff"}, kernel={"k": "precomputed"}, random_state=0
    ).fit({"k": K, "x": X})
    page = report(tmp_path, mixed, {"k": K, "x": X})
    assert len(page.data["profiles"]["name"]) == 4
    assert "have no columns to show: k" in page.said


def test_the_map_keeps_distances_of_the_feature_space(tmp_path):
    X = blobs(n=150, p=2, far=0)
    model = quick(3, feature_map="identity", random_state=0).fit(X)
    points = np.array([report(tmp_path, model, X).data["map"][axis] for axis in "xy"]).T
    ours, plain = (np.linalg.norm(P[:, None] - P, axis=2) for P in (points, X))
    np.testing.assert_allclose(ours / ours.max(), plain / plain.max(), atol=2e-3)


def test_the_map_weighs_the_views(tmp_path):
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(150, 1)) + 8 * (np.arange(150) % 2)[:, None], "b": rng.normal(size=(150, 1))}
    model = quick_views(2, feature_map="identity", random_state=0).fit(views)
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
    model = quick(k, membership="possibilistic", random_state=0).fit(X)
    page = report(tmp_path, model, X)
    data = page.data
    assert len(data["sizes"]) == k
    assert len(data["map"]["x"]) == n
    assert len(data["profiles"]["name"]) == p
    assert not re.search(r"\bnan\b", page.said.lower())
    assert ("Next cluster" in page.said) == (k > 1)
    if case == "one cluster":
        assert "fall into one cluster" in page.said
        assert "hidden" in page.all("select", id="filter")[0]
    if case == "one column":
        identity = quick(2, feature_map="identity", random_state=0).fit(X)
        assert "vary in one direction only" in report(tmp_path, identity, X).said


def test_columns_far_from_zero_keep_their_digits(tmp_path, scored):
    model, X = scored
    page = report(tmp_path, model, X, original=X + 1.7e12)
    deviations = dict(zip(page.data["profiles"]["name"], page.data["profiles"]["deviation"], strict=True))
    np.testing.assert_allclose([deviations[f"x{i}"] for i in range(4)], X.std(axis=0), rtol=1e-2)


def test_constant_columns_and_views(tmp_path):
    X = blobs()
    X[:, 1] = 7.25
    model = quick(3, random_state=0).fit(X)
    profiles = report(tmp_path, model, X).data["profiles"]
    place = profiles["name"].index("x1")
    assert profiles["deviation"][place] == 0
    assert profiles["explained"][place] == 0
    assert profiles["means"][place] == [7.25] * 3
    views = {"a": X, "flat": np.ones((240, 2))}
    with pytest.warns(UserWarning, match="constant"):
        model = quick_views(3, random_state=0).fit(views)
    assert "constant, not used" in report(tmp_path, model, views).said


def test_after_a_stream(tmp_path):
    X = blobs(n=3000)
    model = quick(3, random_state=0)
    for start in range(0, 3000, 500):
        model.partial_fit(X[start : start + 500])
    page = report(tmp_path, model, X)
    assert sum(page.data["sizes"]) == 3000
