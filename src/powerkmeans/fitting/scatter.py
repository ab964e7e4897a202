"""What features must be for their distances to mean anything: neither flat nor beyond the range of their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from powerkmeans.features.maps.exact import PRECOMPUTED, ExactMap
from powerkmeans.features.maps.maps import BaseMap, IdentityMap
from powerkmeans.types import Engine, Float64Array

# a mean squared distance below this share of the squared norms is rounding, not structure
FLAT = 1e-12


def is_flat(
    base: BaseMap | ExactMap, mean: Float64Array, scatter: float, bandwidth: float | None, limits: np.finfo[Any]
) -> bool:
    """Whether a view varies by rounding alone, or its kernel does not see it vary."""
    if isinstance(base, ExactMap) and base.kernel == PRECOMPUTED:
        return not scatter > FLAT * float(np.max(base.diagonal[base.share > 0]))
    if isinstance(base, IdentityMap):
        rounding = (16 * float(limits.eps)) ** 2 * float(np.sum(mean**2))
        return rounding > smallest_scatter(limits) and scatter <= rounding
    assert bandwidth is not None
    # the largest entry times the root of the width bounds the length without squares that overflow
    length = float(np.max(np.abs(base.origin))) * len(base.origin) ** 0.5
    rounding = 4 * float(limits.eps) * length
    return scatter < FLAT or bandwidth <= rounding


def smallest_scatter(limits: np.finfo[Any]) -> float:
    """Squares below this lose their digits."""
    return float(limits.tiny) * 1e6


def check_scatter(name: str, base: BaseMap | ExactMap, scatter: float, engine: Engine) -> None:
    """Reject features that carry nothing, or whose squares leave the range of their type."""
    limits = np.finfo(engine.dtype)
    if isinstance(base, ExactMap) and base.kernel == PRECOMPUTED:
        if not scatter > FLAT * float(np.max(base.diagonal[base.share > 0])):
            raise ValueError(
                f"The kernel matrix of view {name!r} is flat: to rounding, all samples are the same point; there "
                "is nothing to cluster."
            )
        return
    if isinstance(base, IdentityMap):
        if scatter * engine.n_samples * 8 > float(limits.max):
            raise ValueError(f"Squared distances in view {name!r} overflow {engine.dtype}; rescale the data.")
        if scatter < smallest_scatter(limits):
            raise ValueError(f"Squared distances in view {name!r} underflow {engine.dtype}; rescale the data.")
        return
    if scatter < FLAT:
        raise ValueError(
            f"The kernel is flat on view {name!r}: all features are equal to rounding. "
            "The bandwidth is far larger than the distances between rows; use bandwidth='median'."
        )


def check_weighted(
    names: tuple[str, ...], scatter: Float64Array, total_weight: float, dtype: np.dtype[Any]
) -> None:
    """Reject weights whose products with squared distances leave the range of the type that a pass works in."""
    for name, value in zip(names, scatter.tolist(), strict=True):
        if value * total_weight * 8 > float(np.finfo(dtype).max):
            raise ValueError(
                f"Squared distances in view {name!r} times sample_weight, which adds up to {total_weight:g}, "
                f"overflow {dtype}; divide sample_weight by its largest value."
            )
