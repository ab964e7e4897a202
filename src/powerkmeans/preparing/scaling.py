"""Centres and scales of columns, found once and applied to every table that follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# the last two leave columns as they are; of the last the model itself scales the rows
AUTO, STANDARD, NONE, ROWS = "auto", "standard", "none", "rows"
KINDS = (STANDARD, "robust", NONE, ROWS)
# an interquartile range of a normal distribution in units of its standard deviation
_IQR = 1.3489795003921634
_ROWS_AT_ONCE = 2**15


class Scaling(NamedTuple):
    """What is taken off each column, and what it is then divided by.

    ``deviation`` is the standard deviation whatever the scale; ``constant`` tells where it is mere rounding.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    deviation: NDArray[np.float64]
    constant: NDArray[np.bool_]


def scales_columns(kind: str) -> bool:
    """Whether such a scaling changes columns."""
    return kind not in (NONE, ROWS)


def find_scaling(values: NDArray[Any], kind: str, categories: Sequence[slice] = ()) -> Scaling:
    """Centres and scales of the rows that are there.

    ``standard``: mean and standard deviation. ``robust``: median, and the interquartile range in units of a normal
    distribution's deviation, so that a column of which it is zero may take its standard deviation instead.
    A constant column is only shifted. The columns that one category became share a scale, the root of the sum of
    their variances, so that it weighs as one number does.
    """
    present = ~np.all(np.isnan(values), axis=1)
    mean, deviation = _moments(values, present)
    # a deviation within the rounding of the mean is none
    constant = deviation <= 8 * np.finfo(values.dtype).eps * np.abs(mean)
    if not scales_columns(kind):
        return Scaling(np.zeros(len(mean)), np.ones(len(mean)), deviation, constant)
    centre, scale = mean.copy(), deviation.copy()
    if kind == "robust":
        low, centre, high = _quartiles(values, present)
        scale = np.where(high > low, (high - low) / _IQR, deviation)
    for columns in categories:
        centre[columns], scale[columns] = mean[columns], np.sqrt(np.sum(deviation[columns] ** 2))
    return Scaling(centre, np.where(constant | (scale == 0), 1.0, scale), deviation, constant)


def _moments(values: NDArray[Any], present: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation, in double precision and in two passes over blocks of rows."""
    blocks = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(values), _ROWS_AT_ONCE)]
    count = max(1, int(np.sum(present)))
    with np.errstate(over="ignore", invalid="ignore"):  # too large, which is told where columns have names
        mean = sum(np.sum(values[b][present[b]], axis=0, dtype=np.float64) for b in blocks) / count
        squares = sum(np.sum((values[b][present[b]].astype(np.float64) - mean) ** 2, axis=0) for b in blocks)
    return np.asarray(mean), np.sqrt(np.asarray(squares) / count)


def _quartiles(values: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The three quartiles of each column."""
    columns = [np.percentile(values[present, place], [25, 50, 75]) for place in range(values.shape[1])]
    return np.array(columns, dtype=np.float64).T
