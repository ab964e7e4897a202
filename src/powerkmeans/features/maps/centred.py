"""What wraps every map: features less their mean over the training rows, in one precision, times a scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from powerkmeans.types import Array, Float64Array


@dataclass(frozen=True)
class CentredMap:
    """Another map's features less their mean over the training rows, times a scale.

    Distances taken from centred features by a matrix product keep their digits when the kernel is flat.
    """

    base: Any  # a BaseMap, which this module comes before
    mean: Array
    dtype: str
    scale: float = 1.0

    @property
    def dual(self) -> bool:
        return self.base.dual

    @property
    def n_outputs(self) -> int:
        return self.base.n_outputs

    @property
    def n_coordinates(self) -> int:
        """Numbers that a point of the feature space takes."""
        return self.n_outputs

    def __call__(self, X: Array, xp: Any) -> Array:
        features = self.base.less(self.mean, X, getattr(xp, self.dtype), xp)
        return features if self.scale == 1.0 else features * self.scale

    def fault(self, dtype: Any, row: int) -> ValueError:
        """What to raise where the features of a row are not finite."""
        error: ValueError = self.base.fault(dtype, row)
        return error

    def scaled(self, scale: float) -> CentredMap:
        """The same map with its outputs multiplied by ``scale``."""
        return replace(self, scale=scale)

    def for_new(self, *, order_only: bool = False) -> CentredMap:
        """The same map for samples that need not be the training ones; ``order_only``: for labels alone."""
        return self

    def lenient(self) -> CentredMap:
        """The same map without an error for samples that it cannot place, if it knows such."""
        return replace(self, base=self.base.with_lenience())

    def with_missed(self) -> CentredMap:
        """The map with what it misses of a kernel as one more feature, where that is known and not none."""
        if not self.base.misses:
            return self
        return CentredWithMissed(self.base, self.mean, self.dtype, self.scale)

    def centred(self, centers: Array) -> Array:
        """Points of the base map's feature space as points of the centred one."""
        return (centers - self.mean) * self.scale

    def uncentred(self, centers: Float64Array) -> Float64Array:
        """Centroids of the centred features as points of the base map's feature space."""
        return centers / self.scale + self.mean


@dataclass(frozen=True)
class CentredWithMissed(CentredMap):
    """Landmarks' features and, as one more, the length of what they miss of a kernel with k(x, x) = 1.

    A sample far from all landmarks has features near zero, as if it were amid the data. What they miss of it is
    orthogonal to everything else, so it adds to its distance from every centroid, and tells how far off it is.
    """

    @property
    def n_outputs(self) -> int:
        return self.base.n_outputs + 1

    def __call__(self, X: Array, xp: Any) -> Array:
        held = self.base(X, xp)
        missed = xp.sqrt(xp.clip(1 - xp.linalg.vecdot(held, held), min=0.0))
        features = xp.concat([held - self.mean, missed[:, None]], axis=1)
        return xp.astype(features, getattr(xp, self.dtype), copy=False) * self.scale


def make_centred(base: Any, mean: Float64Array, dtype: Any) -> CentredMap:
    """Wrap a map so that its features have zero mean over the training rows and come in ``dtype``."""
    inner = np.float64 if base.works_in_float64 else dtype
    return base.centred(mean.astype(inner), np.dtype(dtype).name)
