"""The collapsed point, where all centroids sit together, and how the iteration behaves around it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from powerkmeans.fitting.listener import told_part
from powerkmeans.fitting.task import Task
from powerkmeans.objective.linearised import CollapseInput, PullSums, moment_sums, pull_sums
from powerkmeans.objective.updates import best_weights, column_scale
from powerkmeans.solver.critical import critical_value
from powerkmeans.support.draws import stream
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Engine, Float64Array

# up to this many features second moments are full matrices; beyond, they are taken on a subspace of no more
FULL_MOMENTS = 512
# a subspace grows by as many directions as there are clusters and these: with fewer the exponent loses digits
_OVERSAMPLING = 8
# steps of the subspace: for starts, which four digits of the exponent are enough for, and for the exponent itself
QUICK_STEPS, FULL_STEPS = 4, 16
_FIXED_POINT_TOL = 1e-9
# steps of a fixed point, or of k-means on a cloud of noise, that has not settled then and is near enough
ENOUGH_STEPS = 100
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Collapse:
    """The point where all centroids may sit together, and the data's second moments seen from it.

    Moments are in coordinates times ``column_scale``; ``basis`` spans the leading directions (None: all).
    ``generic`` is a vector that no direction is orthogonal to.
    """

    point: Float64Array
    view_weights: Float64Array
    column_scale: Float64Array
    generic: Float64Array
    covariance: Float64Array
    sharp: Float64Array
    flat: Float64Array
    basis: Float64Array | None

    @property
    def critical(self) -> float:
        """The exponent below which clusters begin to separate; 0.0 if they do at every s < 0."""
        return critical_value(self.sharp, self.flat)

    def leading(self, rank: int) -> tuple[Float64Array, Float64Array]:
        """Leading eigenpairs of the covariance, each on the side of the generic vector."""
        values, vectors = np.linalg.eigh(self.covariance)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        if self.basis is not None:
            vectors = self.basis @ vectors
        return values, vectors * np.where(self.generic @ vectors < 0, -1.0, 1.0)


@told_part("critical exponent sought")
def find_collapse(task: Task, steps: int = QUICK_STEPS) -> Collapse:
    """Find the collapsed point and linearise the iteration there, on a subspace of so many steps if it is wide."""
    task = task.on_explicit
    problem, inputs = task.problem, _collapsed(task)
    if problem.splits[-1] > FULL_MOMENTS:
        rank = min(task.settings.n_clusters + _OVERSAMPLING, problem.splits[-1] // 2)
        inputs = _on_leading_basis(task.prepared.engine, inputs, rank, steps, task.stream("collapse"))
    moments = task.prepared.engine.fold(moment_sums, inputs)
    pull = float(moments.pull)
    _check_pull(pull)
    balance = np.ones(len(problem.scatter)) if inputs.balance is None else inputs.balance
    return Collapse(
        point=inputs.point,
        view_weights=inputs.view_weights,
        column_scale=column_scale(inputs.view_weights / balance**2, problem),
        generic=_generic(task),
        covariance=_projected(moments.covariance, inputs.basis) / pull,
        sharp=_projected(moments.sharp, inputs.basis) / pull,
        flat=_projected(moments.flat, inputs.basis) / pull,
        basis=inputs.basis,
    )


def _collapsed(task: Task) -> CollapseInput:
    """The collapsed point: of one view in which every sample counts the same, the mean; else a fixed point."""
    inputs = _at_mean(task)
    if not task.problem.membership.bounded and len(task.problem.scatter) == 1:
        return inputs
    inputs, sums = _fixed_point(task, inputs)
    if task.prepared.views.present is None:
        return inputs
    return replace(inputs, balance=np.sqrt(sums.pull / sums.mass))


def collapsed_losses(task: Task) -> Float64Array:
    """Each view's loss with all centroids at one point and even view weights."""
    task = task.on_explicit
    even = replace(task, problem=replace(task.problem, entropy=math.inf))
    _, sums = _fixed_point(even, _at_mean(even))
    return sums.loss


def _at_mean(task: Task) -> CollapseInput:
    problem = task.problem
    return CollapseInput(
        membership=problem.membership,
        splits=problem.splits,
        view_weights=task.uniform_weights(),
        reference_distance=problem.reference_distance,
        point=np.zeros(problem.splits[-1]),
    )


def _fixed_point(task: Task, inputs: CollapseInput) -> tuple[CollapseInput, PullSums]:
    """Iterate ``mu_l = sum_i q_il g_i phi_il / sum_i q_il g_i`` and the views' weights until they stay."""
    problem, tol = task.problem, _FIXED_POINT_TOL
    for _ in range(ENOUGH_STEPS):
        sums = task.prepared.engine.fold(pull_sums, inputs)
        _check_pull(float(np.min(sums.mass)))
        point = sums.total / np.repeat(sums.mass, np.diff(problem.splits))
        weights = best_weights(sums.loss, problem)
        scale = column_scale(inputs.view_weights, problem)
        moved = float(np.sum(((point - inputs.point) * scale) ** 2))
        scatter = float(inputs.view_weights @ problem.scatter)
        turned = float(np.max(np.abs(weights - inputs.view_weights)))
        if moved <= tol**2 * scatter and turned <= tol:
            break
        inputs = replace(inputs, point=point, view_weights=weights)
    return inputs, sums


def _generic(task: Task) -> Float64Array:
    """A fixed vector in general position, each view's part drawn by its name."""
    parts = zip(task.prepared.views.keys, np.diff(task.problem.splits), strict=True)
    return np.concatenate([stream(0, "generic", key).standard_normal(width) for key, width in parts])


def _check_pull(total: float) -> None:
    if not total > 0:
        raise ValueError(
            "The membership gives every sample the weight zero: reference_distance is too small for the data, or "
            "fuzziness too large."
        )


def _on_leading_basis(
    engine: Engine, inputs: CollapseInput, rank: int, steps: int, rng: np.random.Generator
) -> CollapseInput:
    """Span the directions that matter to the covariance and to the growth rate: a block Krylov space."""
    block = np.linalg.qr(rng.standard_normal((len(inputs.point), rank)))[0]
    basis = block
    for _ in range(min(steps, max(1, min(FULL_MOMENTS, len(basis)) // rank - 1))):
        sums = engine.fold(moment_sums, replace(inputs, basis=block))
        pulls = sums.sharp + sums.flat
        mixed = sums.covariance / _length(sums.covariance) + pulls / _length(pulls)
        block = _new_directions(mixed, basis)
        if block.shape[1] == 0:
            break
        basis = np.concatenate([basis, block], axis=1)
    return replace(inputs, basis=basis)


def _new_directions(block: Float64Array, basis: Float64Array) -> Float64Array:
    """Orthonormal directions of ``block`` outside ``basis``; none where only rounding is left."""
    rest = block - basis @ (basis.T @ block)
    directions, lengths, _ = np.linalg.svd(rest, full_matrices=False)
    directions = directions[:, lengths > ROUNDING]
    return np.linalg.qr(directions - basis @ (basis.T @ directions))[0]


def _length(matrix: Float64Array) -> float:
    return max(float(np.linalg.norm(matrix)), _TINY)


def _projected(moment: Float64Array, basis: Float64Array | None) -> Float64Array:
    matrix = moment if basis is None else basis.T @ moment
    return (matrix + matrix.T) / 2
