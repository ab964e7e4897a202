"""Whether the numbers of a model give answers: what it says of its own centroids must be finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.schema import largest
from powerkmeans.models.model import Model, Stream
from powerkmeans.objective.block import (
    block_distances,
    block_probabilities,
    block_statistics,
    block_typicality,
    prepare,
)
from powerkmeans.objective.space import inner_products, values
from powerkmeans.objective.updates import about_centers, objective_value, updated
from powerkmeans.types import Array, Block

# so many centroids are asked about
_N_ASKED = 8


def check_answers(model: Model) -> None:
    """Ask a model about its centroids and the mean of its features, in both precisions that it answers in."""
    for view, feature_map in zip(model.used_views, model.maps, strict=not model.fuses):
        _check_map(f"the map of view {model.view_names[view]!r}", feature_map)
    double = np.dtype(np.float64)
    with np.errstate(all="ignore"):
        if not all(np.all(np.isfinite(centers)) for centers in model.cluster_centers()):
            raise Flaw("its centroids are not finite in the space of their views")
        for dtype in {double} if model.problem.dual else {double, model.dtype}:
            _check_block(model, dtype)


def check_stream(model: Model, stream: Stream) -> None:
    """Go on from the running sums, without rows."""
    with np.errstate(all="ignore"):
        sums = about_centers(stream.sums, model.parameters.centers, model.problem)
        parameters = updated(model.parameters, sums, model.problem)
        value = objective_value(float(sums.loss), parameters, model.problem)
    numbers = (parameters.centers, parameters.view_weights, np.array(value))
    if not all(np.all(np.abs(array) <= largest(model.dtype)) for array in numbers[:2]) or not np.isfinite(value):
        raise Flaw("the sums of its stream give centroids that are not finite")


def _check_map(where: str, feature_map: CentredMap) -> None:
    """Bound what a map puts out: features, less their mean, times the scale."""
    base, power = feature_map.base, 2 if feature_map.dual else 1
    reached = base.largest_output + float(np.max(np.abs(feature_map.mean)))
    if not reached * feature_map.scale**power <= largest(feature_map.dtype):
        raise Flaw(f"the numbers of {where} leave the range of {feature_map.dtype}")
    if not base.largest_row <= largest(np.float64):
        raise Flaw(f"the rows of {where} are too large for its bandwidth")


def _check_block(model: Model, dtype: np.dtype[Any]) -> None:
    inputs = prepare(model.parameters, model.s, model.problem, dtype)
    block = _centroids(model, dtype)
    answers = [f(block, inputs) for f in (block_probabilities, block_typicality, block_distances)]
    answers += [np.asarray(value) for value in vars(block_statistics(block, inputs)).values()]
    answers += [*inputs.projections, *inputs.center_norms]
    positive = all(dtype.type(reference) > 0 for reference in inputs.references)
    if not positive or not all(np.all(np.abs(answer) <= largest(dtype) ** 2) for answer in answers):
        raise Flaw(f"its centroids, or its settings, give answers that are not finite in {dtype.name}")


def _centroids(model: Model, dtype: np.dtype[Any]) -> Block:
    """Some centroids and the origin as a block of features."""
    problem = model.problem
    centers = np.vstack([model.parameters.centers[:_N_ASKED], np.zeros((1, problem.splits[-1]))])
    norms = inner_products(centers, centers, problem).T
    parts = [centers[:, part] for part in problem.view_slices]
    rows = [values(part) if problem.is_dual(view) else part for view, part in enumerate(parts)]
    views = tuple(_cast(part, dtype) for part in rows)
    weight = np.ones(len(centers), dtype=dtype)
    return Block(0, views, tuple(_cast(norm, dtype) for norm in norms), weight)


def _cast(array: Array, dtype: np.dtype[Any]) -> Array:
    return np.ascontiguousarray(array, dtype=dtype)
