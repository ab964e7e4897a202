"""What a graph says of samples beyond coordinates: how typical they are, what neighbours in each view say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import search_of
from powerkmeans.features.graph.votes import distance_shares, graph_typicality, view_votes
from powerkmeans.features.maps.graph import GraphMap, embedded
from powerkmeans.features.pairs import as_dense
from powerkmeans.models.model import Model
from powerkmeans.sources import is_source
from powerkmeans.types import Array, Block, Engine, Float64Array, Sums, Views, array_namespace, device_of

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
    rows = open_engine(engine, model.used(views))
    base = replace(model.maps[0].base, search=search_of(rows.passes))
    return rows, (base, _clusters_of_landmarks(base, model))


def picture_columns(model: Model, views: Views, labels: Array) -> Float64Array:
    """Samples as a graph sees them, before there are neighbours: columns side by side, for pictures.

    Each view over the distance that is usual in it and by its weight; who is far is brought nearer, and who lacks
    it is amid those of its cluster.
    """
    base = model.maps[0].base
    (array,) = model.used(views).arrays
    rows = array.take(np.arange(array.shape[0])) if is_source(array) else array
    placed, landmarks = as_dense(base.placing(rows, np)), base.placed
    marks = landmarks.present(placed) > 0 if landmarks.n_views > 1 else np.ones((len(placed), 1), dtype=bool)
    parts = [_nearer(part, landmarks.typical[view]) for view, part in enumerate(landmarks.views(placed))]
    for view, part in enumerate(parts):
        fill_absent(part, marks[:, view], labels)
    return np.concatenate([weight**0.5 * part for weight, part in zip(base.weights, parts, strict=True)], axis=1)


def _nearer(rows: Float64Array, typical: float) -> Float64Array:
    """Rows in units of the usual distance, none farther from the middle than four of these."""
    squares = np.vecdot(rows, rows)[:, None] / typical
    return rows / np.sqrt(typical * (1 + squares / 16))


def fill_absent(features: Array, present: Array, labels: Array) -> None:
    """Put rows that a view lacks at the mean of those of their cluster that it has."""
    for cluster in np.unique(labels[~present]):
        members = labels == cluster
        have = members & present
        features[members & ~present] = np.mean(features[have], axis=0) if np.any(have) else 0


def _clusters_of_landmarks(base: GraphMap, model: Model) -> Float64Array:
    """One where a landmark is of a cluster."""
    features = base.embedded(base.landmarks, np) - model.maps[0].mean
    centers = model.parameters.centers
    return np.eye(len(centers))[_nearest(features, centers)]


def _nearest(features: Array, centers: Array) -> Array:
    xp = array_namespace(features)
    return xp.argmin(xp.linalg.vecdot(centers, centers) - 2 * features @ centers.T, axis=1)


def typicality_of(block: Block, inputs: Inputs, dtype: str) -> Array:
    """How typical samples are by their neighbours, (b,)."""
    base, clusters = inputs
    xp = array_namespace(block.weight)
    found = base.scoring(base.placing(block.views[0], xp), xp)
    typical = graph_typicality(found, clusters, base.usual, xp)
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
        rows, (base, clusters) = opened(model, views, engine)
        return rows.on_parts(
            _evidence_of_part, (replace(base, search=None), clusters, model.parameters.centers, model.maps[0].mean)
        )


def _evidence_of_part(engine: Engine, inputs: tuple[GraphMap, Array, Array, Array]) -> NeighbourEvidence:
    """The same where some of the rows are."""
    base, *others = inputs
    return engine.fold(_evidence, (replace(base, search=search_of(engine.passes)), *others))


def _evidence(block: Block, inputs: tuple[GraphMap, Array, Array, Array]) -> NeighbourEvidence:
    base, clusters, centers, mean = inputs
    xp = array_namespace(block.weight)
    rows, landmarks = base.placing(block.views[0], xp), base.placed
    found = base.nearest(rows, xp)
    labels = _nearest(embedded(found, base.loading, xp) - mean, centers)
    assigned = labels[:, None] == xp.arange(centers.shape[0], device=device_of(labels))[None, :]
    weight = xp.astype(block.weight, xp.float64)
    per_view = [
        _of_view(view_votes(rows, landmarks, view, base.n_neighbors, clusters, xp), assigned, weight, xp)
        for view in range(landmarks.n_views)
    ]
    count, same, agreement, margin = (xp.stack(values) for values in zip(*per_view, strict=True))
    distance = weight @ distance_shares(rows, landmarks, found, xp)
    sizes = weight @ xp.astype(assigned, weight.dtype)
    return NeighbourEvidence(count, distance, same, agreement, margin, sizes)


def _of_view(vote: Array, assigned: Array, weight: Array, xp: Any) -> tuple[Array, Array, Array, Array]:
    """Sums over the samples that have the view; ``assigned`` is where each has its cluster, (b, k)."""
    zero = xp.zeros_like(vote)
    has = ~xp.isnan(vote[:, 0])
    weight, vote = xp.where(has, weight, zero[:, 0]), xp.where(has[:, None], vote, zero)
    same = xp.sum(xp.where(assigned, vote, zero), axis=1)
    other = xp.max(xp.where(assigned, zero, vote), axis=1)
    larger = xp.maximum(same, other)
    margin = xp.where(larger > 0, (same - other) / xp.where(larger > 0, larger, xp.ones_like(larger)), zero[:, 0])
    agrees = xp.where(same >= other, weight, zero[:, 0])
    return xp.sum(weight), weight @ same, xp.sum(agrees), weight @ margin


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
