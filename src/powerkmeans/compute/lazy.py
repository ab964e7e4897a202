"""Answers for rows that Dask has: an array of Dask, chunk by chunk as the rows are, made when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from powerkmeans.compute.cluster import room_for, rows_bytes, sent
from powerkmeans.compute.executors.dask import Workers
from powerkmeans.compute.options import DaskOptions, dask_options
from powerkmeans.sources.dask import DaskColumn, are_lazy, dense_rows
from powerkmeans.sources.source import odd_value
from powerkmeans.support.install import needed
from powerkmeans.types import Array, Views

# what a model says of rows in memory: called with views and an engine
Answer = Callable[..., Array]


def lazy_answers(answer: Answer, views: Views, engine: object, dtype: Any, width: int | None = None) -> Any:
    """What ``answer(views=..., engine=...)`` says of each chunk, with a column or with ``width`` of them."""
    dask_array = needed("dask.array", "dask")
    arrays, masks = [source.array for source in views.arrays], [] if views.present is None else [views.present]
    tell = partial(answers, names=tuple(source.name for source in views.arrays), keys=views.names, width=width)
    shape: dict[str, Any] = {"drop_axis": 1} if width is None else {"chunks": (arrays[0].chunks[0], (width,))}
    return dask_array.map_blocks(
        tell,
        *arrays,
        *masks,
        answer=sent(partial(answer, engine=dask_options(engine).on_worker)),
        dtype=dtype,
        meta=np.empty((0,) if width is None else (0, 0), dtype=dtype),
        **shape,
    )


def answers(
    *parts: Any,
    answer: Answer,
    names: tuple[str, ...],
    keys: tuple[str, ...],
    width: int | None,
    block_info: Any = None,
) -> Array:
    """What is told of one chunk."""
    rows, present = (
        tuple(map(dense_rows, parts[: len(keys)])),
        parts[len(keys)] if len(parts) > len(keys) else None,
    )
    if not len(rows[0]):
        return np.empty((0,) if width is None else (0, width), dtype=block_info[None]["dtype"])
    for view, array in enumerate(rows):
        found = odd_value(array, None if present is None else present[:, view])
        if found is not None:
            where = _row(block_info[0], found.row)
            raise ValueError(
                f"{names[view]}: {found.what} in {where}, column {found.column}. Drop or fill such rows first."
            )
    weight = np.ones(len(rows[0]), dtype=np.result_type(*(array.dtype for array in rows)))
    return answer(views=Views(keys, tuple(map(np.ascontiguousarray, rows)), weight, present))


def _row(block: Any, row: int) -> str:
    start = block["array-location"][0][0]
    known = not math.isnan(start)
    return f"row {int(start) + row}" if known else f"row {row} of chunk {block['chunk-location'][0]}"


def kept_rows(views: Views, engine: object) -> Views:
    """The same views, their rows made once and kept by the workers if these have room; others as they are."""
    if not are_lazy(views):
        return views
    options = dask_options(engine)
    workers = Workers(options.client)
    if not room_for(2 * rows_bytes(views), options, workers):
        return views
    more = [array for array in (_column(views.weight), views.present) if array is not None]
    made = iter(workers.persist([*(source.array for source in views.arrays), *more]))
    arrays = tuple(source.with_array(next(made)) for source in views.arrays)
    column = _column(views.weight)
    weight = views.weight if column is None else DaskColumn(next(made), len(views.weight), views.dtype)
    return Views(views.names, arrays, weight, None if views.present is None else next(made))


def _column(weight: Any) -> Any:
    return weight.array if isinstance(weight, DaskColumn) else None


def at_cluster(engine: object) -> AbstractContextManager[Any]:
    """Let whatever Dask computes meanwhile be computed by the client that was asked for, if one was."""
    asked = isinstance(engine, DaskOptions) and engine.client is not None
    return Workers(engine.client).current() if asked else nullcontext()  # type: ignore[attr-defined]


def check_rows_of_engine(views: Views, engine: object) -> None:
    """Reject an engine for rows that are elsewhere than it is."""
    if are_lazy(views):
        dask_options(engine)
    elif isinstance(engine, DaskOptions):
        raise ValueError(
            "engine=DaskOptions(...) is for rows that Dask has, but these are in memory; use engine='auto', or "
            "dask.array.from_array(X, chunks=...) to hand them to Dask."
        )
