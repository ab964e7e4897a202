"""What speaks against a graph whatever other landmarks say: neighbours that tell nothing of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.agreement import PURE, Compared, labels_of
from powerkmeans.features.graph.build import Graph, Labels, Rows, apart, shares_among, ties_with
from powerkmeans.features.graph.shares import beyond_chance
from powerkmeans.features.pairs import as_dense
from powerkmeans.types import Float64Array

# times as many neighbours that join what fell apart by chance; what takes more was apart
LOOSE = 2
# the part of landmarks in pieces beyond as many as clusters from which it matters which of them go together
MATTERS = 0.1
# the purity by a column below which neighbours would be without it, if it is what made them
CAUSED = 0.5
# the part of a column's variance between clusters from which these follow it
FOLLOWS = 0.1
# the part of the rows that have one of the two ends of a column from which it is one of two values
TWO_VALUES = 0.98
# the part that the rarer of both values has at least: a few rows are no cut
LEAST_PART = 0.03
# columns looked at side by side
_AT_ONCE = 256


class Answers(NamedTuple):
    """A column of two values: which it is, the rows that have its view, and which of these have the larger one."""

    column: int
    there: NDArray[np.intp]
    ones: Labels


def doubt_of(rows: Rows, graph: Graph, some: Compared, n_clusters: int) -> str | None:
    """Why all landmarks may agree on clusters and these mean nothing, in plain words; None if they do not.

    Neighbours in a single column are next to each other whatever lies between. Of many more pieces than clusters
    some have to go together, and nothing says which. And near neighbours hardly ever differ in a column of two
    values, such as yes and no: there is nothing between these.
    """
    if graph.placing.offsets[-1] == 1 and not apart(rows, graph, n_clusters):
        return "neighbours in a single column tell of ranks alone"
    if _joined_by_chance(rows, graph, n_clusters):
        return "a graph falls into more pieces than there are clusters, and which of them go together is arbitrary"
    if cut_by_a_column(some.rows, graph, some.numbers, lambda: labels_of(some, graph)):
        return "next to no neighbours differ in a column of two values, which cuts a graph by itself"
    return None


def _joined_by_chance(rows: Rows, graph: Graph, n_clusters: int) -> bool:
    """Whether more neighbours than wanted had to join pieces that are no splinters, and no few more did."""
    if graph.n_neighbors <= graph.n_wanted:
        return False
    if graph.n_neighbors <= LOOSE * graph.n_wanted and apart(rows, graph, n_clusters):
        return False
    sizes = np.sort(np.bincount(ties_with(rows, graph, graph.n_wanted).piece))[::-1]
    return bool(np.sum(sizes[n_clusters:]) > MATTERS * np.sum(sizes))


def cut_by_a_column(
    rows: Rows, graph: Graph, numbers: NDArray[np.intp], labels_of_rows: Callable[[], Labels]
) -> bool:
    """Whether neighbours are of the same value in a column that has two, and because of it, and clusters follow.

    rows, numbers : some of the graph's rows, and which
    labels_of_rows : gives the clusters of these, if they are needed
    """
    pure = [one for one in _of_two_values(rows, graph) if _purity(graph.shares[numbers], rows, one) >= PURE]
    if not pure:
        return False
    labels = labels_of_rows()
    followed = [one for one in pure if _followed(labels[one.there], one.ones, rows.weight[one.there]) >= FOLLOWS]
    if not followed:
        return False
    # all of them: what one column of a category says the others say too
    without = _without(rows, graph, [one.column for one in pure])
    return any(_purity(without, rows, one) < CAUSED for one in followed)


def _purity(shares: Any, rows: Rows, one: Answers) -> float:
    return beyond_chance(shares[one.there], one.ones, rows.weight[one.there])


def _followed(labels: Labels, ones: Labels, weight: Float64Array) -> float:
    """The part of a column's variance that is between clusters."""
    size = np.bincount(labels, weight)
    share = np.bincount(labels, weight * ones)[size > 0] / size[size > 0]
    mean = float(np.average(ones, weights=weight))
    return 1 - float(size[size > 0] @ (share * (1 - share))) / (float(np.sum(weight)) * mean * (1 - mean))


def _without(rows: Rows, graph: Graph, columns: list[int]) -> Any:
    """Who neighbours are, of the same landmarks, where columns say nothing."""
    X = _with_columns(rows.X, columns, graph.placing.origin[columns])
    placed = _with_columns(graph.landmarks.rows, columns, np.zeros(len(columns)))  # which are less the origin
    landmarks = replace(graph.landmarks, rows=placed)
    return shares_among(rows._replace(X=X), graph.placing, landmarks, graph.n_neighbors)


def _with_columns(table: Any, columns: list[int], values: Float64Array) -> Any:
    """A copy that has the same value in all rows of some columns; sparse rows have an origin of zero."""
    if hasattr(table, "toarray"):
        kept = np.ones(table.shape[1])
        kept[columns] = 0
        return table.multiply(kept).tocsr()
    table = table.copy()
    table[:, columns] = values
    return table


def _of_two_values(rows: Rows, graph: Graph) -> Iterator[Answers]:
    """The columns that have two values, but for a few rows, and the rows of each."""
    offsets, X = graph.placing.offsets, rows.X.tocsc() if hasattr(rows.X, "toarray") else rows.X
    marks = as_dense(X[:, offsets[-1] :])
    for view, (start, end) in enumerate(pairwise(offsets)):
        there = np.flatnonzero(marks[:, view] > 0) if marks.shape[1] else np.arange(len(rows.weight))
        columns = _not_rare(X, start, end)
        for first in range(0, len(columns), _AT_ONCE):
            some = columns[first : first + _AT_ONCE]
            block = as_dense(X[:, some])[there]
            for place in _two_ends(block, rows.weight[there]):
                values = block[:, place]
                ones = 2 * values > np.min(values) + np.max(values)
                yield Answers(int(some[place]), there, ones.astype(np.intp))


def _not_rare(X: Any, start: int, end: int) -> NDArray[np.intp]:
    """The columns of a view; of sparse rows those that are not zero nearly everywhere."""
    columns = np.arange(start, end)
    if not hasattr(X, "toarray"):
        return columns
    return columns[np.diff(X.indptr)[start:end] >= LEAST_PART * X.shape[0]]


def _two_ends(block: Float64Array, weight: Float64Array) -> NDArray[np.intp]:
    """Which columns have nearly all rows at their ends, and not too few at either."""
    least, most, share = np.min(block, axis=0), np.max(block, axis=0), weight / np.sum(weight)
    at_least, at_most = share @ (block == least), share @ (block == most)
    rare = np.minimum(at_least, at_most) >= LEAST_PART
    return np.flatnonzero(rare & (at_least + at_most >= TWO_VALUES) & (least < most))
