"""What a fitted model says of any samples: one function of blocks, run over rows seen through the model's maps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import answered, run_pass
from powerkmeans.models.graph_answers import opened, typicality_of
from powerkmeans.models.model import Model
from powerkmeans.objective.block import (
    PassInput,
    block_labels,
    block_outlier_scores,
    block_statistics,
    block_typicality,
    prepare,
)
from powerkmeans.objective.evidence import Evidence, view_evidence
from powerkmeans.sources import check_target, write_rows
from powerkmeans.support.files import Target
from powerkmeans.support.values import naming
from powerkmeans.types import Array, Block, Engine, PassStatistics, Views, array_namespace

# numbers that a pass holds for each row and cluster: distances, powers, pulls
WORKING_PER_CLUSTER = 4


def apply(
    model: Model,
    views: Views,
    engine: object,
    function: Callable[[Block, PassInput], Array],
    *,
    precise: bool = False,
    with_missed: bool = False,
    out: Target | None = None,
) -> Array:
    """Evaluate a function of blocks under a fitted model, one row per sample; into a file if ``out`` names one.

    ``precise`` takes features and distances in float64. ``with_missed`` adds to distances what landmarks miss of a
    sample, for scores of outliers.
    """
    dtype = np.dtype(np.float64) if precise or model.problem.dual else model.dtype
    model = _with_missed(model) if with_missed else model
    with single_threaded_blas():
        rows = _open(model, model.used(views), engine, dtype, labels_only=function is block_labels)
        inputs = prepare(model.parameters, model.s, model.problem, dtype)
        rows, faster, prepared = answered(rows, function, inputs)
        answers = partial(_cast, function=faster, dtype=model.dtype.name)
        if out is None:
            return rows.map_rows(answers, prepared)
        with naming("out"):
            check_target(out, views.arrays)
        return _written(rows, answers, prepared, out)


def typicality(
    model: Model, views: Views, engine: object, *, scores: bool = False, out: Target | None = None
) -> Array:
    """How typical samples are, or how much of outliers: by their neighbours in a graph, else by the membership."""
    if not model.fuses:
        function = block_outlier_scores if scores else block_typicality
        return apply(model, views, engine, function, with_missed=True, out=out)
    with single_threaded_blas():
        rows, inputs = opened(model, views, engine)
        answers = partial(_untypicality if scores else typicality_of, dtype=model.dtype.name)
        if out is None:
            return rows.map_rows(answers, inputs)
        with naming("out"):
            check_target(out, views.arrays)
        return _written(rows, answers, inputs, out)


def _untypicality(block: Block, inputs: Any, dtype: str) -> Array:
    return 1 - typicality_of(block, inputs, dtype)


def labels_without_noise(
    model: Model, views: Views, engine: object, threshold: float, *, out: Target | None = None
) -> Array:
    """Labels, -1 where the outlier score is above the threshold."""
    lenient = replace(model, maps=tuple(m.lenient() for m in model.maps))
    labels = apply(lenient, views, engine, block_labels)
    labels[typicality(model, views, engine, scores=True) > threshold] = -1
    return labels if out is None else _held_written(out, views, labels)


def _held_written(out: Target, views: Views, answers: Array) -> Array:
    """Answers that are held, in a file."""
    with naming("out"):
        check_target(out, views.arrays)
    write_rows(out, len(answers), answers.dtype, answers.shape[1:], iter([answers]))
    return np.load(out.path, mmap_mode="r")


def _cast(block: Block, inputs: PassInput, function: Callable[[Block, PassInput], Array], dtype: str) -> Array:
    """Answers in the precision of the model; labels stay integers."""
    found = function(block, inputs)
    xp = array_namespace(found)
    numbers = xp.isdtype(found.dtype, "real floating")
    return xp.astype(found, getattr(xp, dtype), copy=False) if numbers else found


def _written(rows: Engine, function: Callable[[Block, Any], Array], inputs: Any, out: Target) -> Array:
    """Answers in a file, written as they come."""
    with closing(rows.map_blocks(function, inputs)) as parts:
        first = next(parts)
        write_rows(out, rows.n_samples, first.dtype, first.shape[1:], chain([first], parts))
    return np.load(out.path, mmap_mode="r")


def model_statistics(model: Model, views: Views, engine: object, *, precise: bool = True) -> PassStatistics:
    """The sums of one pass at the model's exponent, in float64 unless told otherwise."""
    return used_statistics(model, model.used(views), engine, precise=precise)


def used_statistics(model: Model, used: Views, engine: object, *, precise: bool = True) -> PassStatistics:
    """The same of views that are as the model uses them already."""
    dtype = np.dtype(np.float64) if precise else model.dtype
    with single_threaded_blas():
        rows = _open(model, used, engine, dtype)
        inputs = prepare(model.parameters, model.s, model.problem, dtype)
        return run_pass(rows, inputs, block_statistics)


def precise_evidence(model: Model, views: Views, engine: object) -> Evidence:
    """What each view says about the model's clusters, in float64."""
    double = np.dtype(np.float64)
    with single_threaded_blas():
        rows = _open(model, model.used(views), engine, double)
        return rows.fold(view_evidence, prepare(model.parameters, model.s, model.problem, double))


def _with_missed(model: Model) -> Model:
    """The same model with what landmarks miss of a sample as one more feature, in which centroids are zero."""
    maps = tuple(m.with_missed() for m in model.maps)
    added = [new.n_outputs - old.n_outputs for new, old in zip(maps, model.maps, strict=True)]
    ends = np.repeat(model.problem.splits[1:], added)
    centers = np.insert(model.parameters.centers, ends, 0.0, axis=1)
    splits = np.array(model.problem.splits) + np.cumsum([0, *added])
    problem = replace(model.problem, splits=tuple(splits.tolist()))
    return replace(model, maps=maps, problem=problem, parameters=replace(model.parameters, centers=centers))


def _open(
    model: Model,
    used: Views,
    engine: object,
    dtype: np.dtype[Any],
    *,
    labels_only: bool = False,
) -> Engine:
    """Rows seen through the model's maps, in the given precision."""
    return with_maps(model, open_engine(engine, used), dtype, labels_only=labels_only)


def with_maps(model: Model, rows: Engine, dtype: np.dtype[Any], *, labels_only: bool = False) -> Engine:
    """The same of rows that an engine has already."""
    fitted = (m.for_new(order_only=labels_only) for m in model.maps)
    maps = tuple(replace(m, dtype=dtype.name) for m in fitted)
    working = WORKING_PER_CLUSTER * len(model.parameters.centers)
    return rows.with_features(maps, keep=False, working=working)
