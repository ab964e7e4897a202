"""One block of rows: its statistics, and what a fitted model says of its samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from powerkmeans.objective.power_mean import power_mean
from powerkmeans.types import Array, Block, Membership, Parameters, PassStatistics, Problem, array_namespace

# squared distances below this share of the squared norms are taken from differences where digits matter
SMALL = 1e-6


@dataclass(frozen=True)
class PassInput:
    """Parameters in the form that every block of one pass uses, made once a pass.

    projections : per view ``-2 theta^T``, (p_l, k), so that one product gives the cross term
    center_norms : per view ``||theta_jl||^2``, (k, 1)
    reference : ``sum_l alpha_l eta_l``
    """

    membership: Membership
    s: float
    view_weights: tuple[float, ...]
    reference: float
    projections: tuple[Array, ...]
    center_norms: tuple[Array, ...]


def prepare(parameters: Parameters, s: float, problem: Problem, dtype: np.dtype[Any]) -> PassInput:
    """Cast the parameters to the precision of the data and fold in what does not change in a pass."""
    centers = [parameters.centers[:, part] for part in problem.view_slices]
    return PassInput(
        membership=problem.membership,
        s=s,
        view_weights=tuple(float(weight) for weight in parameters.view_weights),
        reference=float(parameters.view_weights @ problem.reference_distance),
        projections=tuple(np.ascontiguousarray((-2 * c).T, dtype=dtype) for c in centers),
        center_norms=tuple(np.sum(c * c, axis=1, keepdims=True).astype(dtype) for c in centers),
    )


def block_statistics(block: Block, inputs: PassInput) -> PassStatistics:
    r"""Sums of one block of rows (paper: eq:MM update, eq:step2, eq:step3).

    With ``dbar_ij = sum_l alpha_l d_ijl``, degrees ``u_ij``, ``dtil_ij = h(dbar_ij)`` and ``w`` the
    gradient of the power mean at ``dtil``, sample ``i`` pulls centroid ``j`` with ``g_ij = w_ij u_ij^m``.
    """
    xp = array_namespace(block.views[0])
    membership, weight = inputs.membership, block.weight
    by_view = view_distances(block, inputs, xp)
    distance = combined_distance(by_view, inputs)
    degree = membership.degrees(distance, inputs.reference, xp)
    mean, gradient = power_mean(membership.divergence(distance, degree, inputs.reference, xp), inputs.s, xp)
    pull = gradient * membership.attraction(degree, xp)
    nearest = xp.min(distance, axis=0)
    mass = xp.vecdot(pull, weight)
    residual = xp.vecdot(gradient * membership.residual(degree, xp), weight)
    pull *= weight
    return PassStatistics(
        mass=_repeated(mass, len(by_view), xp),
        moment=_side_by_side([pull @ view for view in block.views], xp),
        scatter=xp.stack([xp.vecdot(pull, d) for d in by_view], axis=1),
        residual=_repeated(residual, len(by_view), xp),
        sizes=xp.vecdot(xp.astype(distance == nearest, distance.dtype), weight),
        loss=xp.sum(mean * weight, dtype=xp.float64),
        hard_cost=xp.sum(nearest * weight, dtype=xp.float64),
    )


def view_distances(block: Block, inputs: PassInput, xp: Any) -> list[Array]:
    """``d_ijl = ||phi_il - theta_jl||^2`` for each view, (k, b), from centred features; never negative."""
    result = []
    for view, norm, projection, center_norm in zip(
        block.views, block.squared_norms, inputs.projections, inputs.center_norms, strict=True
    ):
        distance = _clusters_first(view @ projection, xp)
        distance += norm
        distance += center_norm
        result.append(xp.maximum(distance, xp.zeros((), dtype=distance.dtype)))
    return result


def combined_distance(by_view: list[Array], inputs: PassInput) -> Array:
    """``dbar_ij = sum_l alpha_l d_ijl``."""
    if inputs.view_weights == (1.0,):
        return by_view[0]
    total = inputs.view_weights[0] * by_view[0]
    for view_weight, distance in zip(inputs.view_weights[1:], by_view[1:], strict=True):
        total += view_weight * distance
    return total


def block_distances(block: Block, inputs: PassInput) -> Array:
    """``sqrt(dbar_ij)``, (b, k), exact also for samples on or near a centroid."""
    xp = array_namespace(block.views[0])
    by_view = view_distances(block, inputs, xp)
    for index, distance in enumerate(by_view):
        _recompute_small(distance, block, inputs, index, xp)
    return xp.sqrt(combined_distance(by_view, inputs)).T


def _recompute_small(distance: Array, block: Block, inputs: PassInput, index: int, xp: Any) -> None:
    """Take small distances anew from differences: expanded squares have lost their digits."""
    scale = block.squared_norms[index] + inputs.center_norms[index]
    cluster, sample = xp.nonzero(distance < SMALL * scale)
    centers = inputs.projections[index].T / -2
    difference = block.views[index][sample] - centers[cluster]
    distance[cluster, sample] = xp.vecdot(difference, difference)


def block_probabilities(block: Block, inputs: PassInput) -> Array:
    r"""``g_ij / sum_j g_ij``, (b, k), from ``log g = (s-1) log dtil + m log u`` shifted by its maximum."""
    xp = array_namespace(block.views[0])
    distance = combined_distance(view_distances(block, inputs, xp), inputs)
    nearest = xp.min(distance, axis=0)
    score = xp.astype(distance == nearest, distance.dtype)
    if inputs.s != -math.inf:
        soft = _log_memberships(distance, inputs, xp)
        score = xp.where(nearest == 0, score, xp.exp(soft - xp.max(soft, axis=0)))
    return (score / xp.sum(score, axis=0)).T


def _log_memberships(distance: Array, inputs: PassInput, xp: Any) -> Array:
    """``(s-1) log dtil + m log u`` up to a constant a sample, for positive distances."""
    membership, reference = inputs.membership, inputs.reference
    degree = membership.degrees(distance, reference, xp)
    divergence = membership.divergence(distance, degree, reference, xp)
    smallest = xp.asarray(xp.finfo(distance.dtype).smallest_normal, dtype=distance.dtype)
    divergence = xp.maximum(divergence, smallest)
    relative = xp.log(divergence / xp.min(divergence, axis=0))
    return (inputs.s - 1) * relative + membership.fuzziness * membership.log_degrees(distance, reference, xp)


def block_labels(block: Block, inputs: PassInput) -> Array:
    """The cluster of largest probability, (b,)."""
    xp = array_namespace(block.views[0])
    return xp.astype(xp.argmax(block_probabilities(block, inputs), axis=1), xp.int32)


def block_typicality(block: Block, inputs: PassInput) -> Array:
    """``max_j u_ij``, (b,)."""
    xp = array_namespace(block.views[0])
    distance = combined_distance(view_distances(block, inputs, xp), inputs)
    degree = inputs.membership.degrees(xp.min(distance, axis=0), inputs.reference, xp)
    return degree * xp.ones_like(block.weight)


def _side_by_side(parts: list[Array], xp: Any) -> Array:
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)


def _repeated(values: Array, n_views: int, xp: Any) -> Array:
    return xp.stack([values] * n_views, axis=1)


def _clusters_first(values: Array, xp: Any) -> Array:
    """Transpose; numpy is also asked to lay the result out that way, others manage their own memory."""
    return np.ascontiguousarray(values.T) if xp is np else values.T
