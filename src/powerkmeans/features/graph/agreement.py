"""Whether a graph tells clusters at all: what it and graphs on two halves of its landmarks agree on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.build import (
    Graph,
    GraphSize,
    Labels,
    Rows,
    again,
    even_weights,
    weighed_graph,
)
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.shares import beyond_chance
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Float64Array

# rows that graphs are compared on
COMPARED_ROWS = 4000
# where they agree on this much, nothing else has to be settled
SETTLED = 0.9
# so few landmarks are halved in several ways, as one may be luck, until it is beyond two standard errors whether
# the graph is clear; the standard deviation of one way is that of a set of a hundred rows
FEW_LANDMARKS, MOST_DRAWS, LUCK = 600, 9, 0.12
# weights of which none is below this part of an even one tell halves nothing
LEAST_PART = 0.5
# agreement and purity together, on average, from which a graph is clear
CLEAR = 0.65
# purity from which clusters are apart whatever other landmarks show
PURE = 0.9


Half = Callable[[Rows, Graph, Landmarks], Graph]


class Judgement(NamedTuple):
    """What speaks for a graph: agreement with its halves, and neighbours of a row's own cluster, beyond chance."""

    agreement: float
    purity: float

    @property
    def clear(self) -> bool:
        """Whether the graph shows clusters."""
        return self.agreement >= needed_agreement(self.purity)


def needed_agreement(purity: float) -> float:
    """The agreement from which a graph is clear: what is missing to ``CLEAR`` on average.

    Thin shapes need all landmarks, and halves do not show them. But next to no neighbour is of another cluster
    there, and they need none.
    """
    return -np.inf if purity >= PURE else 2 * CLEAR - purity


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


def labels_of(some: Compared, graph: Graph, known: Labels | None = None) -> Labels:
    """The clusters that a graph shows of some of its rows, sought from those of another graph too if given."""
    return _labels(some.rows, replace(graph, shares=graph.shares[some.numbers]), known)


def purity_of(some: Compared, graph: Graph, labels: Labels) -> float:
    """How many of the neighbours of some rows are of their cluster, beyond chance."""
    return beyond_chance(graph.shares[some.numbers], labels, some.rows.weight)


def agree(
    rows: Rows, graph: Graph, labels: Labels, size: GraphSize, needed: float, rng: np.random.Generator
) -> float:
    """What a graph and graphs on two halves of its landmarks agree on: the mean over the three pairs.

    Halves alone would not do: the graph itself may be the odd one out. Several views are weighed as the graph
    does, unless few landmarks or uneven weights leave it open what halves would find by themselves: then they have
    to.
    """
    if graph.landmarks.n_views > 1 and not (_few(graph) or _uneven(graph)):
        return _value(rows, graph, labels, partial(_alike_half, size=size), rng)
    return agree_anew(rows, graph, labels, size, needed, rng)


def _few(graph: Graph) -> bool:
    return graph.landmarks.rows.shape[0] <= FEW_LANDMARKS


def _uneven(graph: Graph) -> bool:
    return bool(np.min(graph.landmarks.weights) < LEAST_PART / graph.landmarks.n_views)


def agree_anew(
    rows: Rows, graph: Graph, labels: Labels, size: GraphSize, needed: float, rng: np.random.Generator
) -> float:
    """The same with nothing that halves are told.

    Of few landmarks it is the mean over as many ways to halve them as it takes to know whether it is what is
    needed.
    """
    half = partial(_new_half, size=size)
    values, most = [_value(rows, graph, labels, half, rng)], MOST_DRAWS if _few(graph) else 1
    while len(values) < most and abs(np.mean(values) - needed) < 2 * LUCK / np.sqrt(len(values)):
        values.append(_value(rows, graph, labels, half, rng))
    return float(np.mean(values))


def _value(rows: Rows, graph: Graph, labels: Labels, half: Half, rng: np.random.Generator) -> float:
    order = rng.permutation(graph.landmarks.rows.shape[0])
    halves = [_of_landmarks(graph.landmarks, np.sort(part)) for part in (order[::2], order[1::2])]
    answers = [labels, *(_labels(rows, half(rows, graph, landmarks), labels) for landmarks in halves)]
    return float(np.mean([agreement(one, other, rows.weight) for one, other in combinations(answers, 2)]))


def _of_landmarks(landmarks: Landmarks, part: NDArray[np.integer]) -> Landmarks:
    return replace(landmarks, rows=landmarks.rows[part])


def _alike_half(rows: Rows, graph: Graph, landmarks: Landmarks, size: GraphSize) -> Graph:
    """The graph on some of the landmarks, with the same weights of views."""
    return again(rows, replace(graph, landmarks=landmarks), size)


def _new_half(rows: Rows, graph: Graph, landmarks: Landmarks, size: GraphSize) -> Graph:
    """The graph on some of the landmarks, with weights and directions of its own."""
    even = replace(landmarks, weights=even_weights(landmarks.weights > 0))
    return weighed_graph(rows, graph.placing, even, size)


def _labels(rows: Rows, graph: Graph, known: Labels | None = None) -> Labels:
    return rows.tools.cluster(graph.features, rows.weight, known)
