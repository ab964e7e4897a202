"""Shift-invariant kernels: their values, and how to draw from their spectral densities.

``gram`` works on arrays of any array library, where they are. Only its first rows may be sparse, for a kernel
that ``takes_sparse``: those are matrices of SciPy, and so go with landmarks of NumPy alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from powerkmeans.features.pairs import add_over_columns, in_parts, squared_lengths
from powerkmeans.types import Array, Float64Array, array_namespace

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
        """Draw ``tau``, one per frequency."""
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
        """Kernels of all pairs, by a product: ``x.y - ||x||^2 / 2 - ||y||^2 / 2`` in units of the bandwidth."""
        xp = array_namespace(Y)
        landmarks = Y / bandwidth
        half = squared_lengths(landmarks, xp) / 2
        # SciPy copies columns side by side for every product, so it is given them so once
        columns = np.ascontiguousarray(landmarks.T) if hasattr(X, "toarray") else landmarks.T

        def values(rows: Array) -> Array:
            rows = rows / bandwidth
            exponent = rows @ columns
            exponent -= (squared_lengths(rows, xp) / 2)[:, None]
            exponent -= half
            # rounding makes more than nothing of no distance, and of a far row's that may be much more
            return xp.exp(xp.clip(exponent, max=0.0))

        return in_parts(values, X, Y, xp)


@dataclass(frozen=True)
class Matern(Isotropic):
    """Matern of smoothness ``nu``; its spectral density is a multivariate t with ``2 nu`` degrees of freedom."""

    nu: float
    analytic: ClassVar[bool] = False

    def length_factor(self, size: int, rng: np.random.Generator) -> Float64Array:
        return np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, size))

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        """Kernels of all pairs, from differences: the kernel has a kink at no distance, which a product blurs."""
        xp = array_namespace(Y)
        landmarks = Y / bandwidth

        def values(rows: Array) -> Array:
            return self._of_distance(xp.sqrt(add_over_columns(rows / bandwidth, landmarks, xp.square)), xp)

        return in_parts(values, X, Y, xp)

    def _of_distance(self, distance: Array, xp: Any) -> Array:
        scaled = distance * math.sqrt(2 * self.nu)
        decay = xp.exp(-scaled)
        if self.nu == 0.5:
            return decay
        return ((1.0 + scaled) if self.nu == 1.5 else (1.0 + scaled + scaled**2 / 3.0)) * decay


@dataclass(frozen=True)
class RationalQuadratic(Isotropic):
    """``(1 + ||x-y||^2 / (2 a sigma^2))^-a``: a Gaussian with a gamma-distributed precision."""

    alpha: float = 1.0

    def length_factor(self, size: int, rng: np.random.Generator) -> Float64Array:
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, size))

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        xp = array_namespace(Y)
        landmarks = Y / bandwidth

        def values(rows: Array) -> Array:
            squared = add_over_columns(rows / bandwidth, landmarks, xp.square)
            return (1.0 + squared / (2 * self.alpha)) ** -self.alpha

        return in_parts(values, X, Y, xp)


@dataclass(frozen=True)
class Laplacian:
    """``exp(-||x-y||_1 / sigma)``; each coordinate of a frequency is an independent Cauchy draw."""

    metric: ClassVar[Metric] = "cityblock"
    analytic: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False

    def frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Float64Array:
        return rng.standard_cauchy((n_features, size))

    def gram(self, X: Array, Y: Array, bandwidth: float) -> Array:
        xp = array_namespace(Y)
        landmarks = Y / bandwidth
        return in_parts(lambda rows: xp.exp(-add_over_columns(rows / bandwidth, landmarks, xp.abs)), X, Y, xp)


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
