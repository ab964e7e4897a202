"""What the compiled library tells of each row, against the equations as written, on every target that is built."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from test_kernels import BUILT, SHAPES, TOLERANCE, compiled, fourier_maps, random_problem  # noqa: F401

from helpers import blobs, make_engine, make_problem, make_views, quick
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.native.arguments import ANSWERS
from powerkmeans.compute.native.compiled import CompiledAnswer, FusedPass
from powerkmeans.compute.passes import answered, map_rows
from powerkmeans.objective.block import (
    block_distances,
    block_labels,
    block_nearest,
    block_probabilities,
    prepare,
    sample_distances,
)
from powerkmeans.types import Parameters

ONE_EACH = [function for function in ANSWERS if function is not block_nearest]  # which tells two things
MEMBERSHIPS = [("fuzzy", 2.0), ("possibilistic", 1.6), ("possibilistic", 2.0)]


@pytest.mark.parametrize("s", [-0.3, -5.0, -math.inf])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_answers_are_those_of_numpy(compiled, dtype, membership, missing, shape, s):  # noqa: F811
    views, weight, present, problem, parameters = random_problem(shape, dtype, membership, missing)
    engine = make_engine(views, weight, present=present)
    inputs = prepare(parameters, s, problem, np.dtype(dtype))
    # a membership is a product of powers of distances: 1 - s of them, and m of degrees
    power = membership[1] + (1 if s == -math.inf else 1 - s)
    for function in ONE_EACH:
        found = engine.map_rows(CompiledAnswer(compiled.target, function), inputs)
        expected = engine.map_rows(function, inputs)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        decided = np.ones(len(found), bool)
        if function is block_labels or s == -math.inf:
            decided = told_apart(engine, inputs)
        off = np.abs(found.astype(float) - expected)[decided]
        most = {block_labels: 0, block_distances: np.max(expected), block_probabilities: power}.get(function, 2)
        assert np.max(off, initial=0.0) <= TOLERANCE[dtype] * most, function.__name__


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_nearest_cluster_and_how_far_it_is(compiled, dtype, shape):  # noqa: F811
    views, weight, present, problem, parameters = random_problem(shape, dtype, ("fuzzy", 2.0), missing=True)
    engine = make_engine(views, weight, present=present)
    inputs = prepare(parameters, -3.0, problem, np.dtype(dtype))
    for block in engine.blocks.read():
        found, expected = (
            CompiledAnswer(compiled.target, block_nearest)(block, inputs),
            block_nearest(block, inputs),
        )
        assert np.array_equal(found.labels, CompiledAnswer(compiled.target, block_labels)(block, inputs))
        assert found.distance.dtype == expected.distance.dtype == dtype
        most = TOLERANCE[dtype] * float(np.max(expected.distance))
        assert found.distance == pytest.approx(expected.distance, abs=2 * most)


def told_apart(engine, inputs):
    """Rows whose two nearest centroids differ by more than rounding."""
    nearest = np.sort(engine.map_rows(transposed_distances, inputs).astype(float), axis=1)
    if nearest.shape[1] == 1:
        return np.ones(len(nearest), bool)
    return nearest[:, 1] - nearest[:, 0] > 2 * TOLERANCE[nearest.dtype.type] * np.max(nearest)


def transposed_distances(block, inputs):
    return sample_distances(block, inputs, np)[0].T


@pytest.mark.parametrize("function", ONE_EACH, ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_raw_rows_are_answered_like_their_features(compiled, dtype, shape, function):  # noqa: F811
    views, weight, present, _, parameters = random_problem(shape, dtype, ("possibilistic", 2.0), missing=True)
    maps, rng = fourier_maps(shape[2], dtype), np.random.default_rng(1)
    problem = make_problem([0.3 * rng.normal(size=(10, 18)) for _ in maps], "possibilistic")
    centers = 0.2 * rng.normal(size=(shape[1], 18 * len(maps)))
    inputs = prepare(replace(parameters, centers=centers), -3.0, problem, np.dtype(dtype))
    rows, fused = open_engine("auto", make_views(views, weight, present)), FusedPass(compiled.target)
    through = rows.with_features(maps, keep=False)
    assert fused.takes(through, inputs)
    engine, faster, prepared = fused.answered(through, function, inputs)
    assert engine is through.raw
    found, expected = engine.map_rows(faster, prepared), through.map_rows(function, inputs)
    decided = told_apart(through, inputs) if function is block_labels else slice(None)
    assert found[decided] == pytest.approx(expected[decided], abs=6 * TOLERANCE[dtype] * float(np.max(expected)))


def first_view(block, _):
    return block.views[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e3, 1e9, 1e15])
def test_far_rows_have_memberships_too(compiled, dtype, far):  # noqa: F811
    """Their degrees are smaller than any number; what counts is how they compare."""
    views, weight, _, problem, parameters = random_problem((70, 5, (3,)), dtype, ("possibilistic", 2.0), False)
    views[0][:3] *= far
    engine = make_engine(views, weight)
    inputs = prepare(parameters, -2.0, problem, np.dtype(dtype))
    found = engine.map_rows(CompiledAnswer(compiled.target, block_probabilities), inputs)
    assert np.all(np.isfinite(found))
    assert np.sum(found, axis=1) == pytest.approx(1.0, abs=10 * TOLERANCE[dtype])
    assert found == pytest.approx(engine.map_rows(block_probabilities, inputs), abs=1e-4)


@pytest.mark.skipif(not BUILT, reason="powerkmeans was installed without a C++ compiler")
@pytest.mark.parametrize("answer", ["predict", "predict_proba", "transform", "outlier_score"])
def test_estimators_ask_the_library(monkeypatch, answer):
    X, _ = blobs()
    asked = []

    def told(self, block, inputs):
        asked.append(self.function)
        return self.function(block, inputs.inputs if hasattr(inputs, "inputs") else inputs)

    model = quick(3, feature_map="nystroem", membership="possibilistic", random_state=0).fit(X)
    monkeypatch.setattr(CompiledAnswer, "__call__", told)
    getattr(model, answer)(X)
    assert asked


def test_other_functions_are_run_as_they_are():
    engine = make_engine([blobs()[0]])
    problem = random_problem((10, 3, (5,)), np.float64, ("fuzzy", 2.0), False)[3]
    inputs = prepare(Parameters(np.eye(3, 5), np.ones(1)), -1.0, problem, np.dtype(float))
    assert answered(engine, first_view, inputs) == (engine, first_view, inputs)
    assert np.array_equal(map_rows(engine, first_view, inputs), engine.map_rows(first_view, inputs))


def test_answers_travel_between_processes(compiled):  # noqa: F811
    answer = CompiledAnswer(compiled.target, block_labels)
    assert pickle.loads(pickle.dumps(answer)) == answer
