"""The executor on PyTorch's processor: what it moves, what it leaves alone, and which products it makes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.blocks import StoredBlocks, rows_per_block
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.compute.options import ENGINES
from powerkmeans.compute.sampling import multipliers, row_hashes
from powerkmeans.engines import NumpyOptions, TorchOptions
from powerkmeans.sources.tensors import SentSource
from powerkmeans.support.memory import can_keep
from powerkmeans.types import Block, Views

X = np.random.default_rng(0).normal(size=(30, 3))


@pytest.fixture
def executor():
    return ENGINES[TorchOptions](TorchOptions(device="cpu"))


def blocks(*rows):
    return StoredBlocks([Block(0, (one,), (), np.ones(len(one))) for one in rows])


def test_arrays_are_placed_without_a_copy_whatever_their_form(executor):
    locked, broadcast = X.copy(), np.broadcast_to(np.float32(2), (5,))
    locked.setflags(write=False)
    given = (X, locked, broadcast, X[::-1], csr_array(X), torch.ones(2), "word", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        placed = executor.place(given)
    assert all(isinstance(one, torch.Tensor) for one in placed[:6])
    assert placed[0].data_ptr() == X.ctypes.data
    assert placed[1].data_ptr() == locked.ctypes.data
    assert placed[2].stride() == (0,)
    assert placed[5] is given[5]
    assert placed[6:] == ("word", None)
    for one, other in zip(executor.fetch(placed)[:5], given, strict=False):
        np.testing.assert_array_equal(one, other.toarray() if hasattr(other, "toarray") else other)


def test_results_come_in_order_and_an_error_ends_them(executor):
    def function(block, factor):
        assert not torch.is_grad_enabled()
        if block.views[0].shape[0] == 3:
            raise ValueError("three rows")
        return torch.from_numpy(block.views[0]) * factor

    found = executor.run(function, blocks(X[:2], X[:5], X[:3], X[:1]), 2)
    assert [len(next(found)) for _ in range(2)] == [2, 5]
    with pytest.raises(ValueError, match="three rows"):
        next(found)
    assert torch.is_grad_enabled()


def test_what_takes_less_memory_is_told(executor):
    def fails(block, _):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    words = r"'cpu' has no memory left.*TorchOptions\(memory_budget=\.\.\.\) lower.*open_source.*Tried to allocate"
    with pytest.raises(MemoryError, match=words):
        next(executor.run(fails, blocks(X), None))


@pytest.mark.parametrize(("precision", "word"), [("float32", "ieee"), ("tf32", "tf32"), ("bfloat16", "bf16")])
def test_products_are_as_exact_as_asked_whatever_the_program_has_set(precision, word):
    switch = torch.backends.mkldnn.matmul
    if not hasattr(switch, "fp32_precision"):
        pytest.skip("this PyTorch has one switch for all")
    before, seen = switch.fp32_precision, []
    switch.fp32_precision = "bf16"
    try:
        found = Torch("cpu", precision).run(lambda *_: seen.append(switch.fp32_precision), blocks(X, X), None)
        next(found)
        assert switch.fp32_precision == "bf16"  # also between blocks
        list(found)
    finally:
        switch.fp32_precision = before
    assert seen == [word, word]


def test_old_versions_have_one_switch(monkeypatch):
    class Old:
        def __getattr__(self, name):
            return getattr(torch, name)

        class backends:  # noqa: N801
            class cuda:  # noqa: N801
                matmul = object()

    executor, seen = Torch("cpu", "tf32"), []
    monkeypatch.setattr(executor, "_torch", Old())
    list(executor.run(lambda *_: seen.append(torch.get_float32_matmul_precision()), blocks(X), None))
    assert seen == ["high"]
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_card_is_given_larger_blocks():
    small = rows_per_block(200, 4)
    assert rows_per_block(200, 4, block_bytes=2**28) * 200 * 4 == pytest.approx(2**28, rel=1e-3)
    assert rows_per_block(2**20, 8, kernel_rows=True, block_bytes=2**20) == 512
    assert Torch("cpu").block_bytes is None
    assert small <= 2**14


def test_the_budget_of_a_processor_and_of_a_card(executor, monkeypatch):
    assert executor.room_for(2**28, None) == can_keep(2**28, 2**30)
    assert not executor.room_for(2**20, 0)
    monkeypatch.setattr(Torch, "on_card", True)
    monkeypatch.setattr(Torch, "_free_bytes", lambda self: 1000)
    assert [executor.room_for(n, None) for n in (600, 601)] == [True, False]
    assert [executor.room_for(n, 700) for n in (700, 701)] == [True, False]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"device": "gpu"}, r"device.* must be 'cpu', 'cuda', 'cuda:0' or another number, .*, or None"),
        ({"device": "mps"}, r"device.* must be"),
        ({"precision": "float16"}, r"precision.* must be one of"),
        ({"memory_budget": -1}, r"memory_budget.* must be"),
        ({"kernel": "compiled"}, r"kernel.* must be one of"),
    ],
)
def test_wrong_options(wrong, words):
    with pytest.raises(ValueError, match=words):
        TorchOptions(**wrong)


def test_a_device_of_torch_is_kept_by_its_name():
    assert TorchOptions(device=torch.device("cuda", 1)) == TorchOptions(device="cuda:1")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_no_card():
    with pytest.raises(ValueError, match=r"device='cuda' is not available.*Use device='cpu'"):
        KernelPowerKMeans(2, engine=TorchOptions(device="cuda")).fit(X)


def test_the_same_bits_in_every_run():
    rows = X.astype(np.float32)
    settings = {"feature_map": "rff", "anneal_factor": 2.0, "random_state": 0, "advice": False}
    fits = [KernelPowerKMeans(3, engine=TorchOptions(), **settings).fit(rows) for _ in range(2)]
    assert fits[0].objective_ == fits[1].objective_
    assert np.array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)
    numpy = KernelPowerKMeans(3, engine=NumpyOptions(), **settings).fit(rows)
    assert np.array_equal(fits[0].labels_, numpy.labels_)


def test_rows_are_sent_once_and_only_where_a_card_has_room(executor, monkeypatch):
    rows = X.copy()
    rows.setflags(write=False)
    views = Views(("X",), (rows,), np.ones(len(X)))
    assert open_engine(TorchOptions(device="cpu"), views).views is views  # a processor has them already
    monkeypatch.setattr(Torch, "on_card", True)
    monkeypatch.setattr(Torch, "_send", lambda self, rows: self.as_tensor(rows).clone())
    monkeypatch.setattr(Torch, "room_for", lambda self, n_bytes, budget: budget != 0)
    assert open_engine(TorchOptions(device="cpu", memory_budget=0), views).views is views
    (sent,) = open_engine(TorchOptions(device="cpu"), views).views.arrays
    assert isinstance(sent, SentSource)
    first, second = (torch.cat(list(sent.device_blocks(7))) for _ in range(2))
    np.testing.assert_array_equal(first, X)
    assert sent.tensor.data_ptr() == next(iter(sent.device_blocks(7))).data_ptr()
    np.testing.assert_array_equal(second, X)
    np.testing.assert_array_equal(np.concatenate(list(sent.blocks(7))), X)
    np.testing.assert_array_equal(sent.take(np.array([2, 5])), X[[2, 5]])
    assert sent.read() is rows
    np.testing.assert_array_equal(sent[3:5], X[3:5])


def test_rows_have_the_same_hashes_as_tensors():
    rng = np.random.default_rng(0)
    views = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)).astype(np.float32)
    columns = [multipliers(3, "a", 7), multipliers(2, "b", 7)]
    there = tuple(map(torch.from_numpy, views))
    assert np.array_equal(row_hashes(there, columns), row_hashes(views, columns))
    present = rng.uniform(size=(2, 40)) > 0.5
    assert np.array_equal(row_hashes(there, columns, present), row_hashes(views, columns, present))
    assert not np.array_equal(row_hashes(there, columns, present), row_hashes(views, columns))
