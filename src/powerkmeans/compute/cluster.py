"""The engine on rows that Dask has: an engine for each group of chunks, where they are, and their results added.

Groups are fixed by the data, not by the cluster, and added in the order of the rows: however many workers there
are, and whichever of them die, the sums have the same bits on the same processors. A pass is one task for the
parameters, one for each group, and where there are many groups some that add. What is fixed for a fit, the maps,
is a task of its own; features of a group are held by the worker that made them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute import parts
from powerkmeans.compute.executors.dask import Workers
from powerkmeans.compute.options import DaskOptions
from powerkmeans.compute.passes import available_passes
from powerkmeans.compute.rows import kept_bytes, total
from powerkmeans.compute.sampling import draw_sample
from powerkmeans.support.install import needed
from powerkmeans.support.memory import can_keep
from powerkmeans.types import A, Array, Block, FeatureMap, P, RowSample, S, T, Views

# a task that takes less time than this is not worth its while
TASK_SECONDS = 0.1
# what is reckoned for one number of a row and one cluster, for a row, and for making the features of a row
_NUMBER_SECONDS, _ROW_SECONDS, _MAP_SECONDS = 1e-10, 5e-8, 5e-7
# groups, beyond which more rows make larger ones: every task costs the scheduler about a millisecond
MOST_GROUPS = 512
# bytes of rows or features of a group, whatever their number, unless a single chunk has more
TASK_BYTES = 2**28
# results that one task adds
FAN_IN = 16


class DaskEngine:
    """Rows of some views that Dask has, and what is asked of all of them (see ``types.Engine``)."""

    elsewhere, on_device = True, False

    def __init__(
        self,
        views: Views,
        options: DaskOptions,
        workers: Workers,
        maps: tuple[FeatureMap, ...] = (),
        working: int = 0,
        raw: DaskEngine | None = None,
    ) -> None:
        self.views, self._options, self._workers, self._raw = views, options, workers, raw
        self.n_samples, self.dtype = int(views.arrays[0].shape[0]), views.dtype
        self.passes = available_passes(options.kernel, np)  # for work on this machine
        self.maps = maps
        self._setting = parts.Setting(views.names, self.dtype.name, options.on_worker, maps, working)
        self._held: list[Any] | None = None
        self.stored = False  # whether features are held by the workers

    @property
    def raw(self) -> DaskEngine:
        """The engine on the rows themselves."""
        return self if self._raw is None else self._raw

    @property
    def code(self) -> str:
        """What computes the sums, in words."""
        return f"Dask, {len(self._groups)} {'task' if len(self._groups) == 1 else 'tasks'} a pass"

    def with_features(self, maps: tuple[FeatureMap, ...], keep: bool, working: int = 0) -> DaskEngine:
        """The same rows seen through feature maps, held by the workers if asked for and if there is room."""
        engine = DaskEngine(self.views, self._options, self._workers, maps, working, self.raw)
        if keep:
            engine._keep()
        return engine

    def _keep(self) -> None:
        """Hold the features of every group where its rows are; where there is no room for them, the rows."""
        self.stored = self._fits()
        if self.stored or self._rows_fit():
            hold = _task(parts.hold if self.stored else parts.hold_rows)
            self._held = self._results_of(self._workers.made, [hold(rows, self._placed) for rows in self._groups])

    def fold(self, function: Callable[[Block, P], S], parameters: P) -> S:
        """Sum ``function(block, parameters)`` over all blocks in float64, in the order of the rows."""
        result: S = self.on_parts(parts.fold, (function, parameters))
        return result

    def on_parts(self, work: Callable[[Any, P], A], inputs: P) -> A:
        """What ``work`` gives for the engine on each group, added in the order of the rows."""
        tasks, add = self._tasks(work, inputs), _task(parts.added)
        while len(tasks) > FAN_IN:
            tasks = [add(tasks[start : start + FAN_IN]) for start in range(0, len(tasks), FAN_IN)]
        return total(iter(self._results(tasks)), np)

    def map_rows(self, function: Callable[[Block, P], Array], parameters: P) -> Array:
        """What ``function(block, parameters)`` tells of all rows, brought to this machine."""
        return np.concatenate(list(self.map_blocks(function, parameters)))

    def map_blocks(self, function: Callable[[Block, P], T], parameters: P) -> Generator[T, None, None]:
        """Yield the same group by group."""
        yield from self._results(self._tasks(parts.answers, (function, parameters)))

    def table(self, function: Callable[[Block, P], Array], parameters: P) -> Array:
        """The same: there is no one place for rows but this machine."""
        return self.map_rows(function, parameters)

    def take(self, rows: NDArray[np.intp]) -> tuple[tuple[Array, ...], NDArray[np.bool_] | None]:
        """Single rows of every view, absent ones as zeros, and which of them it has."""
        order = np.argsort(rows)
        found = self.raw._results(self.raw._tasks(parts.taken, rows[order]))
        back = np.argsort(order)
        views = tuple(np.concatenate(some)[back] for some in zip(*(views for views, _ in found), strict=True))
        masks = [mask for _, mask in found if mask is not None]
        return views, np.concatenate(masks)[back] if masks else None

    def room_for(self, n_bytes: int) -> bool:
        """Whether so many bytes may be kept where tasks run."""
        return room_for(n_bytes, self._options, self._workers)

    def sample(self, size: int, seed: int) -> RowSample:
        """Draw up to ``size`` distinct rows by weight, from their content alone."""
        return draw_sample(self.raw, size, seed)

    def _tasks(self, work: Callable[[Any, P], Any], inputs: P) -> list[Any]:
        call = sent((work, inputs))
        if self._held is None:
            run = _task(parts.run)
            return [run(rows, self._placed, call) for rows in self._groups]
        run, tasks = _task(parts.run_held), []
        for held, there in zip(self._held, self._workers.beside(self._held), strict=True):
            with there:
                tasks.append(run(held, self._placed, call))
        return tasks

    def _results(self, tasks: Sequence[Any]) -> list[Any]:
        return self._results_of(partial(self._workers.results, n_rows=self.n_samples), tasks)

    def _results_of(self, run: Callable[[Sequence[Any]], list[Any]], tasks: Sequence[Any]) -> list[Any]:
        try:
            return run(tasks)
        except parts.OddValueError as error:
            raise self.views.arrays[error.view].odd_error(error.found) from None

    @cached_property
    def _placed(self) -> Any:
        """What is the same in every pass, sent once."""
        return self._workers.persist([sent(self._setting)])[0]

    @cached_property
    def _groups(self) -> list[tuple[Any, ...]]:
        """The rows of each group: the number of the first, and chunks that are still to come."""
        views = [_chunks(source.array) for source in self.views.arrays]
        column = self.views.weight.array
        weight = None if column is None else _chunks(column)
        present = None if self.views.present is None else _chunks(self.views.present)
        lengths = self.views.arrays[0].array.chunks[0]
        if not any(lengths):
            raise ValueError("There are no rows: all chunks are empty.")
        return [
            (
                start,
                sum(lengths[number] for number in numbers),
                [[chunks[number] for number in numbers] for chunks in views],
                None if weight is None else [weight[number] for number in numbers],
                None if present is None else [present[number] for number in numbers],
            )
            for start, numbers in grouped(lengths, self._options.rows_per_task or self._rows_per_task())
        ]

    def _width(self) -> int:
        """Numbers of a row: columns, or features if they are more."""
        columns = sum(int(source.shape[1]) for source in self.views.arrays)
        return max(columns, sum(m.n_outputs for m in self.maps))

    def _rows_per_task(self) -> int:
        row_bytes = self._width() * self.dtype.itemsize
        each = _ROW_SECONDS if self.stored or not self.maps else _MAP_SECONDS
        seconds = self._width() * (8 + self._setting.working / 4) * _NUMBER_SECONDS + each
        rows = max(TASK_SECONDS / seconds, self.n_samples / MOST_GROUPS)
        return max(1, math.ceil(min(rows, TASK_BYTES / row_bytes)))

    def _fits(self) -> bool:
        """Whether features may be kept beside the rows, which are kept themselves where they take half at most."""
        width, rows = sum(m.n_outputs for m in self.maps), rows_bytes(self.views)
        features = kept_bytes(self.n_samples, width, len(self.maps), self.dtype.itemsize)
        return self.room_for(features + (rows if self._rows_fit() else 0))

    def _rows_fit(self) -> bool:
        return self.room_for(2 * rows_bytes(self.views))


def rows_bytes(views: Views) -> int:
    """Bytes of all rows."""
    return sum(int(source.shape[0]) * int(source.shape[1]) * source.dtype.itemsize for source in views.arrays)


def room_for(n_bytes: int, options: DaskOptions, workers: Workers) -> bool:
    """Whether so many bytes may be kept where tasks run."""
    memory = workers.memory()
    if memory is None:
        return can_keep(n_bytes, 2**30 if options.memory_budget is None else options.memory_budget)
    return n_bytes <= (memory if options.memory_budget is None else min(memory, options.memory_budget))


def grouped(lengths: Sequence[int], rows: int) -> Iterator[tuple[int, list[int]]]:
    """Yield groups of consecutive chunks, of at least so many rows each: the first row, and the filled chunks."""
    start, count, numbers = 0, 0, list[int]()
    for number, length in enumerate(lengths):
        if length:
            count += length
            numbers.append(number)
        if count >= rows:
            yield start, numbers
            start, count, numbers = start + count, 0, []
    if numbers:
        yield start, numbers


def _chunks(array: Any) -> list[Any]:
    """The chunks of an array, which are made when they are needed."""
    return list(array.to_delayed().reshape(-1))


def _task(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is run by a task under a fresh name."""
    made: Callable[..., Any] = needed("dask", "dask").delayed(function, pure=False)
    return made


def sent(value: Any) -> Any:
    """A value as the result of a task, which workers get from each other."""
    return _task(_unpacked)(needed("cloudpickle", "dask").dumps(value))


def _unpacked(payload: bytes) -> Any:
    return needed("cloudpickle", "dask").loads(payload)
