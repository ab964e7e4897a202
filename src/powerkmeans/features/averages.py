"""Landmarks that are means of several rows each, so that no row of the data stands in a model."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from powerkmeans.features.graph.build import Nearest, Rows, even_landmarks, row_neighbours
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.maps.base import Averaging, MapRequest
from powerkmeans.features.pairs import as_dense
from powerkmeans.sources.unit import unit_rows
from powerkmeans.support.draws import draw_by_weight

# a row that has no view in common with any row that groups are made around
_NOBODY = -1

Groups = NDArray[np.intp]


def landmark_rows(request: MapRequest, size: int) -> Any:
    """So many rows drawn from the sample, or the means of groups around them."""
    sample, times = request.sample, request.stream("landmarks").standard_exponential(len(request.sample.weight))
    drawn, _ = draw_by_weight(times, sample.weight, size)
    (X,) = sample.views
    return X[drawn] if request.averaging is None else _averaged(request, request.averaging, drawn)


def _averaged(request: MapRequest, averaging: Averaging, drawn: NDArray[np.intp]) -> Any:
    """Means in float64, views side by side as in rows; an error if there are less than two.

    Distances are in units of the bandwidth, if there is one: as long as kernels see them they do not overflow.
    """
    sample, offsets = request.sample, request.offsets or (0, request.n_columns)
    rows = Rows(sample.views[0], sample.weight, request.tools)
    scaled = rows if request.bandwidth is None else rows._replace(X=rows.X / request.bandwidth)
    placing = Placing(origin_of(scaled.X, offsets), offsets)
    numbers, group = np.unique(groups_around(scaled, placing, drawn, averaging.least), return_inverse=True)
    group = group - np.searchsorted(numbers, 0)  # nobody's rows stay nobody's
    if np.max(group) < 1:
        raise _too_few(len(rows.weight), averaging)
    return _means(rows, offsets, group, averaging)


def _too_few(n_rows: int, averaging: Averaging) -> ValueError:
    where = "" if averaging.view is None else f"view {averaging.view!r}: "
    return ValueError(
        f"{where}rows_per_landmark={averaging.least} makes less than two landmarks of {n_rows} distinct rows. Use "
        "a smaller number, or feature_map='rff', which keeps no rows."
    )


def groups_around(rows: Rows, placing: Placing, drawn: NDArray[np.intp], least: int) -> Groups:
    """The group of each row: the number of the drawn one that is nearest to it, of those that have a group.

    A group has a view that so many of its rows have. Of those that have none, the smaller half gives its rows to
    the nearest others, until there is none such; of equal ones the first do.
    """
    landmarks = even_landmarks(placing(rows.X[drawn], np), placing.placed_offsets)
    landmarks = replace(landmarks, search=rows.tools.search)
    present, left = _present(rows.X, placing.offsets), np.arange(len(drawn))
    group = _nearest(rows, placing, landmarks, left)
    group[drawn] = left
    while True:
        sizes = _counts(group, present, len(drawn)).max(axis=1)[left]
        small = np.flatnonzero(sizes < least)
        if not len(small):
            return group
        gone = small[np.argsort(sizes[small], kind="stable")][: -(-len(small) // 2)]
        moved = np.flatnonzero(np.isin(group, left[gone]))
        left = np.delete(left, gone)
        group[moved] = _nearest(_some(rows, moved), placing, landmarks, left)


def _nearest(rows: Rows, placing: Placing, landmarks: Landmarks, left: NDArray[np.intp]) -> Groups:
    """The nearest of the landmarks that are left."""
    if not len(left):
        return np.full(len(rows.weight), _NOBODY)
    found = row_neighbours(rows, Nearest(placing, replace(landmarks, rows=landmarks.rows[left]), 1))
    return np.where(found.share[:, 0] > 0, left[found.index[:, 0]], _NOBODY)


def _some(rows: Rows, which: NDArray[np.intp]) -> Rows:
    return rows._replace(X=rows.X[which], weight=rows.weight[which])


def _present(X: Any, offsets: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which views each row has, (n, L)."""
    if len(offsets) == 2:
        return np.ones((X.shape[0], 1), dtype=bool)
    present: NDArray[np.bool_] = as_dense(X[:, offsets[-1] :]) > 0
    return present


def _counts(group: Groups, present: NDArray[np.bool_], n_groups: int) -> NDArray[np.intp]:
    """How many rows of each group have each view."""
    columns = [np.bincount(group[has & (group >= 0)], minlength=n_groups) for has in present.T]
    return np.stack(columns, axis=1)


def _means(rows: Rows, offsets: tuple[int, ...], group: Groups, averaging: Averaging) -> Any:
    """Each view's weighted mean over the rows of a group that have it; a group of which too few do lacks it."""
    n_groups, present = int(np.max(group)) + 1, _present(rows.X, offsets)
    marks = _counts(group, present, n_groups) >= averaging.least
    parts = []
    for view, (start, end) in enumerate(pairwise(offsets)):
        kept = np.flatnonzero(present[:, view] & (group >= 0) & marks[group, view])
        share = _shares(rows.weight[kept], group[kept], n_groups)
        mean = share @ rows.X[kept][:, start:end].astype(np.float64)
        if hasattr(mean, "indptr"):
            mean.sort_indices()  # which products of sparse matrices are not
        parts.append(unit_rows(mean) if averaging.unit[view] else mean)
    return parts[0] if len(parts) == 1 else _side_by_side([*parts, marks.astype(np.float64)])


def _shares(weight: NDArray[np.float64], group: Groups, n_groups: int) -> csr_array:
    """What each row is of the mean of its group."""
    total = np.bincount(group, weight, n_groups)
    places = (group, np.arange(len(group)))
    shares: csr_array = csr_array((weight / total[group], places), shape=(n_groups, len(group)))
    return shares


def _side_by_side(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "indptr"):
        return np.concatenate(parts, axis=1)
    return csr_array(hstack([csr_array(part) for part in parts]))
