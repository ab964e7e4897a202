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
from powerkmeans.features.graph.build import Graph, GraphSize, Rows, build_graph, n_directions
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
    """

    numbers: list[int]
    crossing: Float64Array
    noise: Float64Array
    deviation: Float64Array
    gap: Float64Array
    labels: list[Labels]

    @property
    def clearest(self) -> int | None:
        """Where the largest number of groups is that are apart, among those to choose from; None if none are."""
        bar = np.maximum(-math.log(APART), SIGNIFICANT * self.deviation)
        apart = (np.log(self.noise) - np.log(np.maximum(self.crossing, _LEAST)) >= bar) & (self.gap > WIDE)
        found = np.flatnonzero(apart[1:-1]) + 1
        return int(found[-1]) if len(found) else None


def find_crossings(full: Task, shared: Shared, numbers: list[int]) -> Crossings | None:
    """Groups in a graph of the rows that are compared.

    None where these are too few for one, or where it has splinters, or more pieces than there are groups to choose
    from.
    """
    given = shared.given
    views = Views(full.prepared.views.names, tuple(map(in_memory, given.views)), given.weight, given.present)
    table = join_views(views).arrays[0]
    rows = table.take(np.arange(table.shape[0])) if is_source(table) else table
    count = FEW_NEIGHBORS if isinstance(full.settings.n_neighbors, str) else full.settings.n_neighbors
    if len(given.weight) <= 2 * count:
        return None
    graph_of = partial(_graph, full, numbers[-1], count)
    graph = graph_of(rows, view_offsets(table), given.weight)
    if graph.n_neighbors > count:
        return None
    found = [_groups(full, graph, k, given.weight) for k in numbers]
    noise = np.log([_of_noise(full, graph, numbers, graph_of, index) for index in range(CLOUDS)])
    deviation = np.std(noise, axis=0, ddof=1) * (1 + 1 / CLOUDS) ** 0.5  # of one more cloud from their mean
    crossing, labels = np.array([share for share, _ in found]), [labels for _, labels in found]
    between = gaps(graph.spectrum.values, numbers)
    return Crossings(numbers, crossing, np.exp(np.mean(noise, axis=0)), deviation, between, labels)


def _graph(
    full: Task, n_clusters: int, n_neighbors: int, rows: Any, offsets: tuple[int, ...], weight: Float64Array
) -> Graph:
    """The graph with all rows as landmarks; views are weighed by what the largest number of groups tells."""
    tools = Tools(cluster=partial(_cluster, full, n_clusters))
    placing = Placing(origin_of(rows, offsets), offsets)
    return build_graph(Rows(rows, weight, tools), placing, rows, GraphSize(len(weight), n_neighbors, n_clusters))


def _groups(full: Task, graph: Graph, n_clusters: int, weight: Float64Array) -> tuple[float, Labels]:
    """How often neighbours are of different groups, and the groups."""
    along = graph.along(n_directions(graph.spectrum.values, n_clusters))
    labels = _cluster(full, n_clusters, along.features, weight)
    return float(np.clip(1 - beyond_chance(graph.shares, labels, weight), 0, 1)), labels


def _of_noise(
    full: Task, graph: Graph, numbers: list[int], graph_of: Callable[..., Graph], index: int
) -> list[float]:
    """How often neighbours are of different groups of a cloud, for each number of these."""
    size, rng = graph.shares.shape[0], full.stream("noise of neighbours", str(index))
    cloud, weight = plain_cloud(full, graph.landmarks.weights, size, rng), np.ones(size)
    noise = graph_of(cloud, (0, cloud.shape[1]), weight)
    return [max(_groups(full, noise, k, weight)[0], _LEAST) for k in numbers]


def _cluster(full: Task, n_clusters: int, features: Float64Array, weight: Float64Array) -> Labels:
    if n_clusters == 1:
        return np.zeros(len(weight), dtype=np.int32)
    settings = replace(full.settings, n_clusters=n_clusters, anneal_factor=HASTE)
    return cluster_features(settings, full.seed, features, weight)
