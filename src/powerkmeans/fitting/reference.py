"""The distance that a bounded membership measures by: eta."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from powerkmeans.features.bandwidth import weighted_median
from powerkmeans.fitting.listener import told_part
from powerkmeans.fitting.starts import place_rows
from powerkmeans.fitting.task import Task, rows_of_view
from powerkmeans.sources import in_memory
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Float64Array


def reference_distance(plain: Task) -> Float64Array:
    """eta, one value per view, fixed for all restarts; from the same task with a membership that needs none."""
    prepared, choice = plain.prepared, plain.settings.reference_distance
    if choice == "global":
        return prepared.scatter
    if choice == "median":
        return np.maximum(_median_scatter(plain), ROUNDING * prepared.scatter)
    if choice == "within":
        return np.maximum(_spread_within(plain), ROUNDING * prepared.scatter)
    return _given(plain, float(choice))


@told_part("reference distance measured")
def _spread_within(plain: Task) -> Float64Array:
    """Mean squared distance to the nearest centroid of a k-means run, per view."""
    even = replace(plain, problem=replace(plain.problem, entropy=math.inf))
    start = place_rows("k-means++", even, even.stream("reference"))
    sums = even.hard_sums(even.descend(start))
    return np.sum(sums.scatter, axis=0) / np.sum(sums.mass, axis=0)


def _given(plain: Task, choice: float) -> Float64Array:
    """A given distance in the units of each view's features."""
    prepared = plain.prepared
    ratio = choice / prepared.scatter
    wrong = np.flatnonzero((ratio < ROUNDING) | (ratio > 1 / ROUNDING))
    if len(wrong):
        raise ValueError(
            f"reference_distance={choice:g} is out of proportion to the mean squared distance of the "
            f"features of view {prepared.views.names[wrong[0]]!r} to their mean, {prepared.scatter[wrong[0]]:g}."
        )
    # the part of the scale that makes up for missing rows scales every squared distance, this one too
    squared_scale = np.array([m.scale**2 for m in prepared.maps])
    return choice * (squared_scale if plain.settings.view_scaling is None else prepared.scatter)


def _median_scatter(task: Task) -> Float64Array:
    """Median squared distance to the median, per view: no outlier moves either."""
    medians = []
    for index in range(len(task.problem.scatter)):
        sample, feature_map = rows_of_view(task, index)
        features = feature_map(in_memory(sample.views[0]), np).astype(np.float64)
        offset = features - np.median(features, axis=0)
        medians.append(weighted_median(np.vecdot(offset, offset), sample.weight))
    return np.array(medians)
