"""Samples seen from two sides: where they vary most, and where their clusters are apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.extmath import randomized_svd

from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.models.graph_answers import fill_absent, picture_columns
from powerkmeans.models.model import Model
from powerkmeans.report.samples import Rows, take_rows
from powerkmeans.sources import is_source
from powerkmeans.types import Array, Float64Array, Views

# numbers of features that are held at once: 80 megabytes in single precision
MOST_NUMBERS = 2 * 10**7
FEWEST_POINTS = 500
# an exact kernel has no coordinates; this many directions of its sample stand for them
KERNEL_DIRECTIONS, KERNEL_POINTS = 32, 1000
# directions with less than this share of the spread of the first are rounding
FLAT = 1e-10
# directions among which discriminants are sought, and rows for each: with fewer any cut looks like a gap
MOST_DIRECTIONS, ROWS_PER_DIRECTION = 50, 10
# what is added to the spread of each direction, as a share of its mean: none divides by nothing
RIDGE = 1e-4
# how far apart clusters are placed at least, over the spread of all places and the root of their number; steps
ROOM, MOVES = 2.0, 100
# how far samples of a cluster are spread around its place in a graph, over the distance to the next place
SPREAD = 0.22


class Plane(NamedTuple):
    """Two coordinates per point, and the share of the spread that each direction holds."""

    points: Float64Array
    shares: tuple[float, float]


class Planes(NamedTuple):
    """Where samples vary most, and where clusters are apart; no second one for one cluster."""

    widest: Plane
    apart: Float64Array | None


def most_points(estimator: PowerKMeansBase, most: int) -> int:
    """How many points can be drawn with the features that the model has."""
    maps = estimator._fit.model.maps
    if any(feature_map.dual for feature_map in maps):
        return min(most, KERNEL_POINTS)
    model = estimator._fit.model
    width = sum(model.view_widths) if model.fuses else sum(feature_map.n_outputs for feature_map in maps)
    return min(most, max(MOST_NUMBERS // width, FEWEST_POINTS))


def project(estimator: PowerKMeansBase, views: Views, rows: Rows, labels: Array) -> Planes:
    """Principal components of the features of all views, each times the root of its weight; and discriminants.

    A sample that lacks a view stands where its cluster is in it. With a graph it is the columns that vary: in its
    few coordinates all samples of a cluster may be in one place. There they are apart.
    """
    model, some = estimator._fit.model, take_rows(views, rows)
    if model.fuses:
        table = _centred(picture_columns(model, some, labels))
        widest = _principal(table)
        return Planes(widest, _graph_plane(_in_graph(model, some), table, labels, widest))
    some = model.used(some)
    parts = []
    for index, weight in enumerate(model.parameters.view_weights):
        features = _coordinates(estimator, some, index, rows)
        if some.present is not None:
            fill_absent(features, some.present[:, index], labels)
        parts.append(np.float32(weight**0.5) * features)
    table = _centred(np.concatenate(parts, axis=1))
    widest = _principal(table)
    return Planes(widest, _discriminants(table, labels, widest))


def _centred(table: Array) -> Array:
    return table - np.mean(table, axis=0)


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


def _in_graph(model: Model, some: Views) -> Float64Array:
    """The coordinates of samples in the graph."""
    (array,) = model.used(some).arrays
    rows = array.take(np.arange(array.shape[0])) if is_source(array) else array
    return _centred(model.maps[0].lenient()(rows, np).astype(np.float64))


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


class _Groups(NamedTuple):
    """Means of the clusters that have rows, and which of them each row is of."""

    means: Float64Array
    of_row: Array


def _groups(table: Float64Array, labels: Array) -> _Groups:
    _, of_row, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    member = (of_row[:, None] == np.arange(len(sizes))).astype(np.float64)
    return _Groups(member.T @ table / sizes[:, None], of_row)


def _discriminants(table: Array, labels: Array, widest: Plane) -> Float64Array | None:
    """The two directions of the leading ones that best tell the places of clusters."""
    if len(np.unique(labels)) < 2:
        return None
    leading = _leading(table)
    points = _toward_places(leading, labels, _places(widest.points, labels))
    if leading.shape[1] > 1 and not np.any(points[:, 1]):  # two clusters: what they have in common beside it
        means, of_row = _groups(leading, labels)
        rest = leading - means[of_row]
        line = points[:, 0] / max(float(np.linalg.norm(points[:, 0])), np.finfo(np.float64).tiny)
        beside = _principal(rest - np.outer(line, line @ rest)).points[:, 0]
        points[:, 1] = beside * (np.std(points[:, 0]) / 2 / max(float(np.std(beside)), np.finfo(np.float64).tiny))
    return points


def _graph_plane(coordinates: Float64Array, table: Array, labels: Array, widest: Plane) -> Float64Array | None:
    """The same of a graph's coordinates, and what the columns say around: there a cluster may be one point."""
    if len(np.unique(labels)) < 2:
        return None
    points = _toward_places(coordinates, labels, _places(widest.points, labels))
    return points + _texture(table, labels, points)


def _leading(table: Array) -> Float64Array:
    """Rows along their leading directions, not more than there are rows to tell them by."""
    most = min(MOST_DIRECTIONS, max(len(table) // ROWS_PER_DIRECTION, 2), *table.shape)
    if table.shape[1] <= most:
        return table.astype(np.float64)
    left, lengths, _ = randomized_svd(table, most, n_iter=2, random_state=0)
    return np.asarray(left * lengths, dtype=np.float64)


def _places(points: Float64Array, labels: Array) -> Float64Array:
    """Where clusters are on the first map, moved until none covers another; along a line if there are two."""
    places = _groups(points, labels).means
    k = len(places)
    places = places - np.mean(places, axis=0)
    size = float(np.sqrt(np.mean(np.vecdot(places, places))))
    angle = 2 * np.pi * np.arange(k) / k
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if k == 2:
        return (
            np.array([[-1.0, 0.0], [1.0, 0.0]]) if places[0, 0] <= places[1, 0] else np.array([[1.0, 0], [-1, 0]])
        )
    places = (places / size if size > 0 else circle) + 1e-3 * circle  # none is just where another is
    for _ in range(MOVES):
        offset = places[:, None] - places
        distance = np.linalg.norm(offset, axis=2) + np.eye(k)
        lacking = np.maximum(ROOM / np.sqrt(k) - distance, 0) * (1 - np.eye(k))
        places = places + np.sum(offset * (lacking / distance)[:, :, None], axis=1) / 3
    return places - np.mean(places, axis=0)


def _toward_places(rows: Float64Array, labels: Array, places: Float64Array) -> Float64Array:
    """Rows by the two directions that best tell where the cluster of each is placed, by least squares."""
    of_row = _groups(rows, labels).of_row
    rows, wanted = _centred(rows), _centred(places[of_row])
    products = rows.T @ rows
    products += np.eye(len(products)) * max(RIDGE * np.trace(products) / len(products), np.finfo(np.float64).tiny)
    return np.asarray(rows @ np.linalg.solve(products, rows.T @ wanted))


def _texture(table: Array, labels: Array, points: Float64Array) -> Float64Array:
    """How rows of a cluster differ in their columns, as far as there is room around the cluster's place."""
    places, of_row = _groups(points, labels)
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.min(distance, axis=1)
    room = SPREAD * np.minimum(nearest, np.median(nearest))
    rest = table.astype(np.float64)
    rest = _principal(rest - _groups(rest, labels).means[of_row]).points
    own, size = _lengths(points - places[of_row], of_row), _lengths(rest, of_row)
    factor = np.maximum(room - own, 0) / np.where(size > 0, size, np.inf)
    return rest * factor[of_row][:, None]


def _lengths(offset: Float64Array, of_row: Array) -> Float64Array:
    """How far rows usually are from the middle of their cluster, by cluster."""
    length = np.sqrt(np.vecdot(offset, offset))
    return np.array([np.median(length[of_row == group]) for group in range(int(np.max(of_row)) + 1)])
