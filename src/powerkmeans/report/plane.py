"""Samples seen from the side: principal components of a sample of their features, or of columns with a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.extmath import randomized_svd

from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.models.graph_answers import fill_absent, picture_columns
from powerkmeans.report.samples import Rows, take_rows
from powerkmeans.types import Array, Float64Array, Views

# numbers of features that are held at once: 80 megabytes in single precision
MOST_NUMBERS = 2 * 10**7
FEWEST_POINTS = 500
# an exact kernel has no coordinates; this many directions of its sample stand for them
KERNEL_DIRECTIONS, KERNEL_POINTS = 32, 1000
# directions with less than this share of the spread of the first are rounding
FLAT = 1e-10


class Plane(NamedTuple):
    """Two coordinates per point, and the share of the spread that each direction holds."""

    points: Float64Array
    shares: tuple[float, float]


def most_points(estimator: PowerKMeansBase, most: int) -> int:
    """How many points can be drawn with the features that the model has."""
    maps = estimator._fit.model.maps
    if any(feature_map.dual for feature_map in maps):
        return min(most, KERNEL_POINTS)
    model = estimator._fit.model
    width = sum(model.view_widths) if model.fuses else sum(feature_map.n_outputs for feature_map in maps)
    return min(most, max(MOST_NUMBERS // width, FEWEST_POINTS))


def project(estimator: PowerKMeansBase, views: Views, rows: Rows, labels: Array) -> Plane:
    """Principal components of the features of all views, each times the root of its weight.

    A sample that lacks a view stands where its cluster is in it. With a graph it is the columns: in its few
    coordinates all samples of a cluster may be in one place.
    """
    model = estimator._fit.model
    if model.fuses:
        return _centred(picture_columns(model, take_rows(views, rows), labels))
    some = model.used(take_rows(views, rows))
    parts = []
    for index, weight in enumerate(model.parameters.view_weights):
        features = _coordinates(estimator, some, index, rows)
        if some.present is not None:
            fill_absent(features, some.present[:, index], labels)
        parts.append(np.float32(weight**0.5) * features)
    return _centred(np.concatenate(parts, axis=1))


def _centred(table: Array) -> Plane:
    return _principal(table - np.mean(table, axis=0))


def _coordinates(estimator: PowerKMeansBase, some: Views, index: int, rows: Rows) -> Array:
    feature_map, array = estimator._fit.model.maps[index], some.arrays[index]
    if some.present is not None:
        present = some.present[:, index]
        array = (
            array.multiply(present[:, None]).tocsr()
            if hasattr(array, "indptr")
            else np.where(present[:, None], array, 0)
        )
    if not feature_map.dual:
        return feature_map(array, np).astype(np.float32, copy=False)
    products = feature_map.for_new(order_only=True)(array, np)[:, rows]
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    kept = values[-KERNEL_DIRECTIONS:]
    return (vectors[:, -KERNEL_DIRECTIONS:] * np.sqrt(np.maximum(kept, 0))).astype(np.float32)


def _principal(table: Array) -> Plane:
    total = float(np.sum(table.astype(np.float64) ** 2))
    n_rows = len(table)
    if total == 0 or n_rows < 2:
        return Plane(np.zeros((n_rows, 2)), (0.0, 0.0))
    left, lengths, _ = randomized_svd(table, min(2, *table.shape), n_iter=7, random_state=0)
    points = np.zeros((n_rows, 2))
    points[:, : len(lengths)] = left * lengths
    shares = np.zeros(2)
    shares[: len(lengths)] = lengths.astype(np.float64) ** 2 / total
    if shares[1] < FLAT * shares[0]:
        points[:, 1], shares[1] = 0, 0
    return Plane(points, (float(shares[0]), float(shares[1])))
