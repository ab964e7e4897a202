"""Whether clusters are more than a way to cut the data: how far apart they are beside those of noise.

Two things are compared, each between the model's clusters and those of clouds without any. How often near
neighbours are of different clusters tells of gaps, between shapes of any kind; there the clouds are cut as the
model was, by a graph or around centroids. The share of the spread that stays within clusters tells of compact
ones, which may touch; there the clouds are cut around centroids, which leave the least. One of both is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from powerkmeans.choose.noise import uniform_cloud
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import some_rows
from powerkmeans.estimators import KernelPowerKMeans
from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.features.graph.alike import agreement
from powerkmeans.features.graph.build import GraphSize, Rows, build_graph
from powerkmeans.features.graph.placing import Placing
from powerkmeans.features.maps.base import Tools
from powerkmeans.features.pairs import as_dense
from powerkmeans.fitting.baseline import principal
from powerkmeans.fitting.clustering import cluster_features
from powerkmeans.inputs.settings import check_settings
from powerkmeans.models.answers import apply
from powerkmeans.models.graph_answers import picture_columns
from powerkmeans.models.model import Model
from powerkmeans.objective.block import block_labels, weighted_features
from powerkmeans.objective.distances import squared_distances
from powerkmeans.sources import is_source
from powerkmeans.support.draws import STATISTIC_ROWS, stream
from powerkmeans.types import Array, Float64Array, Views

# rows that are looked at, for each cluster and at least; and how many there must be
ROWS_PER_CLUSTER, ROWS, FEWEST_PER_CLUSTER, FEWEST = 10, 500, 5, 20
# leading directions that are looked at, and neighbours of each row
DIRECTIONS, NEIGHBOURS = 50, 10
# clouds of noise, those after which a clear answer is taken, and how fast they are annealed: two digits will do
CLOUDS, FIRST_CLOUDS, HASTE = 12, 4, 2.0
# agreement between halves from which clusters come back, or come back in part
COME_BACK, IN_PART = 0.8, 0.5

Labels = NDArray[np.integer]
Cut = Callable[[Float64Array], Labels]
Measure = Callable[[Float64Array, Labels], float]


class Bar(NamedTuple):
    """By how much a logarithm must be below that of noise, at least and in standard deviations of noise.

    clear : deviations from which a few clouds are enough
    """

    least: float
    significant: float
    clear: float = 10.0


# below these is what clouds of other shapes than boxes have: triangles, tails (benchmarks/separation.py)
GAP, COMPACT = Bar(0.25, 4.0), Bar(0.1, 3.5)


class Compared(NamedTuple):
    """A share of the model's clusters and of those of noise, and whether it is clearly lower."""

    found: float
    noise: float
    beyond: bool


class Separation(NamedTuple):
    """What :func:`find_separation` found.

    crossing : how often near neighbours are of different clusters, over how often that is by chance
    within : the share of the spread that stays within clusters; None where the first is enough
    stability : how much clusters of halves of the samples agree with each other and with the model's, up to 1;
        None where that is not known
    graph : whether the halves are those of a graph's landmarks
    """

    crossing: Compared
    within: Compared | None
    stability: float | None
    graph: bool

    @property
    def separated(self) -> bool:
        """Whether the clusters are more separated than those of noise."""
        return self.crossing.beyond or (self.within is not None and self.within.beyond)

    @property
    def sentence(self) -> str:
        """What that means, in one sentence."""
        crossing = "near neighbours are of different clusters {} as often as by chance (noise: {})".format(
            *map(_percent, self.crossing[:2])
        )
        if self.within is None:
            return f"By their neighbours the {_MORE}: {crossing}{self._stability()}."
        within = "{} of the spread stays within clusters (noise: {})".format(*map(_percent, self.within[:2]))
        return (
            f"By their spread the {_MORE}: {within}{self._stability()}."
            if self.separated
            else f"{_NO_MORE}: {crossing}, and {within}."
        )

    def _stability(self) -> str:
        if self.stability is None:
            return ""
        left_out = "half of the samples left out" + (" of the graph" if self.graph else "")
        agreed = f"(agreement {max(self.stability, 0.0):.2f} of 1)"
        if self.stability >= COME_BACK:
            return f"; with {left_out} they come back {agreed}"
        if self.stability >= IN_PART:
            return f"; with {left_out} they come back in part {agreed}"
        return f"; but with {left_out} other clusters come back {agreed}"


_MORE = "clusters are more separated than those of noise of the same spread"
_NO_MORE = "The clusters are no more separated than those of noise of the same spread"


def find_separation(estimator: Any, X: Any, *, present: Any = None) -> Separation | None:
    """Compare the clusters of a fitted model with those of noise.

    Parameters
    ----------
    estimator : fitted KernelPowerKMeans or MultiViewPowerKMeans
        The model.
    X : as in the estimator's ``fit``
        The samples that the model was fitted to; at most 2000 of them are looked at.
    present : as in :meth:`MultiViewPowerKMeans.fit`, optional
        Which samples have which views.

    Returns
    -------
    Separation or None
        None if there is nothing to compare: one cluster, few samples for each, or a kernel matrix without samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.choose.separation import find_separation
    >>> X = load_iris().data
    >>> find_separation(KernelPowerKMeans(3, random_state=0).fit(X), X).separated
    True

    """
    if not isinstance(estimator, PowerKMeansBase):
        raise TypeError(f"find_separation takes an estimator of powerkmeans, got a {type(estimator).__name__}.")
    check_is_fitted(estimator)
    return separation_of(estimator, estimator._check_new(X, present, None))


def separation_of(estimator: PowerKMeansBase, views: Views) -> Separation | None:
    """The same of samples that are checked already."""
    model = estimator._fit.model
    n_clusters = len(model.parameters.centers)
    if n_clusters == 1 or any(feature_map.base.given for feature_map in model.maps):
        return None
    some = some_rows(views, estimator.engine, int(np.clip(ROWS_PER_CLUSTER * n_clusters, ROWS, STATISTIC_ROWS)))
    labels = np.asarray(apply(model, some, estimator.engine, block_labels))
    if len(labels) < max(FEWEST, FEWEST_PER_CLUSTER * n_clusters) or len(np.unique(labels)) == 1:
        return None
    with single_threaded_blas():
        table = _leading(_columns(model, some))
        around = partial(_clusters, n_clusters)
        clouds = _Clouds(table, around)
        same = _Clouds(table, partial(_graph_clusters, model, around)) if model.fuses else clouds
        crossing = _compare(_crossing, table, labels, same, GAP)
        within = None if crossing.beyond else _compare(_within, table, labels, clouds, COMPACT)
        return Separation(crossing, within, _stability(estimator, some, labels), model.fuses)


class _Clouds:
    """Clouds without clusters, with the spread of a table, and how they are cut; made when they are asked for."""

    def __init__(self, table: Float64Array, cut: Cut) -> None:
        self._table, self._cut, self._made = table, cut, list[tuple[Float64Array, Labels]]()

    def __getitem__(self, index: int) -> tuple[Float64Array, Labels]:
        while len(self._made) <= index:
            cloud = uniform_cloud(self._table, stream(0, "separation", str(len(self._made))))
            self._made.append((cloud, self._cut(cloud)))
        return self._made[index]


def _compare(measure: Measure, table: Float64Array, labels: Labels, clouds: _Clouds, bar: Bar) -> Compared:
    """A measure of the table's clusters beside that of noise: of a few clouds where these leave no doubt."""
    found = measure(table, labels)
    for count in (FIRST_CLOUDS, CLOUDS):
        noise = np.array([measure(*clouds[index]) for index in range(count)])
        logs = np.log(noise)
        gap = float(np.mean(logs)) - math.log(found)
        deviation = float(np.std(logs, ddof=1)) * (1 + 1 / count) ** 0.5  # of one more cloud from their mean
        beyond = gap > max(bar.least, bar.significant * deviation)
        if gap <= bar.least or gap > bar.clear * deviation:
            break
    return Compared(found, float(np.exp(np.mean(logs))), beyond)


def _columns(model: Model, some: Views) -> Float64Array:
    """Samples by their columns: each view at the same spread, times its weight, and who lacks it amid all."""
    n_rows = len(some.weight)
    if model.fuses:
        return picture_columns(model, some, np.zeros(n_rows, dtype=np.int32))
    used, parts = model.used(some), []
    for index, weight in enumerate(model.parameters.view_weights):
        rows = as_dense(_held(used, index)).astype(np.float64)
        has = np.ones(n_rows, dtype=bool) if used.present is None else used.present[:, index]
        rows = np.where(has[:, None], rows - np.mean(rows[has], axis=0) if np.any(has) else 0, 0)
        scatter = float(np.mean(np.vecdot(rows[has], rows[has]))) if np.any(has) else 0.0
        parts.append(rows * (weight / scatter) ** 0.5 if scatter > 0 else rows)
    return np.concatenate(parts, axis=1)


def _held(views: Views, index: int) -> Any:
    """The rows of a view, read if they are those of a file."""
    array = views.arrays[index]
    present = None if views.present is None else views.present[:, index]
    return array.take(np.arange(array.shape[0]), present) if is_source(array) else array


def _leading(table: Float64Array) -> Float64Array:
    """The table along its leading directions, about its mean."""
    offset = table - np.mean(table, axis=0)
    if min(offset.shape) == 0 or offset.shape[1] <= DIRECTIONS:
        return offset
    if offset.shape[1] > offset.shape[0]:  # as many directions as rows hold all there is
        values, vectors = np.linalg.eigh(offset @ offset.T)
        offset = vectors * np.sqrt(np.maximum(values, 0))
    _, directions = principal(offset)
    order = np.argsort(-np.sum((offset @ directions.T) ** 2, axis=0), kind="stable")[:DIRECTIONS]
    return offset @ directions[order].T


def _crossing(table: Float64Array, labels: Labels) -> float:
    """How often near neighbours are of different clusters, over how often any two rows are."""
    neighbours = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(table) - 1)).fit(table)
    nearest = neighbours.kneighbors(return_distance=False)
    share = np.bincount(labels) / len(labels)
    chance = max(1 - float(share @ share), 1 / len(labels))
    crossing = float(np.mean(labels[nearest] != labels[:, None]))
    return max(crossing, 1 / len(labels) / NEIGHBOURS) / chance  # next to none is none


def _within(table: Float64Array, labels: Labels) -> float:
    """The share of the spread that stays within clusters."""
    offset = table - np.mean(table, axis=0)
    total = max(float(np.sum(offset**2)), np.finfo(np.float64).tiny)
    left = float(np.sum((table - _means(table, labels)[labels]) ** 2))
    return max(left / total, np.finfo(np.float64).eps)


def _means(table: Float64Array, labels: Labels) -> Float64Array:
    """The mean of each cluster, zero where it has no rows."""
    member = (labels[:, None] == np.arange(int(np.max(labels)) + 1)).astype(np.float64)
    return member.T @ table / np.maximum(np.sum(member, axis=0), 1)[:, None]


def _clusters(n_clusters: int, features: Float64Array) -> Labels:
    estimator = KernelPowerKMeans(n_clusters, anneal_factor=HASTE)
    return cluster_features(check_settings(estimator.get_params(deep=False)), 0, features, np.ones(len(features)))


def _graph_clusters(model: Model, plain: Cut, table: Float64Array) -> Labels:
    weight, width = np.ones(len(table)), table.shape[1]
    size = GraphSize(len(table), model.maps[0].base.n_wanted, len(model.parameters.centers))
    tools = Tools(cluster=lambda features, *_: plain(features))
    graph = build_graph(Rows(table, weight, tools), Placing(np.zeros(width), (0, width)), table, size)
    return plain(graph.features)


def _stability(estimator: PowerKMeansBase, some: Views, labels: Labels) -> float | None:
    """What clusters of halves of the samples agree on: the mean over these and the model's."""
    model = estimator._fit.model
    if model.fuses:
        return float(model.maps[0].base.agreement)
    if any(model.problem.is_dual(view) for view in range(len(model.maps))):
        return None
    features = _leading(apply(model, some, estimator.engine, weighted_features).astype(np.float64))
    order = stream(0, "separation", "halves").permutation(len(labels))
    answers = [labels, *(_by_half(features, np.sort(half), model) for half in (order[::2], order[1::2]))]
    weight = np.ones(len(labels))
    return float(np.mean([agreement(one, other, weight) for one, other in combinations(answers, 2)]))


def _by_half(features: Float64Array, half: NDArray[np.integer], model: Model) -> Array:
    """Clusters of all rows by the centroids that half of them have."""
    found = _clusters(len(model.parameters.centers), features[half])
    return np.argmin(squared_distances(_means(features[half], found), features, np), axis=0)


def _percent(share: float) -> str:
    if share < 0.001:
        return "less than 0.1\u00a0%"
    return f"{100 * share:.2g}\u00a0%" if share < 0.995 else f"{100 * share:.0f}\u00a0%"
