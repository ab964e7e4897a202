"""Rows on their way to a card, whose stream of copies is played here by one that puts every copy off.

What a lane copies is copied when somebody waits for it, and not before: a piece of pinned memory that was written
to again too early, or work that began before its rows had arrived, would see other numbers.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from powerkmeans import open_source
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors import lanes as lanes_module
from powerkmeans.compute.executors.lanes import arriving, sent
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.engines import TorchOptions
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.linearised import scatter_sums
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.types import Block, Views

RNG = np.random.default_rng(0)


class LateMark:
    def __init__(self, lane, number):
        self.lane, self.number = lane, number

    def synchronize(self):
        self.lane.waits += 1
        self.lane.copy_until(self.number)


class LateLane:
    """Copies as late as it may."""

    def __init__(self):
        self.told, self.done, self.waits, self.pieces, self.threads = [], 0, 0, [], set()
        self.copying = threading.Lock()  # each is copied once, whoever waits

    def pinned(self, n_bytes):
        self.pieces.append(torch.empty(n_bytes, dtype=torch.uint8))
        return self.pieces[-1]

    def empty(self, shape, dtype):
        return torch.full(shape, torch.nan, dtype=dtype)

    def copy(self, target, source):
        self.threads.add(threading.current_thread().name)
        self.told.append((target, source))

    def mark(self):
        return LateMark(self, len(self.told))

    def wait(self, tensor, mark):
        self.copy_until(mark.number)

    def copy_until(self, number):
        with self.copying:
            for target, source in self.told[self.done : number]:
                target.copy_(source)
            self.done = max(self.done, number)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(lanes_module, "PIECE_BYTES", 100)


def blocks_of(*views):
    yield from (
        Block(start, tuple(view[start : start + 20] for view in views), (), np.ones(20)) for start in (0, 20, 40)
    )


def as_tensor(rows):
    return Torch("cpu").as_tensor(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 3, 40])
def test_rows_arrive_as_they_are_however_late_they_are_copied(small_pieces, dtype, n_columns):
    rows, lane = RNG.normal(size=(60, n_columns)).astype(dtype), LateLane()
    for given in (rows, np.asfortranarray(rows), rows[::-1], csr_array(rows)):
        dense = given.toarray() if hasattr(given, "toarray") else given
        np.testing.assert_array_equal(sent(as_tensor(given), lane), dense)
        found = [block.views[0].clone() for block in arriving(blocks_of(given), [lane], as_tensor)]
        np.testing.assert_array_equal(torch.cat(found), dense)
    assert lane.waits > 0  # pieces were used again


def test_two_pieces_of_bounded_size_are_all_that_is_pinned(small_pieces):
    rows, lane = RNG.normal(size=(60, 3)), LateLane()
    assert len(list(arriving(blocks_of(rows, rows[:, :2]), [lane], as_tensor))) == 3
    assert sum(map(len, lane.pieces[-2:])) <= 2 * 100
    assert len(lane.pieces) <= 4  # narrower rows may want a few bytes more
    assert lane.threads == {"powerkmeans-read-ahead"}


def test_a_block_is_sent_while_the_one_before_is_in_work():
    lane, begun = LateLane(), []

    def read():
        for block in blocks_of(RNG.normal(size=(60, 3))):
            begun.append(block.start)
            yield block

    ahead = arriving(read(), [lane], as_tensor)
    next(ahead)
    deadline = threading.Event()
    while len(begun) < 2 and not deadline.wait(0.01):
        pass
    deadline.wait(0.05)
    assert begun == [0, 20]  # and no more than one
    ahead.close()
    assert "powerkmeans-read-ahead" not in {thread.name for thread in threading.enumerate()}


def test_an_error_of_reading_is_raised_where_blocks_are_used():
    def read():
        yield from list(blocks_of(RNG.normal(size=(60, 3))))[:1]
        raise OSError("the disk is gone")

    ahead = arriving(read(), [LateLane()], as_tensor)
    next(ahead)
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_blocks_are_dealt_to_lanes_in_turn():
    rows, lanes = RNG.normal(size=(60, 3)), [LateLane(), LateLane()]
    found = [block.views[0].clone() for block in arriving(blocks_of(rows), lanes, as_tensor)]
    np.testing.assert_array_equal(torch.cat(found), rows)
    assert [len(lane.told) for lane in lanes] == [2, 1]


@pytest.fixture
def a_card(monkeypatch):
    """The processor in the place of a card that rows are sent to block by block."""
    lane = LateLane()
    monkeypatch.setattr(Torch, "on_card", True)
    monkeypatch.setattr(Torch, "current", lambda self: torch.no_grad())
    monkeypatch.setattr(Torch, "lane", lane)
    monkeypatch.setattr(Torch, "_placed", lambda self, array: self.as_tensor(array))
    monkeypatch.setattr(Torch, "block_bytes", 2**11)
    return lane


@pytest.mark.parametrize("kind", ["array", "map", "parquet", "sparse", "tensor"])
def test_any_rows_of_this_machine_stream_to_the_same_bits(a_card, monkeypatch, tmp_path, kind):
    X = RNG.normal(size=(300, 4))
    views = Views(("X",), (given_as(kind, X, tmp_path),), RNG.uniform(0.5, 2, 300))
    maps = (make_centred(IdentityMap(4), X.mean(axis=0), np.dtype(np.float64)),)

    def found():
        rows = open_engine(TorchOptions("cpu", memory_budget=0), views)
        features = rows.with_features(maps, keep=False)
        sums, sample = features.fold(scatter_sums, None), rows.sample(50, seed=1)
        return sums.scatter, features.map_rows(first_view, None), sample.rows, sample.weight

    streamed = found()
    assert len(a_card.told) > 10
    monkeypatch.setattr(Torch, "_ready", lambda self, blocks: blocks.read())
    for one, other in zip(streamed, found(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(streamed[1], X - X.mean(axis=0), rtol=1e-12, atol=1e-12)


def first_view(block, _):
    return block.views[0]


def given_as(kind, X, folder):
    if kind == "map":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if kind == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = pyarrow.table({f"c{number}": column for number, column in enumerate(X.T)})
        parquet.write_table(table, folder / "rows.parquet")
        return open_source(folder / "rows.parquet")
    return {"array": X, "sparse": csr_array(X), "tensor": TensorSource("X", torch.from_numpy(X))}[kind]


def test_rows_of_a_card_are_not_sent():
    views = Views(("X",), (RNG.normal(size=(9, 2)),), np.ones(9))
    assert open_engine(TorchOptions("cpu"), views).raw_blocks.from_host
