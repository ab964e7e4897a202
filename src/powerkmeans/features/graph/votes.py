"""What the neighbours of rows say about clusters, once landmarks have labels."""

from __future__ import annotations

from typing import Any

from powerkmeans.features.graph.distances import Landmarks, Measure, alike, bounded, taken
from powerkmeans.features.graph.neighbours import Neighbours, neighbours
from powerkmeans.types import Array, device_of

# how many times the usual distance, squared, a sample's neighbours are from it where it is half typical
FAR_AT_HALF = 2.0


def votes(found: Neighbours, clusters: Array, xp: Any, *, others: bool = False) -> Array:
    """The share of each row's neighbours in each cluster, (b, k); ``clusters`` are the landmarks', (m, k).

    ``others`` leaves out the row itself.
    """
    share = found.share
    if others:
        first = xp.where(found.itself, xp.zeros_like(share[:, 0]), share[:, 0])
        share = xp.concat([first[:, None], share[:, 1:]], axis=1)
        total = xp.sum(share, axis=1, keepdims=True)
        share = share / xp.where(total > 0, total, xp.ones_like(total))
    parts = [
        share[:, rank][:, None] * xp.take(clusters, found.index[:, rank], axis=0) for rank in range(share.shape[1])
    ]
    return sum(parts[1:], parts[0])


def graph_typicality(found: Neighbours, clusters: Array, usual: float, xp: Any) -> Array:
    """``1 / (1 + rho / 2)``, (b,), with ``rho`` how far neighbours are over how much they are of one cluster.

    Distances are squared, over the usual one and the root of the largest vote. Without any neighbour it is 0.
    """
    vote = xp.max(votes(found, clusters, xp), axis=1)
    near = usual * FAR_AT_HALF * xp.sqrt(vote)
    return xp.where(xp.isnan(vote), xp.zeros_like(vote), near / (near + found.reach))


def view_votes(rows: Any, landmarks: Landmarks, view: int, count: int, clusters: Array, xp: Any) -> Array:
    """The same by the other neighbours in one view alone; not a number for rows without the view."""
    alone, has = landmarks.alone(view, xp), None
    if landmarks.n_views > 1:
        clusters = xp.take(clusters, xp.nonzero(landmarks.present(landmarks.rows)[:, view])[0], axis=0)
        has = landmarks.present(rows)[:, view] > 0
    found = _votes_of(landmarks.views(rows)[view], alone, count, clusters, xp)
    return found if has is None else xp.where(has[:, None], found, xp.full_like(found, xp.nan))


def _votes_of(rows: Any, landmarks: Landmarks, count: int, clusters: Array, xp: Any) -> Array:
    n_landmarks = landmarks.rows.shape[0]
    if n_landmarks == 0:  # nobody votes
        return xp.zeros((rows.shape[0], clusters.shape[1]), dtype=clusters.dtype, device=device_of(clusters))
    found = neighbours(rows, landmarks, max(1, min(count, n_landmarks - 1)), xp)
    return votes(found, clusters, xp, others=True)


def distance_shares(rows: Any, landmarks: Landmarks, found: Neighbours, xp: Any) -> Array:
    """``alpha_l h_l / spread_l`` of each row to its neighbours, (b, L): what views add to how far they are."""
    measure, rows = Measure(landmarks, xp), alike(rows, landmarks)
    scale = landmarks.weights / landmarks.spread
    total = xp.zeros((rows.shape[0], landmarks.n_views), dtype=scale.dtype, device=device_of(scale))
    for rank in range(found.index.shape[1]):
        near = taken(landmarks.rows, found.index[:, rank], xp)
        parts = [bounded(d, landmarks.typical[view]) for view, d in enumerate(measure.by_view(rows, near))]
        both = landmarks.present(rows) * landmarks.present(near) if landmarks.n_views > 1 else 1.0
        total += found.share[:, rank][:, None] * both * xp.stack(parts, axis=1) * scale
    return total
