"""What stands for a cluster: the row nearest to its centroid, and means of its rows in their own columns.

Both are sums over blocks, so rows may be in files or on a cluster, and nothing of them is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.options import dask_options
from powerkmeans.compute.passes import answered
from powerkmeans.models.answers import apply, with_maps
from powerkmeans.models.model import Model
from powerkmeans.objective.block import Nearest, PassInput, block_labels, block_nearest, prepare
from powerkmeans.types import Array, Block, Engine, Float64Array, Sums, Views, array_namespace, device_of


@dataclass
class NearestRows(Sums):
    """For each cluster the smallest squared distance of its rows, infinite if it has none, and which has it."""

    distance: Array
    row: Array

    def __iadd__(self, other: Self) -> Self:
        xp = array_namespace(self.distance)
        nearer = other.distance < self.distance  # of equals the first stays
        self.row = xp.where(nearer, other.row, self.row)
        self.distance = xp.where(nearer, other.distance, self.distance)
        return self


@dataclass(frozen=True)
class PlacedRows:
    """The labels of a block's rows, and the nearest row of each cluster."""

    labels: Array
    nearest: NearestRows


@dataclass
class ColumnSums(Sums):
    """For each cluster the weight of its rows in each view, (k, L), and their sum, (k, columns of all views)."""

    weight: Array
    total: Array


def medoid_indices(model: Model, views: Views, engine: object) -> NDArray[np.intp]:
    """The row of each cluster that is nearest to its centroid, of those of positive weight; -1 if it has none."""
    double = np.dtype(np.float64)
    with single_threaded_blas():
        rows = with_maps(model, open_engine(engine, model.used(views)), double)
        found = rows.fold(_nearest_rows, prepare(model.parameters, model.s, model.problem, double))
    return np.asarray(found.row).astype(np.intp)


def labels_and_nearest(engine: Engine, inputs: PassInput) -> tuple[NDArray[np.int32], NearestRows]:
    """The labels of all rows, and in the same pass the row of each cluster that is nearest to its centroid."""
    rows, function, prepared = answered(engine, block_nearest, inputs)
    found, done, nearest = np.empty(engine.n_samples, dtype=np.int32), 0, None
    with closing(rows.map_blocks(_Placed(function), prepared)) as parts:
        for part in parts:
            found[done : done + len(part.labels)] = part.labels
            done += len(part.labels)
            nearest = part.nearest.begun(np) if nearest is None else nearest.__iadd__(part.nearest)
    assert nearest is not None
    return found, nearest


@dataclass(frozen=True)
class _Placed:
    """Labels and nearest rows of a block, by what tells how far rows are from their own centroids."""

    function: Callable[[Block, Any], Any]

    def __call__(self, block: Block, inputs: Any) -> PlacedRows:
        found, n_clusters = self.function(block, inputs), _n_clusters(inputs)
        by = _nearest_by_label if isinstance(found.labels, np.ndarray) else _nearest_of
        return PlacedRows(found.labels, by(found, block, n_clusters))


def _n_clusters(inputs: Any) -> int:
    """How many clusters a pass knows, over features or over raw rows."""
    return int(getattr(inputs, "inputs", inputs).center_norms[0].shape[0])


def _nearest_by_label(found: Nearest, block: Block, n_clusters: int) -> NearestRows:
    """As ``_nearest_of``, for NumPy, which can do without a number for every row and cluster."""
    labels, own = found
    own = own if np.all(block.weight > 0) else np.where(block.weight > 0, own, np.inf)
    smallest = np.full(n_clusters, np.inf, dtype=own.dtype)
    np.minimum.at(smallest, labels, own)
    those = np.flatnonzero(own == smallest[labels])[::-1]
    row = np.full(n_clusters, -1.0)
    row[labels[those]] = those + block.start  # of equals the first, which comes last here
    return NearestRows(smallest, np.where(smallest < np.inf, row, -1.0))


def cluster_means(model: Model, views: Views, engine: object) -> list[Float64Array]:
    """The weighted mean of each cluster's rows as they were given, view by view; NaN where there are none."""
    with single_threaded_blas():
        rows = open_engine(engine, views)
        there = dask_options(engine).on_worker if rows.elsewhere else engine
        sums = rows.on_parts(_sums_of_part, (model, there))
    ends = np.cumsum([array.shape[1] for array in views.arrays])[:-1]
    parts = np.split(np.asarray(sums.total), ends, axis=1)
    with np.errstate(invalid="ignore"):
        return [part / weight[:, None] for part, weight in zip(parts, np.asarray(sums.weight).T, strict=True)]


def _nearest_rows(block: Block, inputs: PassInput) -> NearestRows:
    return _Placed(block_nearest)(block, inputs).nearest


def _nearest_of(found: Nearest, block: Block, n_clusters: int) -> NearestRows:
    """The nearest row of each cluster, by how far rows are from the centroids of their own."""
    xp = array_namespace(found.distance)
    none = xp.asarray(math.inf, dtype=found.distance.dtype, device=device_of(found.distance))
    own = xp.where(_members(found.labels, n_clusters, xp) & (block.weight > 0), found.distance, none)
    smallest = xp.min(own, axis=1)
    row = xp.astype(xp.argmin(own, axis=1) + block.start, xp.float64)
    return NearestRows(smallest, xp.where(smallest < none, row, -xp.ones_like(row)))


def _sums_of_part(engine: Engine, inputs: tuple[Model, object]) -> ColumnSums:
    """Label rows, and add them up beside their labels."""
    model, options = inputs
    views = engine.views
    labels = apply(model, views, options, block_labels).astype(views.dtype)[:, None]
    everyone = np.ones((len(labels), 1), dtype=bool)
    present = None if views.present is None else np.hstack([views.present, everyone])
    beside = Views((*views.names, "labels"), (*views.arrays, labels), views.weight, present)
    return open_engine(options, beside).fold(_column_sums, len(model.parameters.centers))


def _column_sums(block: Block, n_clusters: int) -> ColumnSums:
    xp = array_namespace(block.weight)  # not that of the rows, which may be sparse
    *views, labels = block.views
    member = xp.astype(_members(labels[:, 0], n_clusters, xp), xp.float64) * block.weight
    parts = [member if block.present is None else member * block.present[view, :] for view in range(len(views))]
    return ColumnSums(
        weight=xp.stack([xp.sum(part, axis=1) for part in parts], axis=1),
        total=xp.concat([_product(part, view, xp) for part, view in zip(parts, views, strict=True)], axis=1),
    )


def _product(member: Array, rows: Array, xp: Any) -> Array:
    return member @ (rows if hasattr(rows, "indptr") else xp.astype(rows, xp.float64, copy=False))


def _members(labels: Array, n_clusters: int, xp: Any) -> Array:
    """Which rows each cluster has, (k, b)."""
    return xp.arange(n_clusters, dtype=labels.dtype, device=device_of(labels))[:, None] == labels
