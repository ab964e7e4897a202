"""Feature maps: drawn or fitted once, stored as plain arrays, applied to any rows.

Maps of a kernel subtract the training rows' mean first. A shift-invariant kernel does not notice, and
float32 data far from the origin keeps its digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from powerkmeans.features.kernels import KERNELS, as_dense
from powerkmeans.types import Array, Float64Array

# below this share of the largest, eigenvalues of the landmarks' kernel are rounding
SMALLEST_EIGENVALUE = 1e-12


@dataclass(frozen=True)
class FourierMap:
    """``phi(x) = D^{-1/2} [sin(omega_r.x), cos(omega_r.x)]_r`` (paper: def:RFF), so ``||phi|| = 1``."""

    origin: Array
    frequencies: Array
    dual: ClassVar[bool] = False

    @property
    def n_components(self) -> int:
        return int(self.frequencies.shape[1])

    @property
    def n_outputs(self) -> int:
        return 2 * self.n_components

    def __call__(self, X: Array, xp: Any) -> Array:
        _check_columns(X, len(self.origin))
        phase = self._sparse_phase(X, xp) if hasattr(X, "toarray") else (X - self.origin) @ self.frequencies
        scale = 1 / math.sqrt(self.n_components)
        return xp.concat([xp.sin(phase), xp.cos(phase)], axis=1) * scale

    def _sparse_phase(self, X: Array, xp: Any) -> Array:
        """The phase of rows that stay sparse: they are not centred first, so it takes more digits."""
        frequencies = xp.astype(self.frequencies, xp.float64)
        phase = X.astype(xp.float64) @ frequencies - xp.astype(self.origin, xp.float64) @ frequencies
        return xp.astype(phase, self.frequencies.dtype)


@dataclass(frozen=True)
class IdentityMap:
    """The rows themselves: plain (power) k-means."""

    n_components: int
    dual: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        return self.n_components

    def __call__(self, X: Array, xp: Any) -> Array:
        _check_columns(X, self.n_components)
        return as_dense(X)


@dataclass(frozen=True)
class NystroemMap:
    """``phi(x) = K(x, landmarks) K(landmarks, landmarks)^{-1/2}``, in float64.

    Kernel values near 1 carry what they say in their last digits, so single precision comes after centring.
    """

    origin: Array
    landmarks: Array
    normalization: Array
    kernel: str
    bandwidth: float
    dual: ClassVar[bool] = False

    @property
    def n_components(self) -> int:
        return int(self.landmarks.shape[0])

    @property
    def n_outputs(self) -> int:
        return int(self.normalization.shape[1])

    def __call__(self, X: Array, xp: Any) -> Array:
        _check_columns(X, len(self.origin))
        kernel = KERNELS[self.kernel]
        if hasattr(X, "toarray") and kernel.takes_sparse and not self.origin.any():
            rows = X.astype(xp.float64)
        else:
            rows = as_dense(X).astype(xp.float64) - self.origin
        return kernel.gram(rows, self.landmarks, self.bandwidth) @ self.normalization


BaseMap = FourierMap | IdentityMap | NystroemMap


def _check_columns(X: Array, n_columns: int) -> None:
    """Rows of one column would be stretched to any width without a word."""
    if X.shape[1] != n_columns:
        raise ValueError(f"The rows have {X.shape[1]} columns, but the map was made for {n_columns}.")


@dataclass(frozen=True)
class CentredMap:
    """Another map's features less their mean over the training rows, times a scale.

    Distances taken from centred features by a matrix product keep their digits when the kernel is flat.
    """

    base: Any
    mean: Array
    dtype: str
    scale: float = 1.0
    dual: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        return self.base.n_outputs

    @property
    def n_coordinates(self) -> int:
        """Numbers that a point of the feature space takes."""
        return self.n_outputs

    def __call__(self, X: Array, xp: Any) -> Array:
        features = (self.base(X, xp) - self.mean).astype(self.dtype, copy=False)
        return features if self.scale == 1.0 else features * self.scale

    def scaled(self, scale: float) -> CentredMap:
        """The same map with its outputs multiplied by ``scale``."""
        return replace(self, scale=scale)

    def centred(self, centers: Array) -> Array:
        """Points of the base map's feature space as points of the centred one."""
        return (centers - self.mean) * self.scale

    def uncentred(self, centers: Float64Array) -> Float64Array:
        """Centroids of the centred features as points of the base map's feature space."""
        return centers / self.scale + self.mean


@dataclass(frozen=True)
class WholeMap(CentredMap):
    """Landmarks' features and, as one more, the length of what they miss of a kernel with k(x, x) = 1.

    A sample far from all landmarks has features near zero, as if it were amid the data. What they miss of it is
    orthogonal to everything else, so it adds to its distance from every centroid, and tells how far off it is.
    """

    @property
    def n_outputs(self) -> int:
        return self.base.n_outputs + 1

    def __call__(self, X: Array, xp: Any) -> Array:
        seen = self.base(X, xp)
        missed = xp.sqrt(xp.maximum(1 - xp.vecdot(seen, seen), xp.zeros((), dtype=seen.dtype)))
        features = xp.concat([seen - self.mean, missed[:, None]], axis=1)
        return features.astype(self.dtype, copy=False) * np.asarray(self.scale, dtype=self.dtype)


def whole(feature_map: CentredMap) -> CentredMap:
    """The map with what it misses of a kernel, where that is known and not none."""
    if not isinstance(feature_map.base, NystroemMap):
        return feature_map
    return WholeMap(feature_map.base, feature_map.mean, feature_map.dtype, feature_map.scale)


def make_fourier(origin: Float64Array, frequencies: Float64Array, bandwidth: float, dtype: Any) -> FourierMap:
    """Return the map whose unit-bandwidth frequencies are ``frequencies``."""
    with np.errstate(over="ignore"):
        scaled = (frequencies / bandwidth).astype(dtype)
    if not np.all(np.isfinite(scaled)):
        raise _too_small(bandwidth, dtype, "the frequencies overflow")
    return FourierMap(origin.astype(dtype), scaled)


def make_nystroem(origin: Float64Array, rows: Array, kernel: str, bandwidth: float) -> NystroemMap:
    """Return the Nystroem map with the given landmark rows.

    The same map as scikit-learn's ``Nystroem`` up to a rotation; that class has no Matern kernels and takes
    no weights. Directions whose eigenvalue is rounding are dropped instead of divided by.
    """
    landmarks = as_dense(rows).astype(np.float64) - origin
    longest_square(landmarks, bandwidth)
    values, vectors = np.linalg.eigh(KERNELS[kernel].gram(landmarks, landmarks, bandwidth))
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    return NystroemMap(origin, landmarks, vectors[:, kept] / np.sqrt(values[kept]), kernel, float(bandwidth))


def longest_square(rows: Float64Array, bandwidth: float) -> float:
    """The largest squared length of rows in units of the bandwidth; an error if distances would overflow."""
    with np.errstate(over="ignore"):
        scaled = rows / bandwidth
        longest = float(np.max(np.vecdot(scaled, scaled)))
    if not math.isfinite(4 * longest):
        raise _too_small(bandwidth, rows.dtype, "squared distances overflow")
    return longest


def _too_small(bandwidth: float, dtype: Any, why: str) -> ValueError:
    return ValueError(
        f"bandwidth={bandwidth:g} is too small for {np.dtype(dtype)} data: {why}. Rescale the data or give a "
        "larger bandwidth."
    )


def make_centred(base: Any, mean: Float64Array, dtype: Any) -> CentredMap:
    """Wrap a map so that its features have zero mean over the training rows and come in ``dtype``."""
    inner = np.float64 if isinstance(base, NystroemMap) else dtype
    return CentredMap(base, mean.astype(inner), np.dtype(dtype).name)
