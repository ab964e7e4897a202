"""Clouds without clusters, for comparison: uniform along the principal directions of the data, with their spread.

Of all clouds of one piece with a given spread, centroids explain the uniform one best. What they explain of the
data beyond that is due to gaps in it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from powerkmeans.features.pairs import as_dense
from powerkmeans.fitting.baseline import principal
from powerkmeans.fitting.task import Task
from powerkmeans.support.draws import affordable_rows, subsample
from powerkmeans.types import Array, Float64Array, RowSample


def make_cloud(full: Task, weight: Float64Array, rng: np.random.Generator) -> RowSample:
    """Features of a cloud with a row for each weight, centred, with the scatter of the data in each view.

    The covariance is that of all views' columns side by side, so that views stay correlated as they are. Uneven
    weights stay so, on other rows: a few heavy ones are clusters by themselves, in noise as in data.
    """
    base = _measured(_base_rows(full, rng))
    cloud = _uniform(base.side_by_side(np.ones(len(base.units))), len(weight), rng)
    parts = np.split(cloud, np.cumsum([len(mean) for mean in base.means])[:-1], axis=1)
    drawn = [mean + unit * part for mean, unit, part in zip(base.means, base.units, parts, strict=True)]
    weight = rng.permutation(weight)
    return RowSample(tuple(_features(full, index, view, weight) for index, view in enumerate(drawn)), weight)


def plain_cloud(
    full: Task, view_weights: Float64Array, weight: Float64Array, rng: np.random.Generator
) -> tuple[Float64Array, Float64Array]:
    """Rows of a cloud along the leading directions of all views' columns, each view by its weight, and weights."""
    spread, _ = principal(_measured(_base_rows(full, rng)).side_by_side(view_weights))
    return _along(spread, len(weight), rng), rng.permutation(weight)


def _along(spread: Float64Array, size: int, rng: np.random.Generator) -> Float64Array:
    """So many rows, uniform with such deviations."""
    return rng.uniform(-math.sqrt(3), math.sqrt(3), (size, len(spread))) * spread


class _Measured(NamedTuple):
    """Rows of each view about their mean, zero where they are absent, and the root of their scatter."""

    offsets: list[Float64Array]
    means: list[Float64Array]
    units: list[float]
    share: Float64Array

    def side_by_side(self, view_weights: Float64Array) -> Float64Array:
        """All columns, each view with its weight as scatter; products of them are the covariance."""
        parts = zip(self.offsets, self.units, view_weights, strict=True)
        side = np.concatenate([offset / unit * weight**0.5 for offset, unit, weight in parts], axis=1)
        return side * np.sqrt(self.share)[:, None]


def _measured(base: RowSample) -> _Measured:
    rows, share = [as_dense(view).astype(np.float64) for view in base.views], base.weight / np.sum(base.weight)
    means = _means(rows, base)
    offsets = [
        _offset(view, mean, base.present, i) for i, (view, mean) in enumerate(zip(rows, means, strict=True))
    ]
    units = [max(float(share @ np.vecdot(o, o)) ** 0.5, np.finfo(np.float64).tiny) for o in offsets]
    return _Measured(offsets, means, units, share)


def _features(full: Task, index: int, drawn: Float64Array, weight: Float64Array) -> Array:
    """Features of drawn rows of one view, centred, with its scatter."""
    feature_map = full.prepared.maps[index]
    mapped = feature_map(drawn.astype(feature_map.dtype), np).astype(np.float64)
    mapped -= np.average(mapped, axis=0, weights=weight)
    scatter = float(np.average(np.vecdot(mapped, mapped), weights=weight))
    scale = math.sqrt(full.problem.scatter[index] / scatter) if scatter > 0 else 1.0
    return (mapped * scale).astype(full.prepared.engine.dtype)


def _base_rows(full: Task, rng: np.random.Generator) -> RowSample:
    width = sum(view.shape[1] for view in full.prepared.sample.views)
    return subsample(full.prepared.sample, affordable_rows(width), rng)


def _means(rows: list[Float64Array], base: RowSample) -> list[Float64Array]:
    """The mean of each view over the rows that have it."""
    present = np.ones((len(base.weight), len(rows))) if base.present is None else base.present
    return [np.average(view, axis=0, weights=base.weight * present[:, i]) for i, view in enumerate(rows)]


def _offset(view: Float64Array, mean: Float64Array, present: Array | None, index: int) -> Float64Array:
    """Rows about their mean; those that are absent are at it."""
    return view - mean if present is None else (view - mean) * present[:, [index]]


def _uniform(offset: Float64Array, size: int, rng: np.random.Generator) -> Float64Array:
    """Rows of the covariance ``offset^T offset``: uniform along its leading directions, normal in what is left."""
    spread, directions = principal(offset)
    rest = np.sqrt(np.maximum(np.sum(offset**2, axis=0) - spread**2 @ directions**2, 0))
    return _along(spread, size, rng) @ directions + rng.standard_normal((size, offset.shape[1])) * rest


def uniform_cloud(table: Float64Array, rng: np.random.Generator) -> Float64Array:
    """A cloud of as many rows as a table has, with just its spread along each of its principal directions."""
    offset = table - np.mean(table, axis=0)
    spread, directions = principal(offset)
    coordinates = rng.uniform(-1, 1, (len(table), len(spread)))
    coordinates -= np.mean(coordinates, axis=0)
    lengths = np.sqrt(np.sum(coordinates**2, axis=0))
    return (coordinates * (spread / lengths)) @ directions
