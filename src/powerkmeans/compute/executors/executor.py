"""What the engine of a machine asks of whoever runs functions of blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol

from powerkmeans.types import Array, Block, Blocks, P, Pass, T, Views


class Executor(Protocol):
    """Runs functions of blocks where rows live, as the threads of ``compute.executors`` do.

    All are called in the thread of the fit, but ``place`` for a block, which is part of ``function``.
    xp : the array-API namespace of the arrays that functions get
    block_bytes : what a block of rows or features may take; None for as much as a processor's cache has
    room_for : whether so many bytes may be kept where functions run, within a budget, or what there is for None
    on_device : whether rows are tensors of a device there, all of one precision
    passes : faster code that it has for what it keeps
    sent : rows as they are read from then on, where an executor does better to have them at once; within a budget
    stacked : what functions made of all blocks, one row per sample, as one table where functions run
    place : brings arrays to where functions run. Called once per pass with its inputs, a tuple of maps and
        parameters (``compute.placement.moved`` finds the arrays in them), and by the function with each raw block,
        whose rows may be a SciPy CSR matrix: a library without such makes them dense
    run : yields ``function(block, inputs)`` in the order of the blocks, results as they are: arrays may stay on
        their device. The inputs are as ``place`` gave them, or, when rows are drawn, a list of NumPy arrays to be
        passed on. An error of a function ends it; closing it leaves nothing running
    keep : as ``run``, for functions that make blocks, which stay where they are, for any number of passes
    gathered : sums of a block, where they can be added to those of other blocks
    fetch : a result with its arrays as NumPy arrays: the sums of a pass once, answers for rows block by block
    """

    @property
    def xp(self) -> Any: ...
    @property
    def block_bytes(self) -> int | None: ...
    @property
    def on_device(self) -> bool: ...
    @property
    def passes(self) -> tuple[Pass, ...]: ...
    def sent(self, views: Views, budget: int | None) -> Views: ...
    def room_for(self, n_bytes: int, budget: int | None) -> bool: ...
    def place(self, inputs: P) -> P: ...
    def run(self, function: Callable[[Block, P], T], blocks: Blocks, inputs: P) -> Generator[T, None, None]: ...
    def keep(self, function: Callable[[Block, P], Block], blocks: Blocks, inputs: P) -> Blocks: ...
    def stacked(self, parts: Iterator[Array], n_rows: int) -> Array: ...
    def gathered(self, result: T) -> T: ...
    def fetch(self, result: T) -> T: ...
