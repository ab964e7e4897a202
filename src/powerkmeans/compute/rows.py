"""The engine on rows of this machine: blocks, samples of them, an executor that runs functions over the blocks.

Blocks are fixed by the data, and their sums are added in float64 in the order of the rows: the same bits for any
number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.blocks import RowBlocks, mapped, rows_per_block, zeroed
from powerkmeans.compute.executors.executor import Executor
from powerkmeans.compute.options import EngineOptions
from powerkmeans.compute.passes import available_passes, fastest
from powerkmeans.compute.placement import stacked
from powerkmeans.compute.progress import counted
from powerkmeans.compute.sampling import draw_sample
from powerkmeans.types import A, Array, Block, Blocks, FeatureMap, P, RowSample, S, T, Views

# a label, and the numbers that labels are put in order by
BYTES_PER_LABEL = 16


class RowEngine:
    """Rows of some views, raw or seen through feature maps, and what is asked of all of them.

    ``first`` is the number of their first row where they are part of more.
    """

    elsewhere = False

    def __init__(
        self,
        views: Views,
        options: EngineOptions,
        executor: Executor,
        maps: tuple[FeatureMap, ...] = (),
        working: int = 0,
        raw: RowEngine | None = None,
        first: int = 0,
    ) -> None:
        self.views, self._options, self._executor, self._raw, self.first = views, options, executor, raw, first
        self.n_samples, self.dtype = int(views.arrays[0].shape[0]), views.dtype
        self.passes = available_passes(options.kernel, executor.xp) + executor.passes
        self.maps = tuple(fastest(m, self.passes) for m in maps)
        columns = sum(view.shape[1] for view in views.arrays)
        width = sum(m.n_outputs for m in maps) if maps else columns
        kernel_rows = any(m.dual for m in maps)
        sparse = executor.xp is np and any(hasattr(view, "indptr") for view in views.arrays)
        numbers = max(width, working, 0 if sparse else columns)  # which maps work on
        size = rows_per_block(
            numbers, self.dtype.itemsize, kernel_rows=kernel_rows, block_bytes=executor.block_bytes
        )
        self.raw_blocks = RowBlocks(views, size, first, on_device=executor.on_device)
        self.blocks: Blocks = self.raw_blocks
        kept = kept_bytes(self.n_samples, width, len(views.arrays), self.dtype.itemsize)
        self._fits = kernel_rows or executor.room_for(kept, options.memory_budget)

    @property
    def raw(self) -> RowEngine:
        """The engine on the rows themselves."""
        return self if self._raw is None else self._raw

    @property
    def code(self) -> str:
        """What computes the sums of a block, in words: a pass, or the library whose arrays they are."""
        return self.passes[0].name if self.passes else self._executor.xp.__name__.rpartition(".")[2]

    @property
    def on_device(self) -> bool:
        """Whether rows are tensors where the executor works."""
        return self._executor.on_device

    def room_for(self, n_bytes: int) -> bool:
        """Whether so many bytes may be kept where the executor works."""
        return self._executor.room_for(n_bytes, self._options.memory_budget)

    @property
    def stored(self) -> bool:
        """Whether features are held in memory."""
        return self.blocks is not self.raw_blocks

    def with_features(self, maps: tuple[FeatureMap, ...], keep: bool, working: int = 0) -> RowEngine:
        """The same rows seen through feature maps, stored if asked for and within the memory budget.

        ``working`` is how many numbers per row the functions to come will hold besides the features.
        """
        engine = self._mapped(maps, working)
        if keep and engine._fits:
            engine.blocks = self._executor.keep(*engine._work(_unchanged, None))
        return engine

    def holding(self, maps: tuple[FeatureMap, ...], working: int, blocks: Blocks) -> RowEngine:
        """The same rows seen through feature maps, where blocks of features are there already."""
        engine = self._mapped(maps, working)
        engine.blocks = blocks
        return engine

    def cut(self, size: int) -> RowEngine:
        """The rows themselves in blocks of at most ``size``, for functions to which a row is much work.

        Without it all rows of a small set are one block, and one thread works. A device takes them as they are.
        """
        engine = self._mapped((), 0)
        if not self.on_device:
            engine.blocks = engine.raw_blocks = RowBlocks(self.views, min(size, self.raw_blocks.size), self.first)
        return engine

    def _mapped(self, maps: tuple[FeatureMap, ...], working: int) -> RowEngine:
        return RowEngine(self.views, self._options, self._executor, maps, working, self.raw, self.first)

    def fold(self, function: Callable[[Block, P], S], parameters: P) -> S:
        """Sum ``function(block, parameters)`` over all blocks in float64, in the order of the rows."""
        with closing(self._executor.run(*self._work(function, parameters))) as parts:
            told = counted(map(self._executor.gathered, parts), len(self.blocks), self.n_samples)
            return self._executor.fetch(total(told, self._executor.xp))

    def on_parts(self, work: Callable[[RowEngine, P], A], inputs: P) -> A:
        """What ``work`` gives for these rows, which are one part."""
        return work(self, inputs)

    def map_rows(self, function: Callable[[Block, P], Array], parameters: P) -> Array:
        """Stack ``function(block, parameters)``, one row per sample, in an array of this machine's memory."""
        with closing(self.map_blocks(function, parameters)) as parts:
            return stacked(parts, self.n_samples, np.empty)

    def map_blocks(self, function: Callable[[Block, P], T], parameters: P) -> Generator[T, None, None]:
        """Yield ``function(block, parameters)`` in the order of the rows."""
        with closing(self._executor.run(*self._work(function, parameters))) as results:
            yield from map(self._executor.fetch, results)

    def table(self, function: Callable[[Block, P], Array], parameters: P) -> Array:
        """The same as rows where the executor works, for an engine that is opened on them."""
        with closing(self._executor.run(*self._work(function, parameters))) as parts:
            return self._executor.stacked(parts, self.n_samples)

    def raw_results(self, function: Callable[[Block, P], T], inputs: P) -> Generator[T, None, None]:
        """Yield what a function gives for raw blocks as they are read; PyTorch's device gets the rows alone."""
        on_block = _OnRows(function, self._executor.place) if self.on_device else function
        return self._executor.run(on_block, self.raw_blocks, inputs)

    def take(self, rows: NDArray[np.intp]) -> tuple[tuple[Array, ...], NDArray[np.bool_] | None]:
        """Single rows of every view, absent ones as zeros, and which of them it has."""
        present = self.raw_blocks.present
        return self.raw_blocks.take(rows), None if present is None else present[:, rows].T

    def sample(self, size: int, seed: int) -> RowSample:
        """Draw up to ``size`` distinct rows by weight, from their content alone."""
        return draw_sample(self, size, seed)

    def _work(self, function: Callable[[Block, P], T], parameters: P) -> _Work[P, T]:
        """What the executor runs: ``function`` on prepared blocks, with maps and parameters where the rows are."""
        inputs = self._executor.place(((), parameters) if self.stored else (self.maps, parameters))
        on_block = _OnStored(function) if self.stored else _OnRaw(function, self._executor.place)
        return on_block, self.blocks, inputs


_Inputs = tuple[tuple[FeatureMap, ...], P]
_Work = tuple[Callable[[Block, _Inputs[P]], T], Blocks, _Inputs[P]]


@dataclass(frozen=True)
class _OnStored(Generic[P, T]):
    """A function of blocks that are ready."""

    function: Callable[[Block, P], T]

    def __call__(self, block: Block, inputs: _Inputs[P]) -> T:
        return self.function(block, inputs[1])


@dataclass(frozen=True)
class _OnRaw(Generic[P, T]):
    """A function of blocks that are still to be placed, and mapped if there are maps."""

    function: Callable[[Block, P], T]
    place: Callable[[Block], Block]

    def __call__(self, block: Block, inputs: _Inputs[P]) -> T:
        maps, parameters = inputs
        placed = self.place(block)
        return self.function(mapped(placed, maps) if maps else zeroed(placed), parameters)


@dataclass(frozen=True)
class _OnRows(Generic[P, T]):
    """A function of blocks whose rows are on a device, and whose weights and masks are here."""

    function: Callable[[Block, P], T]
    place: Callable[[tuple[Array, ...]], tuple[Array, ...]]

    def __call__(self, block: Block, inputs: P) -> T:
        return self.function(block._replace(views=self.place(block.views)), inputs)


def _unchanged(block: Block, _: None) -> Block:
    return block


def total(parts: Iterator[A], xp: Any) -> A:
    """The parts added in their order."""
    result: A = next(parts).begun(xp)
    for part in parts:
        result += part
    return result


def kept_bytes(n_samples: int, width: int, n_views: int, itemsize: int) -> int:
    """Bytes of what is kept of all rows where features are: these, a squared length per view, and a label."""
    return n_samples * ((width + n_views) * itemsize + BYTES_PER_LABEL)
