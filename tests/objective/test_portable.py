"""Block functions are array-API code: a namespace that has nothing else gives NumPy's numbers.

All arrays are on the second device of the strict namespace, which refuses to mix devices, and values are not to be
read back: shapes may not depend on them, and no array tells its value.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from importlib.util import find_spec

import array_api_strict as strict
import numpy as np
import pytest

from helpers import make_present
from powerkmeans.objective import block as blocks
from powerkmeans.objective import evidence, linearised
from powerkmeans.objective.membership import MEMBERSHIPS
from powerkmeans.objective.power_mean import power_mean
from powerkmeans.types import Block, Parameters, Problem
from toy_membership import Welsch

DEVICE = strict.Device("device1")
MEMBERS = [*(make(1.6) for make in MEMBERSHIPS.values()), MEMBERSHIPS["possibilistic"](2.0), Welsch(2.0)]


def on_device(array):
    return strict.asarray(array, device=DEVICE)


def placed(value, place=on_device):
    """Arrays on the other device, or wherever they are to be."""
    if isinstance(value, np.ndarray):
        return place(value)
    if isinstance(value, tuple):
        moved = [placed(item, place) for item in value]
        return type(value)(*moved) if hasattr(value, "_fields") else tuple(moved)
    if is_dataclass(value) and not isinstance(value, tuple(type(m) for m in MEMBERS)):
        return replace(value, **{f.name: placed(getattr(value, f.name), place) for f in fields(value)})
    return value


@pytest.fixture(autouse=True)
def no_values_are_read(monkeypatch):
    def refuse(array):
        raise AssertionError("a value was read back from the device")

    for name in ("__bool__", "__float__", "__int__", "__index__"):
        monkeypatch.setattr(type(strict.asarray(0.0)), name, refuse)
    with strict.ArrayAPIStrictFlags(data_dependent_shapes=False):
        yield


def on_host(array):
    assert array.device == DEVICE
    return np.asarray(strict.asarray(array, device=strict.Device("CPU_DEVICE")))


def compare(function, block, inputs, rel=1e-12):
    """Each result, or each field of it, is NumPy's."""
    with np.errstate(over="ignore", under="ignore"):  # as in the engine
        expected, found = function(block, inputs), function(placed(block), placed(inputs))
        check_close(expected, found, on_host, rel)
        if find_spec("torch") is not None:
            torch = import_module("torch")
            found = function(*(placed(value, torch.asarray) for value in (block, inputs)))
            check_close(expected, found, lambda tensor: tensor.numpy(), rel)


def check_close(expected, found, brought, rel):
    names = [f.name for f in fields(expected)] if is_dataclass(expected) else [None]
    for name in names:
        one, other = (expected, found) if name is None else (getattr(expected, name), getattr(found, name))
        other = brought(other)
        assert other.dtype == np.asarray(one).dtype, name
        assert other == pytest.approx(np.asarray(one), rel=rel, abs=rel * float(np.max(np.abs(one)))), name


@pytest.fixture(params=[False, True], ids=["complete", "missing"])
def case(request):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(50, d)) for d in (4, 3)]
    present = make_present(50, 2, rng).T if request.param else None
    if present is not None:
        views = [view * has[:, None] for view, has in zip(views, present, strict=True)]
    centers = rng.normal(size=(3, 7))
    if present is None:
        centers[0] = np.concatenate([view[0] for view in views])  # a sample on a centroid
        centers[1] = centers[0] + 1e-9
    norms = tuple(np.vecdot(view, view) for view in views)
    block = Block(0, tuple(views), norms, rng.uniform(0.5, 2, 50), present)
    return block, Parameters(centers, np.array([0.3, 0.7]))


def problem_of(membership):
    return Problem(membership, (0, 4, 7), np.array([1.5, 2.0]), np.array([4.0, 3.0]))


@pytest.mark.parametrize("s", [-0.3, -1.0, -7.0, -math.inf])
@pytest.mark.parametrize("membership", MEMBERS, ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        blocks.block_statistics,
        blocks.block_labels,
        blocks.block_probabilities,
        blocks.block_distances,
        blocks.block_typicality,
        blocks.block_outlier_scores,
        evidence.view_evidence,
        evidence.labels_and_probabilities,
        evidence.view_shares,
    ],
)
def test_functions_of_a_pass(case, function, membership, s):
    block, parameters = case
    compare(function, block, blocks.prepare(parameters, s, problem_of(membership), np.dtype(np.float64)))


@pytest.mark.parametrize("membership", MEMBERS, ids=repr)
@pytest.mark.parametrize("function", [linearised.pull_sums, linearised.moment_sums])
@pytest.mark.parametrize("with_basis", [False, True])
def test_functions_of_the_collapsed_point(case, function, membership, with_basis):
    block, parameters = case
    problem, missing = problem_of(membership), block.present is not None
    inputs = linearised.CollapseInput(
        membership,
        problem.splits,
        parameters.view_weights,
        problem.reference_distance,
        point=np.linspace(-0.1, 0.1, 7),
        balance=np.array([1.1, 0.9]) if missing else None,
        basis=np.linalg.qr(np.random.default_rng(1).normal(size=(7, 3)))[0] if with_basis else None,
    )
    compare(function, block, inputs)


@pytest.mark.parametrize("function", [linearised.mean_sums, linearised.scatter_sums])
def test_sums_before_the_loop(case, function):
    compare(function, case[0], None)


@pytest.mark.parametrize("s", [-2.0, -math.inf])
def test_a_kernel_matrix(s):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 3))
    kernel = np.exp(-np.sum((rows[:, None] - rows) ** 2, axis=2))
    shares = rng.dirichlet(np.ones(20), size=2)
    parameters = Parameters(np.concatenate([shares, shares @ kernel], axis=1), np.ones(1))
    problem = Problem(MEMBERSHIPS["possibilistic"](2.0), (0, 40), np.ones(1), np.ones(1), dual=(True,))
    block = Block(5, (kernel[5:15],), (np.ones(10),), np.ones(10))
    compare(blocks.block_statistics, block, blocks.prepare_training(parameters, s, problem, np.dtype(np.float64)))
    compare(blocks.block_labels, block, blocks.prepare(parameters, s, problem, np.dtype(np.float64)))


def test_single_precision_stays_single(case):
    block, parameters = case
    parameters.centers[1] += 0.01  # whether what differs by 1e-9 is a tie in single precision is up to a library
    single = [tuple(a.astype(np.float32) for a in arrays) for arrays in (block.views, block.squared_norms)]
    block = Block(0, *single, block.weight.astype(np.float32), block.present)
    inputs = blocks.prepare(parameters, -2.0, problem_of(MEMBERSHIPS["possibilistic"](2.0)), np.dtype(np.float32))
    compare(blocks.block_statistics, block, inputs, rel=1e-4)


@pytest.mark.parametrize("s", [-0.2, -3.0, -math.inf])
def test_power_means_with_zeros(s):
    y = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 1e-200], [3.0, 4.0, 5.0]])
    for expected, found in zip(power_mean(y, s, np), power_mean(placed(y), s, strict), strict=True):
        assert on_host(found) == pytest.approx(expected, rel=1e-12)
