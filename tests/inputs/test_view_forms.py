"""Every form in which people have several views, and every way to get it wrong."""

from __future__ import annotations

import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import powerkmeans
from helpers import assert_same_fit, objective_rounding
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, explain_views
from powerkmeans.metrics import clustering_accuracy


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n // 3)
    return (
        rng.normal(0, 4, (3, 4))[y] + rng.normal(size=(n, 4)),
        rng.normal(0, 3, (3, 6))[y] + rng.normal(size=(n, 6)),
        y,
    )


RNA, ATAC, Y = data()
BOTH = np.hstack([RNA, ATAC])
COLUMNS = [f"r{i}" for i in range(4)] + [f"a{i}" for i in range(6)]


def model(**parameters):
    return MultiViewPowerKMeans(**{"n_clusters": 3, "random_state": 0, **parameters})


EXPECTED = model().fit({"rna": RNA, "atac": ATAC})


def same(found, names=("rna", "atac")):
    assert found.view_names_in_.tolist() == list(names)
    if tuple(names) == ("rna", "atac"):
        assert_same_fit(found, EXPECTED)


SPECS = {
    "slices": {"rna": slice(0, 4), "atac": slice(4, None)},
    "lists": {"rna": [0, 1, 2, 3], "atac": list(range(4, 10))},
    "range and array": {"rna": range(4), "atac": np.arange(4, 10)},
    "negative": {"rna": slice(None, 4), "atac": [-6, -5, -4, -3, -2, -1]},
    "masks": {"rna": np.arange(10) < 4, "atac": (np.arange(10) >= 4).tolist()},
    "pairs": [("rna", slice(0, 4)), ("atac", slice(4, 10))],
}


@pytest.mark.parametrize("spec", SPECS)
def test_columns_of_an_array(spec):
    found = model(views=SPECS[spec]).fit(BOTH)
    same(found)
    assert found.n_features_in_ == 10
    assert np.array_equal(found.predict(BOTH), found.labels_)
    assert np.array_equal(found.predict({"atac": ATAC, "rna": RNA}), found.labels_)
    assert np.array_equal(found.predict([RNA, ATAC]), found.labels_)


NAMED = {
    "lists": {"rna": COLUMNS[:4], "atac": COLUMNS[4:]},
    "slices": {"rna": slice("r0", "r3"), "atac": slice("a0", None)},
    "positions": {"rna": slice(0, 4), "atac": slice(4, 10)},
}


@pytest.mark.parametrize("spec", NAMED)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame(spec, frame):
    X = frame(dict(zip(COLUMNS, BOTH.T, strict=True)))
    found = model(views=NAMED[spec]).fit(X)
    same(found)
    assert found.feature_names_in_.tolist() == COLUMNS
    assert np.array_equal(found.predict(X), found.labels_)


def test_unused_columns_may_be_anything():
    X = pd.DataFrame(BOTH, columns=COLUMNS)
    X.insert(0, "patient", "someone")
    same(model(views=NAMED["lists"]).fit(X))


def test_prefixed_columns():
    names = [f"rna:{i}" for i in range(4)] + [f"atac:peak:{i}" for i in range(6)]
    same(model().fit(pd.DataFrame(BOTH, columns=names)))
    same(model().fit(pl.DataFrame(dict(zip(names, BOTH.T, strict=True)))))
    shuffled = [5, 0, 9, 1, 2, 6, 3, 4, 7, 8]
    found = model().fit(pd.DataFrame(BOTH, columns=names).iloc[:, shuffled])
    assert found.view_names_in_.tolist() == ["atac", "rna"]
    with pytest.raises(ValueError, match="Column 'rna:0' names a view before its ':', but column 'age' does not"):
        model().fit(pd.DataFrame(BOTH, columns=[*names[:-1], "age"]))


def test_multi_index_columns():
    columns = pd.MultiIndex.from_tuples(
        [("rna", f"g{i}") for i in range(4)] + [("atac", f"p{i}") for i in range(6)]
    )
    X = pd.DataFrame(BOTH, columns=columns)
    found = model().fit(X)
    same(found)
    assert np.array_equal(found.predict(X), found.labels_)


def test_lists_are_views_only_if_they_hold_tables():
    found = model().fit([RNA, ATAC])
    assert found.view_names_in_.tolist() == ["view_0", "view_1"]
    rows = model().fit(RNA.tolist())
    assert rows.view_names_in_.tolist() == ["X"]
    nested = model().fit([RNA.tolist(), ATAC.tolist()])
    assert np.array_equal(nested.labels_, found.labels_)


def test_frames_of_one_sample_order():
    index = [f"sample {i}" for i in range(90)]
    rna, atac = pd.DataFrame(RNA, index=index), pd.DataFrame(ATAC, index=index)
    same(model().fit({"rna": rna, "atac": atac}))
    with pytest.raises(ValueError, match="Row 0 is 'sample 89' in view 'atac' but 'sample 0' in view 'rna'"):
        model().fit({"rna": rna, "atac": atac[::-1]})
    same(model().fit({"rna": rna.reset_index(drop=True), "atac": atac}))


def test_memory_maps_are_read_and_left_alone(tmp_path):
    arrays = {}
    for name, view in {"rna": RNA, "atac": ATAC}.items():
        np.save(tmp_path / f"{name}.npy", view)
        arrays[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    found = model().fit(arrays)
    same(found)
    whole = np.load(_saved(tmp_path / "both.npy", BOTH), mmap_mode="r")
    same(model(views=SPECS["slices"]).fit(whole))
    gappy = RNA.copy()
    gappy[:10] = np.nan
    mapped = np.load(_saved(tmp_path / "gaps.npy", gappy), mmap_mode="r")
    assert np.array_equal(
        model().fit({"rna": mapped, "atac": ATAC}).labels_, model().fit({"rna": gappy, "atac": ATAC}).labels_
    )


def _saved(path, array):
    np.save(path, array)
    return path


def test_input_is_not_changed():
    gaps = RNA.copy()
    gaps[3] = np.nan
    before = gaps.copy(), ATAC.copy()
    model().fit({"rna": gaps, "atac": ATAC}).predict({"rna": gaps, "atac": ATAC})
    assert np.array_equal(gaps, before[0], equal_nan=True)
    assert np.array_equal(ATAC, before[1])


def test_sparse_and_dense_views_together():
    found = model().fit({"rna": sparse.csr_array(np.where(np.abs(RNA) > 1, RNA, 0)), "atac": ATAC})
    assert clustering_accuracy(Y, found.labels_) > 0.95
    present = np.ones((90, 2), dtype=bool)
    present[::7, 0] = False
    X = {"rna": sparse.csr_array(np.where(np.abs(RNA) > 1, RNA, 0)), "atac": ATAC}
    found = model().fit(X, present=present)
    emptied = X["rna"].toarray()
    emptied[::7] = 0
    same_rows = {"rna": sparse.csr_array(emptied), "atac": ATAC}
    assert_same_fit(found, model().fit(same_rows, present=present))


MISSING = np.arange(0, 90, 9)


def gaps(form):
    """The first view with rows missing, written in one of the ways to write it."""
    there = ~np.isin(np.arange(90), MISSING)
    rna = np.where(there[:, None], RNA, np.nan)
    rows = [row if kept else None for row, kept in zip(RNA.tolist(), there, strict=True)]
    objects = np.empty(90, dtype=object)
    objects[:] = rows
    views = {
        "nan": rna,
        "none rows": rows,
        "object array": objects,
        "masked array": np.ma.masked_invalid(rna),
        "pandas": pd.DataFrame(rna).convert_dtypes(),
    }
    X = {"rna": views.get(form, RNA), "atac": ATAC}
    mask = np.column_stack([there, np.ones(90, dtype=bool)])
    masks = {"mask": mask, "mask by name": {"rna": there.astype(int)}}
    return {"X": X, "present": masks[form]} if form in masks else {"X": X}


@pytest.mark.parametrize("form", ["none rows", "object array", "masked array", "pandas", "mask", "mask by name"])
def test_all_ways_to_miss_a_view_are_one(form):
    expected = model().fit(**gaps("nan"))
    found = model().fit(**gaps(form))
    assert_same_fit(found, expected)
    assert np.array_equal(found.predict(**gaps(form)), found.labels_)
    close = objective_rounding(found, expected) / 90  # the score is a mean
    assert found.score(**gaps(form)) == pytest.approx(expected.score(**gaps("nan")), rel=0, abs=close)


def test_table_with_nan_blocks():
    X = BOTH.copy()
    X[MISSING, :4] = np.nan
    found = model(views=SPECS["slices"]).fit(X)
    assert np.array_equal(found.labels_, model().fit(**gaps("nan")).labels_)


@pytest.mark.parametrize("subset", [["rna"], ["atac"], ["rna", "atac"]])
def test_prediction_from_any_views(subset):
    new = {"rna": RNA if "rna" in subset else None, "atac": ATAC if "atac" in subset else None}
    assert np.mean(EXPECTED.predict(new) == EXPECTED.labels_) > 0.95
    assert np.all(np.isfinite(EXPECTED.outlier_score(new)))
    proba = EXPECTED.predict_proba(new)
    assert np.array_equal(np.argmax(proba, axis=1), EXPECTED.predict(new))
    assert proba.sum(axis=1) == pytest.approx(1)


def test_pipelines_cross_validation_and_grid_search():
    views = SPECS["slices"]
    pipeline = make_pipeline(StandardScaler(), model(views=views))
    assert clustering_accuracy(Y, pipeline.fit_predict(BOTH)) > 0.95
    scores = cross_validate(model(views=views), BOTH, cv=3)
    assert np.all(np.isfinite(scores["test_score"]))
    search = GridSearchCV(model(views=views), {"entropy": ["auto", 10.0], "bandwidth": [5.0, [5.0, 6.0]]}, cv=2)
    search.fit(BOTH)
    assert search.best_estimator_.view_names_in_.tolist() == ["rna", "atac"]
    again = clone(search.best_estimator_)
    assert again.views == views


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


def test_precision_is_that_of_the_widest_view():
    single = model().fit([RNA.astype(np.float32), ATAC.astype(np.float32)])
    assert single.cluster_centers_[0].dtype == np.float32
    assert model().fit([RNA.astype(np.float32), ATAC]).cluster_centers_[0].dtype == np.float64
    assert single.transform([RNA, ATAC]).dtype == np.float32


def test_refit_forgets_the_other_form():
    estimator = model().fit(pd.DataFrame(RNA, columns=list("abcd")))
    assert hasattr(estimator, "feature_names_in_")
    estimator.fit({"rna": RNA, "atac": ATAC})
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 10


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
    single = KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(RNA)
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
    single = KernelPowerKMeans(3, random_state=0).fit(ATAC)
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


ROW_NAN = np.where(np.arange(90)[:, None] == 5, np.nan, ATAC)
NO_VIEW = {"rna": np.where(np.arange(90)[:, None] == 5, np.nan, RNA), "atac": ROW_NAN}
PARTLY = ATAC.copy()
PARTLY[7, 2] = np.nan
INFINITE = ATAC.copy()
INFINITE[3, 1] = np.inf

BAD = {
    "unequal lengths": (
        {"rna": RNA, "atac": ATAC[:80]},
        {},
        "view 'atac' has 80 samples, expected 90 (from view 'rna')",
    ),
    "no views": ([], {}, "X has no views; expected at least one 2-D array"),
    "empty dict": ({}, {}, "X has no views; expected at least one 2-D array"),
    "no views named": (BOTH, {"views": {}}, "views is empty; expected at least one view"),
    "duplicate names": (BOTH, {"views": [("a", [0]), ("a", [1])]}, "views names 'a' twice"),
    "overlap": (BOTH, {"views": {"a": [0, 1], "b": [1, 2]}}, "Column 1 is in the views 'a' and 'b'"),
    "a column twice": (BOTH, {"views": {"a": [0, 0]}}, "Column 0 is in the views 'a', twice"),
    "unknown position": (BOTH, {"views": {"a": [0, 10]}}, "views['a'] has column 10, but X has 10 columns"),
    "unknown slice": (
        BOTH,
        {"views": {"a": slice(0, 11)}},
        "views['a'] has columns up to 11, but X has 10 columns",
    ),
    "names on an array": (
        BOTH,
        {"views": {"a": ["x"]}},
        "names the column 'x', but X is an array without column names",
    ),
    "unknown name": (
        pd.DataFrame(BOTH, columns=COLUMNS),
        {"views": {"a": ["r0", "r9"]}},
        "views['a'] names the column 'r9', which X does not have",
    ),
    "ambiguous name": (
        pd.DataFrame(BOTH, columns=["r0", *COLUMNS[:-1]]),
        {"views": {"a": ["r0"], "b": [4]}},
        "views['a'] names the column 'r0', which X has more than once",
    ),
    "no columns": (BOTH, {"views": {"a": [], "b": [1]}}, "view 'a' has no columns"),
    "short mask": (BOTH, {"views": {"a": [True, False]}}, "views['a'] is a mask of 2 columns, but X has 10"),
    "views and a dict": (
        {"a": RNA},
        {"views": {"a": [0]}},
        "views= chooses columns of one table, but X holds its views apart",
    ),
    "no view at all": (NO_VIEW, {}, "Sample 5 has no view: it is NaN or absent in 'rna', 'atac'"),
    "partly NaN": (
        {"rna": RNA, "atac": PARTLY},
        {},
        "view 'atac' contains NaN: sample 7 is partly NaN (column 2)",
    ),
    "infinite": ({"rna": RNA, "atac": INFINITE}, {}, "Input view 'atac' contains infinity"),
    "a list too short": (
        [RNA, ATAC],
        {"bandwidth": [1.0]},
        "bandwidth has 1 entry, expected 2, one for each of the views",
    ),
    "a list too long": ([RNA, ATAC], {"kernel": ["rbf"] * 3}, "kernel has 3 entries, expected 2"),
    "settings of no view": (
        {"rna": RNA, "atac": ATAC},
        {"n_components": {"dna": 5}},
        "n_components names the view 'dna'; the views are 'rna', 'atac'",
    ),
    "a wrong setting": ([RNA, ATAC], {"bandwidth": [1.0, -1.0]}, "The 'bandwidth[1]' parameter must be"),
    "all missing": ({"rna": RNA, "atac": np.full((90, 2), np.nan)}, {}, "view 'atac' is missing in all samples"),
    "None in fit": ({"rna": RNA, "atac": None}, {}, "view 'atac' is None; in fit every view must have samples"),
    "text": ({"rna": RNA, "atac": np.full((90, 2), "x")}, {}, "view 'atac': could not convert string to float"),
    "no width": ({"rna": RNA, "atac": np.zeros((90, 0))}, {}, "view 'atac': Found array with 0 feature(s)"),
    "entropy": ([RNA, ATAC], {"entropy": 0.0}, "The 'entropy' parameter must be 'auto' or a number > 0"),
    "view_scaling": (
        [RNA, ATAC],
        {"view_scaling": "unit"},
        "The 'view_scaling' parameter must be 'scatter' or None",
    ),
    "view_baseline": (
        [RNA, ATAC],
        {"view_baseline": 1},
        "The 'view_baseline' parameter must be 'gaussian' or None",
    ),
    "too few rows": ([RNA[:2], ATAC[:2]], {}, "n_samples=2 should be >= n_clusters=3"),
    "one dimension": (
        np.arange(10.0),
        {"views": {"a": [0]}},
        "views= chooses columns of a 2-D table, but X has 1 dimension",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    X, parameters, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        model(**parameters).fit(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([RNA, "text"], "view 'view_1' must be a 2-D array, got 'text' (str)"),
        ([RNA, 3], "view 'view_1' must be a 2-D array, got 3 (int)"),
        ([RNA, np.zeros(90)], "view 'view_1' must be a 2-D array, got an array of shape (90,)"),
        ({1: RNA}, "View names must be strings, got 1 (int)"),
    ],
)
def test_wrong_types(X, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        model().fit(X)


@pytest.mark.parametrize("views", [5, "rna", ["rna"], {"rna": 1.5}, {"rna": None}, {3: [0]}])
def test_wrong_types_of_views(views):
    with pytest.raises(TypeError, match=r"views must be a dict of columns|must be columns|must be strings"):
        model(views=views).fit(BOTH)


@pytest.mark.parametrize(
    ("present", "message"),
    [
        (np.ones((90, 3)), "present must have the shape (n_samples, n_views) = (90, 2), got (90, 3)"),
        (np.full((90, 2), 0.5), "present must hold True where a sample has a view"),
        ({"dna": np.ones(90)}, "present names the view 'dna'; the views are 'rna', 'atac'"),
        ({"rna": np.ones(80)}, "present['rna'] must have one entry for each of the 90 samples"),
        (np.arange(180).reshape(90, 2) > 1, "Sample 0 has no view"),
    ],
)
def test_bad_masks(present, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model().fit({"rna": RNA, "atac": ATAC}, present=present)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"rna": RNA, "dna": ATAC}, "X has the unknown view 'dna'; the model was fitted on 'rna', 'atac'"),
        ({"rna": RNA}, "X lacks the view 'atac' that the model was fitted on; pass None for a view"),
        ([RNA], "X has 1 views, but the model was fitted on 2: 'rna', 'atac'"),
        (BOTH, "X is one table, but the model was fitted on the views 'rna', 'atac'"),
        (
            {"rna": RNA, "atac": RNA},
            "view 'atac' has 4 features, but MultiViewPowerKMeans is expecting 6 features",
        ),
        ({"rna": None, "atac": None}, "X has no views: all of them are None"),
        (NO_VIEW, "Sample 5 has no view"),
    ],
)
def test_bad_new_data(X, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        EXPECTED.predict(X)


def test_present_needs_several_views():
    single = KernelPowerKMeans(3, random_state=0).fit(RNA)
    with pytest.raises(ValueError, match="present= is for several views"):
        explain_views(single, RNA, present=np.ones((90, 1)))
    with pytest.raises(ValueError, match="The 'bandwidth' parameter must be"):
        KernelPowerKMeans(3, bandwidth=[1.0]).fit(RNA)


def test_columns_of_a_view_keep_their_names_and_order():
    rna, atac = pd.DataFrame(RNA, columns=list("abcd")), pd.DataFrame(ATAC)
    found = model().fit({"rna": rna, "atac": atac})
    with pytest.raises(
        ValueError, match="view 'rna' has the columns of the fit in another order: 'a', 'b', 'c', 'd'"
    ):
        found.predict({"rna": rna[list("dcba")], "atac": atac})
    assert np.array_equal(found.predict({"rna": RNA, "atac": ATAC}), found.labels_)
    names = [f"rna:{c}" for c in "abcd"] + [f"atac:{i}" for i in range(6)]
    table = pd.DataFrame(BOTH, columns=names)
    found = model().fit(table)
    with pytest.raises(ValueError, match="view 'rna' has other columns than in fit"):
        model().fit({"rna": rna, "atac": atac}).predict({"rna": rna.rename(columns={"d": "z"}), "atac": atac})
    with pytest.raises(ValueError, match="view 'atac' has the columns"):
        found.predict({"rna": table[names[:4]], "atac": table[names[:3:-1]]})


def test_later_changes_of_views_do_not_reach_a_fitted_model():
    found = model(views={"rna": slice(0, 4), "atac": slice(4, 10)}).fit(BOTH)
    found.set_params(views={"rna": slice(6, 10), "atac": slice(0, 6)})
    assert np.array_equal(found.predict(BOTH), found.labels_)
    once = model(views={"rna": iter(range(4)), "atac": iter(range(4, 10))}).fit(BOTH)
    assert np.array_equal(once.predict(BOTH), once.labels_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_masks_in_frames_go_by_name(frame):
    there = np.arange(90) % 9 != 0
    by_name = frame({"atac": np.ones(90, dtype=bool), "rna": there})
    found = model().fit({"rna": RNA, "atac": ATAC}, present=by_name)
    assert_same_fit(found, model().fit(**gaps("nan")))


def test_absent_rows_may_hold_anything():
    spoiled = RNA.copy()
    spoiled[MISSING] = np.inf
    spoiled[MISSING[0], 1] = np.nan
    there = ~np.isin(np.arange(90), MISSING)
    found = model().fit({"rna": spoiled, "atac": ATAC}, present={"rna": there})
    assert_same_fit(found, model().fit(**gaps("nan")))


def test_single_tables_in_odd_forms():
    dense = model().fit(RNA)
    keyed = model().fit(sparse.dok_array(np.where(np.abs(RNA) > 1, RNA, 0)))
    assert keyed.view_names_in_.tolist() == ["X"]
    masked = np.ma.masked_array(RNA, mask=np.zeros_like(RNA))
    assert np.array_equal(model().fit(masked).labels_, dense.labels_)
    masked[0, 0] = np.ma.masked
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model().fit(masked)
    same(model(views=SPECS["slices"]).fit(BOTH.tolist()))
    with pytest.raises(TypeError, match="X is a lazy frame; call"):
        model().fit(pl.DataFrame({"a:1": [1.0]}).lazy())
    with pytest.raises(TypeError, match="view 'rna' is a lazy frame"):
        model().fit({"rna": pl.DataFrame({"a": [1.0]}).lazy()})


def test_lengths_that_differ_get_advice():
    ids = [f"p{i}" for i in range(90)]
    rna, atac = pd.DataFrame(RNA, index=ids), pd.DataFrame(ATAC, index=ids)
    with pytest.raises(ValueError, match=r"Give all views the union of their samples.*a\.reindex\(ids\)"):
        model().fit({"rna": rna, "atac": atac[:80]})
    with pytest.raises(ValueError, match="Rows are samples: is a table transposed"):
        model().fit({"rna": RNA, "atac": ATAC.T})
    union = rna.index.union(atac.index[:80])
    assert model().fit({"rna": rna.reindex(union), "atac": atac[:80].reindex(union)}).labels_.shape == (90,)


def test_views_in_the_wrong_place():
    with pytest.raises(ValueError, match="y is not used, and looks like a view: pass all views in X"):
        model().fit(RNA, ATAC)
    with pytest.raises(TypeError, match="X holds several views; KernelPowerKMeans takes one table"):
        KernelPowerKMeans(3).fit([RNA, ATAC])


def test_verbose_tells_of_views(capsys):
    model(verbose=1).fit(**gaps("nan"))
    text = capsys.readouterr().err
    assert "view 'rna': 4 columns, in 88.9% of the samples, bandwidth " in text
    assert re.search("mean loss to beat: .*rna 0", text)
    assert re.search("view weights: .*rna 0", text)


def test_frames_with_ranges_for_an_index():
    shuffled = pd.DataFrame(ATAC).sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="the views must have the same samples in the same order"):
        model().fit({"a": pd.DataFrame(RNA), "b": shuffled})
    both = pd.DataFrame(np.vstack([RNA, RNA]))
    with pytest.raises(ValueError, match="Row 0 is 90 in view 'b' but 45 in view 'a'"):
        model().fit({"a": both.iloc[45:135], "b": both.iloc[90:]})
    unnamed = pd.DataFrame(RNA, index=[np.nan] * 90)
    model().fit({"a": unnamed, "b": unnamed})


def test_a_view_given_as_none_for_all_samples():
    for nothing in (None, [None] * 90, np.full(90, None)):
        labels = EXPECTED.predict({"rna": RNA, "atac": nothing})
        assert np.array_equal(labels, EXPECTED.predict({"rna": RNA, "atac": np.full((90, 6), np.nan)}))


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


@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # views of noise
def test_new_views_take_no_memory_of_their_own():
    wide = sparse.random_array((1000, 20_000), density=0.001, format="csr", random_state=np.random.default_rng(0))
    rna = np.tile(RNA, (13, 1))[:1000]
    found = model(view_baseline=None, tol=1e3).fit({"wide": wide, "rna": rna})
    tracemalloc.start()
    found.predict({"wide": wide, "rna": rna})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < wide.shape[0] * wide.shape[1] * 8 / 4


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


def test_indexes_are_compared_by_what_they_say():
    index = pd.Index(np.roll(np.arange(90), 5))
    rna = pd.DataFrame(RNA, index=index)
    same(model().fit({"rna": rna, "atac": pd.DataFrame(ATAC, index=index.astype("Int64"))}))
    with_na = pd.Index([pd.NA, *range(89)], dtype="Int64")
    same(model().fit({"rna": pd.DataFrame(RNA, index=with_na), "atac": pd.DataFrame(ATAC, index=with_na)}))
    for dtype in (object, float):
        reversed_rows = pd.DataFrame(ATAC[::-1], index=pd.Index(range(89, -1, -1), dtype=dtype))
        with pytest.raises(ValueError, match="the views must have the same samples in the same order"):
            model().fit({"rna": pd.DataFrame(RNA), "atac": reversed_rows})


def test_masks_in_frames_must_match_rows_and_views():
    ids = [f"s{i}" for i in range(90)]
    X = {"rna": pd.DataFrame(RNA, index=ids), "atac": pd.DataFrame(ATAC, index=ids)}
    mask = pd.DataFrame({"rna": np.arange(90) > 9, "atac": True}, index=ids)
    model().fit(X, present=mask)
    with pytest.raises(ValueError, match="in view 'present'"):
        model().fit(X, present=mask[::-1])
    with pytest.raises(ValueError, match="present names the view 'RNA'; the views are 'rna', 'atac'"):
        model().fit(X, present=mask.rename(columns=str.upper))


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


def test_one_sample_as_a_broadcast_row():
    assert EXPECTED.predict({"rna": RNA[0][None], "atac": ATAC[0][None]}) == EXPECTED.labels_[0]
    with pytest.raises(ValueError, match="view 'rna' contains NaN: sample 0 is partly NaN"):
        EXPECTED.predict({"rna": np.ma.array(RNA[0], mask=[0, 1, 0, 0])[None], "atac": ATAC[:1]})
    with pytest.raises(ValueError, match="Complex data not supported"):
        EXPECTED.predict({"rna": (RNA[0] + 1j)[None], "atac": ATAC[:1]})


def test_fit_in_one_form_and_predict_in_another():
    prefixed = pd.DataFrame(BOTH, columns=[f"rna:{c}" for c in "abcd"] + [f"atac:{i}" for i in range(6)])
    levels = prefixed.set_axis(pd.MultiIndex.from_tuples([tuple(c.split(":")) for c in prefixed.columns]), axis=1)
    apart = {"rna": levels["rna"], "atac": levels["atac"]}
    for first in (prefixed, levels, apart):
        found = model().fit(first)
        for second in (prefixed, levels, apart):
            if first is not second and isinstance(first, pd.DataFrame) and isinstance(second, pd.DataFrame):
                continue  # one table must have the columns of the other
            assert np.array_equal(found.predict(second), found.labels_)
    single = pd.DataFrame(RNA, columns=list("abcd"))
    with pytest.raises(ValueError, match="view 'X' has the columns of the fit in another order"):
        model().fit(single).predict({"X": single[list("dcba")]})
    with pytest.raises(ValueError, match="view 'view_0' has the columns of the fit in another order"):
        model().fit([single]).predict([single[list("dcba")]])


@pytest.mark.parametrize("form", [sparse.coo_matrix, sparse.bsr_array, sparse.dok_array])
def test_columns_of_sparse_tables(form):
    found = model(views=SPECS["slices"]).fit(form(np.where(np.abs(BOTH) > 1, BOTH, 0)))
    assert found.view_names_in_.tolist() == ["rna", "atac"]


def test_nothing_but_nothing():
    with pytest.raises(ValueError, match="X has no views: all of them are None"):
        EXPECTED.predict([None, None])
    with pytest.raises(ValueError, match="view 'view_0' is None"):
        model().fit([None, None])


def test_explaining_a_view_that_no_sample_has():
    table = explain_views(EXPECTED, {"rna": RNA, "atac": None})
    assert table["coverage"].tolist() == [1.0, 0.0]
    assert np.isnan(table["explained"][1])
    assert np.isnan(table["agreement"][1])


def test_bandwidth_by_scale_concerns_its_own_view():
    X = {"rna": (1e30 * RNA).astype(np.float32), "atac": ATAC.astype(np.float32)}
    found = model(bandwidth={"atac": "scale"}).fit(X)
    assert found.bandwidth_[1] == pytest.approx(np.sqrt(2 * np.sum(np.var(ATAC, axis=0))), rel=1e-5)


def test_extreme_exponents_in_single_precision():
    found = model(s_init=-1e39).fit([RNA.astype(np.float32), ATAC.astype(np.float32)])
    assert np.all(np.isfinite(found.predict_proba([RNA, ATAC])))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_with_some_of_the_views(frame):
    names = [f"rna:{c}" for c in "abcd"] + [f"atac:{i}" for i in range(6)]
    X = frame(dict(zip(names, BOTH.T, strict=True)))
    found = model().fit(X)
    expected = found.predict({"rna": RNA, "atac": None})
    assert np.array_equal(found.predict(X[names[:4]]), expected)
    assert np.array_equal(found.predict(X[names[3::-1]]), expected)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        found.predict(X[names[:3]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        found.predict(frame(dict(zip([*names[:4], "other"], BOTH.T, strict=False))))
