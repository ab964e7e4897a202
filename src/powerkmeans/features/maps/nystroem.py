"""Kernel values at landmarks drawn from the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from powerkmeans.features.averages import landmark_rows
from powerkmeans.features.graph.placing import origin_of
from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.map_error import GOOD_ERROR, examined_size, kernel_error
from powerkmeans.features.maps.base import BaseMap, MapKind, MapRequest, MapWords, check_columns
from powerkmeans.features.maps.overflow import largest_entry, length_bound, longest_square
from powerkmeans.features.maps.packing import ArrayEntry, Packing, PlainEntry, always
from powerkmeans.features.pairs import as_dense
from powerkmeans.features.size import first_landmarks, grown, most_landmarks, size_rule, suggest_n_components
from powerkmeans.support.draws import subsample
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Array, Float64Array


class Code(Protocol):
    """What makes features of dense rows for a map: less a mean, in a type; None where it cannot."""

    def __call__(self, base: NystroemMap, rows: Array, mean: Array, dtype: Any) -> Array | None: ...


@dataclass(frozen=True)
class NystroemMap(BaseMap):
    """``phi(x) = K(x, landmarks) K(landmarks, landmarks)^{-1/2}``, in float64.

    Kernel values near 1 carry what they say in their last digits, so single precision comes after centring.

    code : what makes features of dense rows faster, if there is any; not part of a file
    """

    origin: Array
    landmarks: Array
    normalization: Array
    kernel: str
    bandwidth: float
    code: Code | None = None

    works_in_float64: ClassVar[bool] = True
    misses: ClassVar[bool] = True
    approximates: ClassVar[bool] = True
    components_are_rows: ClassVar[bool] = True
    squared_length: ClassVar[float] = 1.0
    words: ClassVar[MapWords] = MapWords("landmarks")
    packing: ClassVar[Packing] = Packing(
        "nystroem",
        always(
            mean=ArrayEntry("p#"),
            origin=ArrayEntry("d#"),
            landmarks=ArrayEntry("r# d#"),
            normalization=ArrayEntry("r# p#"),
        ),
        {"kernel": PlainEntry(str, words=tuple(KERNELS)), "bandwidth": PlainEntry(float, positive=True)},
        flaw=lambda sizes: None if sizes["p"] <= sizes["r"] else "normalization has more outputs than landmarks",
    )

    @property
    def n_components(self) -> int:
        return int(self.landmarks.shape[0])

    @property
    def n_outputs(self) -> int:
        return int(self.normalization.shape[1])

    @property
    def origin_length(self) -> float:
        return length_bound(self.origin)

    @property
    def largest_output(self) -> float:
        return float(np.max(np.sum(np.abs(self.normalization), axis=0)))

    @property
    def largest_row(self) -> float:
        return max(largest_entry(self.landmarks), largest_entry(self.origin)) / self.bandwidth

    def __call__(self, X: Array, xp: Any) -> Array:
        features = self._by_code(np.zeros(self.n_outputs), X, np.float64)
        return self._as_written(X, xp) if features is None else features

    def less(self, mean: Array, X: Array, dtype: Any, xp: Any) -> Array:
        features = self._by_code(mean, X, dtype)
        return super().less(mean, X, dtype, xp) if features is None else features

    def _by_code(self, mean: Array, X: Array, dtype: Any) -> Array | None:
        if self.code is None or hasattr(X, "toarray"):
            return None
        check_columns(X, self.origin.shape[0])
        return self.code(self, X, mean, dtype)

    def _as_written(self, X: Array, xp: Any) -> Array:
        check_columns(X, self.origin.shape[0])
        kernel = KERNELS[self.kernel]
        if hasattr(X, "toarray") and kernel.takes_sparse and not xp.any(self.origin != 0):
            rows = X.astype(xp.float64)
        else:
            rows = xp.astype(as_dense(X), xp.float64, copy=False) - self.origin
        return kernel.gram(rows, self.landmarks, self.bandwidth) @ self.normalization


def make_nystroem(origin: Float64Array, rows: Array, kernel: str, bandwidth: float) -> NystroemMap:
    """Return the Nystroem map with the given landmark rows.

    The same map as scikit-learn's ``Nystroem`` up to a rotation; that class has no Matern kernels and takes
    no weights. Directions whose eigenvalue is rounding are dropped instead of divided by.
    """
    landmarks = as_dense(rows).astype(np.float64) - origin
    longest_square(landmarks, bandwidth)
    values, vectors = np.linalg.eigh(KERNELS[kernel].gram(landmarks, landmarks, bandwidth))
    kept = values > ROUNDING * values[-1]
    return NystroemMap(origin, landmarks, vectors[:, kept] / np.sqrt(values[kept]), kernel, float(bandwidth))


def _with_landmarks(request: MapRequest, size: int) -> NystroemMap:
    """The map of so many landmarks; fewer are some of more."""
    assert request.bandwidth is not None
    rows = landmark_rows(request, size)
    origin = request.origin() if request.averaging is None else origin_of(rows, (0, request.n_columns))
    return make_nystroem(origin, rows, request.kernel, request.bandwidth)


def _error(request: MapRequest, base: NystroemMap) -> float:
    """How much the map loses of what the clusters can show, on some rows; none if squares of these overflow."""
    some = subsample(request.sample, examined_size(request.n_columns), request.stream("size"))
    rows = as_dense(some.views[0]).astype(np.float64) - base.origin
    with np.errstate(over="ignore", invalid="ignore"):
        gram = KERNELS[base.kernel].gram(rows, rows, base.bandwidth)
        features = base(some.views[0], np)
    if not (np.all(np.isfinite(gram)) and np.all(np.isfinite(features))):
        return 0.0
    return kernel_error(gram, features, some.weight / np.sum(some.weight), request.n_clusters)[0]


class NystroemKind(MapKind):
    """As many landmarks as frequencies would have outputs, more where rows are few, and where those lose much."""

    map_class = NystroemMap
    has_landmarks = True

    def make(self, request: MapRequest) -> NystroemMap:
        if not request.automatic:
            return _with_landmarks(request, request.n_components)
        of_data = request.n_clusters, request.sample.n_distinct, request.n_columns
        first, most = first_landmarks(*of_data), most_landmarks(*of_data)
        base = _with_landmarks(request, first)
        least = 1 if request.averaging is None else request.averaging.least
        if not first < min(most, len(request.sample.weight) // least):
            return base
        size = grown(first, _error(request, base), most)
        return base if size == first else _with_landmarks(request, size)

    def automatic_size(self, n_clusters: int) -> int:
        return 2 * suggest_n_components(n_clusters)

    def largest_size(self, n_clusters: int, n_rows: int, n_columns: int) -> int:
        return most_landmarks(n_clusters, n_rows, n_columns)

    def about_size(self, n_clusters: int, kernel: str) -> str:
        return (
            f"at least {self.automatic_size(n_clusters)} landmarks, the outputs of {size_rule(n_clusters)}; more "
            f"where rows are few or these lose more than {GOOD_ERROR:.0%} of what the clusters can show"
        )

    def outputs_and_numbers(self, n_components: int, n_columns: int) -> tuple[int, int]:
        """The landmarks, their kernel matrix, its eigenvectors and what is made of them."""
        return n_components, n_components * (n_columns + 3 * n_components)
