"""What neighbours say for a number of clusters: groups that next to no neighbours join, whatever their shape.

Costs compare clusters around centres, and shapes have none. Two things mark a number of groups in a graph: near
neighbours of different groups are far fewer than in noise, and the spectrum has a wide gap behind as many
directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.choose.noise import plain_cloud
from powerkmeans.choose.path import Shared
from powerkmeans.features.graph.alike import ALIKE, agreement
from powerkmeans.features.graph.build import MORE, Graph, GraphSize, Rows, build_graph, n_directions, ties_with
from powerkmeans.features.graph.doubt import cut_by_a_column
from powerkmeans.features.graph.neighbours import FEW_NEIGHBORS
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.graph.shares import beyond_chance
from powerkmeans.features.graph.spectrum import WIDE, gaps
from powerkmeans.features.maps.base import Tools
from powerkmeans.fitting.clustering import cluster_features
from powerkmeans.fitting.task import Task
from powerkmeans.sources import in_memory, is_source, join_views
from powerkmeans.sources.joined import view_offsets
from powerkmeans.types import Float64Array, Views

# clouds of noise, and how fast groups are annealed: two digits will do
CLOUDS, HASTE = 4, 2.0
# groups are apart where neighbours cross at most this part of what they do in noise, by so many standard
# deviations of its logarithm, and the gap in the spectrum is wide
APART, SIGNIFICANT = 0.1, 4.0
# crossings that are none
_LEAST = 1e-4

Labels = NDArray[np.integer]


class Crossings(NamedTuple):
    """For each number of groups, one more on either side of those to choose from included.

    crossing : how often neighbours are of different groups, over how often they are by chance
    noise : the same of clouds with the same spread, the geometric mean
    deviation : by how much the logarithm of the latter varies
    gap : how far the eigenvalue behind is from one, over how far the last one is that is taken
    labels : the groups of the rows that are compared
    clearest : where the largest number of groups is that are apart and found again with more neighbours, if any is
    """

    numbers: list[int]
    crossing: Float64Array
    noise: Float64Array
    deviation: Float64Array
    gap: Float64Array
    labels: list[Labels]
    clearest: int | None = None

    @property
    def apart(self) -> list[int]:
        """Where groups are apart, among the numbers to choose from, the largest first."""
        bar = np.maximum(-math.log(APART), SIGNIFICANT * self.deviation)
        beyond = np.log(self.noise) - np.log(np.maximum(self.crossing, _LEAST)) >= bar
        found = np.flatnonzero((beyond & (self.gap > WIDE))[1:-1]) + 1
        return [int(at) for at in found[::-1]]

    def again(self, at: int, crossing: float, labels: Labels, weight: Float64Array) -> bool:
        """Whether groups of a graph with more neighbours are the same, and as far apart."""
        same = agreement(self.labels[at], labels, weight) >= ALIKE
        return bool(same and crossing <= APART * self.noise[at])


# no graph, and no pieces of it
NO_GRAPH: tuple[None, int] = (None, 0)


def find_crossings(full: Task, shared: Shared, numbers: list[int]) -> tuple[Crossings | None, int]:
    """Groups in a graph of the rows that are compared, and how many pieces it has that are no splinters.

    No groups where rows are too few for a graph, where it has splinters, or more pieces than groups are compared.
    """
    rows, offsets = _side_by_side(full, shared)
    weight, chosen = shared.given.weight, full.settings.n_neighbors
    count = FEW_NEIGHBORS if isinstance(chosen, str) else chosen
    if len(weight) <= 2 * count:
        return NO_GRAPH
    graph_with = partial(_graph, full, numbers[-1], rows=rows, offsets=offsets, weight=weight)
    graph = graph_with(count)
    if graph.n_neighbors > count:
        ties = ties_with(Rows(rows, weight, Tools()), graph, count)
        return None, 0 if ties.smallest_piece < count else ties.n_pieces
    crossings = _measured(full, graph, numbers, weight)
    if crossings.apart:
        wider = graph_with(round(MORE * count))
        cut = partial(_cut_by_a_column, Rows(rows, weight, Tools()), graph)
        crossings = crossings._replace(clearest=_found_again(full, crossings, wider, weight, cut))
    return crossings, graph.n_pieces


def _side_by_side(full: Task, shared: Shared) -> tuple[Any, tuple[int, ...]]:
    """The rows that are compared, all views in one table, and where views begin and end."""
    given = shared.given
    views = Views(full.prepared.views.names, tuple(map(in_memory, given.views)), given.weight, given.present)
    table = join_views(views).arrays[0]
    rows = table.take(np.arange(table.shape[0])) if is_source(table) else table
    return rows, view_offsets(table)


def _measured(full: Task, graph: Graph, numbers: list[int], weight: Float64Array) -> Crossings:
    """How groups of each number are crossed, in the graph and in noise."""
    found = [_groups(full, graph, k, weight) for k in numbers]
    noise = np.log([_of_noise(full, graph, numbers, weight, index) for index in range(CLOUDS)])
    return Crossings(
        numbers,
        crossing=np.array([share for share, _ in found]),
        noise=np.exp(np.mean(noise, axis=0)),
        deviation=np.std(noise, axis=0, ddof=1) * (1 + 1 / CLOUDS) ** 0.5,  # of one more cloud from their mean
        gap=gaps(graph.spectrum.values, numbers),
        labels=[labels for _, labels in found],
    )


def _found_again(
    full: Task, crossings: Crossings, wider: Graph, weight: Float64Array, cut: Callable[[Labels], bool]
) -> int | None:
    """Where the largest number of groups that are apart is that a graph with more neighbours has too.

    But for groups that a column of two values cuts out by itself, which no fit takes a graph for.
    """
    for at in crossings.apart:
        again = crossings.again(at, *_groups(full, wider, crossings.numbers[at], weight), weight)
        if again and not cut(crossings.labels[at]):
            return at
    return None


def _cut_by_a_column(rows: Rows, graph: Graph, labels: Labels) -> bool:
    return cut_by_a_column(rows, graph, np.arange(len(rows.weight)), lambda: labels)


def _graph(
    full: Task, n_clusters: int, n_neighbors: int, rows: Any, offsets: tuple[int, ...], weight: Float64Array
) -> Graph:
    """The graph with all rows as landmarks; views are weighed by what the largest number of groups tells."""
    tools = Tools(cluster=partial(_cluster, full, n_clusters))
    placing = Placing(origin_of(rows, offsets), offsets)
    return build_graph(Rows(rows, weight, tools), placing, rows, GraphSize(len(weight), n_neighbors, n_clusters))


def _groups(full: Task, graph: Graph, n_clusters: int, weight: Float64Array) -> tuple[float, Labels]:
    """How often neighbours are of different groups, and the groups."""
    values = graph.spectrum.values
    wide = gaps(values, [n_clusters])[0] > WIDE  # whether more neighbours find them again is asked in the end
    along = graph.along(max(2, n_clusters) if wide else n_directions(values, n_clusters))
    labels = _cluster(full, n_clusters, along.features, weight)
    return float(np.clip(1 - beyond_chance(graph.shares, labels, weight), 0, 1)), labels


def _of_noise(full: Task, graph: Graph, numbers: list[int], weight: Float64Array, index: int) -> list[float]:
    """How often neighbours are of different groups of a cloud, for each number of these."""
    rng = full.stream("noise of neighbours", str(index))
    cloud, weight = plain_cloud(full, graph.landmarks.weights, weight, rng)
    noise = _graph(full, numbers[-1], graph.n_neighbors, cloud, (0, cloud.shape[1]), weight)
    return [max(_groups(full, noise, k, weight)[0], _LEAST) for k in numbers]


def _cluster(full: Task, n_clusters: int, features: Float64Array, weight: Float64Array) -> Labels:
    if n_clusters == 1:
        return np.zeros(len(weight), dtype=np.int32)
    settings = replace(full.settings, n_clusters=n_clusters, anneal_factor=HASTE)
    return cluster_features(settings, full.seed, features, weight)
