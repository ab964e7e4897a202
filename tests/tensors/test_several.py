"""Several devices at once, played by the processor: the bits of one device, and errors that are told."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute import blocks as blocks_module
from powerkmeans.compute.blocks import StoredBlocks
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors.several import DealtBlocks, Several
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.compute.options import ENGINES
from powerkmeans.engines import TorchOptions
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.linearised import scatter_sums
from powerkmeans.support.tensors import open_devices
from powerkmeans.types import Block, Views

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(500, 4)) + 5 * np.eye(3, 4)[RNG.integers(3, size=500)]).astype(np.float32)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 2**9)


def several(count):
    return ENGINES[TorchOptions](TorchOptions(["cpu"] * count))


def first_view(block, _):
    return block.views[0]


@pytest.mark.parametrize("count", [2, 3, 30])
@pytest.mark.parametrize("budget", [None, 0])
def test_any_number_of_devices_gives_the_bits_of_one(small_blocks, count, budget):
    views = Views(("X",), (X,), RNG.uniform(0.5, 2, 500).astype(np.float32))
    maps = (make_centred(IdentityMap(4), X.mean(axis=0, dtype=np.float64), np.dtype(np.float32)),)

    def found(device):
        rows = open_engine(TorchOptions(device, memory_budget=budget), views)
        features = rows.with_features(maps, keep=True)
        assert features.stored == (budget is None)
        sums, sample = features.fold(scatter_sums, None), rows.sample(50, seed=1)
        table = features.table(first_view, None)
        return sums.scatter, features.map_rows(first_view, None), table.read(), sample.rows, sample.weight

    assert len(open_engine("numpy", views).raw_blocks) == 16
    for one, other in zip(found("cpu"), found(["cpu"] * count), strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_are_held_by_the_device_that_made_them(small_blocks):
    views = Views(("X",), (X,), np.ones(500, dtype=np.float32))
    rows = open_engine(TorchOptions(["cpu"] * 3), views).with_features((IdentityMap(4),), keep=True)
    assert isinstance(rows.blocks, DealtBlocks)
    assert [len(part) for part in rows.blocks.parts] == [6, 5, 5]
    assert [block.start for block in rows.blocks.parts[1].read()] == [32, 128, 224, 320, 416]
    assert [block.start for block in rows.blocks.read()] == list(range(0, 500, 32))


@pytest.fixture
def few_blocks(monkeypatch):
    monkeypatch.setattr(blocks_module, "LARGEST_BLOCK", 160)


def test_a_fit_has_the_same_bits(few_blocks):
    settings = {"random_state": 0, "advice": False, "anneal_factor": 4.0}
    one, two = (
        KernelPowerKMeans(3, engine=TorchOptions(device), **settings).fit(X) for device in ("cpu", ["cpu", "cpu"])
    )
    assert one.objective_ == two.objective_
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)
    assert np.array_equal(one.predict(X), two.predict(torch.from_numpy(X)).numpy())


def test_several_views_some_missing(few_blocks):
    present = RNG.uniform(size=(500, 2)) > 0.3
    present[~present.any(axis=1), 0] = True
    views = {"a": np.where(present[:, :1], X, np.nan), "b": np.where(present[:, 1:], X[:, :2], np.nan)}
    settings = {"feature_map": "identity", "random_state": 0, "anneal_factor": 4.0, "advice": False}
    one, two = (
        MultiViewPowerKMeans(3, engine=TorchOptions(device), **settings).fit(views)
        for device in ("cpu", ["cpu", "cpu"])
    )
    assert one.objective_ == two.objective_
    assert np.array_equal(one.labels_, two.labels_)


def test_an_error_on_one_device_ends_all_and_leaves_the_rest_usable():
    def fails(block, _):
        assert not torch.is_grad_enabled()
        if block.start == 2:
            raise ValueError("block two")
        return block.start

    blocks = StoredBlocks([Block(start, (X[:1],), (), X[:1, 0]) for start in range(5)])
    executor = several(2)
    found = executor.run(fails, blocks, None)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="block two"):
        next(found)
    assert list(executor.run(lambda block, _: block.start, blocks, None)) == [0, 1, 2, 3, 4]


def test_products_are_as_exact_as_asked_in_every_thread():
    switch = torch.backends.mkldnn.matmul
    if not hasattr(switch, "fp32_precision"):
        pytest.skip("this PyTorch has one switch for all")
    before, seen = switch.fp32_precision, []
    blocks = StoredBlocks([Block(start, (X[:1],), (), X[:1, 0]) for start in range(4)])
    found = several(2).run(lambda *_: seen.append(switch.fp32_precision), blocks, None)
    next(found)
    assert switch.fp32_precision == before  # also between blocks
    list(found)
    assert seen == ["ieee"] * 4


def test_a_budget_is_that_of_all_devices(monkeypatch):
    monkeypatch.setattr(Torch, "on_card", True)
    free = iter([1000, 600] * 2)
    monkeypatch.setattr(Torch, "_free_bytes", lambda self: next(free))
    executor = several(2)
    assert executor.room_for(720, None)  # 360 each: six tenths of 600
    assert not executor.room_for(722, None)
    assert [executor.room_for(n, 700) for n in (700, 702)] == [True, False]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([], "device.* must be 'cpu'.*a list of devices, or None"),
        (["cuda:0", "cpu"], "device.* must be a list of devices of one kind"),
        (["cuda:0", "tpu"], "device.* must be 'cpu'"),
        (["cuda:0", None], "device.* must be 'cpu'"),
        (["cuda:*", "cuda:0"], "device.* must be 'cpu'"),
    ],
)
def test_lists_that_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        TorchOptions(device=wrong)


def test_lists_are_kept_by_names():
    options = TorchOptions(device=[torch.device("cuda", 1), "cuda:0"])
    assert options.device == ("cuda:1", "cuda:0")
    assert pickle.loads(pickle.dumps(options)) == options
    assert TorchOptions(device=["cuda:1"]) == TorchOptions(device="cuda:1")
    assert isinstance(several(2), Several)
    assert isinstance(several(1), Torch)


def test_every_card_is_one_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert [str(device) for device in open_devices("cuda:*")] == ["cuda:0", "cuda:1", "cuda:2"]
    with pytest.raises(ValueError, match="'cuda:1' twice"):
        open_devices(("cuda:1", "cuda:0", "cuda:1"))
    with pytest.raises(ValueError, match="device='cuda:7' is not available; this machine has 'cuda:0'"):
        open_devices(("cuda:1", "cuda:7"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_no_cards():
    with pytest.raises(ValueError, match="device='cuda' is not available"):
        KernelPowerKMeans(2, engine=TorchOptions(device="cuda:*")).fit(X)


def test_to_device_takes_several():
    model = KernelPowerKMeans(3, feature_map="identity", random_state=0, anneal_factor=2.0, advice=False).fit(X)
    assert np.array_equal(model.to_device(["cpu", "cpu"]).predict(X), model.predict(X))
