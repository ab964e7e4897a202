"""Shift-invariant kernels: their values, and how to draw from their spectral densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Matern as _Matern
from sklearn.gaussian_process.kernels import RationalQuadratic as _RationalQuadratic
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from powerkmeans.types import Array, Float64Array

Metric = Literal["euclidean", "cityblock"]


class Isotropic:
    """A kernel of the Euclidean distance: a Gaussian whose width is itself random.

    Its frequencies are ``omega = tau * standard normal / sigma`` with a random length factor ``tau``
    per frequency, so directions are uniform and orthogonal features exist.
    """

    metric: ClassVar[Metric] = "euclidean"
    analytic: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = False  # whether ``gram`` does, of its first rows

    def length_factor(self, size: int, rng: np.random.Generator) -> Float64Array:
        """Draw ``tau``, one a frequency."""
        raise NotImplementedError

    def frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Float64Array:
        """Draw ``size`` frequencies at unit bandwidth, shape (n_features, size)."""
        directions = rng.standard_normal((n_features, size))
        return directions * self.length_factor(size, rng)

    def orthogonal_frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Float64Array:
        """As ``frequencies``, in blocks of ``n_features`` orthogonal directions with chi lengths."""
        widths = [min(n_features, size - done) for done in range(0, size, n_features)]
        directions = np.concatenate([_orthonormal(n_features, width, rng) for width in widths], axis=1)
        lengths = np.sqrt(rng.chisquare(n_features, size))
        return directions * lengths * self.length_factor(size, rng)


@dataclass(frozen=True)
class Gaussian(Isotropic):
    """``exp(-||x-y||^2 / (2 sigma^2))``."""

    takes_sparse: ClassVar[bool] = True

    def length_factor(self, size: int, rng: np.random.Generator) -> Float64Array:
        return np.ones(size)

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        return rbf_kernel(X / bandwidth, Y / bandwidth, gamma=0.5)


@dataclass(frozen=True)
class Matern(Isotropic):
    """Matern of smoothness ``nu``; its spectral density is a multivariate t with ``2 nu`` degrees of freedom."""

    nu: float
    analytic: ClassVar[bool] = False

    def length_factor(self, size: int, rng: np.random.Generator) -> Float64Array:
        return np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, size))

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        return _Matern(length_scale=1.0, nu=self.nu)(X / bandwidth, Y / bandwidth)


@dataclass(frozen=True)
class RationalQuadratic(Isotropic):
    """``(1 + ||x-y||^2 / (2 a sigma^2))^-a``: a Gaussian with a gamma-distributed precision."""

    alpha: float = 1.0

    def length_factor(self, size: int, rng: np.random.Generator) -> Float64Array:
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, size))

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        return _RationalQuadratic(length_scale=1.0, alpha=self.alpha)(X / bandwidth, Y / bandwidth)


@dataclass(frozen=True)
class Laplacian:
    """``exp(-||x-y||_1 / sigma)``; each coordinate of a frequency is an independent Cauchy draw."""

    metric: ClassVar[Metric] = "cityblock"
    analytic: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False

    def frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Float64Array:
        return rng.standard_cauchy((n_features, size))

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        return laplacian_kernel(X / bandwidth, Y / bandwidth, gamma=1.0)


Kernel = Gaussian | Matern | RationalQuadratic | Laplacian


def _orthonormal(n_features: int, width: int, rng: np.random.Generator) -> Float64Array:
    """Uniformly distributed orthonormal directions; without the signs of R they would not be uniform."""
    rotation, triangular = np.linalg.qr(rng.standard_normal((n_features, width)))
    return rotation * np.where(np.diagonal(triangular) < 0, -1.0, 1.0)


KERNELS: dict[str, Kernel] = {
    "rbf": Gaussian(),
    "laplacian": Laplacian(),
    "matern12": Matern(0.5),
    "matern32": Matern(1.5),
    "matern52": Matern(2.5),
    "rational_quadratic": RationalQuadratic(),
}


def draw_frequencies(
    kernel: Kernel, n_features: int, size: int, orthogonal: bool, rng: np.random.Generator
) -> Float64Array:
    """Draw frequencies at unit bandwidth, plain or orthogonal."""
    if not orthogonal:
        return kernel.frequencies(n_features, size, rng)
    if isinstance(kernel, Laplacian):
        raise ValueError(
            "kernel='laplacian' depends on the L1 distance and has no orthogonal features; "
            "use feature_map='rff' or 'nystroem', or kernel='matern12', its Euclidean relative."
        )
    return kernel.orthogonal_frequencies(n_features, size, rng)


def as_dense(X: Any) -> Array:
    """Rows as a dense array (blocks of a sparse matrix are small enough)."""
    return X.toarray() if hasattr(X, "toarray") else X
