"""Annealing on a sample of the rows, where there are many: only the finish needs them all."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.fitting.prepare import through_maps
from powerkmeans.fitting.task import Task
from powerkmeans.sources import choose_rows
from powerkmeans.support.draws import subsample
from powerkmeans.types import Views

# rows of the sample, and rows per cluster if that is more
PILOT_ROWS, ROWS_PER_CLUSTER = 2**14, 200


def pilot_of(task: Task) -> Task | None:
    """The same problem on a sample of the rows, whose weights add up to the same; None if there are too few.

    The sample goes by the content of rows, so neither their order nor their repetition matters. Losses are sums
    over rows, and stay in proportion to the constants of the problem. Only distinct rows of positive weight count.
    """
    prepared, settings = task.prepared, task.settings
    if task.problem.dual:  # a kernel matrix is its training rows
        return None
    size = min(max(PILOT_ROWS, ROWS_PER_CLUSTER * settings.n_clusters), len(prepared.sample.weight))
    # a quarter of the rows and a tenth per cluster must be there, of a view that not all samples have too
    enough = max(PILOT_ROWS // 4, ROWS_PER_CLUSTER // 10 * settings.n_clusters)
    if size < enough or size > prepared.sample.n_distinct / 2:  # more than half is not worth it
        return None
    choose = operator.getitem if prepared.engine.on_device else choose_rows  # a device gets its rows at once
    sample = subsample(prepared.sample, size, task.stream("pilot"), choose)
    if sample.present is not None and np.min(np.sum(sample.present, axis=0)) < enough:
        return None
    weight = sample.weight * (prepared.total_weight / np.sum(sample.weight))
    views = Views(prepared.views.names, sample.views, weight.astype(prepared.engine.dtype), sample.present)
    rows = open_engine(settings.engine, views)
    engine = through_maps(rows, prepared.maps, settings)
    return replace(task, prepared=prepared._replace(engine=engine, views=views))
