"""From sums to new parameters: centroids, view weights, objective."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from powerkmeans.objective.space import inner_products
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Float64Array, Parameters, PassStatistics, Problem


def updated(old: Parameters, sums: PassStatistics, problem: Problem, relaxation: float = 1.0) -> Parameters:
    """One step of majorise-minimise: centroids first, then view weights at the new centroids.

    ``relaxation`` multiplies the centroids' step to the minimum of the surrogate. The surrogate is quadratic in
    them, so it falls for any value between 0 and 2, and so does the objective.
    """
    minimum = updated_centers(old, sums, problem)
    centers = minimum if relaxation == 1 else old.centers + relaxation * (minimum - old.centers)
    if len(old.view_weights) == 1:
        return Parameters(centers, old.view_weights)
    losses = view_losses(minimum - old.centers, relaxation, sums, problem)
    return Parameters(centers, best_weights(losses, problem))


def updated_centers(old: Parameters, sums: PassStatistics, problem: Problem) -> Float64Array:
    """``theta_jl = S_jl / N_jl`` (paper: eq:step2); a centroid without weight keeps its place."""
    centers = np.array(old.centers)
    for view, part in enumerate(problem.view_slices):
        alive = sums.mass[:, view] > 0
        centers[alive, part] = sums.moment[alive, part] / sums.mass[alive, view, None]
    return centers


def view_losses(step: Float64Array, relaxation: float, sums: PassStatistics, problem: Problem) -> Float64Array:
    """View l's part of the surrogate at the centroids moved by ``relaxation`` (rho) times ``step`` (delta).

    ``c_l = sum_j [D_jl - rho (2 - rho) N_jl ||delta_jl||^2] + sum_j R_jl eta_l``, where ``delta`` leads to the
    weighted means: the scatter about those is that about any point less the mass times the squared distance.
    """
    shifts = inner_products(step, step, problem)
    explained = np.sum(sums.scatter - relaxation * (2 - relaxation) * sums.mass * shifts, axis=0)
    return explained + np.sum(sums.residual, axis=0) * problem.reference_distance


def best_weights(losses: Float64Array, problem: Problem) -> Float64Array:
    """The view weights that minimise the objective where the views' losses are as given."""
    return entropic_weights(losses if problem.baseline is None else losses - problem.baseline, problem.entropy)


def entropic_weights(losses: Float64Array, entropy: float) -> Float64Array:
    """``alpha = softmax(-c / lambda)`` (paper: eq:step3), held above a floor."""
    with np.errstate(over="ignore"):  # -inf is the limit as lambda vanishes
        weights = np.maximum(softmax((np.min(losses) - losses) / entropy), ROUNDING)
    return weights / np.sum(weights)


def objective_value(loss: float, parameters: Parameters, problem: Problem) -> float:
    """``f_s = sum_i v_i M_s(dtil_i) - sum_l alpha_l b_l + lambda sum_l alpha_l log alpha_l``.

    In the paper (eq:IP-RFF-MKPKM) there is no baseline ``b``. Infinite ``lambda`` fixes the weights, and its term
    is left out.
    """
    weights, value = parameters.view_weights, float(loss)
    if problem.baseline is not None:
        value -= float(weights @ problem.baseline)
    if math.isfinite(problem.entropy):
        value += problem.entropy * float(np.sum(weights * np.log(weights)))
    return value


def about_origin(sums: PassStatistics, centers: Float64Array, problem: Problem) -> PassStatistics:
    """The same sums with the scatter taken about the origin: ``D + 2 theta.S - N ||theta||^2``."""
    return replace(sums, scatter=sums.scatter + _displaced(sums, centers, problem))


def about_centers(sums: PassStatistics, centers: Float64Array, problem: Problem) -> PassStatistics:
    """The reverse; never negative."""
    return replace(sums, scatter=np.maximum(sums.scatter - _displaced(sums, centers, problem), 0))


def _displaced(sums: PassStatistics, centers: Float64Array, problem: Problem) -> Float64Array:
    """``2 theta_jl.S_jl - N_jl ||theta_jl||^2``, (k, L)."""
    inner = inner_products(centers, sums.moment, problem)
    return 2 * inner - sums.mass * inner_products(centers, centers, problem)


def shift_norms(old: Parameters, new: Parameters, problem: Problem) -> Float64Array:
    """``sum_l alpha_l ||theta_jl(new) - theta_jl(old)||^2``, one value per centroid."""
    step = new.centers - old.centers
    return np.maximum(inner_products(step, step, problem), 0) @ new.view_weights


def column_scale(view_weights: Float64Array, problem: Problem) -> Float64Array:
    """``sqrt(alpha_l)`` repeated over the columns of view l: scaled so, plain distances are ``dbar``.

    One number where there is one view.
    """
    roots = np.sqrt(view_weights)
    return roots if len(roots) == 1 else np.repeat(roots, np.diff(problem.splits))
