"""What a graph says of samples beyond coordinates: how typical they are, what neighbours in each view say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.features.graph.votes import distance_shares, graph_typicality, view_votes
from powerkmeans.features.maps.graph import GraphMap, embedded
from powerkmeans.models.model import Model
from powerkmeans.types import Array, Block, Engine, Float64Array, Sums, Views, array_namespace

Inputs = tuple[GraphMap, Float64Array]


@dataclass
class NeighbourEvidence(Sums):
    """Sums per view over the samples that have it.

    count : weight of the samples
    distance : what the view adds to how far neighbours are
    same : share of the neighbours in this view alone that are of the sample's cluster
    agreement : weight of the samples whose neighbours in this view alone are mostly of their cluster
    margin : ``(a - b) / max(a, b)`` of the shares of the own cluster and the next
    sizes : (k,), weight of the samples of each cluster
    """

    count: Array
    distance: Array
    same: Array
    agreement: Array
    margin: Array
    sizes: Array


def opened(model: Model, views: Views, engine: object) -> tuple[Engine, Inputs]:
    """Raw rows, and the map with the clusters of its landmarks, (m, k)."""
    base = model.maps[0].base
    return open_engine(engine, model.used(views)), (base, _clusters_of_landmarks(model))


def _clusters_of_landmarks(model: Model) -> Float64Array:
    """One where a landmark is of a cluster."""
    base, n_clusters = model.maps[0].base, len(model.parameters.centers)
    landmarks = base.placed
    features = embedded(base.nearest(landmarks.rows, np), base.loading, np) - model.maps[0].mean
    return np.eye(n_clusters)[_nearest(features, model.parameters.centers)]


def _nearest(features: Float64Array, centers: Float64Array) -> Array:
    return np.argmin(np.vecdot(centers, centers) - 2 * features @ centers.T, axis=1)


def typicality_of(block: Block, inputs: Inputs, dtype: str) -> Array:
    """How typical samples are by their neighbours, (b,)."""
    base, clusters = inputs
    xp = array_namespace(block.weight)
    typical = graph_typicality(base.neighbours(block.views[0], xp), clusters, base.usual, xp)
    return xp.astype(typical, getattr(xp, dtype))


def shares_of_views(model: Model, views: Views, engine: object) -> Float64Array:
    """What each view adds to how far a sample's neighbours are, (n, L)."""
    with single_threaded_blas():
        rows, inputs = opened(model, views, engine)
        return rows.map_rows(_shares, inputs)


def _shares(block: Block, inputs: Inputs) -> Array:
    base, _ = inputs
    xp = array_namespace(block.weight)
    rows = base.placing(block.views[0], xp)
    return distance_shares(rows, base.placed, base.nearest(rows, xp), xp)


def neighbour_evidence(model: Model, views: Views, engine: object) -> NeighbourEvidence:
    """Compare the neighbours in each view alone with the clusters."""
    with single_threaded_blas():
        rows, inputs = opened(model, views, engine)
        centers, mean = model.parameters.centers, model.maps[0].mean
        return rows.fold(partial(_evidence, centers=centers, mean=mean), inputs)


def _evidence(block: Block, inputs: Inputs, centers: Float64Array, mean: Float64Array) -> NeighbourEvidence:
    base, clusters = inputs
    rows, landmarks = base.placing(block.views[0], np), base.placed
    found = base.nearest(rows, np)
    labels = _nearest(embedded(found, base.loading, np) - mean, centers)
    weight = np.asarray(block.weight, dtype=np.float64)
    per_view = [
        _of_view(view_votes(rows, landmarks, view, base.n_neighbors, clusters, np), labels, weight)
        for view in range(landmarks.n_views)
    ]
    count, same, agreement, margin = np.array(per_view).T
    distance = weight @ distance_shares(rows, landmarks, found, np)
    sizes = np.bincount(labels, weights=weight, minlength=len(centers))
    return NeighbourEvidence(count, distance, same, agreement, margin, sizes)


def _of_view(vote: Float64Array, labels: Array, weight: Float64Array) -> tuple[float, float, float, float]:
    has = ~np.isnan(vote[:, 0])
    vote, weight, labels = vote[has], weight[has], labels[has]
    at = np.arange(len(labels))
    same = vote[at, labels]
    vote[at, labels] = -1.0
    other = np.maximum(np.max(vote, axis=1, initial=0.0), 0.0)
    larger = np.maximum(same, other)
    margin = np.where(larger > 0, (same - other) / np.where(larger > 0, larger, 1), 0.0)
    return float(np.sum(weight)), float(weight @ same), float(weight @ (same >= other)), float(weight @ margin)


def table_columns(sums: NeighbourEvidence, weights: Float64Array, total: float) -> dict[str, Any]:
    """The columns of the table of views."""
    counted = np.where(sums.count > 0, sums.count, np.nan)
    share = sums.sizes / max(float(np.sum(sums.sizes)), np.finfo(np.float64).tiny)
    chance = float(share @ share)
    beyond = (sums.same / counted - chance) / (1 - chance) if chance < 1 else np.zeros(len(weights))
    return {
        "coverage": sums.count / total,
        "weight": weights,
        "distance_share": sums.distance / max(float(np.sum(sums.distance)), np.finfo(np.float64).tiny),
        "explained": beyond,
        "agreement": sums.agreement / counted,
        "silhouette": sums.margin / counted,
    }
