"""Exact kernels: rows of the kernel matrix in place of features, for kernels of rows and for given matrices."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from powerkmeans.features.kernels import KERNELS, as_dense
from powerkmeans.features.maps import CentredMap
from powerkmeans.sources import Source
from powerkmeans.types import Array, Float64Array

PRECOMPUTED = "precomputed"
_GIB = 2**30


@dataclass(frozen=True)
class ExactMap:
    """A sample's kernel with every training row: ``k(x, x_j)``, (b, n), in float64.

    ``share`` holds the weights of the training rows, which add up to one. Rows of a given matrix
    (``kernel="precomputed"``) come as they are, and ``diagonal`` is that of the training matrix; ``training``
    tells that the rows to come are those of the training matrix themselves.
    """

    origin: Array
    rows: Array
    share: Array
    diagonal: Array
    kernel: str
    bandwidth: float
    training: bool = False

    @property
    def n_components(self) -> int:
        return len(self.share)

    @property
    def n_outputs(self) -> int:
        return len(self.share)

    def __call__(self, X: Array, xp: Any) -> Array:
        given = as_dense(X).astype(xp.float64)  # a copy
        if self.kernel == PRECOMPUTED:
            return given
        return KERNELS[self.kernel].gram(given - self.origin, self.rows, self.bandwidth)

    def own_values(self, n_rows: int, start: int) -> Float64Array:
        """``k(x, x)``: one for the kernels of rows, else from the matrix, or what all training rows have.

        Where it is not known (``knows_own_values``) it is the largest of the training rows, which keeps the order
        of distances.
        """
        if self.kernel != PRECOMPUTED:
            return np.ones(n_rows)
        if self.training:
            return self.diagonal[start : start + n_rows]
        return np.full(n_rows, np.max(self.diagonal))

    @property
    def knows_own_values(self) -> bool:
        """Whether distances to new samples have a value, and not only an order."""
        return self.kernel != PRECOMPUTED or self.training or bool(np.ptp(self.diagonal) == 0)


@dataclass(frozen=True)
class CentredKernel(CentredMap):
    """Rows of the centred kernel matrix, times the square of the scale that features would be multiplied by.

    ``mean`` is the weighted mean ``K w`` of the training rows' values.
    """

    base: ExactMap

    def __call__(self, X: Array, xp: Any) -> Array:
        return self.rows_and_norms(X, 0)[0]

    @property
    def n_coordinates(self) -> int:
        """Numbers that a point of the feature space takes: its coefficients and its values."""
        return 2 * self.n_outputs

    def rows_and_norms(self, X: Array, start: int) -> tuple[Array, Array]:
        r"""Inner products of centred features with those of the training rows, and their squared lengths.

        ``k(x, x_j) - k(x, .) w - (K w)_j + w^T K w`` and ``k(x, x) - 2 k(x, .) w + w^T K w``.
        """
        base, factor = self.base, self.scale**2
        rows = base(X, np)
        mean_value, total = rows @ base.share, float(self.mean @ base.share)
        squared = np.maximum(base.own_values(len(rows), start) - 2 * mean_value + total, 0)
        rows -= mean_value[:, None]
        rows -= self.mean - total
        if factor != 1:
            rows *= factor
            squared *= factor
        return rows.astype(self.dtype, copy=False), squared.astype(self.dtype, copy=False)

    def for_new(self) -> CentredKernel:
        """The same map for samples that need not be the training ones."""
        return replace(self, base=replace(self.base, training=False))

    def seen_on(self, X: Array) -> CentredKernel:
        """The map for given samples: a matrix with the training one's diagonal is taken for that."""
        diagonal = self.base.diagonal
        if self.base.kernel != PRECOMPUTED or X.shape[0] != len(diagonal) or isinstance(X, Source):
            return self
        same = np.array_equal(X.diagonal(), diagonal)
        return replace(self, base=replace(self.base, training=bool(same)))

    def centred(self, centers: Array) -> Array:
        """Weights of the training rows, which add up to one, as coefficients of the centred features."""
        return centers

    def uncentred(self, centers: Float64Array) -> Float64Array:
        """Weights of the training rows that make up each centroid; they add up to one."""
        own = centers[:, : self.n_outputs]
        return own + np.outer(1 - np.sum(own, axis=1), self.base.share)


def make_exact(
    origin: Float64Array, rows: Array, share: Float64Array, kernel: str, bandwidth: float | None
) -> ExactMap:
    """Return the map of the given training rows, or of a given matrix if there is no bandwidth."""
    if bandwidth is None:
        nothing, diagonal = np.zeros((0, 0)), rows.diagonal().astype(np.float64)
        return ExactMap(np.zeros(0), nothing, share, diagonal, kernel, 0.0, training=True)
    centred = as_dense(rows).astype(np.float64) - origin
    return ExactMap(origin, centred, share, np.ones(0), kernel, float(bandwidth), training=True)


def check_memory(n_samples: int, widths: list[int]) -> None:
    """Reject kernel matrices that would not fit, with the rows they keep, before anything is allocated."""
    n_views, available = len(widths), available_memory()
    needed = 8 * n_samples * (n_samples * n_views + sum(widths))
    if available is not None and needed > available:
        matrices = "a kernel matrix" if n_views == 1 else f"{n_views} kernel matrices"
        raise MemoryError(
            f"feature_map='exact' needs {matrices} of {n_samples} x {n_samples} numbers: {needed / _GIB:.1f} GiB, "
            f"and {available / _GIB:.1f} GiB are available. Use feature_map='nystroem' or 'rff', whose memory "
            "grows linearly with the samples."
        )


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping; None where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
