"""Learning from a stream of chunks: stochastic majorise-minimise on running sums.

A batch iteration sums over all samples and then updates. Here the sums of each chunk are mixed into running ones
with a weight that decays as more is seen, and the same update follows, as in online expectation-maximisation.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np

from powerkmeans.models.answers import apply, model_statistics
from powerkmeans.models.model import FitResult, StreamLine
from powerkmeans.objective.block import block_labels
from powerkmeans.objective.updates import about_centers, about_origin, objective_value, shift_norms, updated
from powerkmeans.sources.dask import are_lazy, with_known_chunks
from powerkmeans.types import Views

# how fast old samples lose weight: between 1/2, which follows the last ones, and 1, which keeps all alike
DECAY = 0.7
# rows that one step of the paper's decay stands for, and a cluster if that is more: chunks may have any size
STEP_ROWS, STEP_ROWS_PER_CLUSTER = 1024, 50


def rows_to_begin(n_clusters: int) -> int:
    """How many rows a stream collects before it learns from them and lets them go."""
    return max(STEP_ROWS, STEP_ROWS_PER_CLUSTER * n_clusters)


def mixing_weight(old: float, new: float, n_clusters: int) -> float:
    r"""The weight of ``new`` rows in the running sums after ``old`` ones.

    .. math:: \rho = 1 - \exp\left(-\int_x^{x'} t^{-\kappa} dt\right)

    with ``x`` rows seen before and ``x'`` after, in units of ``rows_to_begin``: how rows are cut into chunks does
    not matter. ``sum rho`` diverges and ``sum rho^2`` does not, so the sums settle.
    """
    unit = rows_to_begin(n_clusters)
    before, after = (rows / unit for rows in (old, old + new))
    return -math.expm1(-(after ** (1 - DECAY) - before ** (1 - DECAY)) / (1 - DECAY))


def _drift(loss: float, expected: float) -> float:
    """By what share a loss exceeds the expected one; finite, however small that is."""
    return min(loss / expected - 1, sys.float_info.max) if expected > 0 else 0.0


def learn(result: FitResult, views: Views, engine: object) -> FitResult:
    """Take in one chunk: mix its sums into the running ones and update the parameters."""
    model, stream = result.model, result.stream
    if stream is None:
        raise ValueError(
            "This model has no running sums to go on from: it was saved by an early version, or made by "
            "powerkmeans.protocol.update. Fit it again."
        )
    problem, old, views = model.problem, model.parameters, with_known_chunks(views)
    weight = views.total_weight
    chunk = model_statistics(model, views, engine, precise=False)
    loss, expected = float(chunk.loss) / weight, float(stream.sums.loss) / stream.weight
    new_rows = weight / stream.weight * stream.n_fitted
    rho = mixing_weight(stream.n_seen, new_rows, len(old.centers))
    scaled = about_origin(chunk, old.centers, problem) * (stream.weight / weight)
    sums = stream.sums * (1 - rho) + scaled * rho
    parameters = updated(old, about_centers(sums, old.centers, problem), problem)
    shift = math.sqrt(float(np.max(shift_norms(old, parameters, problem))))
    line = StreamLine(stream.n_seen + new_rows, loss, _drift(loss, expected), shift)
    model = replace(model, parameters=parameters)
    n_learnt, lines = stream.n_learnt + len(views.weight), stream.lines.with_line(line)
    return replace(
        result,
        model=model,
        labels=np.empty(0, np.int32) if are_lazy(views) else apply(model, views, engine, block_labels),
        medoids=None,
        objective=objective_value(float(sums.loss), parameters, problem),
        inertia=float(sums.hard_cost),
        stream=replace(stream, sums=sums, n_seen=line.n_seen, n_learnt=n_learnt, lines=lines),
    )
