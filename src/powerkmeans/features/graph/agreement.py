"""Whether a graph tells clusters at all: what it and graphs on two halves of its landmarks agree on."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.build import Graph, GraphSize, Labels, Rows, tied_graph
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Float64Array

# rows that graphs are compared on
COMPARED_ROWS = 4000
# ways to halve landmarks that are so few
FEW_DRAWS, FEW_LANDMARKS = 3, 600
# where they agree on this much the graph is clear as it is
CLEAR = 0.5


class Agreement(NamedTuple):
    """The labels of some rows by a graph, and what it and graphs on halves of its landmarks agree on."""

    labels: Labels
    value: float


class Compared(NamedTuple):
    """Some of the rows that graphs are built on: their numbers, and themselves."""

    numbers: NDArray[np.intp]
    rows: Rows


def compared_rows(rows: Rows, rng: np.random.Generator) -> Compared:
    """Draw the rows that graphs are compared on."""
    kept, weight = draw_by_weight(rng.standard_exponential(len(rows.weight)), rows.weight, COMPARED_ROWS)
    return Compared(kept, rows._replace(X=rows.X[kept], weight=weight))


def agreement(first: Labels, second: Labels, weight: Float64Array) -> float:
    """The adjusted Rand index of two labellings of weighted rows: 1 for the same, about 0 by chance.

    Pairs are drawn with replacement, so that a weight of two is the same as two rows.
    """
    share = weight / np.sum(weight)
    table = np.zeros((int(np.max(first)) + 1, int(np.max(second)) + 1))
    np.add.at(table, (first, second), share)
    both = float(np.sum(table**2))
    one, other = float(np.sum(np.sum(table, axis=1) ** 2)), float(np.sum(np.sum(table, axis=0) ** 2))
    chance = one * other
    return 1.0 if one == other == 1 else (both - chance) / ((one + other) / 2 - chance)


def agree(some: Compared, graph: Graph, size: GraphSize, rng: np.random.Generator) -> Agreement:
    """What a graph and graphs on two halves of its landmarks agree on: the mean over the three pairs.

    Halves alone would not do: the graph itself may be the odd one out. Where they agree on little, the median
    over several ways to halve the landmarks, if these are few: one may be unlucky.
    """
    labels = _labels(some.rows, replace(graph, shares=graph.shares[some.numbers]))
    values = [_value(some.rows, graph, labels, size, rng)]
    if values[0] < CLEAR and graph.landmarks.rows.shape[0] <= FEW_LANDMARKS:
        values += [_value(some.rows, graph, labels, size, rng) for _ in range(FEW_DRAWS - 1)]
    return Agreement(labels, float(np.median(values)))


def _value(rows: Rows, graph: Graph, labels: Labels, size: GraphSize, rng: np.random.Generator) -> float:
    order = rng.permutation(graph.landmarks.rows.shape[0])
    answers = [
        labels,
        *(_labels(rows, _half(rows, graph, np.sort(half), size)) for half in (order[::2], order[1::2])),
    ]
    return float(np.mean([agreement(one, other, rows.weight) for one, other in combinations(answers, 2)]))


def _half(rows: Rows, graph: Graph, half: NDArray[np.integer], size: GraphSize) -> Graph:
    """The graph on half of the landmarks, along as many directions."""
    landmarks = replace(graph.landmarks, rows=graph.landmarks.rows[half])
    return tied_graph(rows, graph.placing, landmarks, size).along(graph.n_directions)


def _labels(rows: Rows, graph: Graph) -> Labels:
    return rows.tools.cluster(graph.features, rows.weight)
