"""What a fitted model says of any samples: one function of blocks, run over rows seen through the model's maps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import run_pass
from powerkmeans.features.maps.exact import CentredKernel
from powerkmeans.features.maps.maps import whole
from powerkmeans.models.model import Model
from powerkmeans.objective.block import PassInput, block_labels, block_statistics, prepare
from powerkmeans.objective.evidence import Evidence, view_evidence
from powerkmeans.sources import check_target, write_rows
from powerkmeans.support.files import Target
from powerkmeans.support.values import naming
from powerkmeans.types import Array, Block, Engine, PassStatistics, Views

# numbers that a pass holds for each row and cluster: distances, powers, pulls
WORKING_PER_CLUSTER = 4


def apply(
    model: Model,
    views: Views,
    engine: object,
    function: Callable[[Block, PassInput], Array],
    *,
    precise: bool = False,
    beyond_landmarks: bool = False,
    out: Target | None = None,
) -> Array:
    """Evaluate a function of blocks under a fitted model, one row per sample; into a file if ``out`` names one.

    ``precise`` takes features and distances in float64. ``beyond_landmarks`` adds to a sample's distances what
    landmarks do not represent of it, for scores of outliers.
    """
    dtype = np.dtype(np.float64) if precise or model.problem.dual else model.dtype
    model = _with_distance_beyond_landmarks(model) if beyond_landmarks else model
    with single_threaded_blas():
        rows = _open(model, views, engine, dtype, labels_only=function is block_labels)
        inputs = prepare(model.parameters, model.s, model.problem, dtype)

        def answers(block: Block, inputs: PassInput) -> Array:
            found = function(block, inputs)
            return found.astype(model.dtype, copy=False) if found.dtype == dtype else found

        if out is None:
            return rows.map_rows(answers, inputs)
        with naming("out"):
            check_target(out, views.arrays)
        with closing(rows.map_blocks(answers, inputs)) as parts:
            first = next(parts)
            write_rows(out, rows.n_samples, first.dtype, first.shape[1:], chain([first], parts))
    return np.load(out.path, mmap_mode="r")


def model_statistics(model: Model, views: Views, engine: object, *, precise: bool = True) -> PassStatistics:
    """The sums of one pass at the model's exponent, in float64 unless told otherwise."""
    dtype = np.dtype(np.float64) if precise else model.dtype
    with single_threaded_blas():
        rows = _open(model, views, engine, dtype)
        inputs = prepare(model.parameters, model.s, model.problem, dtype)
        return run_pass(rows, inputs, block_statistics)


def precise_evidence(model: Model, views: Views, engine: object) -> Evidence:
    """What each view says about the model's clusters, in float64."""
    double = np.dtype(np.float64)
    with single_threaded_blas():
        rows = _open(model, views, engine, double)
        return rows.fold(view_evidence, prepare(model.parameters, model.s, model.problem, double))


def _with_distance_beyond_landmarks(model: Model) -> Model:
    """The same model with one more feature, the distance to what landmarks represent; centroids are zero in it."""
    maps = tuple(whole(m) for m in model.maps)
    added = [new.n_outputs - old.n_outputs for new, old in zip(maps, model.maps, strict=True)]
    ends = np.repeat(model.problem.splits[1:], added)
    centers = np.insert(model.parameters.centers, ends, 0.0, axis=1)
    splits = np.array(model.problem.splits) + np.cumsum([0, *added])
    problem = replace(model.problem, splits=tuple(splits.tolist()))
    return replace(model, maps=maps, problem=problem, parameters=replace(model.parameters, centers=centers))


def _open(
    model: Model,
    views: Views,
    engine: object,
    dtype: np.dtype[Any],
    *,
    labels_only: bool = False,
) -> Engine:
    """Rows seen through the model's maps, in the given precision."""
    rows = open_engine(engine, model.used(views))
    fitted = (m.for_new(order_only=labels_only) if isinstance(m, CentredKernel) else m for m in model.maps)
    maps = tuple(replace(m, dtype=dtype.name) for m in fitted)
    working = WORKING_PER_CLUSTER * len(model.parameters.centers)
    return rows.with_features(maps, keep=False, working=working)
