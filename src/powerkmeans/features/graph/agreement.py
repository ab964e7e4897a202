"""Whether a graph tells clusters at all: what it and graphs on two halves of its landmarks agree on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.alike import agreement
from powerkmeans.features.graph.build import (
    Graph,
    GraphSize,
    Labels,
    Rows,
    again,
    even_weights,
    weighed_graph,
)
from powerkmeans.features.graph.shares import beyond_chance
from powerkmeans.features.graph.uneven import over_common
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


class Judgement(NamedTuple):
    """What speaks for a graph: agreement with its halves, and neighbours of a row's own cluster, beyond chance."""

    agreement: float
    purity: float

    @property
    def clear(self) -> bool:
        """Whether the graph shows clusters."""
        return self.agreement >= needed_agreement(self.purity)

    @property
    def settled(self) -> bool:
        """Whether no other number of neighbours has to be tried: halves agree, or clusters are apart."""
        return self.agreement >= SETTLED or self.purity >= PURE


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


def labels_of(some: Compared, graph: Graph, known: Labels | None = None) -> Labels:
    """The clusters that a graph shows of some of its rows, sought from those of another graph too if given."""
    return _labels(some.rows, replace(graph, shares=graph.shares[some.numbers]), known)


def purity_of(some: Compared, graph: Graph, labels: Labels) -> float:
    """How many of the neighbours of some rows are of their cluster, beyond chance."""
    return beyond_chance(graph.shares[some.numbers], labels, some.rows.weight)


class Half(NamedTuple):
    """A half of the landmarks, by their numbers, and the graph on it without their rows, which may be long."""

    part: NDArray[np.intp]
    graph: Graph


class Halves:
    """Ways to halve the landmarks of a graph, drawn one after the other.

    Several views are weighed as the graph does, unless few landmarks or uneven weights leave it open what halves
    would find by themselves: then they have to. Graphs with more neighbours are built on the same halves with the
    same weights, as they are on all landmarks: what they agree on beyond is not the luck of others.
    """

    def __init__(self, rows: Rows, graph: Graph, size: GraphSize, rng: np.random.Generator) -> None:
        self._rows, self._graph, self._size, self._rng = rows, graph, size, rng
        self._known: list[tuple[Half, ...]] = []

    def drawn(self, number: int) -> Iterator[Graph]:
        """The graphs of both halves, in one way after the other."""
        assert number == len(self._known)
        order = self._rng.permutation(self._graph.landmarks.rows.shape[0])
        halves = []
        for part in (np.sort(order[::2]), np.sort(order[1::2])):
            graph = self._of(part)
            halves.append(Half(part, _without_rows(graph)))
            yield graph
        self._known.append(tuple(halves))

    def widened(self, size: GraphSize) -> Callable[[int], Iterator[Graph]]:
        """The same with as many neighbours as ``size`` tells, for any way."""

        def graphs(number: int) -> Iterator[Graph]:
            halves = self._way(number)
            return (again(self._rows, self._on(part, graph.landmarks.weights), size) for part, graph in halves)

        return graphs

    def over_common(self, number: int) -> Iterator[Graph]:
        """The same with coordinates over the common direction, for any way."""
        return (over_common(graph, self._rows.weight) for _, graph in self._way(number))

    def _way(self, number: int) -> tuple[Half, ...]:
        for missing in range(len(self._known), number + 1):
            deque(self.drawn(missing), maxlen=0)
        return self._known[number]

    def _of(self, part: NDArray[np.intp]) -> Graph:
        landmarks = self._graph.landmarks
        if landmarks.n_views > 1 and not (_few(self._graph) or _uneven(self._graph)):
            return again(self._rows, self._on(part, landmarks.weights), self._size)
        even = self._on(part, even_weights(landmarks.weights > 0))
        return weighed_graph(self._rows, even.placing, even.landmarks, self._size)

    def _on(self, part: NDArray[np.intp], weights: Float64Array) -> Graph:
        landmarks = self._graph.landmarks
        return replace(self._graph, landmarks=replace(landmarks, rows=landmarks.rows[part], weights=weights))


def _without_rows(graph: Graph) -> Graph:
    landmarks = graph.landmarks
    return replace(graph, landmarks=replace(landmarks, rows=landmarks.rows[:0].copy()))


def _few(graph: Graph) -> bool:
    return graph.landmarks.rows.shape[0] <= FEW_LANDMARKS


def _uneven(graph: Graph) -> bool:
    return bool(np.min(graph.landmarks.weights) < LEAST_PART / graph.landmarks.n_views)


def agree(
    rows: Rows,
    graph: Graph,
    labels: Labels,
    halves: Callable[[int], Iterable[Graph]],
    needed: float,
    most: int | None = None,
) -> float:
    """What a graph and graphs on two halves of its landmarks agree on: the mean over the three pairs.

    Halves alone would not do: the graph itself may be the odd one out. It is the mean over as many ways to halve
    landmarks as it takes to know whether it is what is needed, at ``most``: by default one, of few landmarks more.
    """
    values = [_value(rows, labels, halves(0))]
    if most is None:
        most = MOST_DRAWS if _few(graph) else 1
    while len(values) < most and abs(np.mean(values) - needed) < 2 * LUCK / np.sqrt(len(values)):
        values.append(_value(rows, labels, halves(len(values))))
    return float(np.mean(values))


def _value(rows: Rows, labels: Labels, halves: Iterable[Graph]) -> float:
    answers = [labels, *(_labels(rows, half, labels) for half in halves)]
    return float(np.mean([agreement(one, other, rows.weight) for one, other in combinations(answers, 2)]))


def _labels(rows: Rows, graph: Graph, known: Labels | None = None) -> Labels:
    return rows.tools.cluster(graph.features, rows.weight, known)
