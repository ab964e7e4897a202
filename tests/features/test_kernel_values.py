"""Kernels against scikit-learn's, which they were once computed by, and where digits are hard to keep."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from powerkmeans.features import pairs
from powerkmeans.features.kernels import KERNELS

THEIRS = {
    "rbf": lambda X, Y: rbf_kernel(X, Y, gamma=0.5),
    "laplacian": lambda X, Y: laplacian_kernel(X, Y, gamma=1.0),
    "matern12": Matern(nu=0.5),
    "matern32": Matern(nu=1.5),
    "matern52": Matern(nu=2.5),
    "rational_quadratic": RationalQuadratic(alpha=1.0),
}


def rows(n_rows=70, n_columns=6):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("pairs_at_once", [1, 100, 2**17])
@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
def test_values_are_those_of_scikit_learn_however_rows_are_cut(kernel, pairs_at_once, library, monkeypatch):
    monkeypatch.setattr(pairs, "PAIRS_AT_ONCE", pairs_at_once)
    xp, X = pytest.importorskip(library), rows()
    found = KERNELS[kernel].gram(xp.asarray(X), xp.asarray(X[:15]), 2.5)
    assert found.dtype == xp.float64
    assert np.max(np.abs(np.asarray(found) - THEIRS[kernel](X / 2.5, X[:15] / 2.5))) < 1e-14


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_stay_sparse(kind):
    X = rows() * (rows() > 0.8)
    compressed = kind(X)
    compressed.toarray = lambda: pytest.fail("made dense")
    found = KERNELS["rbf"].gram(compressed, X[:15], 2.5)
    assert found == pytest.approx(KERNELS["rbf"].gram(X, X[:15], 2.5), abs=1e-14)


@pytest.mark.parametrize("kernel", ["laplacian", "matern12", "matern32", "matern52", "rational_quadratic"])
def test_near_rows_far_off_keep_their_digits(kernel):
    X = np.full((1, 4), 1e6)
    assert KERNELS[kernel].gram(X, X, 1.0)[0, 0] == 1
    near = X + np.array([2.0**-20, 0, 0, 0])
    assert KERNELS[kernel].gram(X, near, 2.0**-10) == pytest.approx(
        KERNELS[kernel].gram(X - X, near - X, 2.0**-10), abs=1e-15
    )


def test_no_kernel_is_above_one():
    X = np.random.default_rng(0).normal(size=(300, 37)) * 1e12
    for kernel in KERNELS.values():
        values = kernel.gram(X, X[:50], 1.0)
        assert np.all(values <= 1)
        assert np.all(values >= 0)
