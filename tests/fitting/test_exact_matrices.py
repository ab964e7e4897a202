"""Kernel matrices that are given: which ones are kernels, rounding, absent samples, and what does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from exact_helpers import OTHER, X, Y, kernel_of
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from helpers import quick, quick_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy


def test_a_given_matrix_is_the_same_as_its_kernel():
    model = quick(4, feature_map="exact", membership="possibilistic", random_state=0).fit(X)
    K = kernel_of(model)
    given = quick(4, feature_map="exact", kernel="precomputed", membership="possibilistic", random_state=0).fit(K)
    assert given.inertia_ == pytest.approx(model.inertia_, rel=1e-9)
    assert given.bandwidth_ is None
    order = clustering_accuracy(model.labels_, given.labels_)
    assert order == 1.0
    new = X[:7] + 0.1
    between = rbf_kernel(new, X, gamma=0.5 / model.bandwidth_**2)
    assert np.allclose(np.sort(given.transform(between)), np.sort(model.transform(new)), atol=1e-7)
    assert np.allclose(np.sort(given.outlier_score(between)), np.sort(model.outlier_score(new)), atol=1e-7)
    assert np.array_equal(given.predict(K), given.labels_)


def test_rows_of_an_uneven_training_matrix_are_known_in_any_order_and_by_content():
    K = X @ X.T
    model = quick(4, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    whole = model.transform(K)
    assert np.allclose(model.transform(K[::-1]), whole[::-1])
    assert np.allclose(model.transform(K[7:31]), whole[7:31])
    tiny = np.array([[1, 0], [1, 0], [0, 1], [0, 2.0]])
    model = quick(2, feature_map="exact", kernel="precomputed", random_state=0).fit(tiny @ tiny.T)
    grown = np.array([[1, 50], [1, 3], [7, 1], [9, 2.0]])  # with the diagonal of the training matrix
    with pytest.raises(ValueError, match="Sample 0 is new"):
        model.transform(grown @ tiny.T)


@pytest.mark.parametrize("factor", [0.1, 1.1, 3.0, 100.0])
def test_labels_are_right_whatever_the_length_of_a_new_sample(factor):
    K = X @ X.T
    model = quick(4, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    centers, new = model.cluster_centers_ @ X, factor * X + 0.01
    nearest = np.argmin(((new[:, None] - centers) ** 2).sum(-1), axis=1)
    assert np.array_equal(model.predict(new @ X.T), nearest)


def test_a_diagonal_even_to_rounding_is_even():
    lengths = np.linalg.norm(X, axis=1)
    K = (X @ X.T) / lengths[:, None] / lengths
    assert np.ptp(np.diagonal(K)) > 0
    model = quick(4, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    new = X[:6] + 0.3
    between = (new / np.linalg.norm(new, axis=1, keepdims=True)) @ (X / lengths[:, None]).T
    assert np.all(np.isfinite(model.transform(between)))


@pytest.mark.parametrize(
    "make", [lambda v: v @ v.T, lambda v: (v @ v.T + 1) ** 3, lambda v: rbf_kernel(v, gamma=1e-3)]
)
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_kernels_with_rounding_are_kernels(make, shift):
    single = make((X + shift).astype(np.float32)).astype(np.float32)
    given = quick(4, feature_map="exact", kernel="precomputed", random_state=0).fit(single)
    double = quick(4, feature_map="exact", kernel="precomputed", random_state=0).fit(
        make((X + shift).astype(np.float32).astype(np.float64))
    )
    assert given.inertia_ == pytest.approx(double.inertia_, rel=0.05)


@pytest.mark.parametrize("bandwidth", [1e3, 1e5])
@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # flat kernels
def test_wide_kernels_are_kernels(bandwidth):
    for kernel in ("rbf", "matern32"):
        model = quick(4, feature_map="exact", kernel=kernel, bandwidth=bandwidth, random_state=0).fit(X)
        assert clustering_accuracy(Y, model.labels_) > 0.9


@pytest.mark.parametrize("fill", [np.nan, np.inf, 1e300, 0.0])
@pytest.mark.parametrize("marked", [True, False])
def test_what_absent_samples_hold_does_not_matter(fill, marked):
    if not marked and not np.isnan(fill):
        pytest.skip("only NaN tells by itself")
    present = np.ones((len(X), 2), dtype=bool)
    present[:20, 0] = False
    rows, K = X.copy(), rbf_kernel(X, gamma=0.02)
    rows[:20] = fill
    expected_rows, expected = X.copy(), K.copy()
    expected_rows[:20] = 0
    K[:20], K[:, :20] = fill, fill
    mask = present if marked else None
    for kernels, views, plain in (
        ("rbf", [rows, OTHER], [expected_rows, OTHER]),
        (["precomputed", "rbf"], [K, OTHER], [expected, OTHER]),
    ):
        parameters = {"feature_map": "exact", "kernel": kernels, "random_state": 0}
        model = quick_views(4, **parameters).fit(views, present=mask)
        twin = quick_views(4, **parameters).fit(plain, present=present)
        assert model.inertia_ == pytest.approx(twin.inertia_, rel=1e-8)
        assert np.array_equal(model.predict(views, present=mask), model.labels_)
        assert np.all(np.isfinite(model.transform([v[30:40] for v in views])))


def test_a_view_that_nobody_has_does_not_need_lengths():
    views = {"g": X @ X.T, "r": OTHER}
    model = quick_views(
        4, feature_map={"g": "exact", "r": "rff"}, kernel={"g": "precomputed"}, random_state=0
    ).fit(views)
    assert np.all(np.isfinite(model.transform({"g": None, "r": OTHER[:5]})))


def test_samples_without_weight_do_not_count_in_a_given_matrix():
    K = X @ X.T
    large = np.zeros((len(X) + 2, len(X) + 2))
    large[: len(X), : len(X)] = K
    large[-2:, -2:] = [[1e40, 0], [0, -1]]
    weight = np.ones(len(large))
    weight[-2:] = 0
    parameters = {"feature_map": "exact", "kernel": "precomputed", "random_state": 0}
    padded = quick(4, **parameters).fit(large, sample_weight=weight)
    plain = quick(4, **parameters).fit(K)
    assert padded.inertia_ == pytest.approx(plain.inertia_, rel=1e-8)


def test_data_frames_name_their_samples():
    pd = pytest.importorskip("pandas")
    labels = [f"s{i}" for i in range(len(X))]
    K = pd.DataFrame(rbf_kernel(X, gamma=0.02), index=labels, columns=labels)
    parameters = {"feature_map": "exact", "kernel": "precomputed", "random_state": 0}
    quick(4, **parameters).fit(K)
    with pytest.raises(ValueError, match="rows in another order"):
        quick(4, **parameters).fit(K[labels[::-1]])
    with pytest.raises(ValueError, match="rows in another order"):
        quick_views(4, **parameters).fit({"g": K[labels[::-1]]})


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_scale_of_a_given_matrix_does_not_matter(scale):
    K = X @ X.T
    one, other = (
        quick(4, feature_map="exact", kernel="precomputed", random_state=0).fit(matrix)
        for matrix in (K, K * scale)
    )
    assert adjusted_rand_score(one.labels_, other.labels_) == 1.0  # equal clusters are numbered by content
    assert other.inertia_ == pytest.approx(one.inertia_ * scale, rel=1e-8)


def test_scikit_learn_splits_a_given_matrix_by_rows_and_columns():
    model = quick(feature_map="exact", kernel="precomputed", random_state=0)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not KernelPowerKMeans().__sklearn_tags__().input_tags.pairwise
    search = GridSearchCV(model, {"n_clusters": [2, 4]}, cv=2).fit(rbf_kernel(X, gamma=0.05))
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


INDEFINITE = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])  # although every pair is possible


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((4, 3)), "square matrix of kernels between all samples"),
        (np.triu(np.ones((4, 4))), "symmetric"),
        (np.diag([1.0, -1.0, 2.0, 1.0]), "negative diagonal entry -1 .sample 1."),
        (np.zeros((4, 4)), "diagonal of zeros"),
        (np.ones((4, 4)), "nothing to cluster"),
        (np.array([[1.0, 5.0, 0], [5.0, 1.0, 0], [0, 0, 1.0]]), "samples 0 and 1 exceeds"),
        (INDEFINITE, "not positive semi-definite"),
    ],
)
def test_matrices_that_are_no_kernels(matrix, message):
    with pytest.raises(ValueError, match=message):
        quick(2, feature_map="exact", kernel="precomputed").fit(matrix)


def test_columns_of_samples_without_weight_may_hold_anything():
    weight = np.ones(len(X))
    weight[:10] = 0
    K = X @ X.T
    model = quick(4, feature_map="exact", kernel="precomputed", random_state=0)
    model.fit(K, sample_weight=weight)
    other = K.copy()
    other[:, :10] = 7.0
    assert np.allclose(model.transform(other[20:30]), model.transform(K[20:30]))
