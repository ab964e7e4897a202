"""Exact kernels: rows of the kernel matrix in place of features, for kernels of rows and for given matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.kernels import KERNELS, as_dense
from powerkmeans.features.maps.maps import CentredMap, longest_square
from powerkmeans.support.memory import GIB, available_memory
from powerkmeans.types import Array, Float64Array

PRECOMPUTED = "precomputed"
# units of rounding that a kernel value is taken to carry
_ROUNDING = 64
# a diagonal whose entries differ by no more than this share is even
_EVEN = 1e-6
_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class ExactMap:
    """A sample's kernel with every training row: ``k(x, x_j)``, (b, n), in float64.

    ``share`` holds the weights of the training rows, which add up to one, and ``noise`` the rounding that kernel
    values carry. Rows of a given matrix (``kernel="precomputed"``) come as they are; its ``diagonal`` and, if that
    is uneven, a key of each of its rows tell k(x, x). ``training`` tells that the rows to come are those of the
    training matrix themselves, ``order_only`` that distances need only be in order.
    """

    origin: Array
    rows: Array
    share: Array
    diagonal: Array
    keys: Array
    kernel: str
    bandwidth: float
    noise: float
    training: bool = False
    order_only: bool = False
    dual: ClassVar[bool] = True

    @property
    def n_components(self) -> int:
        return len(self.share)

    @property
    def n_outputs(self) -> int:
        return len(self.share)

    @property
    def n_coordinates(self) -> int:
        return len(self.share)

    def __call__(self, X: Array, xp: Any) -> Array:
        given = as_dense(X).astype(xp.float64)  # a copy
        if self.kernel != PRECOMPUTED:
            return KERNELS[self.kernel].gram(given - self.origin, self.rows, self.bandwidth)
        given[:, self.share == 0] = 0  # absent, or of no weight: nothing is made of them
        return given

    def rows_and_norms(self, X: Array, start: int, present: Array | None) -> tuple[Array, Array]:
        """Kernel values alone, for sums over them."""
        return self(X, np), np.zeros(X.shape[0])

    def own_values(self, values: Array, start: int, present: Array | None) -> Float64Array:
        """``k(x, x)``, NaN where it is not known."""
        n_rows = len(values)
        if self.kernel != PRECOMPUTED:
            return np.ones(n_rows)
        if self.training:
            return self.diagonal[start : start + n_rows]
        if len(self.keys) == 0:
            return np.full(n_rows, np.mean(self.diagonal[self.share > 0]))
        found = dict(zip(self.keys.tolist(), self.diagonal.tolist(), strict=True))
        own = np.array([found.get(key, np.nan) for key in row_keys(values).tolist()])
        return own if present is None else np.where(present, own, 0.0)


@dataclass(frozen=True)
class CentredKernel(CentredMap):
    """Rows of the centred kernel matrix, times the square of the scale that features would be multiplied by.

    ``mean`` is the weighted mean ``K w`` of the training rows' values.
    """

    base: ExactMap
    dual: ClassVar[bool] = True

    def __call__(self, X: Array, xp: Any) -> Array:
        return self.rows_and_norms(X, 0, None)[0]

    @property
    def n_coordinates(self) -> int:
        """Numbers that a point of the feature space takes: its coefficients and its values."""
        return 2 * self.n_outputs

    def rows_and_norms(self, X: Array, start: int, present: Array | None) -> tuple[Array, Array]:
        r"""Inner products of centred features with those of the training rows, and their squared lengths.

        ``k(x, x_j) - k(x, .) w - (K w)_j + w^T K w`` and ``k(x, x) - 2 k(x, .) w + w^T K w``.
        """
        base, factor = self.base, self.scale**2
        rows = base(X, np)
        own = base.own_values(rows, start, present)
        mean_value, total = rows @ base.share, float(self.mean @ base.share)
        squared = np.maximum(own - 2 * mean_value + total, 0)
        rows -= mean_value[:, None]
        rows -= self.mean - total
        unknown = np.isnan(own)
        if np.any(unknown):
            if not base.order_only:
                raise unknown_length(start + int(np.flatnonzero(unknown)[0]))
            # no centroid is nearer to it than this keeps positive: coefficients add up to one
            squared[unknown] = 4 * np.max(np.abs(rows[unknown]), axis=1)
        rows *= factor
        squared *= factor
        return rows.astype(self.dtype, copy=False), squared.astype(self.dtype, copy=False)

    def for_new(self, *, order_only: bool = False) -> CentredKernel:
        """The same map for samples that need not be the training ones."""
        return replace(self, base=replace(self.base, training=False, order_only=order_only))

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
    nothing = np.zeros(0)
    if bandwidth is None:
        return _make_given(rows, share, kernel)
    centred = as_dense(rows).astype(np.float64) - origin
    noise = _ROUNDING * np.finfo(np.float64).eps * (1 + longest_square(centred, bandwidth))
    return ExactMap(origin, centred, share, nothing, nothing, kernel, float(bandwidth), noise, training=True)


def _make_given(matrix: Array, share: Float64Array, kernel: str) -> ExactMap:
    diagonal = matrix.diagonal().astype(np.float64)
    counted = diagonal[share > 0]
    noise = _ROUNDING * float(np.finfo(matrix.dtype).eps * np.max(counted))
    uneven = float(np.ptp(counted)) > max(_EVEN * float(np.max(counted)), noise)
    nothing = np.zeros(0)
    made = ExactMap(nothing, np.zeros((0, 0)), share, diagonal, nothing, kernel, 0.0, noise, training=True)
    if not uneven:
        return made
    steps = (slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(diagonal), _ROWS_AT_ONCE))
    return replace(made, keys=np.concatenate([row_keys(made(matrix[rows], np)) for rows in steps]))


def row_keys(rows: Array) -> NDArray[np.uint64]:
    """A number for the content of each row."""
    digests = (blake2b(row.tobytes(), digest_size=8).digest() for row in np.ascontiguousarray(rows + 0.0))
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def unknown_length(row: int) -> ValueError:
    """What to raise where kernels with training samples do not tell how far a new one is."""
    return ValueError(
        f"Sample {row} is new, and its kernels with the training samples do not tell its distances: "
        "kernel='precomputed' was fitted with an uneven diagonal, so k(x, x) is not known. predict gives its "
        "label; for the rest divide k(x, y) by sqrt(k(x, x) k(y, y)), in fit and here."
    )


def check_memory(n_samples: int, widths: list[int]) -> None:
    """Reject kernel matrices that would not fit, with the rows they keep, before anything is allocated.

    ``widths`` are the columns of the rows of each view, 0 for a matrix that is given.
    """
    n_views, available = len(widths), available_memory()
    needed = 8 * n_samples * (n_samples * n_views + sum(widths))
    if available is None or needed <= available:
        return
    matrices = "a kernel matrix" if n_views == 1 else f"{n_views} kernel matrices"
    way_out = (
        "Use feature_map='nystroem' or 'rff', whose memory grows linearly with the samples."
        if all(widths)
        else "Fit to a sample of the rows and columns; predict labels the others."
    )
    raise MemoryError(
        f"feature_map='exact' needs {matrices} of {n_samples} x {n_samples} numbers: {needed / GIB:.1f} GiB, and "
        f"{available / GIB:.1f} GiB are available. {way_out}"
    )
