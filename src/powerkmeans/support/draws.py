"""Random streams: one integer seeds the fit, and every purpose draws from a generator of its own.

A stream is named by words ("frequencies", the view's name), so adding a consumer or a view never
changes what the others draw. The global generator is never touched.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state as as_random_state

from powerkmeans.support.memory import ENTRIES
from powerkmeans.support.values import random_state as check_random_state
from powerkmeans.types import Array, Float64Array, RowSample

# rows that a median, a covariance or a comparison is taken on: more do not change it by a percent
STATISTIC_ROWS = 2000


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """Return the generator for one purpose of the fit seeded by ``seed``."""
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in purpose)])


def stream_seed(seed: int, *purpose: str) -> int:
    """Return an integer seed for one purpose, for things that take a seed instead of a generator."""
    return int(stream(seed, *purpose).integers(2**63))


def draw_seed(random_state: Any) -> int:
    """The one integer that seeds a fit. ``None`` takes fresh entropy and leaves the global generator alone."""
    check_random_state("random_state", random_state)
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**31 - 1))
    return int(as_random_state(random_state).randint(2**31 - 1))


def affordable_rows(n_columns: int, entries: int = ENTRIES) -> int:
    """How many rows a statistic is taken on: a constant, fewer where they are wide."""
    return int(np.clip(entries // n_columns, STATISTIC_ROWS // 20, STATISTIC_ROWS))


def draw_by_weight(times: Float64Array, weight: Float64Array, size: int) -> tuple[NDArray[np.intp], Float64Array]:
    """Draw ``size`` of the items by weight without replacement.

    ``times`` are standard exponential draws, one per item. Items with the smallest ``time / weight`` are kept,
    each standing for ``weight / P(kept)``, so that weighted sums over the draw estimate those over all.

    Returns
    -------
    kept : indices, in the order of the items
    weight : what each kept item stands for

    """
    if len(weight) <= size:
        return np.arange(len(weight)), weight
    with np.errstate(over="ignore"):  # subnormal weights wait for ever
        keys = times / weight
    threshold = np.partition(keys, size)[size]
    kept = np.flatnonzero(keys < threshold)
    return kept, weight[kept] / -np.expm1(-weight[kept] * threshold)


def subsample(
    sample: RowSample,
    size: int,
    rng: np.random.Generator,
    choose: Callable[[Array, NDArray[np.intp]], Array] = operator.getitem,
) -> RowSample:
    """Draw by weight from a sample; the result depends on the rows' content alone.

    ``choose`` takes rows of a view.
    """
    kept, weight = draw_by_weight(rng.standard_exponential(len(sample.weight)), sample.weight, size)
    present = None if sample.present is None else sample.present[kept]
    rows = None if sample.rows is None else sample.rows[kept]
    return RowSample(tuple(choose(view, kept) for view in sample.views), weight, present, rows=rows)
