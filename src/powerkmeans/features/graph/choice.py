"""Which graph: with how many neighbours, and of which columns. Agreement decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.features.graph.agreement import (
    SETTLED,
    Compared,
    Halves,
    Judgement,
    agree,
    compared_rows,
    labels_of,
    needed_agreement,
    purity_of,
)
from powerkmeans.features.graph.alike import ALIKE, agreement
from powerkmeans.features.graph.build import Graph, GraphSize, Labels, Rows, again, build_graph
from powerkmeans.features.graph.doubt import doubt_of
from powerkmeans.features.graph.edge import projection
from powerkmeans.features.graph.placing import Placing
from powerkmeans.features.graph.telling import telling_columns
from powerkmeans.features.graph.uneven import cut_by, least_cut, over_common

# times as many neighbours, what they must say alike, and what they must agree on beyond: less is luck
WIDER, MARGIN = 4, 0.05
# the part of a cut that another one has at most for its coordinates to be taken, and how many times the least cut
# that is for it to be sought: the least is that of mixtures of rows, which clusters do not come near
LESS, ROOM = 0.9, 5.0
# ways to halve landmarks for them: one may be luck, and many take their time
WAYS = 3
# how often columns are chosen by the clusters found before: the first choice keeps some that say nothing
TELLING_ROUNDS = 2


class Chosen(NamedTuple):
    """A graph, what speaks for it, the rows that it was built on, and what speaks against it if that was asked."""

    graph: Graph
    judged: Judgement
    rows: Rows
    doubt: str | None = None


def plain_graph(rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator) -> Chosen:
    """The graph of rows as they are.

    With more neighbours clusters that run into each other are told apart with less luck, and shapes are lost. So
    more are taken where clusters do run into each other and both say nearly the same, and only there; never more
    than a cluster's part of landmarks in each of the halves that speak for them.
    """
    some, more = compared_rows(rows, rng), replace(size, n_neighbors=WIDER * size.n_neighbors)
    graph = build_graph(rows, placing, drawn, size)
    labels = labels_of(some, graph)
    purity = purity_of(some, graph, labels)
    halves = Halves(some.rows, graph, size, rng)
    agreed = agree(some.rows, graph, labels, halves.drawn, needed_agreement(purity))
    chosen = Chosen(graph, Judgement(agreed, purity), rows)
    uneven = _of_uneven_sizes(chosen, labels, some, halves)
    if uneven is not None:
        return uneven
    if size.fixed or chosen.judged.settled or 2 * more.n_neighbors * size.n_clusters > size.n_landmarks:
        return chosen
    few = Compared(np.arange(len(some.numbers)), some.rows)  # which more neighbours tie as often
    wide = again(few.rows, graph, more)
    others = labels_of(few, wide, labels)
    if agreement(labels, others, some.rows.weight) < ALIKE:
        return chosen
    purity = purity_of(few, wide, others)
    judged = Judgement(agree(few.rows, wide, others, halves.widened(more), needed_agreement(purity)), purity)
    return Chosen(wide, judged, few.rows) if judged.agreement > agreed + MARGIN else chosen


def _of_uneven_sizes(chosen: Chosen, labels: Labels, some: Compared, halves: Halves) -> Chosen | None:
    """The graph with coordinates over the common direction, if its clusters cut clearly less and it is surer.

    Outliers cut little too, but halves of the landmarks have others. All have a clump that stands alone: where one
    cluster more would be clearer, it would take the place of those that are sought.
    """
    graph, agreed = chosen.graph, chosen.judged.agreement
    if graph.next_gap > graph.gap:
        return None
    shares, weight = graph.shares[some.numbers], some.rows.weight
    allowed = LESS * cut_by(labels, shares, weight)
    if allowed <= ROOM * least_cut(graph, len(np.unique(labels))):
        return None
    other = over_common(graph, chosen.rows.weight)
    found = labels_of(some, other)
    if cut_by(found, shares, weight) > allowed:
        return None
    needed = max(SETTLED, 1 - (1 - agreed) / 2)
    surer = agree(some.rows, other, found, halves.over_common, needed, WAYS)
    return Chosen(other, Judgement(surer, purity_of(some, other, found)), chosen.rows) if surer >= needed else None


def doubted_graph(rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator) -> Chosen:
    """The same, and what speaks against it whatever other landmarks say."""
    chosen = plain_graph(rows, placing, drawn, size, rng)
    doubt = doubt_of(chosen.rows, chosen.graph, compared_rows(chosen.rows, rng), size.n_clusters)
    return chosen._replace(doubt=doubt)


def clearest_graph(rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator) -> Chosen:
    """The graph of rows as they are, or above the noise edge where that halves what is disagreed on.

    Neighbours by columns that say nothing are random ones, and another half of the landmarks has others. What is
    found above the edge then tells which columns these are.
    """
    chosen = plain_graph(rows, placing, drawn, size, rng)
    if chosen.judged.clear or hasattr(rows.X, "toarray"):
        return chosen
    some = compared_rows(rows, rng).rows
    directions = projection(some.X, some.weight, placing.offsets, size.n_clusters)
    edged = plain_graph(rows, replace(placing, projection=directions), drawn, size, rng)
    if 1 - edged.judged.agreement >= (1 - chosen.judged.agreement) / 2:
        return chosen
    return _of_telling_columns(edged, rows, placing, drawn, size, rng)


def _of_telling_columns(
    chosen: Chosen, rows: Rows, placing: Placing, drawn: Any, size: GraphSize, rng: np.random.Generator
) -> Chosen:
    """The graph of the columns that the clusters of one above the noise edge differ in, if it agrees better.

    Only from there: columns that are chosen by clusters make halves agree on these, so they must have been found
    without.
    """
    for _ in range(TELLING_ROUNDS):
        some = compared_rows(chosen.rows, rng)
        labels = labels_of(some, chosen.graph)
        columns = telling_columns(some.rows.X, some.rows.weight, placing.offsets, labels)
        told = plain_graph(rows, replace(placing, projection=columns), drawn, size, rng)
        if told.judged.agreement <= chosen.judged.agreement:
            break
        chosen = told
    return chosen
