"""Where the annealing starts: the collapsed point, its critical exponent, and centroids around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powerkmeans.objective.collapse import CollapseInput, MomentSums, moment_sums, pull_sums
from powerkmeans.objective.membership import Fuzzy
from powerkmeans.objective.updates import column_scale
from powerkmeans.preparation import SAMPLE_BYTES, Prepared, subsample
from powerkmeans.settings import Settings
from powerkmeans.solver.annealing import SMALLEST_START, Geometric, Hard, Schedule, critical_value
from powerkmeans.solver.initialize import cloud, plus_plus, random_rows
from powerkmeans.types import Array, Engine, Float64Array, Parameters, Problem

# Up to this many features the second moments are formed whole; beyond, on a leading subspace.
WHOLE_MOMENTS = 512
_OVERSAMPLING, _POWER_STEPS = 16, 8
_FIXED_POINT_STEPS, _FIXED_POINT_TOL = 100, 1e-9
# multiples of the critical exponent at which the starts begin
CLOUD_MULTIPLE, OTHER_MULTIPLE = 0.9, 1.2


@dataclass(frozen=True)
class Collapse:
    """The point where all centroids may sit together, and the data's second moments seen from it.

    All coordinates are scaled by ``sqrt(alpha)``; ``basis`` spans the leading directions (None: all).
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
        """Leading eigenpairs of the covariance, signs fixed."""
        values, vectors = np.linalg.eigh(self.covariance)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        if self.basis is not None:
            vectors = self.basis @ vectors
        largest = np.argmax(np.abs(vectors), axis=0)
        signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
        return values, vectors * signs


def find_collapse(engine: Engine, problem: Problem, rank: int, rng: np.random.Generator) -> Collapse:
    """Find the collapsed point and linearise the iteration there."""
    weights = np.full(len(problem.scatter), 1 / len(problem.scatter))
    width = problem.splits[-1]
    inputs = CollapseInput(
        membership=problem.membership,
        reference=float(weights @ problem.reference_distance),
        column_scale=column_scale(Parameters(np.empty((0, width)), weights), problem),
        point=np.zeros(width),
    )
    if not isinstance(problem.membership, Fuzzy):
        inputs = _collapsed(engine, inputs, float(weights @ problem.scatter))
    basis = None
    if width > WHOLE_MOMENTS:
        basis = _leading_basis(engine, inputs, min(rank + _OVERSAMPLING, width), rng)
    sums = engine.fold(moment_sums, _with(inputs, basis))
    total = float(np.sum(sums.weight))
    return Collapse(
        point=inputs.point,
        covariance=_projected(sums.covariance, basis) / total,
        sharp=_projected(sums.sharp, basis) / float(sums.pull),
        flat=_projected(sums.flat, basis) / float(sums.pull),
        fuzziness=problem.membership.fuzziness,
        basis=basis,
    )


def _collapsed(engine: Engine, inputs: CollapseInput, scatter: float) -> CollapseInput:
    """Iterate ``mu = sum_i g_i phi_i / sum_i g_i`` to its fixed point."""
    for _ in range(_FIXED_POINT_STEPS):
        sums = engine.fold(pull_sums, inputs)
        point = sums.total / sums.weight
        moved = float(np.sum((point - inputs.point) ** 2))
        inputs = CollapseInput(inputs.membership, inputs.reference, inputs.column_scale, point)
        if moved <= _FIXED_POINT_TOL**2 * scatter:
            break
    return inputs


def _leading_basis(
    engine: Engine, inputs: CollapseInput, rank: int, rng: np.random.Generator
) -> Float64Array:
    """Orthonormal basis of the directions that matter to the covariance and to the growth rate."""
    basis = np.linalg.qr(rng.standard_normal((len(inputs.point), rank)))[0]
    for _ in range(_POWER_STEPS):
        sums: MomentSums = engine.fold(moment_sums, _with(inputs, basis))
        spread = max(np.linalg.norm(sums.covariance), np.finfo(np.float64).tiny)
        pulls = sums.sharp + sums.flat
        mixed = sums.covariance / spread + pulls / max(np.linalg.norm(pulls), np.finfo(np.float64).tiny)
        basis = np.linalg.qr(mixed)[0]
    return basis


def _with(inputs: CollapseInput, basis: Float64Array | None) -> CollapseInput:
    return CollapseInput(inputs.membership, inputs.reference, inputs.column_scale, inputs.point, basis)


def _projected(moment: Float64Array, basis: Float64Array | None) -> Float64Array:
    matrix = moment if basis is None else basis.T @ moment
    return (matrix + matrix.T) / 2


class Start(NamedTuple):
    """One planned run: how its centroids are placed and which exponents it goes through."""

    init: str
    schedule: Schedule
    s_init: float


def plan_starts(settings: Settings, critical: float | None) -> list[Start]:
    """Decide how many runs there are and where each begins.

    ``init="auto"`` anneals twice: from the cloud, which is best where structure unfolds from coarse to
    fine, and from k-means++, which is best for many separated clusters. With a given ``s_init`` it is
    the paper's start, k-means on the features.
    """
    given = not isinstance(settings.init, str)
    kinds: list[str]
    if given:
        kinds = ["given"]
    elif settings.init != "auto":
        kinds = [settings.init] * (1 if settings.n_init == "auto" else int(settings.n_init))
    elif settings.s_init == "auto":
        kinds = ["cloud"] + ["k-means++"] * (1 if settings.n_init == "auto" else int(settings.n_init) - 1)
    else:
        kind = "k-means++" if settings.s_init == -np.inf else "k-means"
        kinds = [kind] * (1 if settings.n_init == "auto" else int(settings.n_init))
    return [Start(kind, _schedule(kind, settings, critical), _s_init(kind, settings, critical)) for kind in kinds]


def _s_init(kind: str, settings: Settings, critical: float | None) -> float:
    if not isinstance(settings.s_init, str):
        return settings.s_init
    assert critical is not None
    multiple = CLOUD_MULTIPLE if kind == "cloud" else OTHER_MULTIPLE
    return -max(multiple * abs(critical), SMALLEST_START)


def _schedule(kind: str, settings: Settings, critical: float | None) -> Schedule:
    s_init = _s_init(kind, settings, critical)
    if s_init == -np.inf:
        return Hard()
    return Geometric(s_init, settings.anneal_factor, settings.anneal_every)


def place_cloud(collapse: Collapse, problem: Problem, n_clusters: int, rng: np.random.Generator) -> Parameters:
    """A small cloud around the collapsed point."""
    weights = np.full(len(problem.scatter), 1 / len(problem.scatter))
    rank = max(1, min(n_clusters - 1, len(collapse.covariance)))
    values, vectors = collapse.leading(rank)
    scaled = cloud(collapse.point, values, vectors, n_clusters, rng)
    scale = column_scale(Parameters(scaled, weights), problem)
    return Parameters(scaled / scale, weights)


def place_rows(prepared: Prepared, kind: str, n_clusters: int, rng: np.random.Generator) -> Parameters:
    """Rows of the sample, chosen by k-means++ or at random."""
    n_views = len(prepared.maps)
    features, weight = sample_features(prepared, n_clusters, rng)
    if kind == "random":
        chosen = random_rows(weight, n_clusters, rng)
    else:
        chosen = plus_plus(features, weight, n_clusters, rng)
    return Parameters(features[chosen].astype(np.float64), np.full(n_views, 1 / n_views))


def sample_features(
    prepared: Prepared, n_clusters: int, rng: np.random.Generator
) -> tuple[Array, Float64Array]:
    """Centred features of the sampled rows, views side by side, as many as memory allows."""
    row_bytes = prepared.splits[-1] * prepared.engine.dtype.itemsize
    sample = subsample(prepared.sample, max(SAMPLE_BYTES // row_bytes, 10 * n_clusters), rng)
    views = [m(view, np) for m, view in zip(prepared.maps, sample.views, strict=True)]
    return np.concatenate(views, axis=1), sample.weight
