"""What a worker does: opens an engine on rows that Dask brings it, and works on them as one machine does.

Everything here runs in a task. Which compiled code runs is chosen there, by the processor. What tasks give to each
other are no tuples, in which Dask would look for tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.options import ENGINES, EngineOptions, NumpyOptions
from powerkmeans.compute.rows import RowEngine, total
from powerkmeans.sources.dask import dense_rows
from powerkmeans.sources.source import OddValue, odd_value
from powerkmeans.types import Array, Block, Blocks, FeatureMap, Views

# what may be kept is settled before a task begins
_ANY_MEMORY = 2**62


@dataclass(frozen=True)
class Setting:
    """What is the same in every pass: the names of views, the precision, the engine of a worker, and the maps."""

    names: tuple[str, ...]
    dtype: str
    options: EngineOptions
    maps: tuple[FeatureMap, ...] = ()
    working: int = 0


@dataclass(frozen=True)
class Rows:
    """Consecutive rows, as chunks: the number of the first, how many, and chunks of views, weights and masks."""

    start: int
    n_rows: int
    views: Sequence[Sequence[Array]]
    weight: Sequence[Array] | None
    present: Sequence[Array] | None


@dataclass(frozen=True)
class Features:
    """Features of such rows as a worker's engine holds them, what shapes the rows had, and their weights."""

    start: int
    shapes: tuple[tuple[int, int], ...]
    blocks: Blocks
    weight: Array


class OddValueError(Exception):
    """A value that is no number, in a view by its place; who knows the view's name tells of it."""

    def __init__(self, view: int, found: OddValue) -> None:
        super().__init__(view, found)
        self.view, self.found = view, found


def run(rows: tuple[Any, ...], setting: Setting, call: tuple[Callable[[RowEngine, Any], Any], Any]) -> Any:
    """Work on rows."""
    work, inputs = call
    return work(_opened(Rows(*rows), setting), inputs)


def run_held(held: Features | Rows, setting: Setting, call: tuple[Callable[[RowEngine, Any], Any], Any]) -> Any:
    """Work on what is held of rows."""
    work, inputs = call
    return work(_reopened(held, setting) if isinstance(held, Features) else _opened(held, setting), inputs)


def hold(rows: tuple[Any, ...], setting: Setting) -> Features | Rows:
    """Features to be held; the rows if there is no room here."""
    engine = _opened(Rows(*rows), setting, keep=True)
    shapes = tuple((len(array), int(array.shape[1])) for array in engine.views.arrays)
    return Features(rows[0], shapes, engine.blocks, engine.views.weight) if engine.stored else Rows(*rows)


def hold_rows(rows: tuple[Any, ...], setting: Setting) -> Rows:
    """Rows to be held together."""
    return Rows(*rows)


def added(parts: Sequence[Any]) -> Any:
    """Results of some tasks, added in their order."""
    return total(iter(parts), np)


def _opened(rows: Rows, setting: Setting, *, keep: bool = False) -> RowEngine:
    """The engine on rows, seen through maps if there are any."""
    arrays = tuple(_joined(chunks) for chunks in rows.views)
    present = None if rows.present is None else _joined(rows.present)
    for array in arrays:
        if len(array) != rows.n_rows:
            raise ValueError(
                f"Chunks from row {rows.start} on have {len(array)} rows, but Dask's array says {rows.n_rows}: a "
                "function that was mapped over its chunks drops or adds some. Use compute_chunk_sizes() on it."
            )
    for view, array in enumerate(arrays):
        found = odd_value(array, None if present is None else present[:, view]) if len(array) else None
        if found is not None:
            raise OddValueError(view, found._replace(row=rows.start + found.row))
    one = np.ones((), dtype=setting.dtype)
    weight = np.broadcast_to(one, (len(arrays[0]),)) if rows.weight is None else _joined(rows.weight)
    raw = _engine(Views(setting.names, arrays, weight, present), setting, rows.start)
    return raw.with_features(setting.maps, keep=keep, working=setting.working) if setting.maps else raw


def _reopened(held: Features, setting: Setting) -> RowEngine:
    """The engine on features that are held; the rows themselves are not here."""
    nothing = np.zeros((), dtype=setting.dtype)
    arrays = tuple(np.broadcast_to(nothing, shape) for shape in held.shapes)
    views = Views(setting.names, arrays, held.weight)
    return _engine(views, setting, held.start).holding(setting.maps, setting.working, held.blocks)


def _engine(views: Views, setting: Setting, first: int) -> RowEngine:
    options = setting.options
    if isinstance(options, NumpyOptions):
        options = replace(options, memory_budget=_ANY_MEMORY)
    return RowEngine(views, options, ENGINES[type(options)](options), first=first)


def _joined(chunks: Sequence[Array]) -> Array:
    filled = [dense_rows(chunk) for chunk in chunks]
    return np.ascontiguousarray(filled[0]) if len(filled) == 1 else np.concatenate(filled)


def fold(engine: RowEngine, given: tuple[Callable[[Block, Any], Any], Any]) -> Any:
    """The sums of a function of blocks."""
    return engine.fold(*given)


def answers(engine: RowEngine, given: tuple[Callable[[Block, Any], Any], Any]) -> Array:
    """What a function of blocks tells of the rows."""
    return engine.map_rows(*given)


def taken(engine: RowEngine, rows: NDArray[np.intp]) -> tuple[tuple[Array, ...], Array | None]:
    """Those of some rows, which ascend, that are here."""
    first = engine.first
    here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + engine.n_samples)]
    return engine.take(here - first)
