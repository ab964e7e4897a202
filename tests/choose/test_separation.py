"""Are clusters more than a way to cut the data? Beside noise, for compact ones and for shapes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.exceptions import NotFittedError

from helpers import quick, quick_views
from powerkmeans import open_source
from powerkmeans.choose import separation as module
from powerkmeans.choose.noise import uniform_cloud
from powerkmeans.choose.separation import Compared, Separation, find_separation

pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")


@pytest.fixture(autouse=True)
def all_clouds(monkeypatch):
    """As many rows and clouds as reports have, where other tests have few."""
    for name, value in {"ROWS": 500, "ROWS_PER_CLUSTER": 10, "CLOUDS": 12, "FIRST_CLOUDS": 4}.items():
        monkeypatch.setattr(module, name, value)


def found(X, k, **parameters):
    return find_separation(quick(k, random_state=0, **parameters).fit(X), X)


@pytest.mark.parametrize("parameters", [{}, {"feature_map": "identity"}], ids=["graph", "centroids"])
def test_a_square_without_clusters_is_no_more_separated_than_noise(parameters):
    X = np.random.default_rng(0).uniform(size=(500, 2))
    result = found(X, 4, **parameters)
    assert not result.separated
    assert result.sentence.startswith(
        "The clusters are no more separated than those of noise of the same spread: "
    )
    assert "come back" not in result.sentence  # quadrants of a square do, whatever that says


def test_compact_clusters_and_shapes_are_more_separated():
    iris, moons = load_iris().data, make_moons(300, noise=0.05, random_state=0)[0]
    for X, k, parameters in (
        (iris, 3, {}),
        (iris, 3, {"feature_map": "identity"}),
        (make_blobs(200, centers=3, random_state=0, cluster_std=0.8)[0], 3, {"feature_map": "nystroem"}),
        (load_digits().data[:400], 10, {}),
        (moons, 2, {}),
    ):
        result = found(X, k, **parameters)
        assert result.separated, (len(X), parameters)
        assert re.search(
            r"than those of noise of the same spread: .*%.*they come back (in part )?\(agreement", result.sentence
        )
        by = "neighbours" if result.within is None else "spread"
        assert result.sentence.startswith(f"By their {by} the clusters are more separated")
    assert result.graph  # of moons, whose clusters are not compact
    assert result.within is None
    assert not found(moons, 2, feature_map="identity").separated  # cut across


def test_it_is_the_same_whatever_the_order_of_the_rows():
    X = make_blobs(700, centers=3, random_state=0)[0]
    model = quick(3, feature_map="identity", random_state=0).fit(X)
    assert find_separation(model, X) == find_separation(model, X[::-1])


def test_several_views_with_gaps():
    X = make_blobs(240, centers=3, n_features=6, random_state=0)[0]
    views = {"a": X[:, :3], "b": np.where(np.arange(240)[:, None] % 5 == 0, np.nan, X[:, 3:])}
    for feature_map in ("graph", "nystroem"):
        assert find_separation(quick_views(3, feature_map=feature_map, random_state=0).fit(views), views).separated


def test_there_may_be_nothing_to_compare():
    X = make_blobs(60, centers=3, random_state=0)[0]
    assert found(X, 1) is None
    assert found(X, 20) is None
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 50)
    assert found(K, 3, feature_map="exact", kernel="precomputed") is None
    exact = found(X, 3, feature_map="exact")
    assert exact.separated
    assert exact.stability is None
    with pytest.raises(TypeError, match="takes an estimator of powerkmeans, got a str"):
        find_separation("model", X)
    with pytest.raises(NotFittedError):
        find_separation(quick(3), X)


@pytest.mark.parametrize(
    ("stability", "words"),
    [(0.9, "they come back (agreement 0.90 of 1)"), (0.6, "in part"), (0.2, "other clusters")],
)
def test_what_halves_say_is_told(stability, words):
    apart = Separation(Compared(0.0004, 0.02, True), None, stability, graph=True)
    assert words in apart.sentence
    assert "less than 0.1\u00a0% as often as by chance (noise: 2\u00a0%)" in apart.sentence


def test_noise_has_the_spread_of_the_data():
    table = np.random.default_rng(0).normal(size=(200, 3)) @ np.diag([3.0, 1.0, 0.1])
    cloud = uniform_cloud(table - table.mean(axis=0), np.random.default_rng(1))
    np.testing.assert_allclose(np.sum(cloud.var(axis=0)), np.sum(table.var(axis=0)), rtol=0.05)
    np.testing.assert_allclose(cloud.mean(axis=0), 0, atol=1e-9)
    wide = module._leading(np.random.default_rng(2).normal(size=(40, 90)))
    assert wide.shape[1] <= module.DIRECTIONS


def test_rows_of_files(tmp_path):
    X = make_blobs(90, centers=3, n_features=4, random_state=0)[0]
    for feature_map in ("identity", "graph"):
        model = quick(3, feature_map=feature_map, random_state=0).fit(X)
        np.save(tmp_path / "rows.npy", X)
        source = open_source(tmp_path / "rows.npy")
        assert find_separation(model, source).sentence == find_separation(model, X).sentence
        assert find_separation(model, csr_array(X)).separated
