"""Fits to several views: settings by view, given centroids, files, and what explains a view."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler
from view_helpers import ATAC, BOTH, COLUMNS, EXPECTED, RNA, SPECS, model

import powerkmeans
from helpers import assert_same_fit, quick
from powerkmeans import MultiViewPowerKMeans, explain_views


def test_settings_by_view():
    X = {"rna": RNA, "atac": ATAC}
    found = model(
        kernel=["laplacian", "rbf"],
        bandwidth={"atac": 5.0},
        n_components=[10, 12],
        feature_map={"atac": "orf", "rna": "rff"},
    ).fit(X)
    assert found.bandwidth_[1] == 5.0
    assert found.n_components_.tolist() == [10, 12]
    mixed = model(feature_map={"rna": "identity"}).fit(X)
    assert np.isnan(mixed.bandwidth_[0])
    assert mixed.n_components_[0] == 4
    assert model(bandwidth="scale").fit(X).bandwidth_ == pytest.approx(
        [np.sqrt(2 * np.sum(np.var(v, axis=0))) for v in (RNA, ATAC)]
    )


def test_given_centroids_in_every_form():
    X = {"rna": RNA, "atac": ATAC}
    rows = [0, 40, 80]
    by_name = model(init={"atac": ATAC[rows], "rna": RNA[rows]}, s_init=-np.inf).fit(X)
    by_place = model(init=[RNA[rows], ATAC[rows]], s_init=-np.inf).fit(X)
    one_table = model(init=BOTH[rows], s_init=-np.inf, views=SPECS["slices"]).fit(BOTH)
    assert_same_fit(by_name, by_place)
    assert_same_fit(one_table, by_place)
    warm = model(init=EXPECTED.cluster_centers_, s_init=-np.inf).fit(X)
    assert np.mean(warm.labels_ == EXPECTED.labels_) > 0.98
    with pytest.raises(ValueError, match="init must be a list or dict of one table of centroids"):
        model(init=BOTH[rows]).fit(X)
    with pytest.raises(ValueError, match="init must be a list or dict of one table of centroids"):
        model(init={"rna": RNA[rows]}).fit(X)


@pytest.mark.parametrize("given", ["dict", "table", "constant"])
def test_saved_models_answer_the_same(tmp_path, given):
    X = {"rna": RNA, "atac": ATAC} if given != "table" else BOTH
    views = {"rna": slice(0, 4), "atac": list(range(4, 10))} if given == "table" else None
    settings = {"bandwidth": [4.0, "median"], "init": [RNA[:3], ATAC[:3]], "entropy": float("inf")}
    if given == "constant":
        X, settings = {**X, "blank": np.zeros((90, 2))}, {"bandwidth": {"rna": 4.0}}
        with pytest.warns(UserWarning, match="view 'blank' is constant"):
            found = model(**settings).fit(X)
    else:
        found = model(views=views, **settings).fit(X)
    found.save(tmp_path / "model.npz")
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert isinstance(loaded, MultiViewPowerKMeans)
    assert np.array_equal(loaded.predict_proba(X), found.predict_proba(X))
    assert np.array_equal(loaded.outlier_score(X), found.outlier_score(X))
    assert loaded.views == found.views
    assert loaded.entropy_ == found.entropy_
    assert loaded.view_weights_.tolist() == found.view_weights_.tolist()
    assert np.array_equal(loaded.history_["view_weights"], found.history_["view_weights"])
    if given != "constant":
        assert np.array_equal(loaded.init[1], ATAC[:3])
        assert loaded.bandwidth == [4.0, "median"]


def test_noise_threshold():
    X = {"rna": RNA, "atac": ATAC}
    scores = EXPECTED.outlier_score(X)
    cut = float(np.quantile(scores, 0.9))
    labels = EXPECTED.predict(X, noise_threshold=cut)
    assert np.array_equal(labels == -1, scores > cut)
    assert np.array_equal(labels[labels >= 0], EXPECTED.labels_[labels >= 0])
    assert -1 not in EXPECTED.predict(X)
    single = quick(3, membership="possibilistic", random_state=0).fit(RNA)
    assert -1 in single.predict(RNA, noise_threshold=0.0)
    with pytest.raises(
        ValueError, match="noise_threshold needs outlier scores; fit with membership='possibilistic'"
    ):
        model(membership="fuzzy").fit(X).predict(X, noise_threshold=0.5)
    for wrong in (1.5, "high", True, np.nan):
        with pytest.raises(ValueError, match="'noise_threshold' parameter must be a number between 0 and 1"):
            EXPECTED.predict(X, noise_threshold=wrong)


def test_explain_views():
    X = {"rna": RNA, "noise": np.random.default_rng(0).normal(size=(90, 6)), "blank": np.zeros((90, 2))}
    X["rna"] = X["rna"].copy()
    X["rna"][:18] = np.nan
    with pytest.warns(UserWarning, match="view 'blank' is constant"):
        found = model().fit(X)
    table = explain_views(found, X)
    assert table["view"].tolist() == ["rna", "noise", "blank"]
    assert table["n_features"].tolist() == [4, 6, 2]
    assert table["coverage"][:2] == pytest.approx([0.8, 1.0])
    assert np.array_equal(table["weight"], found.view_weights_)
    assert np.nansum(table["distance_share"]) == pytest.approx(1)
    for column in ("explained", "agreement", "silhouette"):
        assert table[column][0] > table[column][1] + 0.2, column
        assert np.isnan(table[column][2])
    assert len(pd.DataFrame(table)) == 3
    assert str(table).splitlines()[0].split() == list(table)
    single = quick(3, random_state=0).fit(ATAC)
    assert explain_views(single, ATAC)["agreement"] == pytest.approx([1.0])
    with pytest.raises(TypeError, match="model must be a fitted estimator of powerkmeans, got a StandardScaler"):
        explain_views(StandardScaler(), ATAC)


def test_explained_share_is_that_of_the_definition():
    found = model(feature_map="identity", view_scaling=None, membership="fuzzy").fit({"rna": RNA, "atac": ATAC})
    table = explain_views(found, {"rna": RNA, "atac": ATAC})
    for index, view in enumerate((RNA, ATAC)):
        centers = found.cluster_centers_[index]
        distances = ((view[:, None] - centers) ** 2).sum(axis=2)
        within = distances[np.arange(90), found.labels_]
        total = np.sum((view - view.mean(axis=0)) ** 2)
        assert table["explained"][index] == pytest.approx(1 - within.sum() / total)
        assert table["agreement"][index] == pytest.approx(np.mean(distances.argmin(axis=1) == found.labels_))
    shares = found.view_weights_ * [
        (1 - e) * np.sum((v - v.mean(axis=0)) ** 2) for e, v in zip(table["explained"], (RNA, ATAC), strict=True)
    ]
    assert table["distance_share"] == pytest.approx(shares / shares.sum())


def test_later_changes_of_views_do_not_reach_a_fitted_model():
    found = model(views={"rna": slice(0, 4), "atac": slice(4, 10)}).fit(BOTH)
    found.set_params(views={"rna": slice(6, 10), "atac": slice(0, 6)})
    assert np.array_equal(found.predict(BOTH), found.labels_)
    once = model(views={"rna": iter(range(4)), "atac": iter(range(4, 10))}).fit(BOTH)
    assert np.array_equal(once.predict(BOTH), once.labels_)


def test_a_failed_fit_leaves_the_model_unfitted():
    estimator = model()
    with pytest.raises(ValueError, match="All rows are equal"):
        estimator.fit({"rna": np.ones((20, 2)), "atac": np.ones((20, 2))})
    with pytest.raises(NotFittedError):
        estimator.predict({"rna": RNA, "atac": ATAC})


def test_odd_names_survive_a_file(tmp_path):
    X = pd.DataFrame(BOTH, columns=["nan", "inf", *COLUMNS[2:]])
    found = model(views={"a": ["nan", "inf"], "b": ["r2", "r3", "a0"]}).fit(X)
    found.save(tmp_path / "model.npz")
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert loaded.views == found.views
    assert np.array_equal(loaded.predict(X), found.labels_)
    columns = pd.MultiIndex.from_tuples([("rna", i) for i in range(4)] + [("atac", i) for i in range(6)])
    wide = pd.DataFrame(BOTH, columns=columns)
    found = model(views={"a": [("rna", 0), ("rna", 1)], "b": [("atac", 2)]}).fit(wide)
    found.save(tmp_path / "model.npz", overwrite=True)
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert loaded.views == found.views
    assert np.array_equal(loaded.predict(wide), found.labels_)


def test_entropy_of_one_view_is_the_given_one():
    assert model(entropy=5.0).fit(RNA).entropy_ == 5.0


def test_centroids_are_points_of_each_view_whatever_its_scale():
    X = {"rna": RNA, "atac": 100 * ATAC + 7}
    found = model(feature_map="identity", membership="fuzzy").fit(X)
    for centers, view in zip(found.cluster_centers_, X.values(), strict=True):
        means = np.stack([view[found.labels_ == j].mean(axis=0) for j in range(3)])
        assert centers == pytest.approx(means, rel=1e-6)
    given = [np.stack([view[found.labels_ == j].mean(axis=0) for j in range(3)]) for view in X.values()]
    for name, feature_map in zip(
        sorted(X), found._fit.model.maps, strict=True
    ):  # used in the order of their names
        assert feature_map.scale != 1
        features = feature_map.base(given[list(X).index(name)], np)
        assert feature_map.uncentred(feature_map.centred(features)) == pytest.approx(features)
    again = model(feature_map="identity", init=found.cluster_centers_, s_init=-5.0, max_iter=1, entropy=np.inf)
    with pytest.warns(match="did not converge"):
        again.fit(X)
    # the first pass sees the given centroids
    inertia = sum(
        np.sum((v - c[found.labels_]) ** 2) / 2 / np.mean(np.sum((v - v.mean(axis=0)) ** 2, axis=1))
        for v, c in zip(X.values(), found.cluster_centers_, strict=True)
    )
    assert again.history_["inertia"][0] == pytest.approx(inertia, rel=1e-3)


def test_a_warning_made_an_error_leaves_a_whole_model():
    estimator = model(views={"a": [0, 1], "b": [2, 3]}).fit(BOTH)
    estimator.set_params(views={"a": [2, 3], "b": [0, 1]}, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            estimator.fit(BOTH)
    assert np.array_equal(estimator.predict(BOTH), estimator.labels_)


def test_any_column_labels_can_be_saved(tmp_path):
    rna = pd.DataFrame(RNA, columns=pd.date_range("2020", periods=4))
    atac = pd.DataFrame(ATAC, columns=[np.nan, b"b", 2, 3.5, "x", ("y", 1)])
    found = model().fit({"rna": rna, "atac": atac})
    found.save(tmp_path / "model.npz")
    assert np.array_equal(
        powerkmeans.load(tmp_path / "model.npz").predict({"rna": rna, "atac": atac}), found.labels_
    )
    chosen = model(views={"rna": {0, 1, 2, 3}, "atac": {4: 0, 5: 0}.keys()}).fit(BOTH)
    chosen.save(tmp_path / "model.npz", overwrite=True)
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").predict(BOTH), chosen.labels_)


def test_files_keep_arrays_apart(tmp_path):
    init = {"a": [row.tolist() for row in RNA[:3]], "a.0": ATAC[:3]}
    found = model(init=init).fit({"a": RNA, "a.0": ATAC})
    found.save(tmp_path / "model.npz")
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert np.array_equal(loaded.init["a"], init["a"])
    assert np.array_equal(loaded.init["a.0"], init["a.0"])


def test_bandwidth_by_scale_concerns_its_own_view():
    X = {"rna": (1e30 * RNA).astype(np.float32), "atac": ATAC.astype(np.float32)}
    found = model(bandwidth={"atac": "scale"}).fit(X)
    assert found.bandwidth_[1] == pytest.approx(np.sqrt(2 * np.sum(np.var(ATAC, axis=0))), rel=1e-5)


def test_extreme_exponents_in_single_precision():
    found = model(s_init=-1e39).fit([RNA.astype(np.float32), ATAC.astype(np.float32)])
    assert np.all(np.isfinite(found.predict_proba([RNA, ATAC])))
