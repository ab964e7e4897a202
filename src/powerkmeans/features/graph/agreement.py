"""Whether a graph tells clusters at all: what two graphs on two halves of the landmarks agree on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.build import GraphSize, Rows, build_graph
from powerkmeans.features.graph.edge import projection
from powerkmeans.features.graph.placing import Placing
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Float64Array

# rows that two graphs are compared on
COMPARED_ROWS = 4000
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


def halves_agree(rows: Rows, placing: Placing, size: GraphSize, rng: np.random.Generator) -> float:
    """What the graphs on two halves of the landmarks agree on."""
    order = rng.permutation(len(rows.weight))[: size.n_landmarks]
    halves = np.sort(order[::2]), np.sort(order[1::2])
    half = replace(size, n_landmarks=len(order) // 2)
    graphs = [build_graph(rows, placing, rows.X[some], half) for some in halves]
    first, second = (rows.tools.cluster(graph.features, rows.weight) for graph in graphs)
    return agreement(first, second, rows.weight)


def clearest_placing(
    rows: Rows, placing: Placing, size: GraphSize, rng: np.random.Generator
) -> tuple[Placing, float]:
    """Rows as they are, or above the noise edge where that halves what two graphs disagree on.

    Neighbours by columns that say nothing are random ones, and another half of the landmarks has others. What the
    graphs agree on is told too.
    """
    kept, weight = draw_by_weight(rng.standard_exponential(len(rows.weight)), rows.weight, COMPARED_ROWS)
    some = rows._replace(X=rows.X[kept], weight=weight)
    plain = halves_agree(some, placing, size, rng)
    if plain >= CLEAR or hasattr(rows.X, "toarray"):
        return placing, plain
    directions = projection(some.X, weight, placing.offsets, size.n_clusters)
    edged = replace(placing, projection=directions)
    above = halves_agree(some, edged, size, rng)
    return (edged, above) if 1 - above < (1 - plain) / 2 else (placing, plain)
