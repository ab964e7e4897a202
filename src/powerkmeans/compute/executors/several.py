"""Several devices of PyTorch at once: blocks are dealt to them in turn, and each works as it does alone.

Which device has a block is fixed by its number. Results come in the order of the blocks, so sums of blocks have
the bits that one device of the same kind gives; where kernels add up all that a device holds, devices are added in
their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from queue import SimpleQueue
from typing import Any, cast

from powerkmeans.compute.executors.lanes import arriving
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.types import Array, Block, Blocks, Engine, FeatureMap, P, Pass, PassStatistics, T, Views


@dataclass(frozen=True)
class Copies:
    """The same inputs on every device."""

    each: tuple[Any, ...]


class DealtBlocks:
    """Blocks that devices hold, each every so many of them."""

    def __init__(self, parts: list[Blocks]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def read(self) -> Generator[Block, None, None]:
        """Yield them in order."""
        rounds = zip_longest(*(part.read() for part in self.parts))
        yield from (block for block in chain.from_iterable(rounds) if block is not None)


class Several:
    """Runs functions of blocks on several devices, by a thread for each."""

    on_device = True

    def __init__(self, executors: Sequence[Torch]) -> None:
        self._each = tuple(executors)
        self._first = self._each[0]
        self._here = threading.local()
        self._pool = ThreadPoolExecutor(len(self._each), "powerkmeans-device")

    @property
    def xp(self) -> Any:
        return self._first.xp

    @property
    def block_bytes(self) -> int | None:
        return self._first.block_bytes

    @property
    def passes(self) -> tuple[Pass, ...]:
        """Kernels, on what each device holds."""
        passes = [executor.passes for executor in self._each]
        return (DealtPass(self, tuple(some[0] for some in passes)),) if all(passes) else ()

    def room_for(self, n_bytes: int, budget: int | None) -> bool:
        """Whether every device has room for its share of so many bytes; a budget is that of all together."""
        share = -(-n_bytes // len(self._each))
        each = None if budget is None else budget // len(self._each)
        return all(executor.room_for(share, each) for executor in self._each)

    def sent(self, views: Views, budget: int | None) -> Views:
        """Rows go to the devices in every pass anew."""
        return views

    def place(self, inputs: P) -> P:
        """Bring arrays to the device whose thread this is, else to all of them."""
        executor = getattr(self._here, "executor", None)
        if executor is not None:
            return cast(P, executor.place(inputs))
        return cast(P, Copies(tuple(executor.place(inputs) for executor in self._each)))

    def gathered(self, result: T) -> T:
        """Bring sums to the first device, where they are added."""
        return self._first.place(result)

    def fetch(self, result: T) -> T:
        """Bring tensors here as NumPy arrays, from wherever they are."""
        return self._first.fetch(result)

    def stacked(self, parts: Iterator[Array], n_rows: int) -> Array:
        """What a function made of blocks, as one table on the first device."""
        return self._first.stacked(parts, n_rows)

    def run(self, function: Callable[[Block, P], T], blocks: Blocks, inputs: P) -> Generator[T, None, None]:
        """Yield ``function(block, inputs)`` in the order of the blocks, of which every device has one in work."""
        with closing(self._ready(blocks)) as waiting:
            while True:
                with self._first.products(), self._first.working():
                    some = list(islice(waiting, len(self._each)))
                    results = self.on_each(
                        lambda number, block: function(block, self._given(inputs, number)), some
                    )
                if not some:
                    return
                yield from results

    def on_each(self, work: Callable[[int, Any], T], given: Sequence[Any]) -> list[T]:
        """What ``work(number, one)`` gives for as many devices as there is something for, all at once."""
        running = [
            self._pool.submit(self._at, number, executor.current(), partial(work, number, one))
            for number, (executor, one) in enumerate(zip(self._each, given, strict=False))
        ]
        return [future.result() for future in _ended(running)]

    def _at(self, number: int, there: AbstractContextManager[Any], work: Callable[[], T]) -> T:
        self._here.executor = self._each[number]
        with there, self._each[number].working():
            return work()

    @staticmethod
    def _given(inputs: Any, number: int) -> Any:
        return inputs.each[number] if isinstance(inputs, Copies) else inputs

    def _ready(self, blocks: Blocks) -> Generator[Block, None, None]:
        """The blocks; what cards are to get of this machine's rows is on its way to them."""
        if self._first.on_card and getattr(blocks, "from_host", False):
            return arriving(blocks.read(), [executor.lane for executor in self._each], self._first.as_tensor)
        return blocks.read()

    def keep(self, function: Callable[[Block, P], Block], blocks: Blocks, inputs: P) -> Blocks:
        """The blocks that ``function`` makes, each held by the device that has made it."""
        maps: tuple[FeatureMap, ...] = self._given(inputs, 0)[0]
        dealt: list[SimpleQueue[Block | None]] = [SimpleQueue() for _ in self._each[: len(blocks)]]
        sizes = [_rows_of(blocks, number, len(self._each)) for number in range(len(dealt))]
        with ThreadPoolExecutor(len(dealt), "powerkmeans-holder") as holders:
            held = [
                holders.submit(
                    self._at, number, self._each[number].current(), partial(self._held, number, queue, size, maps)
                )
                for number, (queue, size) in enumerate(zip(dealt, sizes, strict=True))
            ]
            try:
                for number, block in enumerate(self.run(function, blocks, inputs)):
                    dealt[number % len(dealt)].put(block)
            finally:
                for queue in dealt:
                    queue.put(None)
        return DealtBlocks([part for future in held for part in future.result()])

    def _held(self, number: int, queue: Any, n_rows: int, maps: tuple[FeatureMap, ...]) -> list[Blocks]:
        """What one device holds of blocks as they come; nothing where making them has failed."""
        made = iter(queue.get, None)
        first = next(made, None)
        return [] if first is None else [self._each[number].held(chain([first], made), n_rows, maps)]


def _ended(running: list[Future[T]]) -> list[Future[T]]:
    """The same once all have ended, so that nothing goes on behind the error of one."""
    for future in running:
        future.exception()
    return running


def _rows_of(blocks: Any, number: int, n_devices: int) -> int:
    """How many rows are dealt to a device."""
    starts = range(number * blocks.size, blocks.n_rows, n_devices * blocks.size)
    return sum(min(blocks.size, blocks.n_rows - start) for start in starts)


@dataclass(frozen=True)
class _Part:
    """What an engine holds on one device."""

    blocks: Blocks


@dataclass(frozen=True)
class DealtPass:
    """The pass of every device over what it holds, and their sums added in float64."""

    several: Several
    each: tuple[Any, ...]

    @property
    def name(self) -> str:
        return f"{self.each[0].name} on {len(self.each)} devices"

    def takes(self, engine: Engine, inputs: Any) -> bool:
        """Whether all devices take such a pass."""
        parts = _parts(engine)
        return bool(parts) and all(
            one.takes(_Part(part), inputs) for one, part in zip(self.each, parts, strict=False)
        )

    def run(self, engine: Engine, inputs: Any) -> PassStatistics:
        """The sums of all devices, added in their order."""
        first, *others = self.several.on_each(
            lambda number, part: self.each[number].run(_Part(part), inputs), _parts(engine)
        )
        return cast(PassStatistics, sum(others, start=first))

    def answered(self, engine: Engine, function: Any, inputs: Any) -> None:
        """What is told of rows is told by the equations as written."""

    @property
    def search(self) -> Any:
        """What finds nearest landmarks, on whichever device rows are."""
        return self.each[0].search

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        """The map as each device has it."""
        return cast(FeatureMap, self.each[0].accelerated(feature_map))


def _parts(engine: Engine) -> list[Blocks]:
    """What each device holds of all rows, if that is how they are held."""
    held = getattr(engine, "blocks", None)
    return held.parts if isinstance(held, DealtBlocks) else []
