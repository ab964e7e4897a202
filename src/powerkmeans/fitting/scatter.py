"""What features must be for their distances to mean anything: neither flat nor beyond the range of their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from powerkmeans.features.maps.base import BaseMap
from powerkmeans.objective.linearised import mean_sums
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Engine, Float64Array


def weighted_means(engine: Engine, widths: list[int]) -> list[Float64Array]:
    """Weighted mean of the rows, one array per view."""
    sums = engine.fold(mean_sums, None)
    return np.split(sums.total / np.repeat(sums.weight, widths), np.cumsum(widths)[:-1])


def is_flat(
    base: BaseMap, mean: Float64Array, scatter: float, bandwidth: float | None, limits: np.finfo[Any]
) -> bool:
    """Whether a view varies by rounding alone, or its kernel does not see it vary."""
    if base.squared_length is None:
        rounding = (16 * float(limits.eps)) ** 2 * float(np.sum(mean**2))
        return rounding > smallest_scatter(limits) and scatter <= rounding
    if bandwidth is not None and bandwidth <= 4 * float(limits.eps) * base.origin_length:
        return True
    return not scatter > ROUNDING * base.squared_length


def smallest_scatter(limits: np.finfo[Any]) -> float:
    """Squares below this lose their digits."""
    return float(limits.tiny) * 1e6


def check_scatter(name: str, base: BaseMap, scatter: float, engine: Engine) -> None:
    """Reject features that carry nothing, or whose squares leave the range of their type."""
    if base.squared_length is not None:
        if not scatter > ROUNDING * base.squared_length:
            raise ValueError(base.words.flat.format(view=name))
        return
    check_range(name, scatter, engine.n_samples, engine.dtype)


class OutOfRangeError(ValueError):
    """Rows whose squares leave the range of a type."""


def check_range(name: str, scatter: float, n_samples: int, dtype: np.dtype[Any]) -> None:
    """Reject rows whose squares leave the range of a type."""
    limits = np.finfo(dtype)
    if not scatter * n_samples * 8 <= float(limits.max):
        raise OutOfRangeError(f"Squared distances in view {name!r} overflow {dtype}; rescale the data.")
    if scatter < smallest_scatter(limits):
        raise OutOfRangeError(f"Squared distances in view {name!r} underflow {dtype}; rescale the data.")


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
