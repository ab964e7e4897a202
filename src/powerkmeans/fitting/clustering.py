"""Labels of given features, for whoever has to know clusters before the fit that finds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import map_rows
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.fitting.collapse import find_collapse
from powerkmeans.fitting.listener import SILENT, hearing
from powerkmeans.fitting.moves import MARGIN
from powerkmeans.fitting.prepared import Prepared
from powerkmeans.fitting.runs import Run, anneal_all, choose_restart, complete
from powerkmeans.fitting.task import Task
from powerkmeans.inputs.settings import Settings
from powerkmeans.objective.block import block_labels, prepare
from powerkmeans.objective.membership import Fuzzy
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Float64Array, Parameters, Problem, RowSample, SolverResult, Views

# how fast these anneal: they weigh and compare, and need not be the best that there is
QUICK_FACTOR = 1.5


@hearing(SILENT)
def cluster_features(
    settings: Settings,
    seed: int,
    features: Float64Array,
    weight: Float64Array,
    known: NDArray[np.integer] | None = None,
    *,
    moves: bool = True,
) -> NDArray[np.integer]:
    """The clusters of features as a fit with the defaults finds them, but for its patience, and moves if told.

    Clusters that are known from elsewhere take the place of the second start: they are kept where that is better.
    """
    plain = replace(
        settings,
        s_init="auto",
        init="auto" if known is None else "cloud",
        n_init="auto",
        anneal_every="auto",
        anneal_factor=max(QUICK_FACTOR, settings.anneal_factor),
        membership="fuzzy",
    )
    task = _task(features, weight, plain, seed)
    if not task.problem.scatter[0] > ROUNDING:  # of unit length: all in one place
        return np.zeros(len(weight), dtype=np.int32)
    runs = anneal_all(task, task, find_collapse(task), SILENT)
    best = runs[choose_restart([run.summary for run in runs])]
    if moves:
        best = complete(task, task, best, SILENT)
    engine, found = task.prepared.engine, best.found if known is None else _better(task, best, known)
    return map_rows(engine, block_labels, prepare(found.parameters, found.s, task.problem, engine.dtype))


def _better(task: Task, run: Run, known: NDArray[np.integer]) -> SolverResult:
    """What a run found, or what steps of k-means from the means of known clusters do if that costs less."""
    (rows,), weight = task.prepared.views.arrays, task.prepared.views.weight
    sizes = np.bincount(known, weights=weight, minlength=task.settings.n_clusters)
    if not np.all(sizes > 0):
        return run.found
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, known, weight[:, None] * rows)
    found = task.descend(Parameters(sums / sizes[:, None], task.uniform_weights()))
    value, _ = task.hard_objective(found)
    return found if value < run.summary.hard_objective - MARGIN * run.summary.hard_loss else run.found


def _task(features: Float64Array, weight: Float64Array, settings: Settings, seed: int) -> Task:
    """The plain problem on features, less their mean."""
    share = weight / np.sum(weight)
    offset = features - share @ features
    scatter = np.array([share @ np.vecdot(offset, offset)])
    width = offset.shape[1]
    views = Views(("X",), (offset,), weight)
    sample = RowSample((offset,), weight)
    engine = open_engine(settings.engine, views).with_features((IdentityMap(width),), keep=True)
    maps = (make_centred(IdentityMap(width), np.zeros(width), np.float64),)
    prepared = Prepared(engine, views, maps, scatter, sample, (sample,), (None,), (), ())
    return Task(prepared, Problem(Fuzzy(settings.fuzziness), (0, width), scatter, scatter), settings, seed)
