"""Whether clusters follow how much was counted in each row, where they should follow what."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from powerkmeans.advice.thresholds import (
    CORRELATED,
    COUNTED_COLUMNS,
    DIFFERENT_TOTALS,
    NEGLIGIBLE,
    RELATED,
    TOTALS_FOLLOWED,
)
from powerkmeans.compute.engine import open_engine
from powerkmeans.features.map_error import EXAMINED_ROWS, FEWEST_ROWS, kernel_error
from powerkmeans.features.pairs import as_dense, squared_lengths
from powerkmeans.fitting.finish import Fitted
from powerkmeans.inputs.metric import COSINE
from powerkmeans.sources.unit import unit_rows
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Float64Array

Labels = NDArray[np.integer]
# the way out, in words of Python
COUNT_BY_SHARES = (
    "use metric='cosine', or divide rows by their totals and take logs, "
    "np.log1p(1e4 * X / X.sum(axis=1, keepdims=True))"
)


def followed_totals(fitted: Fitted) -> dict[int, str]:
    """Views of counts whose totals the clusters follow, each with its sentence."""
    prepared, found = fitted.task.prepared, dict[int, str]()
    for index, (chosen, sample) in enumerate(zip(prepared.view_settings, prepared.examined, strict=True)):
        if chosen.given or chosen.metric == COSINE or not are_counts(sample.views[0][:EXAMINED_ROWS]):
            continue
        text = about_totals(*_drawn(fitted, index))
        if text is not None:
            found[index] = text
    return found


def about_totals(rows: Any, labels: ArrayLike, weight: ArrayLike | None = None) -> str | None:
    """What to say of clusters that follow the totals of rows; None where they do not, or rows are no counts.

    Rows as they were measured, dense or sparse, before they are scaled; labels below 0 are left out, and of many
    rows some are looked at.
    """
    labels = np.asarray(labels)
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=np.float64)
    kept = np.flatnonzero((labels >= 0) & (weight > 0))
    kept = kept[:: max(1, len(kept) // EXAMINED_ROWS)]
    rows = rows[kept].astype(np.float64)
    if len(kept) < FEWEST_ROWS or not are_counts(rows):
        return None
    total = np.asarray(rows.sum(axis=1), dtype=np.float64).reshape(-1)
    some = np.flatnonzero(total > 0)
    return _judged(rows[some], np.log(total[some]), labels[kept][some], weight[kept][some])


def are_counts(rows: Any) -> bool:
    """Whether numbers count something: none is negative, and they are whole, or zero for the most part.

    A few columns are measurements beside each other, and no profile of what was counted.
    """
    if rows.shape[1] < COUNTED_COLUMNS:
        return False
    stored = rows.data if hasattr(rows, "indptr") else rows
    if not (np.all(np.isfinite(stored)) and np.all(stored >= 0)):
        return False
    n_zeros = rows.shape[0] * rows.shape[1] - np.count_nonzero(stored)
    return bool(np.all(stored == np.rint(stored))) or 2 * n_zeros > rows.shape[0] * rows.shape[1]


def _judged(rows: Any, size: Float64Array, labels: Labels, weight: Float64Array) -> str | None:
    """Compare what clusters tell of log totals with what rows at unit length do."""
    n_clusters, n_rows = len(np.unique(labels)), len(labels)
    if n_clusters < 2 or n_rows < max(FEWEST_ROWS, 8 * n_clusters):
        return None
    share = weight / np.sum(weight)
    if _deviation(size, share) < DIFFERENT_TOTALS or _deviation(_log_lengths(rows), share) < NEGLIGIBLE:
        return None
    followed = _by_clusters(size, labels, share)
    if followed < TOTALS_FOLLOWED:
        return None
    unit = unit_rows(rows)
    gram = as_dense(unit @ unit.T)
    if kernel_error(gram, size[:, None], share, n_clusters)[1] < RELATED:  # without totals there is nothing
        return None
    otherwise = _by_directions(gram, size, share, n_clusters - 1)
    return _sentence(followed, otherwise) if CORRELATED * otherwise <= followed else None


def _sentence(followed: float, otherwise: float) -> str:
    return (
        f"clusters follow the totals of rows: {followed:.0%} of the variance of log totals is between them, and "
        f"rows at unit length tell {max(otherwise, 0):.0%} of it. If totals are how much was counted (the depth "
        f"of a cell, the length of a text) rather than what, {COUNT_BY_SHARES}."
    )


def _deviation(values: Float64Array, share: Float64Array) -> float:
    return float(share @ (values - share @ values) ** 2) ** 0.5


def _log_lengths(rows: Any) -> Float64Array:
    """Logarithms of the Euclidean lengths of rows, of which none is zero."""
    lengths: Float64Array = np.log(squared_lengths(rows, np)) / 2
    return lengths


def _by_clusters(values: Float64Array, labels: Labels, share: Float64Array) -> float:
    """The share of the variance of values between clusters, beyond chance."""
    _, group = np.unique(labels, return_inverse=True)
    mass = np.bincount(group, share)
    offset = values - share @ values
    means = np.bincount(group, share * offset) / mass
    return _beyond_chance(float(mass @ means**2 / (share @ offset**2)), len(mass) - 1, len(values))


def _by_directions(gram: Float64Array, values: Float64Array, share: Float64Array, count: int) -> float:
    """The share of the variance of values along so many leading directions of rows, by their products."""
    mean, root = gram @ share, np.sqrt(share)
    centred = (gram - mean - mean[:, None] + share @ mean) * root * root[:, None]
    directions = np.linalg.eigh(centred)[1][:, -count:]
    offset = (values - share @ values) * root
    along = directions.T @ offset
    return _beyond_chance(float(along @ along / (offset @ offset)), count, len(values))


def _beyond_chance(explained: float, count: int, n_rows: int) -> float:
    """What so many random directions do not explain."""
    chance = count / (n_rows - 1)
    return (explained - chance) / (1 - chance)


def _drawn(fitted: Fitted, index: int) -> tuple[Any, Labels, Float64Array]:
    """Some rows of a view as they were given, their clusters and what they stand for."""
    task, sample = fitted.task, fitted.task.prepared.sample
    times = task.stream("totals").standard_exponential(len(sample.weight))
    kept, weight = draw_by_weight(times, sample.weight, EXAMINED_ROWS)
    rows, present = _given(fitted, index, kept)
    return rows, fitted.drawn[kept], weight if present is None else weight * present[:, index]


def _given(fitted: Fitted, index: int, kept: NDArray[np.intp]) -> tuple[Any, NDArray[np.bool_] | None]:
    """Sampled rows of a view before any map, and which views they have."""
    prepared, engine = fitted.task.prepared, fitted.task.settings.engine
    sample = prepared.sample if prepared.given is None else prepared.examined[0]
    if prepared.given is None or len(prepared.used) == 1:
        return sample.views[index][kept], None if sample.present is None else sample.present[kept]
    assert prepared.sample.rows is not None
    rows, present = open_engine(engine, prepared.given).take(prepared.sample.rows[kept])
    return rows[index], present
