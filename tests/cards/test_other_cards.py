"""Cards with less room than the one that kernels were laid out for, older ones, and none with a compiler."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import triton
from test_kernels_interpreted import check, expected, fourier_problem, held_as, problem_of

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors import torch as executor
from powerkmeans.compute.passes import choose_pass
from powerkmeans.compute.triton import fourier, fused, given, launches, passes, shapes, staged
from powerkmeans.compute.triton.shapes import Shape
from powerkmeans.engines import TorchOptions
from powerkmeans.objective.block import block_statistics
from powerkmeans.objective.membership import Fuzzy
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.types import Views

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Card:
    """A kernel as a card has it that refuses shapes beyond so many rows and stages; 0 for all."""

    def __init__(self, kernel, rows, stages):
        self.kernel, self.most, self.asked = kernel, (rows, stages), []

    def __getitem__(self, grid):
        def run(*known, **options):
            names = dict(zip(self.kernel.arg_names, known, strict=False))
            shape = names["ROWS"], names["STAGES"]
            self.asked.append(shape)
            if any(one > most for one, most in zip(shape, self.most, strict=True)):
                raise triton.OutOfResources(200_000, 100_000, "shared memory")
            return self.kernel[grid](*known, **options)

        return run


@pytest.fixture
def card(monkeypatch):
    """Puts a kernel in the place of another, and forgets which shapes others had room for."""
    monkeypatch.setattr(shapes, "_launched", {})

    def put(module, name, rows, stages):
        smaller = Card(getattr(module, name), rows, stages)
        monkeypatch.setattr(module, name, smaller)
        return smaller

    return put


def passed(held, inputs):
    return launches.run(given.Given(inputs, held))


def test_shapes_have_fewer_stages_and_then_fewer_rows():
    shape, tried = Shape(128, 4, 3, 2), []
    while shape is not None:
        tried.append((shape.rows, shape.stages))
        shape = shape.smaller
    assert tried == [(128, 3), (128, 2), (128, 1), (64, 1), (32, 1)]


@pytest.mark.parametrize(
    ("kernel", "limits", "rows", "stages"),
    [("pass_by_rows", {}, 32, 2), ("pass_by_clusters", {"FUSED_NUMBERS": 0}, 64, 1)],
    ids=["rows", "clusters"],
)
def test_a_pass_takes_the_largest_shape_that_there_is_room_for(kernel, limits, rows, stages, card, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(launches, name, value)
    smaller = card(fused, kernel, rows, stages)
    data, weight, (inputs, exact) = problem_of(0, 90, [20], 5, Fuzzy(), -4.0)
    held = held_as(data, weight, "float32")
    sums = passed(held, inputs)
    check(sums, *expected(held, exact), "float32")
    tried = len(smaller.asked)
    assert tried > 1
    assert smaller.asked[-1][0] <= rows
    assert smaller.asked[-1][1] <= stages
    again = passed(held, inputs)
    assert smaller.asked[tried:] == smaller.asked[tried - 1 : tried]  # known by now
    np.testing.assert_array_equal(again.moment, sums.moment)


def test_a_pass_is_two_kernels_where_one_has_no_room(card):
    none = card(fused, "pass_by_rows", 0, 0)
    data, weight, (inputs, exact) = problem_of(1, 90, [20], 5, Fuzzy(), -4.0)
    held = held_as(data, weight, "float32")
    check(passed(held, inputs), *expected(held, exact), "float32")
    tried = len(none.asked)
    check(passed(held, inputs), *expected(held, exact), "float32")
    assert len(none.asked) == tried > 1


def test_features_from_raw_rows_are_made_by_torch_where_the_kernel_has_no_room(card, monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    none = card(fourier, "pass_from_raw", 0, 0)
    rows, mapped, (inputs, _) = fourier_problem(150, 12, 20, 5, Fuzzy(), -3.0)
    views = Views(("X",), (TensorSource("X", torch.from_numpy(rows)),), np.ones(150, np.float32))
    sums = []
    for kernel in ("auto", "torch"):
        engine = open_engine(TorchOptions("cpu", memory_budget=0, kernel=kernel), views)
        engine = engine.with_features((mapped,), keep=True)
        chosen = choose_pass(engine, inputs)
        sums.append(engine.fold(block_statistics, inputs) if chosen is None else chosen.run(engine, inputs))
    assert none.asked
    np.testing.assert_array_equal(sums[0].moment, sums[1].moment)


@pytest.mark.parametrize(
    ("capability", "hip", "known", "wanted"),
    [
        ((9, 0), None, ("triton", passes._TOOLS), True),
        ((8, 0), None, ("triton", passes._TOOLS), True),
        ((7, 5), None, ("triton", passes._TOOLS), False),
        ((9, 4), "6.2", ("triton", passes._TOOLS), False),
        ((9, 0), None, ("triton",), False),
        ((9, 0), None, (), False),
    ],
    ids=["hopper", "ampere", "turing", "amd", "old triton", "no triton"],
)
def test_where_there_are_kernels(capability, hip, known, wanted, monkeypatch):
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(passes, "find_spec", lambda name: name if name in known else None)
    assert passes.available(SimpleNamespace(type="cuda")) is wanted
    assert not passes.available(SimpleNamespace(type="cpu"))


def refusing(error):
    class Kernel:
        def __getitem__(self, grid):
            def run(*known, **options):
                raise error

            return run

    return Kernel()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("Failed to find C compiler. Please specify via CC"), "install gcc"),
        (triton.runtime.errors.PTXASError("unknown architecture"), "no kernel for the device 'cpu'.*unknown"),
    ],
    ids=["compiler", "architecture"],
)
def test_kernels_that_cannot_be_launched_are_told_with_the_way_out(error, told, card, monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    monkeypatch.setattr(fused, "pass_by_rows", refusing(error))
    X = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
    model = KernelPowerKMeans(2, feature_map="identity", engine=TorchOptions("cpu"), random_state=0)
    with pytest.raises(RuntimeError, match=f"(?s){told}.*kernel='torch'"):
        model.fit(X)


def test_two_kernels_get_smaller_together(card, monkeypatch):
    monkeypatch.setattr(launches, "FUSED_COLUMNS", 0)
    first, second = card(staged, "row_pulls", 32, 1), card(staged, "pulled_rows", 64, 1)
    data, weight, (inputs, exact) = problem_of(2, 90, [20, 5], 5, Fuzzy(), -4.0)
    held = held_as(data, weight, "float32", [20, 5])
    check(passed(held, inputs), *expected(held, exact), "float32")
    assert first.asked[-1] == (32, 1)
    assert second.asked[-1] == (32, 1)


def test_a_card_without_room_for_any_kernel_is_told_too(card, monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    card(fused, "pass_by_rows", 0, 0)
    card(staged, "row_pulls", 0, 0)
    X = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
    model = KernelPowerKMeans(2, feature_map="identity", engine=TorchOptions("cpu"), random_state=0)
    with pytest.raises(RuntimeError, match=r"too little shared memory.*kernel='torch'"):
        model.fit(X)


def test_other_errors_of_a_device_are_told_as_they_are(card, monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    monkeypatch.setattr(fused, "pass_by_rows", refusing(RuntimeError("CUDA error: launch failure")))
    X = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
    with pytest.raises(RuntimeError, match=r"^CUDA error: launch failure$"):
        KernelPowerKMeans(2, feature_map="identity", engine=TorchOptions("cpu"), random_state=0).fit(X)
