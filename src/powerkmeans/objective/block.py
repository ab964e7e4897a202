"""One block of rows: its statistics, and what a fitted model says of its samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.objective.distances import smallest_share, with_differences
from powerkmeans.objective.power_mean import power_mean
from powerkmeans.objective.space import coefficients, inner_products, values
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import (
    Array,
    Block,
    Membership,
    Parameters,
    PassStatistics,
    Problem,
    array_namespace,
    device_of,
)

# how many times the rounding of an expanded square may be multiplied before differences are taken instead
LARGEST_AMPLIFICATION = 8
# finite exponents are held between this and its inverse, which single precision still takes
STEEPEST = 1e30


@dataclass(frozen=True)
class PassInput:
    """Parameters in the form that every block of one pass uses, made once per pass.

    projections : per view ``-2 theta^T``, (p_l, k), so that one product gives the cross term
    center_norms : per view ``||theta_jl||^2``, (k, 1)
    references : per view ``alpha_l eta_l``
    values : per view None, or in a dual view the centroids' inner products with the training rows, (k, n)
    dual : which views are dual, whose rows are those of a kernel matrix; empty for none
    """

    membership: Membership
    s: float
    view_weights: tuple[float, ...]
    references: tuple[float, ...]
    projections: tuple[Array, ...]
    center_norms: tuple[Array, ...]
    values: tuple[Array | None, ...] = ()
    dual: tuple[bool, ...] = ()

    @property
    def resolution(self) -> float:
        r"""The share of the squared norms below which a squared distance is taken from differences.

        ``smallest_share`` leaves enough digits to a distance, but pulls ask for more. Where ``rho`` of the norms
        is left, a relative error of the nearest distance changes the pull by ``1 - s`` times it times the share
        ``min(1, (k-1) rho^|s|)`` of the other centroids. Over ``rho`` that is up to ``(k-1)^(1/|s|)`` times what
        plain rounding does, and for ``|s| < 1`` any number of times. Where it is too much, ``rho`` is held above
        the inverse of what is allowed.
        """
        others = max(self.center_norms[0].shape[0] - 1, 1)
        if self.s > -1 or math.log(others) > -self.s * math.log(LARGEST_AMPLIFICATION):
            return 1 / LARGEST_AMPLIFICATION
        return smallest_share(self.dtype, array_namespace(self.projections[0]))

    @property
    def dtype(self) -> Any:
        """The precision of the pass, in the words of the arrays' namespace."""
        return self.projections[0].dtype


def prepare(parameters: Parameters, s: float, problem: Problem, dtype: np.dtype[Any]) -> PassInput:
    """Cast the parameters to the precision of the data and fold in what does not change in a pass."""
    centers = [parameters.centers[:, part] for part in problem.view_slices]
    norms = inner_products(parameters.centers, parameters.centers, problem)
    points = [coefficients(c) if problem.is_dual(view) else c for view, c in enumerate(centers)]
    return PassInput(
        membership=problem.membership,
        s=s if s == -math.inf else min(max(s, -STEEPEST), -1 / STEEPEST),
        view_weights=tuple(float(weight) for weight in parameters.view_weights),
        references=tuple((parameters.view_weights * problem.reference_distance).tolist()),
        projections=tuple(np.ascontiguousarray((-2 * c).T, dtype=dtype) for c in points),
        center_norms=tuple(norm[:, None].astype(dtype) for norm in norms.T),
        dual=problem.dual,
    )


def prepare_training(parameters: Parameters, s: float, problem: Problem, dtype: np.dtype[Any]) -> PassInput:
    """As ``prepare``, for the training rows: a dual centroid's inner products with them are at hand."""
    inputs = prepare(parameters, s, problem, dtype)
    if not problem.dual:
        return inputs
    centers = [parameters.centers[:, part] for part in problem.view_slices]
    known = (values(c) if dual else None for c, dual in zip(centers, problem.dual, strict=True))
    return replace(inputs, values=tuple(known))


def block_statistics(block: Block, inputs: PassInput) -> PassStatistics:
    r"""Sums of one block of rows (paper: eq:MM update, eq:step2, eq:step3).

    With ``dbar_ij = sum_l alpha_l q_il d_ijl``, degrees ``u_ij``, ``dtil_ij = h(dbar_ij)`` and ``w`` the
    gradient of the power mean at ``dtil``, sample ``i`` pulls centroid ``j`` with ``g_ij = w_ij u_ij^m``.
    """
    xp = array_namespace(block.views[0])
    membership, weight = inputs.membership, block.weight
    cover = view_cover(block, xp)
    by_view = covered(view_distances(block, inputs, xp), cover)
    distance, reference = combined_distance(by_view, inputs), combined_reference(inputs, cover)
    degree = membership.degrees(distance, reference, xp)
    mean, gradient = power_mean(membership.divergence(distance, degree, reference, xp), inputs.s, xp)
    pull = gradient * membership.attraction(degree, xp)
    residual = gradient * membership.residual(degree, xp)
    nearest = xp.min(distance, axis=0)
    n_views = len(by_view)
    counts = [weight] * n_views if cover is None else [weight * cover[view, :] for view in range(n_views)]
    mass = _per_view(pull, counts, xp)
    pull *= weight
    scatter = xp.stack([xp.linalg.vecdot(pull, d) for d in by_view], axis=1)
    return PassStatistics(
        mass=mass,
        moment=_moment(pull, cover, block, inputs, xp),
        scatter=scatter,
        residual=_per_view(residual, counts, xp),
        sizes=xp.linalg.vecdot(xp.astype(distance == nearest, distance.dtype), weight),
        loss=xp.sum(mean * weight, dtype=xp.float64),
        hard_cost=xp.sum(nearest * weight, dtype=xp.float64),
    )


def _moment(pull: Array, cover: Array | None, block: Block, inputs: PassInput, xp: Any) -> Array:
    """``sum_i v_i q_il g_ij phi_il``, views side by side; in place of ``pull``, which is ``v_i g_ij``.

    A dual view's ``phi_i`` is the i-th training row alone (its coefficients) and a row of the kernel matrix.
    """
    if cover is not None and not inputs.dual:
        pull *= xp.max(cover, axis=0)  # absent rows are zero, so one factor per sample serves all views
    parts = []
    for index, view in enumerate(block.views):
        pulls = pull if cover is None or not inputs.dual else pull * cover[index, :]
        known = inputs.values[index] if inputs.values else None
        if known is not None:
            rows = slice(block.start, block.start + block.weight.shape[0])
            weights = xp.zeros(known.shape, dtype=pull.dtype, device=device_of(pull))
            weights[:, rows] = pulls
            parts.append(weights)
        parts.append(pulls @ view)
    return _side_by_side(parts, xp)


def view_distances(block: Block, inputs: PassInput, xp: Any) -> list[Array]:
    """``d_ijl = ||phi_il - theta_jl||^2`` for each view, (k, b), from centred features; never negative.

    In a dual view it is ``K_ii - 2 (K a_j)_i + a_j^T K a_j`` with ``a_j`` the coefficients of the centroid.
    """
    result = []
    for index, (view, norm, center_norm) in enumerate(
        zip(block.views, block.squared_norms, inputs.center_norms, strict=True)
    ):
        known = inputs.values[index] if inputs.values else None
        if known is None:
            distance = _clusters_first(view @ inputs.projections[index], xp)
        else:
            distance = -2 * known[:, block.start : block.start + block.weight.shape[0]]
        scale = norm + center_norm
        distance += scale
        distance = xp.maximum(distance, xp.zeros((), dtype=distance.dtype, device=device_of(distance)))
        if inputs.dual and inputs.dual[index]:  # no coordinates to take differences of: so small it is rounding
            distance = xp.where(distance < ROUNDING * scale, xp.zeros_like(distance), distance)
        else:
            centers = inputs.projections[index].T / -2
            near = distance < inputs.resolution * scale
            distance = with_differences(distance, near, view, centers, xp)
        result.append(distance)
    return result


def view_cover(block: Block, xp: Any) -> Array | None:
    """``q_il = L o_il / sum_l o_il``, (L, b), with ``o_il`` 1 where sample i has view l; None for all 1.

    What a sample says counts the same however many views it says it in.
    """
    if block.present is None:
        return None
    present = xp.astype(block.present, block.squared_norms[0].dtype)
    n_views = xp.sum(present, axis=0)
    return present * (present.shape[0] / xp.maximum(n_views, xp.ones_like(n_views)))


def covered(by_view: list[Array], cover: Array | None) -> list[Array]:
    """Distances in each view times the cover: ``q_il d_ijl``."""
    return by_view if cover is None else [d * cover[view, :] for view, d in enumerate(by_view)]


def combined_reference(inputs: PassInput, cover: Array | None) -> Array:
    """``sum_l alpha_l q_il eta_l``: one number, or one per sample if views are missing."""
    if cover is None:
        return sum(inputs.references)
    return sum(reference * cover[view, :] for view, reference in enumerate(inputs.references))


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
    by_view = covered(view_distances(block, inputs, xp), cover)
    return combined_distance(by_view, inputs), combined_reference(inputs, cover)


def block_distances(block: Block, inputs: PassInput) -> Array:
    """``sqrt(dbar_ij)``, (b, k), exact also for samples on or near a centroid."""
    xp = array_namespace(block.views[0])
    return xp.sqrt(sample_distances(block, inputs, xp)[0]).T


def block_probabilities(block: Block, inputs: PassInput) -> Array:
    r"""``g_ij / sum_j g_ij``, (b, k)."""
    xp = array_namespace(block.views[0])
    return memberships(*sample_distances(block, inputs, xp), inputs, xp).T


def memberships(distance: Array, reference: Array, inputs: PassInput, xp: Any) -> Array:
    r"""``g_ij / sum_j g_ij``, (k, b), from ``log g = (s-1) log dtil + m log u`` shifted by its maximum."""
    nearest = xp.min(distance, axis=0)
    score = xp.astype(distance == nearest, distance.dtype)
    if inputs.s != -math.inf:
        soft = _log_memberships(distance, reference, inputs, xp)
        score = xp.where(nearest == 0, score, xp.exp(soft - xp.max(soft, axis=0)))
    return score / xp.sum(score, axis=0)


def _log_memberships(distance: Array, reference: Array, inputs: PassInput, xp: Any) -> Array:
    """``(s-1) log dtil + m log u`` up to a constant per sample, for positive distances."""
    membership = inputs.membership
    degree = membership.degrees(distance, reference, xp)
    divergence = membership.divergence(distance, degree, reference, xp)
    smallest = xp.finfo(distance.dtype).smallest_normal
    divergence = xp.maximum(divergence, xp.asarray(smallest, dtype=distance.dtype, device=device_of(distance)))
    relative = xp.log(divergence / xp.min(divergence, axis=0))
    return max(inputs.s - 1, -STEEPEST) * relative + membership.fuzziness * membership.log_degrees(
        distance, reference, xp
    )


def block_labels(block: Block, inputs: PassInput) -> Array:
    """The nearest cluster, (b,): memberships fall with the distance, so it is that of largest probability."""
    xp = array_namespace(block.views[0])
    distance, _ = sample_distances(block, inputs, xp)
    return xp.astype(xp.argmin(distance, axis=0), xp.int32)


class Nearest(NamedTuple):
    """The nearest cluster of each row, (b,), and the squared distance to its centroid."""

    labels: Array
    distance: Array


def block_nearest(block: Block, inputs: PassInput) -> Nearest:
    """Labels as ``block_labels`` has them, and ``min_j dbar_ij``."""
    xp = array_namespace(block.views[0])
    distance, _ = sample_distances(block, inputs, xp)
    return Nearest(xp.astype(xp.argmin(distance, axis=0), xp.int32), xp.min(distance, axis=0))


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
        return xp.stack([xp.linalg.vecdot(pull, counts[0])] * len(counts), axis=1)
    return xp.stack([xp.linalg.vecdot(pull, count) for count in counts], axis=1)


def _clusters_first(values: Array, xp: Any) -> Array:
    """Transpose; NumPy is also asked to lay the result out that way, others see to their memory themselves."""
    return np.ascontiguousarray(values.T) if xp is np else values.T


def weighted_features(block: Block, inputs: PassInput) -> Array:
    """Features side by side in which plain distances are those over all views; absent rows are at the mean."""
    xp = array_namespace(block.weight)
    return xp.concat(
        [weight**0.5 * view for weight, view in zip(inputs.view_weights, block.views, strict=True)], axis=1
    )
