from __future__ import annotations

import numpy as np
import pytest
from benchmarks.methods import simple_mkkm as full
from benchmarks.methods import svd_smkkm as thin
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import normalize

from powerkmeans.metrics import clustering_accuracy

K = 3


@pytest.fixture(scope="module")
def views():
    """Three overlapping views of three groups, of unlike quality."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=90)
    return [rng.normal(0, 3, (K, p))[y] + rng.normal(0, width, (90, p)) for p, width in ((4, 1), (6, 3), (3, 8))]


@pytest.fixture(scope="module")
def kernels(views):
    return [full.gaussian_kernel(view) for view in views]


@pytest.fixture(scope="module")
def stack(kernels):
    return np.stack([full.normalised(kernel) for kernel in kernels])


@pytest.fixture(scope="module")
def thin_kernels(views):
    landmarks = np.random.default_rng(1).choice(90, 40, replace=False)
    return [thin.landmark_kernel(view, landmarks) for view in views]


def slow_optimum(value, count):
    """A literal solver: only values, no gradient, from many starts."""
    starts = np.random.default_rng(2).dirichlet(np.ones(count), 5)
    simplex = {"type": "eq", "fun": lambda w: w.sum() - 1}
    options = {"ftol": 1e-13, "maxiter": 500}
    tries = [
        minimize(value, start, method="SLSQP", bounds=[(0, 1)] * count, constraints=simplex, options=options)
        for start in starts
    ]
    best = min(tries, key=lambda found: found.fun)
    return best.x, best.fun


def differences(value, weights, step=1e-5):
    moves = step * np.eye(len(weights))
    return np.array([(value(weights + move) - value(weights - move)) / (2 * step) for move in moves])


def blobs_and_noise(rng):
    y = rng.integers(K, size=120)
    good = [20 * np.eye(K, p)[y] + rng.normal(0, 1, (120, p)) for p in (3, 4, 5)]
    return [*good, rng.normal(0, 1, (120, 2))], y


def test_normalised_kernel_is_the_cosine_of_centred_features():
    X = np.random.default_rng(3).normal(2, 1, (20, 4))
    expected = normalize(X - X.mean(axis=0))
    np.testing.assert_allclose(full.normalised(X @ X.T), expected @ expected.T, atol=1e-12)


def test_objective_falls_and_weights_stay_on_the_simplex(kernels):
    for steps in range(6):
        _, weights, objectives = full.simple_mkkm(kernels, K, 0, max_iter=steps, n_init=1)
        assert len(objectives) <= steps + 1
        assert np.all(np.diff(objectives) < 0)
        assert np.all(weights >= 0)
        assert weights.sum() == pytest.approx(1, abs=1e-12)


def test_direction_keeps_the_simplex_and_descends():
    rng = np.random.default_rng(4)
    for _ in range(50):
        weights, gradient = rng.dirichlet(np.ones(5)), rng.normal(size=5)
        weights[rng.integers(5)] = 0
        weights /= weights.sum()
        direction = full.descent_direction(weights, gradient)
        assert direction.sum() == pytest.approx(0, abs=1e-12)
        assert np.all(weights + direction >= -1e-12)
        assert np.min((weights + direction)[direction < 0]) == pytest.approx(0, abs=1e-12)
        assert gradient @ direction < 0


def test_same_kernels_get_even_weights(kernels, thin_kernels):
    weights = full.simple_mkkm([kernels[0]] * 4, K, 0, n_init=1)[1]
    np.testing.assert_array_equal(weights, np.full(4, 0.25))
    weights = thin.svd_smkkm([thin_kernels[0]] * 4, K, 0, n_init=1)[1]
    np.testing.assert_allclose(weights, np.full(4, 0.25), atol=1e-6)


def test_one_kernel_is_kernel_pca_and_kmeans():
    rng = np.random.default_rng(6)
    half = np.repeat(rng.normal(0, 3, (2, 6)), 30, axis=0) + rng.normal(0, 1, (60, 6))
    rows = np.vstack([half, -half])  # so centring, which KernelPCA does once more, changes nothing
    labels, weights, objectives = full.simple_mkkm([rows @ rows.T], 4, 0)
    pca = KernelPCA(4, kernel="precomputed").fit(full.normalised(rows @ rows.T))
    expected = KMeans(4, n_init=50, random_state=0).fit_predict(normalize(pca.eigenvectors_))
    assert weights == [1]
    assert objectives == pytest.approx([pca.eigenvalues_.sum()])
    assert clustering_accuracy(expected, labels) == 1


def test_lanczos_and_dense_eigenvectors_agree(monkeypatch, stack):
    dense = full.optimal_value(stack, np.array([0.2, 0.3, 0.5]), K)
    monkeypatch.setattr(full, "_LANCZOS_ROWS", 10)
    lanczos = full.optimal_value(stack, np.array([0.2, 0.3, 0.5]), K)
    assert lanczos[0] == pytest.approx(dense[0], rel=1e-12)
    np.testing.assert_allclose(lanczos[1], dense[1], rtol=1e-7)


@pytest.mark.parametrize("weights", [[1 / 3, 1 / 3, 1 / 3], [0.7, 0.1, 0.2], [0.05, 0.05, 0.9]])
def test_gradients_agree_with_finite_differences(weights, stack, thin_kernels):
    weights = np.array(weights)
    grams = thin.products(thin_kernels)
    for module, matrices in ((full, stack), (thin, grams)):
        expected = differences(lambda w: module.optimal_value(matrices, w, K)[0], weights)  # noqa: B023
        np.testing.assert_allclose(module.optimal_value(matrices, weights, K)[1], expected, rtol=1e-5)


def test_reduced_gradient_finds_the_optimum_of_a_literal_solver(kernels, stack):
    def literal(weights):
        return np.linalg.eigvalsh(sum(w**2 * kernel for w, kernel in zip(weights, stack, strict=True)))[-K:].sum()

    _, weights, objectives = full.simple_mkkm(kernels, K, 0, tol=1e-6, n_init=1)
    expected_weights, expected = slow_optimum(literal, 3)
    assert objectives[-1] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-4)


def test_singular_vectors_find_the_optimum_of_a_literal_solver(thin_kernels):
    def literal(weights):
        combined = sum(w**2 * kernel for w, kernel in zip(weights, thin_kernels, strict=True))
        return np.linalg.svd(combined, compute_uv=False)[:K].sum()

    _, weights, value = thin.svd_smkkm(thin_kernels, K, 0, n_init=1)
    expected_weights, expected = slow_optimum(literal, 3)
    assert literal(weights) == pytest.approx(value, rel=1e-9)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-3)


def test_all_rows_as_landmarks_give_simple_mkkm(views):
    scaled = [(view - view.mean(axis=0)) / view.std(axis=0) for view in views]
    order = np.random.default_rng(5).permutation(90)
    kernels = [full.gaussian_kernel(view) for view in scaled]
    thin_kernels = [thin.landmark_kernel(view, order) for view in views]
    for kernel, thin_kernel in zip(kernels, thin_kernels, strict=True):
        np.testing.assert_allclose(thin_kernel, full.normalised(kernel)[:, order], atol=1e-10)
    labels, weights, objectives = full.simple_mkkm(kernels, K, 0, tol=1e-6)
    thin_labels, thin_weights, value = thin.svd_smkkm(thin_kernels, K, 0, n_init=50)
    assert value == pytest.approx(objectives[-1], rel=1e-6)
    np.testing.assert_allclose(thin_weights, weights, atol=1e-3)
    assert clustering_accuracy(labels, thin_labels) >= 0.97


@pytest.mark.parametrize("module", [full, thin])
@pytest.mark.parametrize("seed", range(3))
def test_blobs_are_found_beside_a_view_of_noise(module, seed):
    views, y = blobs_and_noise(np.random.default_rng(seed))
    assert clustering_accuracy(y, module.run(views, K, seed)) == 1


def test_noise_gets_the_most_weight():
    views, _ = blobs_and_noise(np.random.default_rng(0))
    landmarks = np.arange(60)
    weights = full.simple_mkkm([full.gaussian_kernel(view) for view in views], K, 0, n_init=1)[1]
    thin_weights = thin.svd_smkkm([thin.landmark_kernel(view, landmarks) for view in views], K, 0, n_init=1)[1]
    assert np.argmax(weights) == np.argmax(thin_weights) == 3  # a minimum over weights, as the paper has it


@pytest.mark.parametrize(("module", "setting"), [(full, {}), (thin, {"n_landmarks": 30})])
def test_a_seed_fixes_the_labels(module, setting, views):
    np.testing.assert_array_equal(module.run(views, K, 7, **setting), module.run(views, K, 7, **setting))


@pytest.mark.parametrize("module", [full, thin])
def test_bad_input_is_refused(module, views):
    with pytest.raises(ValueError, match="k = 91 clusters, but there are 90 rows"):
        module.run(views, 91, 0)
    with pytest.raises(ValueError, match="k = 0 clusters"):
        module.run(views, 0, 0)
    with pytest.raises(ValueError, match="median distance of a view is 0"):
        module.run([views[0], np.ones((90, 2))], K, 0)
    with pytest.raises(ValueError, match="NaN"):
        module.run([views[0], np.full((90, 2), np.nan)], K, 0)
    with pytest.raises(ValueError, match=r"must all be|same number of rows"):
        module.run([views[0], views[1][:50]], K, 0)
    with pytest.raises(ValueError, match=r"At least one kernel|There must be views"):
        module.run([], K, 0)


def test_bad_kernels_are_refused(thin_kernels):
    with pytest.raises(ValueError, match="constant"):
        full.simple_mkkm([np.ones((20, 20))], 2, 0)
    with pytest.raises(ValueError, match="and 40 landmarks"):
        thin.svd_smkkm(thin_kernels, 41, 0)
    with pytest.raises(ValueError, match="all of one shape"):
        thin.svd_smkkm([thin_kernels[0], thin_kernels[1][:, :5]], K, 0)
