"""Whether a graph tells clusters at all: what two graphs on two halves of the landmarks agree on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.build import Graph, GraphSize, Rows, build_graph, tied_graph
from powerkmeans.features.graph.edge import projection
from powerkmeans.features.graph.placing import Placing
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Float64Array

# rows that two graphs are compared on
COMPARED_ROWS = 4000
# ways to halve landmarks that are so few
FEW_DRAWS, FEW_LANDMARKS = 3, 600
# where halves agree on this much the graph is clear as it is
CLEAR = 0.5


def agreement(first: NDArray[np.integer], second: NDArray[np.integer], weight: Float64Array) -> float:
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


def halves_agree(rows: Rows, graph: Graph, size: GraphSize, rng: np.random.Generator) -> dict[int, float]:
    """What graphs on two halves of the landmarks agree on about some of the rows, by the number of directions.

    Where that is not clear, the median over several ways to halve them, if they are few: one may be unlucky.
    """
    kept, weight = draw_by_weight(rng.standard_exponential(len(rows.weight)), rows.weight, COMPARED_ROWS)
    some = rows._replace(X=rows.X[kept], weight=weight)
    found = [_agreed(some, graph, size, rng)]
    if max(found[0].values()) < CLEAR and graph.landmarks.rows.shape[0] <= FEW_LANDMARKS:
        found += [_agreed(some, graph, size, rng) for _ in range(FEW_DRAWS - 1)]
    return {count: float(np.median([one[count] for one in found])) for count in size.directions}


def _agreed(rows: Rows, graph: Graph, size: GraphSize, rng: np.random.Generator) -> dict[int, float]:
    order = rng.permutation(graph.landmarks.rows.shape[0])
    halves = [_half(rows, graph, np.sort(half), size) for half in (order[::2], order[1::2])]
    labels = {count: [_labels(rows, half, count) for half in halves] for count in size.directions}
    return {count: agreement(first, second, rows.weight) for count, (first, second) in labels.items()}


def _half(rows: Rows, graph: Graph, half: NDArray[np.integer], size: GraphSize) -> Graph:
    landmarks = replace(graph.landmarks, rows=graph.landmarks.rows[half])
    return tied_graph(rows, graph.placing, landmarks, size)


def _labels(rows: Rows, graph: Graph, n_directions: int) -> NDArray[np.integer]:
    return rows.tools.cluster(graph.along(n_directions).features, rows.weight)


def plain_graph(
    rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator
) -> tuple[Graph, float]:
    """The graph of rows as they are, along as many directions as its halves agree on best, and how much that is.

    One direction for each cluster is enough for pieces and small clusters; one more tells apart clusters that are
    not cut off, and splits the largest where all are.
    """
    graph = build_graph(rows, placing, drawn, size)
    agreed = halves_agree(rows, graph, size, rng)
    best = max(agreed, key=lambda count: (agreed[count], -count))
    return graph.along(best), agreed[best]


def clearest_graph(
    rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator
) -> tuple[Graph, float]:
    """The same, or above the noise edge where that halves what two halves of the landmarks disagree on.

    Neighbours by columns that say nothing are random ones, and another half of the landmarks has others.
    """
    graph, agreed = plain_graph(rows, placing, drawn, size, rng)
    if agreed >= CLEAR or hasattr(rows.X, "toarray"):
        return graph, agreed
    kept, weight = draw_by_weight(rng.standard_exponential(len(rows.weight)), rows.weight, COMPARED_ROWS)
    directions = projection(rows.X[kept], weight, placing.offsets, size.n_clusters)
    edged, above = plain_graph(rows, replace(placing, projection=directions), drawn, size, rng)
    return (edged, above) if 1 - above < (1 - agreed) / 2 else (graph, agreed)
