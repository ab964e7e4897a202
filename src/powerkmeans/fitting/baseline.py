"""What clusters explain of a view by chance: the loss that they leave of a cloud without any.

A few centroids explain a view of few dimensions well, whatever it says about clusters, and one of many
dimensions hardly at all. So each view is compared with a Gaussian cloud of its own covariance, seen through
its own feature map. The cloud is the same for every ``random_state``: it stands for the data.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from sklearn.utils.extmath import randomized_svd

from powerkmeans.features.pairs import as_dense
from powerkmeans.fitting.collapse import ENOUGH_STEPS
from powerkmeans.fitting.pilot import ROWS_PER_CLUSTER
from powerkmeans.fitting.task import Task, present_rows, rows_of_view
from powerkmeans.solver.starts import plus_plus
from powerkmeans.sources import in_memory
from powerkmeans.support.draws import STATISTIC_ROWS, affordable_rows, stream, subsample
from powerkmeans.support.memory import ENTRIES
from powerkmeans.types import (
    FeatureMap,
    Float64Array,
    Parameters,
    RowSample,
)

# directions beyond these are taken for uncorrelated
_DIRECTIONS = 256
# what chance explains is needed to three digits
_TOL = 1e-3


def chance_shares(task: Task) -> Float64Array:
    """For each view, the share of the loss of such a cloud that as many clusters leave."""
    return np.array([_chance_share(task, index) for index in range(len(task.prepared.maps))])


def _chance_share(task: Task, index: int) -> float:
    problem = task.on_explicit.problem
    values, feature_map = rows_of_view(task, index)
    width = values.views[0].shape[1]
    if ENTRIES // width < 2 * _DIRECTIONS:  # too few rows to know them: such a view is taken for unexplainable
        return 1.0
    rows = values if task.problem.is_dual(index) else present_rows(task.prepared.sample, index)
    if len(rows.weight) < 2:  # so few samples have it, or differ in it, that none was drawn
        rows = values
    if len(values.weight) <= 2 * task.settings.n_clusters:  # a centroid for every value explains such a view
        features = feature_map(in_memory(values.views[0]), np).astype(np.float64)
        return _share_left(_alone(task, index, features, values.weight))
    base = subsample(rows, affordable_rows(width), stream(0, "chance", "rows"))
    # a quarter of a pilot's rows per cluster: a cloud has no more structure than can be seen by them
    size = min(len(rows.weight), max(STATISTIC_ROWS, ROWS_PER_CLUSTER // 4 * task.settings.n_clusters))
    cloud = _gaussian_features(base, feature_map, size, stream(0, "chance", "cloud"))
    offset = cloud - np.mean(cloud, axis=0)
    scatter = float(np.mean(np.vecdot(offset, offset)))
    if scatter == 0:
        return 1.0
    offset *= np.sqrt(problem.scatter[index] / scatter)
    return _share_left(_alone(task, index, offset, np.ones(len(offset))))


def _gaussian_features(
    base: RowSample, feature_map: FeatureMap, size: int, rng: np.random.Generator
) -> Float64Array:
    """Features of a Gaussian cloud with the mean and covariance of the base rows.

    The symmetric root of the covariance does not depend on the order of the rows nor on signs of directions.
    """
    dtype = getattr(feature_map, "dtype", "float64")
    rows, share = as_dense(base.views[0]).astype(np.float64), base.weight / np.sum(base.weight)
    mean = share @ rows
    unit = max(float(np.max(np.abs(rows - mean))), np.finfo(np.float64).tiny)
    offset = (rows - mean) / unit * np.sqrt(share)[:, None]
    spread, directions = principal(offset)
    rest = np.sqrt(np.maximum(np.sum(offset**2, axis=0) - spread**2 @ directions**2, 0))
    parts = []
    step = max(1, ENTRIES // 16 // rows.shape[1])
    for start in range(0, size, step):
        normal = rng.standard_normal((min(step, size - start), rows.shape[1]))
        cloud = ((normal @ directions.T) * spread) @ directions + normal * rest
        parts.append(feature_map((mean + unit * cloud).astype(dtype), np).astype(np.float64))
    return np.concatenate(parts)


def principal(offset: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Standard deviations along the leading principal directions, and the directions as rows."""
    if offset.shape[1] <= _DIRECTIONS:
        values, vectors = np.linalg.eigh(offset.T @ offset)
        return np.sqrt(np.maximum(values, 0)), vectors.T
    n_directions = min(_DIRECTIONS, *offset.shape)
    _, spread, directions = randomized_svd(offset, n_directions, random_state=0)
    return spread, directions


def _alone(task: Task, index: int, features: Float64Array, weight: Float64Array) -> Task:
    """One view by itself on given features."""
    explicit = task.on_explicit
    problem, one = explicit.problem, slice(index, index + 1)
    problem = replace(
        problem,
        reference_distance=problem.reference_distance[one],
        scatter=problem.scatter[one],
        entropy=1.0,
        baseline=None,
    )
    prepared = explicit.prepared._replace(views=explicit.prepared.views.select([index]))
    settings = replace(task.settings, tol=_TOL, max_iter=ENOUGH_STEPS)
    alone = replace(explicit, prepared=prepared, problem=problem, settings=settings)
    return alone.on_features(RowSample((features,), weight))


def _share_left(task: Task) -> float:
    """The loss of k-means on the features over the loss of a single centroid."""
    (features,), weight, *_ = task.prepared.sample
    mean = weight @ features / np.sum(weight)
    single = float(task.run_pass(Parameters(mean[None, :], np.ones(1)), -math.inf).loss)
    if single == 0:
        return 1.0
    chosen = plus_plus(features, weight, task.settings.n_clusters, stream(0, "chance", "start", "0"))
    result = task.descend(Parameters(features[chosen], np.ones(1)))
    return min(1.0, task.hard_objective(result)[1] / single)
