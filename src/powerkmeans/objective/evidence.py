"""What a fitted model, and each view by itself, says about the samples of a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from powerkmeans.objective.block import (
    PassInput,
    block_labels,
    memberships,
    sample_distances,
    view_cover,
    view_distances,
)
from powerkmeans.types import Array, Block, Sums, array_namespace


@dataclass
class Evidence(Sums):
    """Sums per view over the samples that have it; ``a`` is the cluster of a sample.

    count : ``sum_i v_i o_il``
    share : ``sum_i v_i alpha_l q_il d_ial``
    within : ``sum_i v_i o_il d_ial``
    total : ``sum_i v_i o_il ||phi_il||^2``, about the mean of the training samples
    agreement : weight of the samples whose nearest centroid in this view alone is that of their cluster
    silhouette : ``sum_i v_i o_il (b - a) / max(a, b)`` with the distances to the own and the next centroid
    """

    count: Array
    share: Array
    within: Array
    total: Array
    agreement: Array
    silhouette: Array


def view_evidence(block: Block, inputs: PassInput) -> Evidence:
    """Compare each view's own distances with the clusters that all views found together."""
    xp = array_namespace(block.views[0])
    labels, cover = block_labels(block, inputs), view_cover(block, xp)
    rows: dict[str, list[Array]] = {name: [] for name in Evidence.__dataclass_fields__}
    for index, distance in enumerate(view_distances(block, inputs, xp)):
        there = block.weight if block.present is None else block.weight * block.present[index]
        share = inputs.view_weights[index] * (block.weight if cover is None else block.weight * cover[index])
        own, other = _own_and_next(distance, labels, xp)
        farther = xp.maximum(own, other)
        margin = xp.where(farther > 0, other**0.5 - own**0.5, 0 * own) / xp.where(farther > 0, farther, 1) ** 0.5
        sums = {
            "count": xp.sum(there),
            "share": xp.vecdot(share, own),
            "within": xp.vecdot(there, own),
            "total": xp.vecdot(there, block.squared_norms[index]),
            "agreement": xp.sum(xp.where(own <= other, there, 0 * there)),
            "silhouette": xp.vecdot(there, margin),
        }
        for name, value in sums.items():
            rows[name].append(value)
    return Evidence(**{name: xp.stack(values) for name, values in rows.items()})


def _own_and_next(distance: Array, labels: Array, xp: Any) -> tuple[Array, Array]:
    """Squared distance to the own centroid and to the nearest other one; the own again if there is no other."""
    mine = xp.arange(distance.shape[0])[:, None] == labels
    own = xp.sum(xp.where(mine, distance, 0 * distance), axis=0)
    if distance.shape[0] == 1:
        return own, own
    largest = xp.max(distance) + 1
    return own, xp.min(xp.where(mine, largest, distance), axis=0)


def labels_and_probabilities(block: Block, inputs: PassInput) -> Array:
    """Of each sample its cluster and the probability of it, (b, 2), from distances taken once."""
    xp = array_namespace(block.views[0])
    distance, reference = sample_distances(block, inputs, xp)
    label = xp.astype(xp.argmin(distance, axis=0), distance.dtype)
    probability = xp.max(memberships(distance, reference, inputs, xp), axis=0)
    return xp.stack([label, probability], axis=1)


def view_shares(block: Block, inputs: PassInput) -> Array:
    """``alpha_l q_il d_ial``, (b, L): what each view adds to a sample's distance from its centroid ``a``."""
    xp = array_namespace(block.views[0])
    labels, cover = block_labels(block, inputs), view_cover(block, xp)
    shares = []
    for index, distance in enumerate(view_distances(block, inputs, xp)):
        own, _ = _own_and_next(distance, labels, xp)
        shares.append(inputs.view_weights[index] * (own if cover is None else own * cover[index]))
    return xp.stack(shares, axis=1)
