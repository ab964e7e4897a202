"""Wrong input: the message names the culprit and, where there is one, the way out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from helpers import quick
from powerkmeans import KernelPowerKMeans, critical_exponent

X = np.random.default_rng(0).normal(size=(20, 3))
SPOILED = {
    "nan": (np.where(np.eye(20, 3) == 1, np.nan, X), "Input X contains NaN"),
    "inf": (np.where(np.eye(20, 3) == 1, np.inf, X), "Input X contains infinity"),
    "empty": (np.empty((0, 3)), "Found array with 0 sample"),
    "no columns": (np.empty((20, 0)), "Found array with 0 feature"),
    "1-D": (X[:, 0], "Expected 2D array, got 1D array instead"),
    "3-D": (X[None], "Found array with dim 3"),
    "strings": (np.array([["a", "b"], ["c", "d"]]), "could not convert string to float|dtype='numeric'"),
    "complex": (X + 1j, "Complex data not supported"),
    "sparse nan": (sparse.csr_array(np.where(np.eye(20, 3) == 1, np.nan, X)), "contains NaN"),
    "too few": (X[:2], r"n_samples=2 should be >= n_clusters=3"),
    "all equal": (
        np.ones((20, 3)),
        r"All rows are equal \(n_samples=20, 1 distinct\): there is nothing to cluster",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
@pytest.mark.parametrize("feature_map", ["rff", "identity"])
def test_data(case, feature_map):
    data, message = SPOILED[case]
    with pytest.raises((ValueError, TypeError), match=message):
        quick(3, feature_map=feature_map).fit(data)


PARAMETERS = [
    ({"n_clusters": 0}, "The 'n_clusters' parameter must be an int in the range [1, inf). Got 0 instead."),
    ({"n_clusters": -1}, "The 'n_clusters' parameter must be an int in the range [1, inf). Got -1"),
    ({"n_clusters": 2.5}, "The 'n_clusters' parameter must be an int in the range [1, inf). Got 2.5"),
    ({"n_clusters": True}, "The 'n_clusters' parameter must be an int"),
    (
        {"feature_map": "rbf"},
        "The 'feature_map' parameter must be one of 'rff', 'orf', 'nystroem', 'auto', 'graph', 'identity'",
    ),
    (
        {"kernel": "precomputed", "feature_map": "nystroem"},
        "kernel='precomputed' is a matrix of kernel values, which only feature_map='exact'",
    ),
    ({"kernel": "linear"}, "The 'kernel' parameter must be one of 'rbf', 'laplacian'"),
    ({"kernel": "laplacian", "feature_map": "orf"}, "has no orthogonal features; use feature_map='rff'"),
    ({"kernel": "laplacian", "bandwidth": "scale"}, "bandwidth='scale' is a Euclidean length"),
    ({"bandwidth": 0}, "The 'bandwidth' parameter must be 'median', 'scale' or a finite number > 0. Got 0"),
    ({"bandwidth": -2.0}, "The 'bandwidth' parameter must be 'median', 'scale' or a finite number > 0. Got -2.0"),
    (
        {"bandwidth": float("nan")},
        "The 'bandwidth' parameter must be 'median', 'scale' or a finite number > 0. Got nan",
    ),
    (
        {"bandwidth": "mean"},
        "The 'bandwidth' parameter must be 'median', 'scale' or a finite number > 0. Got 'mean'",
    ),
    ({"bandwidth": None}, "The 'bandwidth' parameter must be 'median', 'scale' or a finite number > 0. Got None"),
    ({"bandwidth": 1e300}, "The kernel is flat on view 'X'"),
    ({"n_components": 0}, "The 'n_components' parameter must be 'auto' or an int >= 1. Got 0"),
    ({"membership": "hard"}, "The 'membership' parameter must be one of 'auto', 'fuzzy', 'possibilistic'"),
    ({"fuzziness": 1.0}, "The 'fuzziness' parameter must be a finite number > 1. Got 1.0"),
    ({"reference_distance": 0}, "parameter must be 'global', 'median', 'within' or a finite number > 0. Got 0"),
    (
        {"membership": "possibilistic", "reference_distance": 1e-30},
        "reference_distance=1e-30 is out of proportion",
    ),
    ({"membership": "possibilistic", "reference_distance": 1e30}, "reference_distance=1e+30 is out of proportion"),
    ({"membership": "possibilistic", "fuzziness": 5000.0}, "gives every sample the weight zero"),
    ({"s_init": 5}, "s_init=5 must be negative"),
    ({"s_init": 5}, "pass s_init=-5."),
    ({"s_init": 0}, "The 's_init' parameter must be 'auto' or a negative number (-inf is k-means). Got 0"),
    ({"s_init": float("nan")}, "The 's_init' parameter must be 'auto' or a negative number"),
    ({"s_init": "low"}, "The 's_init' parameter must be 'auto' or a negative number (-inf is k-means). Got 'low'"),
    ({"anneal_factor": 0.9}, "The 'anneal_factor' parameter must be a finite number >= 1. Got 0.9"),
    ({"anneal_every": 0}, "The 'anneal_every' parameter must be 'auto' or an int >= 1"),
    ({"init": "best"}, "The 'init' parameter must be one of 'auto', 'cloud'"),
    ({"init": None}, "or an array of centroids. Got None"),
    ({"init": np.zeros((2, 3))}, "The shape of the initial centers (2, 3) does not match n_clusters=3."),
    (
        {"init": np.zeros((3, 5)), "feature_map": "rff"},
        "expected 3 columns (points of the data) or 48 (points of the feature space)",
    ),
    ({"init": np.full((3, 3), np.nan)}, "init contains NaN"),
    ({"init": 5}, "or an array of centroids. Got 5"),
    ({"n_components": None}, "The 'n_components' parameter must be 'auto' or an int >= 1. Got None"),
    ({"n_init": 0}, "The 'n_init' parameter must be 'auto' or an int in the range [1, 100000]. Got 0"),
    ({"max_iter": 0}, "The 'max_iter' parameter must be an int in the range [1, inf). Got 0"),
    ({"tol": -1e-3}, "The 'tol' parameter must be a finite number >= 0. Got -0.001"),
    ({"engine": "gpu"}, "engine='gpu' is not available"),
    ({"random_state": "seed"}, "The 'random_state' parameter must be an int in the range [0, 4294967295]"),
    ({"verbose": -1}, "The 'verbose' parameter must be an int in the range [0, inf)"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS, ids=lambda p: str(p)[:40])
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        quick(**{"n_clusters": 3, **parameters}).fit(X)


WEIGHTS = [
    ([-1.0] + [1.0] * 19, "Negative values in data passed to sample_weight: row 0 has -1"),
    (np.zeros(20), "Sample weights must contain at least one non-zero number"),
    (np.ones(19), "sample_weight.shape == (19,), expected (20,)!"),
    (np.ones((20, 2)), "Sample weights must be 1D array or scalar, got 2D array"),
    ([np.nan] * 20, "Input sample_weight contains NaN"),
    (["heavy"] * 20, "could not convert string to float"),
]


@pytest.mark.parametrize(("weight", "message"), WEIGHTS, ids=lambda w: str(w)[:30])
def test_sample_weights(weight, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        quick(3).fit(X, sample_weight=weight)


def test_weights_beyond_the_precision():
    for dtype, weight in [(np.float32, 1e37), (np.float32, 1e-37), (np.float64, 1e300), (np.float64, 1e-300)]:
        with pytest.raises(
            ValueError, match=f"outside the range of {np.dtype(dtype)} sums; divide it by its largest"
        ):
            quick(3).fit(X.astype(dtype), sample_weight=np.full(20, weight))


METHODS = ["predict", "predict_proba", "transform", "typicality", "outlier_score", "score"]
METHODS += ["medoid_indices", "cluster_means"]


@pytest.mark.parametrize("method", METHODS)
def test_before_fit(method):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(quick(3), method)(X)


def test_save_before_fit(tmp_path):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        quick(3).save(tmp_path / "model.npz")


@pytest.mark.parametrize("method", METHODS)
def test_other_columns(method):
    model = quick(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but KernelPowerKMeans is expecting 3 features"):
        getattr(model, method)(X[:, :2])


def test_other_column_names():
    pd = pytest.importorskip("pandas")
    model = quick(3, random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=["a", "b", "d"]))


@pytest.mark.parametrize("feature_map", ["rff", "nystroem", "identity"])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_fewer_distinct_rows_than_clusters(feature_map, membership):
    data = np.repeat(X[:4], 10, axis=0)
    model = quick(6, feature_map=feature_map, membership=membership, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match=r"Number of distinct clusters \(4\) found smaller than n_clusters \(6\)"
    ):
        model.fit(data)
    assert sorted(set(model.labels_)) == [0, 1, 2, 3]
    assert len({tuple(model.labels_[10 * i : 10 * i + 10]) for i in range(4)}) == 4
    assert np.all(np.isfinite(model.cluster_centers_))
    assert np.all(np.isfinite(model.predict_proba(data)))


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_constant_columns_are_fine(membership):
    model = quick(3, membership=membership, random_state=0).fit(np.column_stack([X, np.ones(20)]))
    assert len(np.unique(model.labels_)) == 3


def test_collapse_is_explained():
    data = np.random.default_rng(0).normal(size=(300, 30))
    with pytest.warns(ConvergenceWarning, match="All 3 centroids collapsed into one: s went from -0.1"):
        quick(3, feature_map="rff", bandwidth=1.0, s_init=-0.1, max_iter=60, random_state=0).fit(data)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (1e30, r"Squared distances overflow float32 \(row \d+\)"),
        (3e18, "Squared distances in view 'X' overflow float32; rescale the data"),
        (1e-30, "Squared distances in view 'X' underflow float32; rescale the data"),
    ],
)
def test_identity_names_scales_that_float32_cannot_square(scale, message):
    with pytest.raises(ValueError, match=message):
        quick(3, feature_map="identity").fit((X * scale).astype(np.float32))


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_weights_whose_products_with_distances_overflow_are_named(membership):
    model = KernelPowerKMeans(3, feature_map="identity", membership=membership, random_state=0)
    far, heavy = (X * 1e11).astype(np.float32), np.full(20, 1e16)
    message = "Squared distances in view 'X' times sample_weight, which adds up to 2e.17, overflow float32"
    with pytest.raises(ValueError, match=message):
        model.fit(far, sample_weight=heavy)
    expected = model.fit(far)
    labels, objective = expected.labels_, expected.objective_
    assert np.array_equal(model.fit(far, sample_weight=heavy / 1e16).labels_, labels)
    # in double precision there is room
    assert model.fit(X * 1e11, sample_weight=heavy).objective_ == pytest.approx(1e16 * objective, rel=1e-4)


def test_frequencies_that_overflow_are_explained():
    with pytest.raises(ValueError, match="bandwidth=1e-39 is too small for float32 data"):
        quick(3, feature_map="rff", bandwidth=1e-39, random_state=0).fit(X.astype(np.float32))
    with pytest.raises(ValueError, match=r"Squared distances overflow float32 \(row \d+\)"):
        quick(3, feature_map="rff", bandwidth=1e-38, random_state=0).fit(X.astype(np.float32) * 1e3)


@pytest.mark.parametrize("feature_map", ["rff", "identity"])
def test_new_rows_beyond_the_precision_are_named(feature_map):
    model = quick(3, feature_map=feature_map, random_state=0).fit(X.astype(np.float32))
    far = X.copy()
    far[7] = 3e38
    with pytest.raises(ValueError, match=r"Squared distances overflow float32 \(row 7\)"):
        model.predict(far)


def test_one_row_of_positive_weight_is_told_from_equal_rows():
    with pytest.raises(ValueError, match="All rows of positive weight are equal"):
        quick(1).fit(X, sample_weight=[1.0] + [0.0] * 19)


# scikit-learn's own test for infinities adds the values up
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
def test_values_near_the_end_of_the_range_work_or_are_explained():
    data = X / np.max(np.abs(X)) * 1.7e308
    assert len(np.unique(quick(2, random_state=0).fit_predict(data))) == 2
    data = 1.6e308 * np.sign(np.arange(20) - 7.5)[:, None] * (1 - 0.01 * np.abs(X))
    with pytest.raises(ValueError, match="Distances between rows overflow float64; rescale the data"):
        quick(2, random_state=0).fit(data)


def test_given_centroids_run_once():
    with pytest.warns(RuntimeWarning, match="performing only one run instead of n_init=5"):
        quick(3, init=X[:3], n_init=5, random_state=0).fit(X)


def test_warnings_point_at_the_caller():
    data = np.repeat(X[:2], 10, axis=0)
    for method in ("fit", "fit_predict", "fit_transform"):
        with pytest.warns(ConvergenceWarning) as record:
            getattr(quick(4, random_state=0), method)(data)
        assert record[0].filename == __file__


def test_critical_exponent_rejects_nonsense():
    with pytest.raises(ValueError, match="Input features contains NaN"):
        critical_exponent(np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match="'within' depends on the number of clusters"):
        critical_exponent(X, membership="possibilistic", reference_distance="within")
    with pytest.raises(ValueError, match="All rows are equal"):
        critical_exponent(np.ones((5, 2)))


def test_a_failed_fit_leaves_the_data_alone():
    data = X.copy()
    with pytest.raises(ValueError, match="s_init"):
        quick(3, s_init=5).fit(data)
    quick(3, random_state=0).fit(data)
    assert np.array_equal(data, X)
