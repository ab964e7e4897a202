"""Which graph: with how many neighbours, and of which columns. Agreement decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.features.graph.agreement import (
    CLEAR,
    Agreement,
    Compared,
    agree,
    agreement,
    compared_rows,
)
from powerkmeans.features.graph.build import Graph, GraphSize, Rows, build_graph
from powerkmeans.features.graph.edge import projection
from powerkmeans.features.graph.placing import Placing

# where halves agree on this much, more neighbours have nothing to settle
SETTLED = 0.9
# times as many neighbours, what they must say alike, and what they must agree on beyond: less is luck
WIDER, ALIKE, MARGIN = 4, 0.8, 0.05


class Chosen(NamedTuple):
    """A graph, and what it and its halves agree on."""

    graph: Graph
    agreed: Agreement


def plain_graph(rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator) -> Chosen:
    """The graph of rows as they are.

    With more neighbours clusters that run into each other are told apart with less luck, and shapes are lost. So
    more are taken where both say nearly the same, and only there; never more than a cluster's part of landmarks.
    """
    some, more = compared_rows(rows, rng), replace(size, n_neighbors=WIDER * size.n_neighbors)
    chosen = _judged(some, build_graph(rows, placing, drawn, size), size, rng)
    if size.fixed or chosen.agreed.value >= SETTLED or more.n_neighbors * size.n_clusters > size.n_landmarks:
        return chosen
    few = Compared(np.arange(len(some.numbers)), some.rows)  # which more neighbours tie as often
    wide = _judged(few, build_graph(few.rows, placing, drawn, more), more, rng)
    alike = agreement(chosen.agreed.labels, wide.agreed.labels, some.rows.weight)
    return wide if alike >= ALIKE and wide.agreed.value > chosen.agreed.value + MARGIN else chosen


def _judged(some: Compared, graph: Graph, size: GraphSize, rng: np.random.Generator) -> Chosen:
    return Chosen(graph, agree(some, graph, size, rng))


def clearest_graph(rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator) -> Chosen:
    """The same, or above the noise edge where that halves what is disagreed on.

    Neighbours by columns that say nothing are random ones, and another half of the landmarks has others.
    """
    chosen = plain_graph(rows, placing, drawn, size, rng)
    if chosen.agreed.value >= CLEAR or hasattr(rows.X, "toarray"):
        return chosen
    some = compared_rows(rows, rng).rows
    directions = projection(some.X, some.weight, placing.offsets, size.n_clusters)
    edged = plain_graph(rows, replace(placing, projection=directions), drawn, size, rng)
    return edged if 1 - edged.agreed.value < (1 - chosen.agreed.value) / 2 else chosen
