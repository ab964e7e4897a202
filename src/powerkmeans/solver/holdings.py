"""What centroids hold: which rows, at what cost, and who would have them otherwise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.objective.distances import squared_distances
from powerkmeans.support.memory import ENTRIES
from powerkmeans.types import Array, Float64Array, Membership


class Measure(NamedTuple):
    """What rows cost at squared distances from their centroids, and how much they pull.

    Rows count by their typicality: an outlier that it bounds neither holds a centroid nor calls for one.
    """

    membership: Membership
    reference: float

    def cost(self, distance: Float64Array) -> Float64Array:
        """The loss of each row."""
        degree = self.membership.degrees(distance, self.reference, np)
        return self.membership.divergence(distance, degree, self.reference, np)

    def pull(self, distance: Float64Array) -> Float64Array:
        """What each row counts in the mean of its cluster."""
        return self.membership.attraction(self.membership.degrees(distance, self.reference, np), np)


class Holdings(NamedTuple):
    """Centroids, which rows each holds and would inherit, what these cost, would cost more, and pull with.

    nearest, second : squared distances of rows to the centroid that holds them and to the one that would inherit
    """

    centers: Float64Array
    labels: NDArray[np.intp]
    heirs: NDArray[np.intp]
    nearest: Float64Array
    second: Float64Array
    cost: Float64Array
    loss: Float64Array
    pull: Float64Array
    inherited: Float64Array


def holdings(rows: Array, weight: Float64Array, centers: Float64Array, measure: Measure) -> Holdings:
    """Divide rows among centroids."""
    labels, heirs, nearest, second = _two_nearest(rows, centers)
    cost = measure.cost(nearest)
    loss = measure.cost(second) - cost
    pull, inherited = weight * measure.pull(nearest), weight * measure.pull(second)
    return Holdings(centers, labels, heirs, nearest, second, cost, loss, pull, inherited)


def _two_nearest(rows: Array, centers: Float64Array) -> tuple[np.ndarray, np.ndarray, Float64Array, Float64Array]:
    """Nearest and second nearest centroid of each row, and the squared distances to them.

    A single centroid is the second nearest too.
    """
    centers = centers.astype(rows.dtype)
    labels, heirs = np.empty(len(rows), dtype=np.intp), np.empty(len(rows), dtype=np.intp)
    nearest, second = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, ENTRIES // len(centers))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        distance = np.ascontiguousarray(squared_distances(centers, rows[part], np).T)
        labels[part] = np.argmin(distance, axis=1)
        nearest[part] = np.take_along_axis(distance, labels[part, None], axis=1)[:, 0]
        if len(centers) > 1:
            np.put_along_axis(distance, labels[part, None], np.inf, axis=1)
        heirs[part] = np.argmin(distance, axis=1)
        second[part] = np.take_along_axis(distance, heirs[part, None], axis=1)[:, 0]
    return labels, heirs, nearest, second
