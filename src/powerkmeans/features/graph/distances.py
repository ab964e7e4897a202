"""Squared distances between rows and landmarks, over one view or several that are fused.

Rows and landmarks are placed alike (``features.graph.placing``): centred, views side by side, then one column for
each view that is one where it is present, if there are several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from powerkmeans.features.pairs import as_dense, squared_lengths
from powerkmeans.support.precision import HALF_THE_DIGITS
from powerkmeans.types import Array, Float64Array

# standard deviations between the quartiles of the normal distribution
NORMAL_QUARTILES = 1.349

# differences of rows and chosen landmarks that a device takes at once
_DIFFERENCES = 2**26


class Search(Protocol):
    """Finds the nearest landmarks of dense rows (``features.graph.neighbours``); None where it cannot.

    ``embedded`` goes on to the rows' coordinates in the graph (``features.maps.graph``).
    """

    def __call__(self, rows: Any, landmarks: Landmarks, count: int) -> Any | None: ...
    def embedded(self, rows: Any, landmarks: Landmarks, count: int, loading: Any) -> Array | None: ...


@dataclass(frozen=True)
class Landmarks:
    """Rows that others are placed by, and how views count in a distance.

    rows : (m, d), or (m, d + L) if there are L > 1 views; CSR if rows are
    offsets : columns at which views begin and end
    weights : alpha_l, one value per view
    typical : squared distance that is usual in each view
    spread : how much ``D / (D + typical)`` varies in each view, which it is divided by
    search : code that finds the nearest of them to dense rows faster, if there is any
    """

    rows: Any
    offsets: tuple[int, ...]
    weights: Float64Array
    typical: Float64Array
    spread: Float64Array
    search: Search | None = None

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
        return Landmarks(part, (0, int(part.shape[1])), one, one, one, self.search)


def taken(rows: Any, which: Any, xp: Any) -> Any:
    """Single rows, which may be sparse."""
    return rows[which] if hasattr(rows, "toarray") else xp.take(rows, which, axis=0)


def alike(rows: Any, landmarks: Landmarks) -> Any:
    """Rows that are sparse if landmarks are, and dense if they are not."""
    if not hasattr(landmarks.rows, "toarray"):
        return as_dense(rows)
    return rows if hasattr(rows, "toarray") else csr_array(rows)


class Measure:
    """Distances to the same landmarks, by expanded squares for all of them and by differences for chosen ones."""

    def __init__(self, landmarks: Landmarks, xp: Any) -> None:
        self.landmarks, self.xp = landmarks, xp
        self._views = landmarks.views(landmarks.rows)
        self._lengths = [squared_lengths(view, xp) for view in self._views]

    def to_all(self, rows: Any) -> tuple[Array, Array | None]:
        """Distances to all landmarks, (b, m), and what is still to be added to those of each row, if anything.

        Of several views it is ``sum_l alpha_l h_l / spread_l`` with ``h_l = D_l / (D_l + typical_l)``. Bounded, a
        view in which a row is far from all does not drown the others; by its spread, one of few columns, whose
        distances vary more, does not either. A view that the two do not share counts as usually far, ``h = 1/2``:
        over shared views alone distances would vary the more the fewer these are, and landmarks that lack views
        would be the nearest of everyone. Infinite where none is shared.
        """
        xp, landmarks = self.xp, self.landmarks
        parts = zip(landmarks.views(rows), self._views, self._lengths, strict=True)
        by_view = [_less_row_lengths(x, y, length) for x, y, length in parts]
        lengths = [squared_lengths(view, xp)[:, None] for view in landmarks.views(rows)]
        if landmarks.n_views == 1:
            return by_view[0], lengths[0]
        squares = [xp.maximum(d + length, xp.zeros_like(d)) for d, length in zip(by_view, lengths, strict=True)]
        present, there = landmarks.present(rows), landmarks.present(landmarks.rows)
        return self._fused(squares, lambda view: present[:, view][:, None] * there[:, view][None, :]), None

    def doubtful(self, rows: Array, distance: Array) -> Array:
        """Rows, (b,), whose distances to chosen landmarks have lost half of their digits in expanded squares."""
        xp, landmarks = self.xp, self.landmarks
        lengths = [squared_lengths(view, xp) for view in landmarks.views(rows)]
        if landmarks.n_views == 1:
            return distance[:, 0] <= HALF_THE_DIGITS * lengths[0]
        far = [HALF_THE_DIGITS * length > landmarks.typical[view] for view, length in enumerate(lengths)]
        return xp.any(xp.stack(far, axis=0), axis=0)

    def to_chosen(self, rows: Array, chosen: Array) -> Array:
        """Distances of dense rows to some landmarks each, (b, c), by differences: near ones keep digits."""
        if self.xp is not np and self.landmarks.n_views == 1:  # launches are what costs
            step = max(1, _DIFFERENCES // (chosen.shape[1] * rows.shape[1]))
            pieces = (slice(i, min(i + step, rows.shape[0])) for i in range(0, rows.shape[0], step))
            parts = [self._to_several(rows[piece, :], chosen[piece, :]) for piece in pieces]
            return self.xp.concat(parts, axis=0)
        ranks = [self._to_one(rows, chosen[:, rank]) for rank in range(chosen.shape[1])]
        return self.xp.stack(ranks, axis=1)

    def _to_several(self, rows: Array, chosen: Array) -> Array:
        near = self.xp.take(self.landmarks.rows, self.xp.reshape(chosen, (-1,)), axis=0)
        near = self.xp.reshape(near, (*chosen.shape, rows.shape[1]))
        return squared_lengths(rows[:, None, :] - near, self.xp)

    def _to_one(self, rows: Array, chosen: Array) -> Array:
        near = self.xp.take(self.landmarks.rows, chosen, axis=0)
        squares = self.by_view(rows, near)
        if len(squares) == 1:
            return squares[0]
        both = self.landmarks.present(rows) * self.landmarks.present(near)
        return self._fused(squares, lambda view: both[:, view])

    def by_view(self, rows: Array, others: Array) -> list[Array]:
        """``||x_l - y_l||^2`` of rows side by side, one array per view."""
        pairs = zip(self.landmarks.views(rows), self.landmarks.views(others), strict=True)
        offsets = [x - y for x, y in pairs]
        return [squared_lengths(offset, self.xp) for offset in offsets]

    def _fused(self, by_view: list[Array], shared: Callable[[int], Array]) -> Array:
        xp, landmarks = self.xp, self.landmarks
        total, none = xp.zeros_like(by_view[0]), True
        for view, distance in enumerate(by_view):
            share = bounded(distance, landmarks.typical[view])
            both = shared(view)
            if not xp.all(both == 1):
                share = xp.where(both > 0, share, xp.full_like(share, 0.5))
            total += landmarks.weights[view] / landmarks.spread[view] * share
            none = none & ((both == 0) | (landmarks.weights[view] == 0))
        return xp.where(none, xp.full_like(total, xp.inf), total)


def bounded(distance: Array, typical: Any) -> Array:
    """``D / (D + typical)``: one half where a squared distance is usual, and never more than one."""
    return distance / (distance + typical)


def _less_row_lengths(x: Any, y: Any, y_lengths: Array) -> Array:
    """``||y||^2 - 2 x.y``: what distances from one row differ by."""
    if hasattr(y_lengths, "addmm"):  # of PyTorch: written once
        return y_lengths.addmm(x, y.T, alpha=-2)
    products = as_dense(x @ y.T)
    products *= -2
    products += y_lengths
    return products


def usual_distances(rows: Any) -> tuple[float, float]:
    """The median squared distance between rows, which no outlier moves, and how much bounded ones vary.

    The mean where most rows are equal; zero if all are. The spread is the standard deviation of normal values that
    have the same quartiles.
    """
    lengths = squared_lengths(rows, np)
    squares = np.maximum(_less_row_lengths(rows, rows, lengths) + lengths[:, None], 0)
    pairs = squares[np.tri(rows.shape[0], k=-1, dtype=bool)]
    if not np.any(pairs):
        return 0.0, 1.0
    lower, median, upper = np.quantile(pairs, [0.25, 0.5, 0.75])
    typical = float(median) if median > 0 else float(np.mean(pairs))
    spread = float(bounded(upper, typical) - bounded(lower, typical)) / NORMAL_QUARTILES
    return typical, spread if spread > 0 else 1.0
