"""The collapsed point, where all centroids sit together, and how the iteration behaves around it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from powerkmeans.fitting.task import Task
from powerkmeans.objective.collapse import CollapseInput, moment_sums, pull_sums
from powerkmeans.objective.membership import Fuzzy
from powerkmeans.objective.updates import column_scale
from powerkmeans.solver.annealing import critical_value
from powerkmeans.types import Engine, Float64Array

# Up to this many features the second moments are formed whole; beyond, on a leading subspace.
WHOLE_MOMENTS = 512
_OVERSAMPLING, _KRYLOV_STEPS, _KRYLOV_WIDTH = 8, 16, 512
_FIXED_POINT_STEPS, _FIXED_POINT_TOL = 100, 1e-9
# what is left of a block of length one below this is rounding
_EXHAUSTED = 1e-10
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Collapse:
    """The point where all centroids may sit together, and the data's second moments seen from it.

    Coordinates are scaled by ``sqrt(alpha)``; ``basis`` spans the leading directions (None: all).
    """

    point: Float64Array
    covariance: Float64Array
    sharp: Float64Array
    flat: Float64Array
    fuzziness: float
    basis: Float64Array | None

    @property
    def critical(self) -> float:
        """The exponent below which clusters begin to separate; 0.0 if they do at every s < 0."""
        return critical_value(self.sharp, self.flat, self.fuzziness)

    def leading(self, rank: int) -> tuple[Float64Array, Float64Array]:
        """Leading eigenpairs of the covariance, each on the side of a fixed generic vector."""
        values, vectors = np.linalg.eigh(self.covariance)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        if self.basis is not None:
            vectors = self.basis @ vectors
        generic = np.random.default_rng(0).standard_normal(len(vectors))
        return values, vectors * np.where(generic @ vectors < 0, -1.0, 1.0)


def find_collapse(task: Task) -> Collapse:
    """Find the collapsed point and linearise the iteration there."""
    engine, problem, weights = task.prepared.engine, task.problem, task.uniform_weights()
    width = problem.splits[-1]
    inputs = CollapseInput(
        membership=problem.membership,
        reference=float(weights @ problem.reference_distance),
        column_scale=column_scale(weights, problem),
        point=np.zeros(width),
    )
    if not isinstance(problem.membership, Fuzzy):
        inputs = _collapsed(engine, inputs, float(weights @ problem.scatter))
    if width > WHOLE_MOMENTS:
        rank = min(task.settings.n_clusters + _OVERSAMPLING, width // 2)
        inputs = _on_leading_basis(engine, inputs, rank, task.stream("collapse"))
    sums = engine.fold(moment_sums, inputs)
    _check_pull(float(sums.pull))
    return Collapse(
        point=inputs.point,
        covariance=_projected(sums.covariance, inputs.basis) / float(sums.pull),
        sharp=_projected(sums.sharp, inputs.basis) / float(sums.pull),
        flat=_projected(sums.flat, inputs.basis) / float(sums.pull),
        fuzziness=problem.membership.fuzziness,
        basis=inputs.basis,
    )


def _collapsed(engine: Engine, inputs: CollapseInput, scatter: float) -> CollapseInput:
    """Iterate ``mu = sum_i g_i phi_i / sum_i g_i`` to its fixed point."""
    for _ in range(_FIXED_POINT_STEPS):
        sums = engine.fold(pull_sums, inputs)
        _check_pull(float(sums.weight))
        point = sums.total / sums.weight
        moved = float(np.sum((point - inputs.point) ** 2))
        inputs = replace(inputs, point=point)
        if moved <= _FIXED_POINT_TOL**2 * scatter:
            break
    return inputs


def _check_pull(total: float) -> None:
    if not total > 0:
        raise ValueError(
            "The possibilistic membership gives every sample the weight zero: reference_distance is too small for "
            "the data, or fuzziness too large."
        )


def _on_leading_basis(engine: Engine, inputs: CollapseInput, rank: int, rng: np.random.Generator) -> CollapseInput:
    """Span the directions that matter to the covariance and to the growth rate: a block Krylov space."""
    block = np.linalg.qr(rng.standard_normal((len(inputs.point), rank)))[0]
    basis = block
    for _ in range(min(_KRYLOV_STEPS, max(1, min(_KRYLOV_WIDTH, len(basis)) // rank - 1))):
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
    directions = directions[:, lengths > _EXHAUSTED]
    return np.linalg.qr(directions - basis @ (basis.T @ directions))[0]


def _length(matrix: Float64Array) -> float:
    return max(float(np.linalg.norm(matrix)), _TINY)


def _projected(moment: Float64Array, basis: Float64Array | None) -> Float64Array:
    matrix = moment if basis is None else basis.T @ moment
    return (matrix + matrix.T) / 2
