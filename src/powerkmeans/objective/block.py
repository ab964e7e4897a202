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
# exponents are held to this in logarithms: zero times infinity has no value
_STEEPEST = -1e30


@dataclass(frozen=True)
class PassInput:
    """Parameters in the form that every block of one pass uses, made once a pass.

    projections : per view ``-2 theta^T``, (p_l, k), so that one product gives the cross term
    center_norms : per view ``||theta_jl||^2``, (k, 1)
    references : per view ``alpha_l eta_l``
    """

    membership: Membership
    s: float
    view_weights: tuple[float, ...]
    references: tuple[float, ...]
    projections: tuple[Array, ...]
    center_norms: tuple[Array, ...]

    @property
    def needs_small_distances(self) -> bool:
        """Whether digits of small distances matter.

        For ``s > -1`` a sample on a centroid pulls with up to ``k^(1/|s|)``, which no rounding may be multiplied
        by; for ``m > 2`` typicality goes by a root of the distance.
        """
        rooted = self.membership.name == "possibilistic" and self.membership.fuzziness > 2
        return self.s > -1 or rooted

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the pass."""
        return np.dtype(self.projections[0].dtype)


def prepare(parameters: Parameters, s: float, problem: Problem, dtype: np.dtype[Any]) -> PassInput:
    """Cast the parameters to the precision of the data and fold in what does not change in a pass."""
    centers = [parameters.centers[:, part] for part in problem.view_slices]
    return PassInput(
        membership=problem.membership,
        s=s,
        view_weights=tuple(float(weight) for weight in parameters.view_weights),
        references=tuple((parameters.view_weights * problem.reference_distance).tolist()),
        projections=tuple(np.ascontiguousarray((-2 * c).T, dtype=dtype) for c in centers),
        center_norms=tuple(np.sum(c * c, axis=1, keepdims=True).astype(dtype) for c in centers),
    )


def block_statistics(block: Block, inputs: PassInput) -> PassStatistics:
    r"""Sums of one block of rows (paper: eq:MM update, eq:step2, eq:step3).

    With ``dbar_ij = sum_l alpha_l q_il d_ijl``, degrees ``u_ij``, ``dtil_ij = h(dbar_ij)`` and ``w`` the
    gradient of the power mean at ``dtil``, sample ``i`` pulls centroid ``j`` with ``g_ij = w_ij u_ij^m``.
    """
    xp = array_namespace(block.views[0])
    membership, weight = inputs.membership, block.weight
    cover = view_cover(block, xp)
    by_view = view_distances(block, inputs, xp)
    if inputs.needs_small_distances:
        recompute_small(by_view, block, inputs, xp)
    by_view = covered(by_view, cover)
    distance, reference = combined_distance(by_view, inputs), combined_reference(inputs, cover)
    degree = membership.degrees(distance, reference, xp)
    mean, gradient = power_mean(membership.divergence(distance, degree, reference, xp), inputs.s, xp)
    pull = gradient * membership.attraction(degree, xp)
    residual = gradient * membership.residual(degree, xp)
    nearest = xp.min(distance, axis=0)
    counts = [weight] * len(by_view) if cover is None else [weight * share for share in cover]
    mass = _per_view(pull, counts, xp)
    pull *= weight
    scatter = xp.stack([xp.vecdot(pull, d) for d in by_view], axis=1)
    if cover is not None:
        pull *= xp.max(cover, axis=0)  # absent rows are zero, so one factor a sample serves all views
    return PassStatistics(
        mass=mass,
        moment=_side_by_side([pull @ view for view in block.views], xp),
        scatter=scatter,
        residual=_per_view(residual, counts, xp),
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


def view_cover(block: Block, xp: Any) -> Array | None:
    """``q_il = L o_il / sum_l o_il``, (L, b), with ``o_il`` 1 where sample i has view l; None for all 1.

    What a sample says counts the same however many views it says it in.
    """
    if block.present is None:
        return None
    present = xp.astype(block.present, block.squared_norms[0].dtype)
    n_views = xp.sum(present, axis=0)
    return present * (len(present) / xp.maximum(n_views, xp.ones_like(n_views)))


def covered(by_view: list[Array], cover: Array | None) -> list[Array]:
    """Distances in each view times the cover: ``q_il d_ijl``."""
    return by_view if cover is None else [d * share for d, share in zip(by_view, cover, strict=True)]


def combined_reference(inputs: PassInput, cover: Array | None) -> Array:
    """``sum_l alpha_l q_il eta_l``: one number, or one a sample if views are missing."""
    if cover is None:
        return sum(inputs.references)
    return sum(reference * share for reference, share in zip(inputs.references, cover, strict=True))


def combined_distance(by_view: list[Array], inputs: PassInput) -> Array:
    """``dbar_ij = sum_l alpha_l q_il d_ijl``."""
    if inputs.view_weights == (1.0,):
        return by_view[0]
    total = inputs.view_weights[0] * by_view[0]
    for view_weight, distance in zip(inputs.view_weights[1:], by_view[1:], strict=True):
        total += view_weight * distance
    return total


def sample_distances(block: Block, inputs: PassInput, xp: Any) -> tuple[Array, Array]:
    """``dbar_ij``, (k, b), and the reference distance it is measured by."""
    cover = view_cover(block, xp)
    by_view = view_distances(block, inputs, xp)
    if inputs.needs_small_distances:
        recompute_small(by_view, block, inputs, xp)
    by_view = covered(by_view, cover)
    return combined_distance(by_view, inputs), combined_reference(inputs, cover)


def block_distances(block: Block, inputs: PassInput) -> Array:
    """``sqrt(dbar_ij)``, (b, k), exact also for samples on or near a centroid."""
    xp = array_namespace(block.views[0])
    by_view = view_distances(block, inputs, xp)
    recompute_small(by_view, block, inputs, xp)
    return xp.sqrt(combined_distance(covered(by_view, view_cover(block, xp)), inputs)).T


def recompute_small(by_view: list[Array], block: Block, inputs: PassInput, xp: Any) -> None:
    """Take small distances anew from differences, in place: expanded squares have lost their digits."""
    for index, distance in enumerate(by_view):
        scale = block.squared_norms[index] + inputs.center_norms[index]
        cluster, sample = xp.nonzero(distance < SMALL * scale)
        centers = inputs.projections[index].T / -2
        difference = block.views[index][sample] - centers[cluster]
        distance[cluster, sample] = xp.vecdot(difference, difference)


def block_probabilities(block: Block, inputs: PassInput) -> Array:
    r"""``g_ij / sum_j g_ij``, (b, k), from ``log g = (s-1) log dtil + m log u`` shifted by its maximum."""
    xp = array_namespace(block.views[0])
    distance, reference = sample_distances(block, inputs, xp)
    nearest = xp.min(distance, axis=0)
    score = xp.astype(distance == nearest, distance.dtype)
    if inputs.s != -math.inf:
        soft = _log_memberships(distance, reference, inputs, xp)
        score = xp.where(nearest == 0, score, xp.exp(soft - xp.max(soft, axis=0)))
    return (score / xp.sum(score, axis=0)).T


def _log_memberships(distance: Array, reference: Array, inputs: PassInput, xp: Any) -> Array:
    """``(s-1) log dtil + m log u`` up to a constant a sample, for positive distances."""
    membership = inputs.membership
    degree = membership.degrees(distance, reference, xp)
    divergence = membership.divergence(distance, degree, reference, xp)
    smallest = xp.asarray(xp.finfo(distance.dtype).smallest_normal, dtype=distance.dtype)
    divergence = xp.maximum(divergence, smallest)
    relative = xp.log(divergence / xp.min(divergence, axis=0))
    return max(inputs.s - 1, _STEEPEST) * relative + membership.fuzziness * membership.log_degrees(
        distance, reference, xp
    )


def block_labels(block: Block, inputs: PassInput) -> Array:
    """The nearest cluster, (b,): memberships fall with the distance, so it is that of largest probability."""
    xp = array_namespace(block.views[0])
    distance, _ = sample_distances(block, inputs, xp)
    return xp.astype(xp.argmin(distance, axis=0), xp.int32)


def block_typicality(block: Block, inputs: PassInput) -> Array:
    """``max_j u_ij``, (b,)."""
    xp = array_namespace(block.views[0])
    distance, reference = sample_distances(block, inputs, xp)
    degree = inputs.membership.degrees(xp.min(distance, axis=0), reference, xp)
    return degree * xp.ones_like(block.weight)


def block_outlier_scores(block: Block, inputs: PassInput) -> Array:
    """``1 - max_j u_ij``, (b,)."""
    return 1 - block_typicality(block, inputs)


def _side_by_side(parts: list[Array], xp: Any) -> Array:
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)


def _per_view(pull: Array, counts: list[Array], xp: Any) -> Array:
    """Sums over the samples as each view counts them, (k, L); all the same where no view is missing."""
    if all(count is counts[0] for count in counts):
        return xp.stack([xp.vecdot(pull, counts[0])] * len(counts), axis=1)
    return xp.stack([xp.vecdot(pull, count) for count in counts], axis=1)


def _clusters_first(values: Array, xp: Any) -> Array:
    """Transpose; numpy is also asked to lay the result out that way, others manage their own memory."""
    return np.ascontiguousarray(values.T) if xp is np else values.T
