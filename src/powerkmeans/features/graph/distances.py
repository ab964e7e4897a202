"""Squared distances between rows and landmarks, over one view or several that are fused.

Rows and landmarks are placed alike (``features.graph.placing``): centred, views side by side, then one column for
each view that is one where it is present, if there are several.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from powerkmeans.features.pairs import as_dense, squared_lengths
from powerkmeans.types import Array, Float64Array


@dataclass(frozen=True)
class Landmarks:
    """Rows that others are placed by, and how views count in a distance.

    rows : (m, d), or (m, d + L) if there are L > 1 views; CSR if rows are
    offsets : columns at which views begin and end
    weights : alpha_l, one value per view
    typical : squared distance that is usual in each view, which its distances are divided by
    """

    rows: Any
    offsets: tuple[int, ...]
    weights: Float64Array
    typical: Float64Array

    @property
    def n_views(self) -> int:
        return len(self.offsets) - 1

    def views(self, rows: Any) -> list[Any]:
        """Each view's columns."""
        return [rows] if self.n_views == 1 else [rows[:, a:b] for a, b in pairwise(self.offsets)]

    def present(self, rows: Any) -> Any:
        """Which views each row has, (b, L), as numbers."""
        return as_dense(rows[:, self.offsets[-1] :])

    def alone(self, view: int, xp: Any) -> Landmarks:
        """The landmarks that have one view, in that view."""
        part, one = self.views(self.rows)[view], xp.ones_like(self.weights[:1])
        if self.n_views > 1:
            part = taken(part, xp.nonzero(self.present(self.rows)[:, view])[0], xp)
        return Landmarks(part, (0, int(part.shape[1])), one, one)


def taken(rows: Any, which: Any, xp: Any) -> Any:
    """Single rows, which may be sparse."""
    return rows[which] if hasattr(rows, "toarray") else xp.take(rows, which, axis=0)


def alike(rows: Any, landmarks: Landmarks) -> Any:
    """Rows that are sparse if landmarks are, and dense if they are not."""
    if not hasattr(landmarks.rows, "toarray"):
        return as_dense(rows)
    return rows if hasattr(rows, "toarray") else csr_array(rows)


def side_by_side(rows: Any, landmarks: Landmarks, xp: Any) -> tuple[Any, Landmarks]:
    """Several views as one, with their weights in the columns, if all rows and landmarks have them all."""
    if landmarks.n_views == 1 or not all(_complete(some, landmarks, xp) for some in (landmarks.rows, rows)):
        return rows, landmarks
    scales = xp.sqrt(landmarks.weights / landmarks.typical)
    widths = np.diff(landmarks.offsets).tolist()
    scale = xp.concat([xp.broadcast_to(scales[v : v + 1], (width,)) for v, width in enumerate(widths)])
    end, one = landmarks.offsets[-1], xp.ones_like(scales[:1])
    return _scaled(rows[:, :end], scale), Landmarks(_scaled(landmarks.rows[:, :end], scale), (0, end), one, one)


def _complete(rows: Any, landmarks: Landmarks, xp: Any) -> bool:
    return bool(xp.all(landmarks.present(rows) == 1))


def _scaled(rows: Any, scale: Array) -> Any:
    return rows.multiply(scale[None, :]).tocsr() if hasattr(rows, "toarray") else rows * scale


class Measure:
    """Distances to the same landmarks, by expanded squares for all of them and by differences for chosen ones."""

    def __init__(self, landmarks: Landmarks, xp: Any) -> None:
        self.landmarks, self.xp = landmarks, xp
        self._views = landmarks.views(landmarks.rows)
        self._lengths = [squared_lengths(view, xp) for view in self._views]

    def to_all(self, rows: Any) -> tuple[Array, Array | None]:
        """Distances to all landmarks, (b, m), and what is still to be added to those of each row, if anything.

        Several views: ``sum_l alpha_l D_ijl / typical_l``, where a view that the two do not share counts as one,
        which is usual; infinite where they share none. Over shared views alone distances would vary the more the
        fewer these are, and landmarks that lack views would be the nearest of everyone.
        """
        xp, landmarks = self.xp, self.landmarks
        parts = zip(landmarks.views(rows), self._views, self._lengths, strict=True)
        by_view = [_less_row_lengths(x, y, length) for x, y, length in parts]
        lengths = [squared_lengths(view, xp)[:, None] for view in landmarks.views(rows)]
        if landmarks.n_views == 1:
            return by_view[0], lengths[0]
        present, there = landmarks.present(rows), landmarks.present(landmarks.rows)
        both = [present[:, v][:, None] * there[:, v][None, :] for v in range(landmarks.n_views)]
        squares = [xp.maximum(d + length, xp.zeros_like(d)) for d, length in zip(by_view, lengths, strict=True)]
        return self._fused(squares, both), None

    def to_chosen(self, rows: Array, chosen: Array) -> Array:
        """Distances of dense rows to some landmarks each, (b, c), by differences: near ones keep digits."""
        ranks = [self._to_one(rows, chosen[:, rank]) for rank in range(chosen.shape[1])]
        return self.xp.stack(ranks, axis=1)

    def _to_one(self, rows: Array, chosen: Array) -> Array:
        near = self.xp.take(self.landmarks.rows, chosen, axis=0)
        squares = self.by_view(rows, near)
        if len(squares) == 1:
            return squares[0]
        both = self.landmarks.present(rows) * self.landmarks.present(near)
        return self._fused(squares, [both[:, view] for view in range(len(squares))])

    def by_view(self, rows: Array, others: Array) -> list[Array]:
        """``||x_l - y_l||^2`` of rows side by side, one array per view."""
        pairs = zip(self.landmarks.views(rows), self.landmarks.views(others), strict=True)
        offsets = [x - y for x, y in pairs]
        return [squared_lengths(offset, self.xp) for offset in offsets]

    def _fused(self, by_view: list[Array], shared: list[Array]) -> Array:
        xp, landmarks = self.xp, self.landmarks
        total, common = xp.zeros_like(by_view[0]), xp.zeros_like(by_view[0])
        for view, (distance, both) in enumerate(zip(by_view, shared, strict=True)):
            total += landmarks.weights[view] * (both / landmarks.typical[view] * distance + (1 - both))
            common += landmarks.weights[view] * both
        return xp.where(common == 0, xp.full_like(total, xp.inf), total)


def _less_row_lengths(x: Any, y: Any, y_lengths: Array) -> Array:
    """``||y||^2 - 2 x.y``: what distances from one row differ by."""
    products = as_dense(x @ y.T)
    products *= -2
    products += y_lengths
    return products


def typical_distance(rows: Any) -> float:
    """The median squared distance between rows, which no outlier moves; their mean where most are equal."""
    lengths = squared_lengths(rows, np)
    squares = np.maximum(_less_row_lengths(rows, rows, lengths) + lengths[:, None], 0)
    pairs = squares[np.triu_indices(rows.shape[0], 1)]
    median = float(np.median(pairs)) if len(pairs) else 0.0
    return median if median > 0 or len(pairs) == 0 else float(np.mean(pairs))
