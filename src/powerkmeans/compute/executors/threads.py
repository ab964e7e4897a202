"""Threads of this process: blocks of NumPy rows, a few of them in work at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from itertools import chain, islice
from typing import Any

import numpy as np

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.blocks import StoredBlocks
from powerkmeans.compute.placement import stacked
from powerkmeans.support.memory import GIB, can_keep
from powerkmeans.types import Array, Block, Blocks, P, Pass, T, Views

# blocks per thread that are in memory at a time: one in work, one that waits
BLOCKS_AHEAD = 2


class Threads:
    """Runs functions of blocks by threads; they end with the last engine that has them."""

    on_device = False
    passes: tuple[Pass, ...] = ()

    def __init__(self, n_threads: int | None = None) -> None:
        self._n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._size = 0

    @property
    def xp(self) -> Any:
        return np

    @property
    def block_bytes(self) -> int | None:
        return None

    def room_for(self, n_bytes: int, budget: int | None) -> bool:
        """Whether so many bytes may be kept in memory."""
        return can_keep(n_bytes, GIB if budget is None else budget)

    def sent(self, views: Views, budget: int | None) -> Views:
        """Rows are where they are worked on."""
        return views

    def place(self, inputs: P) -> P:
        """Rows and parameters are in one memory."""
        return inputs

    def gathered(self, result: T) -> T:
        """There is one memory for sums."""
        return result

    def fetch(self, result: T) -> T:
        """So are results."""
        return result

    def keep(self, function: Callable[[Block, P], Block], blocks: Blocks, inputs: P) -> Blocks:
        """The blocks that ``function`` makes, held in memory."""
        return StoredBlocks(list(self.run(function, blocks, inputs)))

    def stacked(self, parts: Iterator[Array], n_rows: int) -> Array:
        """What a function made of blocks, as one array."""
        return stacked(parts, n_rows, np.empty)

    def run(self, function: Callable[[Block, P], T], blocks: Blocks, inputs: P) -> Generator[T, None, None]:
        """Yield ``function(block, inputs)`` in the order of the blocks."""

        def quiet(block: Block) -> T:
            # infinities and underflow are legitimate limits in the equations; NaN and 0-division are not
            with np.errstate(over="ignore", under="ignore"):
                return function(block, inputs)

        def held(block: Block) -> T:
            with single_threaded_blas():
                return quiet(block)

        with single_threaded_blas() as allowed, closing(blocks.read()) as waiting:
            n_threads, first = self._n_threads or allowed, list(islice(waiting, 2))
            if len(first) < 2:  # within the hold that has just begun
                yield from map(quiet, first)
            elif n_threads == 1:
                yield from map(held, chain(first, waiting))
            else:
                yield from self._in_order(held, chain(first, waiting), n_threads)

    def _in_order(
        self, held: Callable[[Block], T], waiting: Iterator[Block], n_threads: int
    ) -> Generator[T, None, None]:
        pool = self._workers(n_threads)
        running = deque(pool.submit(held, block) for block in islice(waiting, BLOCKS_AHEAD * n_threads))
        try:
            while running:
                result = running.popleft().result()
                running.extend(pool.submit(held, block) for block in islice(waiting, 1))
                yield result
        finally:  # nothing goes on behind an error
            for ahead in running:
                ahead.cancel()
            wait(running)

    def _workers(self, size: int) -> ThreadPoolExecutor:
        if self._pool is None or self._size < size:
            self._pool, self._size = ThreadPoolExecutor(size, "powerkmeans"), size
        return self._pool
