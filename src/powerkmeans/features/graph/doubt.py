"""What speaks against a graph whatever other landmarks say: neighbours that tell nothing of clusters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from powerkmeans.features.graph.agreement import PURE, Compared
from powerkmeans.features.graph.build import Graph
from powerkmeans.features.graph.shares import beyond_chance
from powerkmeans.features.graph.spectrum import WIDE
from powerkmeans.features.pairs import as_dense
from powerkmeans.types import Float64Array

# times as many neighbours that join splinters of the clusters; what takes more was apart
LOOSE = 2
# columns looked at side by side
_AT_ONCE = 256


def doubt_of(graph: Graph, some: Compared) -> str | None:
    """Why all landmarks may agree on clusters and these mean nothing, in plain words; None if they do not.

    Of more pieces than clusters some have to go together, and nothing says which. And near neighbours hardly ever
    differ in a column of two values, such as yes and no: there is nothing between these.
    """
    joined = graph.n_neighbors / graph.n_wanted
    if joined > LOOSE or (joined > 1 and graph.gap <= WIDE):
        return "a graph falls into more pieces than there are clusters, and which of them go together is arbitrary"
    if _cut_by_a_column(graph, some):
        return "next to no neighbours differ in a column of two values, which cuts a graph by itself"
    return None


def _cut_by_a_column(graph: Graph, some: Compared) -> bool:
    """Whether neighbours are of the same value in a column that has two; sparse rows are not looked at."""
    rows, offsets = some.rows, graph.placing.offsets
    if hasattr(rows.X, "toarray"):
        return False
    shares = graph.shares[some.numbers]
    for view, (start, end) in enumerate(pairwise(offsets)):
        marks = rows.X[:, offsets[-1] :]
        there = np.flatnonzero(as_dense(marks)[:, view] > 0) if marks.shape[1] else np.arange(len(rows.weight))
        tied, weight = shares[there], rows.weight[there]
        for first in range(start, end, _AT_ONCE):
            ones = _ones_of_two(rows.X[there, first : min(end, first + _AT_ONCE)])
            if any(beyond_chance(tied, column, weight) >= PURE for column in ones.T):
                return True
    return False


def _ones_of_two(columns: Float64Array) -> Float64Array:
    """Where columns that have just two values have the larger one, as numbers; other columns are left out."""
    least, most = np.min(columns, axis=0), np.max(columns, axis=0)
    large = columns == most
    return large[:, np.all(large | (columns == least), axis=0) & (least < most)].astype(np.intp)
