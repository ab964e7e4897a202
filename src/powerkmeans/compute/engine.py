"""The only place that chooses an engine: by who has the rows, and by what users ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from powerkmeans.compute.cluster import DaskEngine
from powerkmeans.compute.executors.dask import Workers
from powerkmeans.compute.options import ENGINES, TorchOptions, dask_options, engine_options
from powerkmeans.compute.rows import RowEngine
from powerkmeans.sources.dask import are_lazy, with_known_chunks
from powerkmeans.sources.tensors import as_arrays, device_of_views
from powerkmeans.types import Engine, Views


def open_engine(choice: object, views: Views) -> Engine:
    """Open the engine that ``choice`` names on the given rows: on Dask if that is who has them."""
    if are_lazy(views):
        lazy = dask_options(choice)
        return DaskEngine(with_known_chunks(views), lazy, Workers(lazy.client))
    return open_rows(choice, views)


def open_rows(choice: object, views: Views) -> RowEngine:
    """The same for rows that are on this machine."""
    options = engine_options(engine_for(choice, views))
    executor = ENGINES[type(options)](options)
    rows = executor.sent(views, options.memory_budget) if executor.on_device else as_arrays(views)
    return RowEngine(rows, options, executor)


def engine_for(choice: object, views: Views) -> object:
    """What ``choice`` comes to for some views: tensors go to their card unless another engine is named.

    Those of the processor are arrays of NumPy without a copy, for which the code for processors is faster.
    """
    device = device_of_views(views)
    if device is None or (isinstance(choice, str) and _is_processor(device)):
        return choice
    if isinstance(choice, str) and choice == "auto":
        return TorchOptions(device=str(device))
    if isinstance(choice, TorchOptions) and choice.device is None:
        return replace(choice, device=str(device))
    return choice


def _is_processor(device: Any) -> bool:
    return bool(device.type == "cpu")


def some_rows(views: Views, engine: object, size: int) -> Views:
    """At most ``size`` of the samples, by content, each counted once."""
    if views.arrays[0].shape[0] <= size and not are_lazy(views):
        return views
    sample = open_engine(engine, views).sample(size, seed=0)
    return Views(views.names, sample.views, np.ones(len(sample.weight), dtype=views.dtype), sample.present)
