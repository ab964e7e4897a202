"""What a fitted model, and each view by itself, says about the samples of a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from powerkmeans.objective.block import (
    PassInput,
    block_labels,
    combined_distance,
    covered,
    memberships,
    sample_distances,
    view_cover,
    view_distances,
)
from powerkmeans.types import Array, Block, Sums, array_namespace, device_of


@dataclass
class Evidence(Sums):
    """Sums per view over the samples that have it; ``a`` is the cluster of a sample.

    count : ``sum_i v_i o_il``
    share : ``sum_i v_i alpha_l q_il d_ial``
    within : ``sum_i v_i o_il d_ial``
    total : ``sum_i v_i o_il ||phi_il||^2``, about the mean of the training samples
    agreement : weight of the samples whose nearest centroid in this view alone is that of their cluster
    silhouette : ``sum_i v_i o_il (b - a) / max(a, b)`` with the distances to its centroid and to the next
    """

    count: Array
    share: Array
    within: Array
    total: Array
    agreement: Array
    silhouette: Array


def view_evidence(block: Block, inputs: PassInput) -> Evidence:
    """Compare the distances in each view with the clusters that all views found together."""
    xp = array_namespace(block.views[0])
    labels, cover = block_labels(block, inputs), view_cover(block, xp)
    rows: dict[str, list[Array]] = {name: [] for name in Evidence.__dataclass_fields__}
    for index, distance in enumerate(view_distances(block, inputs, xp)):
        weight = block.weight
        if block.present is not None:
            weight = weight * xp.astype(block.present[index, :], weight.dtype)
        share = inputs.view_weights[index] * (block.weight if cover is None else block.weight * cover[index, :])
        assigned, other = _assigned_and_next(distance, labels, xp)
        sums = {
            "count": xp.sum(weight),
            "share": xp.linalg.vecdot(share, assigned),
            "within": xp.linalg.vecdot(weight, assigned),
            "total": xp.linalg.vecdot(weight, block.squared_norms[index]),
            "agreement": xp.sum(xp.where(assigned <= other, weight, xp.zeros_like(weight))),
            "silhouette": xp.linalg.vecdot(weight, _margin(assigned, other, xp)),
        }
        for name, value in sums.items():
            rows[name].append(value)
    return Evidence(**{name: xp.stack(values) for name, values in rows.items()})


def _margin(assigned: Array, other: Array, xp: Any) -> Array:
    """``(b - a) / max(a, b)`` of two distances that are given squared; 0 where both are."""
    farther = xp.maximum(assigned, other)
    apart = farther > 0
    difference = xp.where(apart, other**0.5 - assigned**0.5, xp.zeros_like(assigned))
    return difference / xp.where(apart, farther, xp.ones_like(farther)) ** 0.5


def _assigned_and_next(distance: Array, labels: Array, xp: Any) -> tuple[Array, Array]:
    """Squared distance to the centroid of the cluster and to the nearest other one; the same if there is none."""
    numbers = xp.arange(distance.shape[0], dtype=labels.dtype, device=device_of(distance))
    chosen = numbers[:, None] == labels
    assigned = xp.sum(xp.where(chosen, distance, xp.zeros_like(distance)), axis=0)
    if distance.shape[0] == 1:
        return assigned, assigned
    return assigned, xp.min(xp.where(chosen, xp.max(distance) + 1, distance), axis=0)


@dataclass
class Explained(Sums):
    """``sum_i v_i (sum_l alpha_l q_il ||phi_il||^2 - min_j dbar_ij)``: what clusters explain of the scatter."""

    value: Array


def explained_scatter(block: Block, inputs: PassInput) -> Explained:
    """How much nearer samples are to their centroid than to the mean of the training samples."""
    xp = array_namespace(block.views[0])
    lengths = combined_distance(covered(list(block.squared_norms), view_cover(block, xp)), inputs)
    nearest = xp.min(sample_distances(block, inputs, xp)[0], axis=0)
    return Explained(xp.linalg.vecdot(block.weight, lengths - nearest))


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
        assigned, _ = _assigned_and_next(distance, labels, xp)
        shares.append(inputs.view_weights[index] * (assigned if cover is None else assigned * cover[index, :]))
    return xp.stack(shares, axis=1)
