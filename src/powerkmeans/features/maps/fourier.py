"""Random Fourier features, of frequencies that are drawn independently or in orthogonal blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from powerkmeans.features.kernels import KERNELS, draw_frequencies
from powerkmeans.features.maps.base import BaseMap, MapKind, MapRequest, MapWords, check_columns
from powerkmeans.features.maps.overflow import length_bound, too_small
from powerkmeans.features.maps.packing import PRECISIONS, ArrayEntry, Packing, always
from powerkmeans.features.size import size_rule, suggest_n_components
from powerkmeans.types import Array, Float64Array


@dataclass(frozen=True)
class FourierMap(BaseMap):
    """``phi(x) = D^{-1/2} [sin(omega_r.x), cos(omega_r.x)]_r`` (paper: def:RFF), so ``||phi|| = 1``."""

    origin: Array
    frequencies: Array

    approximates: ClassVar[bool] = True
    squared_length: ClassVar[float] = 1.0
    largest_output: ClassVar[float] = 1.0
    words: ClassVar[MapWords] = MapWords("frequencies", instead="feature_map='nystroem' with ")
    packing: ClassVar[Packing] = Packing(
        "fourier",
        always(
            mean=ArrayEntry("p#", PRECISIONS),
            origin=ArrayEntry("d#", PRECISIONS),
            frequencies=ArrayEntry("d# r#", PRECISIONS),
        ),
        flaw=lambda sizes: (
            None if sizes["p"] == 2 * sizes["r"] else "frequencies must be half as many as the outputs"
        ),
    )

    @property
    def n_components(self) -> int:
        return int(self.frequencies.shape[1])

    @property
    def n_outputs(self) -> int:
        return 2 * self.n_components

    @property
    def origin_length(self) -> float:
        return length_bound(self.origin)

    def __call__(self, X: Array, xp: Any) -> Array:
        check_columns(X, self.origin.shape[0])
        phase = self._sparse_phase(X, xp) if hasattr(X, "toarray") else (X - self.origin) @ self.frequencies
        features = xp.concat([xp.sin(phase), xp.cos(phase)], axis=1)
        features *= 1 / math.sqrt(self.n_components)
        return features

    def _sparse_phase(self, X: Array, xp: Any) -> Array:
        """The phase of rows that stay sparse: they are not centred first, so it takes more digits."""
        frequencies = xp.astype(self.frequencies, xp.float64)
        phase = X.astype(xp.float64) @ frequencies - xp.astype(self.origin, xp.float64) @ frequencies
        return xp.astype(phase, self.frequencies.dtype)


def make_fourier(origin: Float64Array, frequencies: Float64Array, bandwidth: float, dtype: Any) -> FourierMap:
    """Return the map whose unit-bandwidth frequencies are ``frequencies``."""
    with np.errstate(over="ignore"):
        scaled = (frequencies / bandwidth).astype(dtype)
    if not np.all(np.isfinite(scaled)):
        raise too_small(bandwidth, dtype, "the frequencies overflow")
    return FourierMap(origin.astype(dtype), scaled)


@dataclass(frozen=True)
class FourierKind(MapKind):
    """Frequencies from the spectral density of a kernel, as many as Theorem 3 of the paper asks for."""

    orthogonal: bool
    map_class: ClassVar[type[BaseMap]] = FourierMap

    def make(self, request: MapRequest) -> FourierMap:
        assert request.bandwidth is not None
        origin, rng = request.origin(), request.stream("frequencies", request.key)
        kernel = KERNELS[request.kernel]
        frequencies = draw_frequencies(kernel, len(origin), request.n_components, self.orthogonal, rng)
        return make_fourier(origin, frequencies, request.bandwidth, request.dtype)

    def automatic_size(self, n_clusters: int) -> int:
        return suggest_n_components(n_clusters)

    def about_size(self, n_clusters: int, kernel: str) -> str:
        beyond = "" if KERNELS[kernel].analytic else f"; the theorem does not cover kernel={kernel!r}"
        return size_rule(n_clusters) + beyond

    def outputs_and_numbers(self, n_components: int, n_columns: int) -> tuple[int, int]:
        """Frequencies as drawn, with their lengths, and by the bandwidth."""
        return 2 * n_components, 3 * n_components * n_columns
