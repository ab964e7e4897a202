from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import Nystroem

from powerkmeans import KernelPowerKMeans, suggest_n_components
from powerkmeans.features.bandwidth import median_distance, weighted_median
from powerkmeans.features.kernels import KERNELS, draw_frequencies
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.fourier import FourierMap, make_fourier
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.features.maps.nystroem import make_nystroem

ISOTROPIC = [name for name in KERNELS if name != "laplacian"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("orthogonal", [False, True])
def test_fourier_features_approximate_the_kernel(kernel, orthogonal):
    if orthogonal and kernel == "laplacian":
        pytest.skip("has no orthogonal form")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    frequencies = draw_frequencies(KERNELS[kernel], 4, 20_000, orthogonal, rng)
    phi = make_fourier(np.zeros(4), frequencies, 1.7, np.float64)(X, np)
    assert np.vecdot(phi, phi) == pytest.approx(1.0)
    # the average of 20,000 cosines has a standard error below 0.0071
    assert np.max(np.abs(phi @ phi.T - KERNELS[kernel].gram(X, X, 1.7))) < 5 * 0.0071


def test_gaussian_and_laplacian_values():
    X, Y = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    assert KERNELS["rbf"].gram(X, Y, 2.0)[0, 0] == pytest.approx(math.exp(-25 / 8))
    assert KERNELS["laplacian"].gram(X, Y, 2.0)[0, 0] == pytest.approx(math.exp(-7 / 2))
    assert KERNELS["matern12"].gram(X, Y, 2.0)[0, 0] == pytest.approx(math.exp(-5 / 2))
    assert KERNELS["rational_quadratic"].gram(X, Y, 2.0)[0, 0] == pytest.approx(1 / (1 + 25 / 8))


@pytest.mark.parametrize("kernel", ISOTROPIC)
def test_orthogonal_blocks_are_orthogonal(kernel):
    frequencies = draw_frequencies(KERNELS[kernel], 6, 10, True, np.random.default_rng(0))
    products = frequencies[:, :6].T @ frequencies[:, :6]
    lengths = np.sqrt(np.diag(products))
    assert products / np.outer(lengths, lengths) == pytest.approx(np.eye(6), abs=1e-12)


def test_orthogonal_features_have_lower_variance():
    X = np.random.default_rng(1).normal(size=(20, 16))
    exact = KERNELS["rbf"].gram(X, X, 4.0)
    errors = {False: [], True: []}
    for seed in range(30):
        for orthogonal, collected in errors.items():
            rng = np.random.default_rng(seed)
            frequencies = draw_frequencies(KERNELS["rbf"], 16, 64, orthogonal, rng)
            phi = make_fourier(np.zeros(16), frequencies, 4.0, np.float64)(X, np)
            collected.append(np.mean((phi @ phi.T - exact) ** 2))
    assert np.mean(errors[True]) < 0.6 * np.mean(errors[False])


@pytest.mark.parametrize("kernel", KERNELS)
def test_nystroem_with_all_landmarks_is_exact(kernel):
    X = np.random.default_rng(0).normal(size=(30, 3)) + 5
    feature_map = make_nystroem(X.mean(axis=0), X, kernel, 2.0)
    phi = feature_map(X, np)
    assert phi @ phi.T == pytest.approx(KERNELS[kernel].gram(X, X, 2.0), abs=1e-8)


def test_nystroem_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    landmarks, X = rng.normal(size=(15, 3)), rng.normal(size=(40, 3))
    ours = make_nystroem(np.zeros(3), landmarks, "rbf", 1.5)(X, np)
    theirs = Nystroem(gamma=1 / (2 * 1.5**2), n_components=15, random_state=0).fit(landmarks).transform(X)
    assert ours @ ours.T == pytest.approx(theirs @ theirs.T, abs=1e-8)


@pytest.mark.parametrize("make", ["fourier", "identity", "nystroem"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_give_the_features_of_dense_ones(make, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.4)).astype(dtype)
    origin = X.mean(axis=0, dtype=np.float64)
    feature_map = {
        "fourier": lambda: make_fourier(origin, rng.normal(size=(5, 9)), 1.3, dtype),
        "identity": lambda: IdentityMap(5),
        "nystroem": lambda: make_nystroem(origin, X[:10], "rbf", 1.3),
    }[make]()
    dense, compressed = feature_map(X, np), feature_map(sparse.csr_array(X), np)
    assert dense.dtype == compressed.dtype == (np.float64 if make == "nystroem" else dtype)
    assert compressed == pytest.approx(dense, abs=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_landmarks_of_sparse_rows_need_no_dense_copy_of_them(kernel, monkeypatch):
    X = sparse.random_array((30, 50), density=0.1, format="csr", random_state=np.random.default_rng(0))
    feature_map = make_nystroem(np.zeros(50), X[:10], kernel, 1.3)
    dense = feature_map(X.toarray(), np)
    assert feature_map(X, np) == pytest.approx(dense, abs=1e-10)
    if KERNELS[kernel].takes_sparse:
        monkeypatch.setattr("powerkmeans.features.maps.nystroem.as_dense", lambda rows: pytest.fail("made dense"))
        assert feature_map(X, np) == pytest.approx(dense, abs=1e-10)


def test_far_from_the_origin_float32_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(50, 3)) * 256) / 256
    frequencies = rng.normal(size=(3, 50))
    near = FourierMap(np.zeros(3), frequencies)(X, np)
    shifted = (X + 2**15).astype(np.float32)
    far = make_fourier(np.full(3, 2.0**15), frequencies, 1.0, np.float32)(shifted, np)
    assert far == pytest.approx(near, abs=2e-6)


def test_sizes_of_the_theorem():
    assert [suggest_n_components(k) for k in (3, 10, 20, 100)] == [24, 108, 201, 595]
    assert suggest_n_components(10, eps=0.25) == math.ceil(16 * math.log(20) ** 3)
    assert suggest_n_components(1) >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, r"'n_clusters' parameter must be an int in the range \[1, inf\)\. Got 0"),
        ({"n_clusters": 2.5}, r"'n_clusters' parameter must be an int in the range \[1, inf\)\. Got 2\.5"),
        ({"n_clusters": 5, "eps": 0}, "'eps' parameter must be a number strictly between 0 and 1. Got 0"),
        ({"n_clusters": 5, "delta": 1.5}, "'delta' parameter must be a number strictly between 0 and 1. Got 1.5"),
    ],
)
def test_sizes_reject_nonsense(arguments, message):
    with pytest.raises(ValueError, match=message):
        suggest_n_components(**arguments)


def test_median_distance_is_the_plain_median_of_distinct_pairs():
    X = np.random.default_rng(0).normal(size=(41, 3))
    pairs = [np.linalg.norm(X[i] - X[j]) for i in range(41) for j in range(i)]
    assert median_distance(X, np.ones(41), KERNELS["rbf"]) == pytest.approx(np.median(pairs), rel=1e-2)
    pairs = [np.abs(X[i] - X[j]).sum() for i in range(41) for j in range(i)]
    assert median_distance(X, np.ones(41), KERNELS["laplacian"]) == pytest.approx(np.median(pairs), rel=1e-2)


def test_weighted_median_equals_repetition():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=31), rng.integers(1, 6, 31).astype(float)
    repeated = np.repeat(values, weight.astype(int))
    assert weighted_median(values, weight) == weighted_median(repeated, np.ones(len(repeated)))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_median_bandwidth_follows_the_scale(scale, dtype):
    X = np.random.default_rng(0).normal(size=(60, 3))
    expected = KernelPowerKMeans(2, feature_map="nystroem", random_state=0).fit(X).bandwidth_ * scale
    found = KernelPowerKMeans(2, feature_map="nystroem", random_state=0).fit((X * scale).astype(dtype)).bandwidth_
    assert found == pytest.approx(expected, rel=1e-5)


def test_scale_bandwidth_is_the_total_variance():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 2, 3]
    model = KernelPowerKMeans(2, bandwidth="scale", random_state=0).fit(X)
    assert model.bandwidth_ == pytest.approx(np.sqrt(2 * np.sum(np.var(X, axis=0))))


def test_few_orthogonal_directions_in_many_dimensions():
    frequencies = draw_frequencies(KERNELS["rbf"], 3000, 5, True, np.random.default_rng(0))
    assert frequencies.shape == (3000, 5)
    products = frequencies.T @ frequencies
    assert products == pytest.approx(np.diag(np.diag(products)), abs=1e-8)
    assert np.sqrt(np.diag(products)) == pytest.approx(math.sqrt(3000), rel=0.1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 100])
def test_equal_weights_take_the_same_median_as_others(n):
    values = np.random.default_rng(n).integers(0, 30, n).astype(float)
    almost = np.full(n, 0.37)
    almost[0] *= 1 + 1e-15
    assert weighted_median(values, np.full(n, 0.37)) == weighted_median(values, almost)


def test_what_landmarks_miss_of_a_sample_is_counted_where_it_matters():
    rng = np.random.default_rng(0)
    X, far = rng.normal(size=(30, 3)), np.full((1, 3), 9.0)
    base = make_nystroem(X.mean(axis=0), X[:10], "rbf", 1.0)
    plain = make_centred(base, base(X, np).mean(axis=0), np.float64).scaled(2.0)
    rows = np.vstack([X, far])
    entire = plain.with_missed()(rows, np)
    features, norms = entire[:, :-1], np.vecdot(entire, entire)
    assert entire.shape[1] == plain.with_missed().n_outputs == plain.n_outputs + 1
    assert features == pytest.approx(plain(rows, np))
    mean = base(X, np).mean(axis=0)
    # ||phi(x) - mean||^2 in the kernel's own space, where the mean is one of landmarks' features
    expected = 4 * (1 - 2 * base(rows, np) @ mean + mean @ mean)
    assert norms == pytest.approx(expected)
    assert norms[-1] > np.max(norms[:-1])
    assert np.vecdot(features, features)[-1] < np.median(np.vecdot(features, features)[:-1])
    identity = make_centred(IdentityMap(3), np.zeros(3), np.float64)
    assert identity.with_missed() is identity
