"""Where a bandwidth leaves the range of numbers, and how long vectors are without squares that overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from powerkmeans.types import Array, Float64Array


def longest_square(rows: Float64Array, bandwidth: float) -> float:
    """The largest squared length of rows in units of the bandwidth; an error if distances would overflow."""
    with np.errstate(over="ignore"):
        scaled = rows / bandwidth
        longest = float(np.max(np.vecdot(scaled, scaled)))
    if not math.isfinite(4 * longest):
        raise too_small(bandwidth, rows.dtype, "squared distances overflow")
    return longest


def too_small(bandwidth: float, dtype: Any, why: str) -> ValueError:
    """What to raise where numbers in units of the bandwidth leave their range."""
    return ValueError(
        f"bandwidth={bandwidth:g} is too small for {np.dtype(dtype)} data: {why}. Rescale the data or give a "
        "larger bandwidth."
    )


def length_bound(point: Array) -> float:
    """The largest entry times the root of the width, which bounds the length without squares that overflow."""
    return largest_entry(point) * point.shape[0] ** 0.5


def largest_entry(array: Array) -> float:
    """The largest absolute value."""
    return float(np.max(np.abs(array)))


def overflow_error(dtype: Any, row: int) -> ValueError:
    """What to raise when the features of a row leave the range of their type."""
    name = str(dtype).rpartition(".")[2]
    return ValueError(
        f"Squared distances overflow {name} (row {row}): its values are too large for this "
        "precision or bandwidth. Rescale the data, or use float64."
    )
