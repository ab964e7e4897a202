"""Exact kernels: rows of the kernel matrix in place of features, for kernels of rows and for given matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.maps.base import BaseMap, MapKind, MapRequest, MapWords, check_columns
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.features.maps.overflow import largest_entry, length_bound, longest_square
from powerkmeans.features.maps.packing import ArrayEntry, Packing, PlainEntry
from powerkmeans.features.pairs import as_dense
from powerkmeans.support.memory import GIB, KERNEL_ROWS, available_memory
from powerkmeans.support.precision import HALF_THE_DIGITS
from powerkmeans.support.tensors import on_host
from powerkmeans.types import Array, Float64Array, array_namespace

PRECOMPUTED = "precomputed"
# units of rounding that a kernel value is taken to carry
_ROUNDING = 64
_FLAT_MATRIX = (
    "The kernel matrix of view {view!r} is flat: to rounding, all samples are the same point; there is nothing to "
    "cluster."
)


def _arrays(entries: Mapping[str, Any]) -> Mapping[str, ArrayEntry]:
    """Given matrices have other arrays than kernels of rows."""
    share = {"share": ArrayEntry("p#", low=0, high=1)}
    if entries["kernel"] == PRECOMPUTED:
        rows = {"origin": ArrayEntry("0"), "rows": ArrayEntry("0 0")}
        lengths = {"diagonal": ArrayEntry("p#"), "keys": ArrayEntry("keys#", "uint64 float64")}
    else:
        rows = {"origin": ArrayEntry("d#"), "rows": ArrayEntry("p# d#")}
        lengths = {"diagonal": ArrayEntry("0"), "keys": ArrayEntry("0")}
    return {"mean": ArrayEntry("p#")} | rows | share | lengths


def _flaw_of_sizes(sizes: Mapping[str, int]) -> str | None:
    if "keys" not in sizes:
        return None
    if sizes["p"] != sizes["d"]:
        return "a kernel matrix must be square"
    return None if sizes["keys"] in (0, sizes["p"]) else "keys must be one for each sample, or none"


@dataclass(frozen=True)
class ExactMap(BaseMap):
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
    works_in_float64: ClassVar[bool] = True
    packing: ClassVar[Packing] = Packing(
        "exact",
        _arrays,
        {
            "kernel": PlainEntry(str, words=(*KERNELS, PRECOMPUTED)),
            "bandwidth": PlainEntry(float),
            "noise": PlainEntry(float),
            "training": PlainEntry(bool),
            "order_only": PlainEntry(bool),
        },
        has_bandwidth=lambda entries: entries["kernel"] != PRECOMPUTED,
        flaw=_flaw_of_sizes,
    )

    @property
    def n_components(self) -> int:
        return int(self.share.shape[0])

    @property
    def n_outputs(self) -> int:
        return int(self.share.shape[0])

    @property
    def given(self) -> bool:
        return self.kernel == PRECOMPUTED

    @property
    def words(self) -> MapWords:
        return MapWords("samples", flat=_FLAT_MATRIX) if self.given else MapWords("samples")

    @property
    def squared_length(self) -> float:
        return float(np.max(self.diagonal[self.share > 0])) if self.given else 1.0

    @property
    def origin_length(self) -> float:
        return 0.0 if self.given else length_bound(self.origin)

    @property
    def largest_output(self) -> float:
        return float(np.max(self.diagonal)) if self.given else 1.0

    @property
    def largest_row(self) -> float:
        return 0.0 if self.given else max(largest_entry(self.rows), largest_entry(self.origin)) / self.bandwidth

    def __call__(self, X: Array, xp: Any) -> Array:
        check_columns(X, self.share.shape[0] if self.given else self.origin.shape[0])
        values = xp.astype(as_dense(X), xp.float64, copy=False)
        if not self.given:
            return KERNELS[self.kernel].gram(values - self.origin, self.rows, self.bandwidth)
        # nothing is made of training samples that are absent, or of no weight
        return xp.where(self.share > 0, values, xp.zeros((), dtype=xp.float64, device=self.share.device))

    def rows_and_norms(self, X: Array, start: int, present: Array | None) -> tuple[Array, Array]:
        """Kernel values alone, for sums over them."""
        xp = array_namespace(self.share)
        return self(X, xp), xp.zeros(X.shape[0], dtype=xp.float64, device=self.share.device)

    def centred(self, mean: Array, dtype: str, scale: float = 1.0) -> CentredKernel:
        return CentredKernel(self, mean, dtype, scale)

    def before_centring(self, dtype: np.dtype[Any]) -> ExactMap:
        """Kernel values themselves: their mean is what a row of the centred matrix lacks."""
        return self

    def flaw(self) -> str | None:
        if not abs(float(np.sum(self.share)) - 1) < HALF_THE_DIGITS:
            return "share must add up to 1"
        if len(self.keys) and self.keys.dtype != np.uint64:
            return "keys must be one for each sample, or none"
        counted = self.diagonal[self.share > 0] if self.given else np.ones(1)
        if not (np.all(counted >= 0) and np.any(counted > 0)):
            return "diagonal holds negative numbers, or nothing but zeros"
        return "it is not one for new samples" if self.training or self.order_only else None

    @property
    def knows_lengths(self) -> bool:
        """Whether k(x, x) is known of every sample to come."""
        return not self.given or self.training or self.keys.shape[0] == 0

    def self_kernels(self, values: Array, start: int, present: Array | None) -> Array:
        """``k(x, x)``, NaN where it is not known."""
        xp, n_rows = array_namespace(self.share), values.shape[0]
        if not self.given:
            return xp.ones(n_rows, dtype=xp.float64, device=self.share.device)
        if self.training:
            return self.diagonal[start : start + n_rows]
        if self.knows_lengths:
            counted = self.share > 0
            total = xp.sum(xp.where(counted, self.diagonal, xp.zeros_like(self.diagonal)))
            return xp.broadcast_to(total / xp.sum(xp.astype(counted, xp.float64)), (n_rows,))
        return self._found_by_key(values, present)

    def _found_by_key(self, values: Array, present: Array | None) -> Array:
        """``k(x, x)`` of training samples, known by the bytes of their rows, which only the host can look at."""
        keys, diagonal, rows = (on_host(array) for array in (self.keys, self.diagonal, values))
        found = dict(zip(keys.tolist(), diagonal.tolist(), strict=True))
        self_kernel = np.array([found.get(key, np.nan) for key in row_keys(rows).tolist()])
        self_kernel = self_kernel if present is None else np.where(on_host(present), self_kernel, 0.0)
        return array_namespace(values).asarray(self_kernel, device=values.device)


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
        base, factor, xp = self.base, self.scale**2, array_namespace(self.mean)
        rows = base(X, xp)
        self_kernel = base.self_kernels(rows, start, present)
        mean_value, total = rows @ base.share, self.mean @ base.share
        squared = xp.clip(self_kernel - 2 * mean_value + total, min=0.0)
        rows -= mean_value[:, None]
        rows -= self.mean - total
        if not base.knows_lengths:
            squared = self._with_bounds(squared, rows, start)
        rows *= factor
        squared = squared * factor
        dtype = getattr(xp, self.dtype)
        return xp.astype(rows, dtype, copy=False), xp.astype(squared, dtype, copy=False)

    def _with_bounds(self, squared: Array, rows: Array, start: int) -> Array:
        """Squared lengths with something large for those that are not known, or an error if they matter."""
        xp = array_namespace(rows)
        unknown = xp.isnan(squared)
        if not self.base.order_only and xp.any(unknown):
            raise unknown_length(start + int(xp.argmax(xp.astype(unknown, xp.int8))))
        # no centroid is nearer to it than this keeps positive: coefficients add up to one
        return xp.where(unknown, 4 * xp.max(xp.abs(rows), axis=1), squared)

    def for_new(self, *, order_only: bool = False) -> CentredKernel:
        """The same map for samples that need not be the training ones."""
        return replace(self, base=replace(self.base, training=False, order_only=order_only))

    def centred(self, centers: Array) -> Array:
        """Weights of the training rows, which add up to one, as coefficients of the centred features."""
        return centers

    def uncentred(self, centers: Float64Array) -> Float64Array:
        """Weights of the training rows that make up each centroid; they add up to one."""
        coefficients = centers[:, : self.n_outputs]
        return coefficients + np.outer(1 - np.sum(coefficients, axis=1), self.base.share)


def make_exact(
    origin: Float64Array, rows: Array, share: Float64Array, kernel: str, bandwidth: float | None
) -> ExactMap:
    """Return the map of the given training rows, or of a given matrix if there is no bandwidth."""
    nothing = np.zeros(0)
    if bandwidth is None:
        return _make_given(rows, share, kernel)
    centred = as_dense(rows).astype(np.float64, copy=not hasattr(rows, "toarray"))  # in memory of its own
    centred -= origin
    noise = _ROUNDING * np.finfo(np.float64).eps * (1 + longest_square(centred, bandwidth))
    return ExactMap(origin, centred, share, nothing, nothing, kernel, float(bandwidth), noise, training=True)


def _make_given(matrix: Array, share: Float64Array, kernel: str) -> ExactMap:
    diagonal = matrix.diagonal().astype(np.float64)
    counted = diagonal[share > 0]
    noise = _ROUNDING * float(np.finfo(matrix.dtype).eps * np.max(counted))
    uneven = float(np.ptp(counted)) > max(HALF_THE_DIGITS * float(np.max(counted)), noise)
    nothing = np.zeros(0)
    made = ExactMap(nothing, np.zeros((0, 0)), share, diagonal, nothing, kernel, 0.0, noise, training=True)
    if not uneven:
        return made
    steps = (slice(start, start + KERNEL_ROWS) for start in range(0, len(diagonal), KERNEL_ROWS))
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


class ExactKind(MapKind):
    """The kernel matrix of all samples, computed or given."""

    map_class = ExactMap
    sized = False
    learns_from_streams = False

    def make(self, request: MapRequest) -> ExactMap:
        origin = request.origin() if request.bandwidth is not None else np.zeros(0)
        share = request.weight / np.sum(request.weight)
        return make_exact(origin, request.rows, share, request.kernel, request.bandwidth)

    def kernels(self) -> tuple[str, ...]:
        return (*KERNELS, PRECOMPUTED)

    def needs_bandwidth(self, kernel: str) -> bool:
        return kernel != PRECOMPUTED


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
