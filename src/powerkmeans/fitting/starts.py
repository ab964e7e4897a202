"""Where runs begin: which exponents they go through and how their centroids are placed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powerkmeans.fitting.collapse import Collapse
from powerkmeans.fitting.task import Task, rows_of_view
from powerkmeans.inputs.centers import check_init, check_shares
from powerkmeans.inputs.metric import with_metric
from powerkmeans.inputs.settings import Settings
from powerkmeans.solver.schedules import SMALLEST_START, Geometric, Hard, Schedule, Unfolding
from powerkmeans.solver.starts import cloud, plus_plus, random_rows
from powerkmeans.sources import join_views
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.support.values import naming
from powerkmeans.support.warn import warn_caller
from powerkmeans.types import Float64Array, Parameters, RowSample, Views

# the cloud starts this share before the critical exponent, so that it shrinks and then parts in the order of the
# structure; rows start as much beyond it, where they are not drawn together
START_MARGIN = 0.2
# the multiple of the critical exponent before which no run is taken to have converged; nor is it before this
# exponent, where memberships are still soft: without it runs that have no critical exponent end as they begin
SETTLE_MULTIPLE, SETTLE_EXPONENT = 1.5, -3.0
# beyond both this exponent and this multiple of the critical one k-means does the rest: weights are hard
HARD_EXPONENT, HARD_MULTIPLE = -15.0, 6.0
# steps of the annealing are this much longer than to the minimum of the surrogate: of those that take a separation
# to its end fewer will do
RELAXATION = 1.8


class Start(NamedTuple):
    """One planned run: how its centroids are placed and which exponents it goes through."""

    init: str
    s_init: float
    schedule: Schedule


def needs_collapse(settings: Settings) -> bool:
    """Whether any run starts from the collapsed point or its critical exponent."""
    from_cloud = isinstance(settings.init, str) and settings.init == "cloud"
    return isinstance(settings.s_init, str) or from_cloud


def plan_starts(settings: Settings, critical: float | None) -> list[Start]:
    """Decide how many runs there are and where each begins.

    ``init="auto"`` anneals twice: from the cloud, which is best where structure unfolds from coarse to
    fine, and from k-means++, which is best for many separated clusters. With a given ``s_init`` it is
    the paper's start, k-means on the features.
    """
    return [_start(kind, settings, critical) for kind in _kinds(settings)]


def _kinds(settings: Settings) -> list[str]:
    if not isinstance(settings.init, str):
        if settings.n_init not in ("auto", 1):
            warn_caller(
                f"Explicit initial centroids passed: performing only one run instead of n_init={settings.n_init}.",
                RuntimeWarning,
            )
        return ["given"]
    both = settings.init == "auto" and isinstance(settings.s_init, str)
    n_runs = (2 if both else 1) if isinstance(settings.n_init, str) else settings.n_init
    if both:
        return ["cloud"] + ["k-means++"] * (n_runs - 1)
    if settings.init != "auto":
        return [settings.init] * n_runs
    return ["k-means++" if settings.s_init == -math.inf else "k-means"] * n_runs


def _start(kind: str, settings: Settings, critical: float | None) -> Start:
    if isinstance(settings.s_init, str):
        assert critical is not None
        multiple = 1 - START_MARGIN if kind == "cloud" else 1 + START_MARGIN
        s_init = -max(multiple * abs(critical), SMALLEST_START)
    else:
        s_init = settings.s_init
    if s_init == -math.inf:
        return Start(kind, s_init, Hard())
    return Start(kind, s_init, _schedule(s_init, settings, critical))


def _schedule(s_init: float, settings: Settings, critical: float | None) -> Schedule:
    """The paper's schedule where the exponent is given; else longer steps that end as k-means."""
    factor, every = settings.anneal_factor, settings.anneal_every
    if not isinstance(settings.s_init, str):
        settle_below = 0.0 if critical is None else SETTLE_MULTIPLE * critical
        return Geometric(s_init, factor, 2 if isinstance(every, str) else every, settle_below)
    assert critical is not None
    settle_below = min(SETTLE_MULTIPLE * critical, SETTLE_EXPONENT)
    limits = settle_below, min(HARD_EXPONENT, HARD_MULTIPLE * critical), RELAXATION
    if isinstance(every, str):
        return Unfolding(s_init, factor, 1, *limits)
    return Geometric(s_init, factor, every, *limits)


def place(start: Start, task: Task, collapse: Collapse | None, rng: np.random.Generator) -> Parameters:
    """Place the centroids of one run."""
    if start.init == "cloud":
        assert collapse is not None
        placed = _place_cloud(task.on_explicit, collapse, rng)
        return replace(placed, centers=task.from_explicit(placed.centers))
    if start.init == "given":
        return _place_given(task)
    placed = place_rows(start.init, task, rng)
    if start.init == "k-means":
        return task.descend(placed).parameters
    return placed


def place_rows(kind: str, task: Task, rng: np.random.Generator) -> Parameters:
    """Rows of the sample, chosen at random or by k-means++."""
    sample = task.sample_features(rng)
    features = np.concatenate(sample.views, axis=1)
    choose = random_rows if kind == "random" else plus_plus
    chosen = choose(features, sample.weight, task.settings.n_clusters, rng)
    centers = features[chosen].astype(np.float64)
    if sample.present is not None:
        _fill_absent(centers, chosen, sample, task, rng)
    return Parameters(task.from_explicit(centers), task.uniform_weights())


def _fill_absent(
    centers: Float64Array, chosen: list[int], sample: RowSample, task: Task, rng: np.random.Generator
) -> None:
    """Complete centroids taken from rows that lack views by other rows, so that no two agree there for ever."""
    assert sample.present is not None
    for view, part in enumerate(task.on_explicit.problem.view_slices):
        lacking = np.flatnonzero(~sample.present[chosen, view])
        others, feature_map = rows_of_view(task, view)
        kept, _ = draw_by_weight(rng.standard_exponential(len(others.weight)), others.weight, len(lacking))
        if len(lacking):
            features = feature_map(others.views[0][kept], np)
            centers[lacking, part] = features[np.arange(len(lacking)) % len(kept)]


def _place_cloud(task: Task, collapse: Collapse, rng: np.random.Generator) -> Parameters:
    n_clusters = task.settings.n_clusters
    rank = max(1, min(n_clusters - 1, len(collapse.covariance)))
    offset = cloud(*collapse.leading(rank), n_clusters, rng)
    if task.prepared.views.present is not None:
        # views that few samples have in common have few directions in common; each gets some of its own
        directions = collapse.leading(len(collapse.covariance))
        for part in task.problem.view_slices:
            offset[:, part] += cloud(*directions, n_clusters, rng)[:, part]
    return Parameters(collapse.point + offset / collapse.column_scale, collapse.view_weights)


def _place_given(task: Task) -> Parameters:
    """Centroids given by the user, one table per view: points of the data, or of the (uncentred) feature space."""
    prepared, n_clusters = task.prepared, task.settings.n_clusters
    if prepared.maps_of_rows[0].base.fuses:
        return _place_given_together(task)
    parts = zip(prepared.views.names, prepared.maps, prepared.views.arrays, strict=True)
    centers = []
    for view, (name, feature_map, array) in enumerate(parts):
        given, width = task.settings.init[name], array.shape[1]
        if task.problem.is_dual(view):
            assert prepared.explicit is not None
            present = prepared.views.present
            has = np.ones(feature_map.n_outputs, dtype=bool) if present is None else present[:, view]
            shares = check_shares(name, given, n_clusters, has)
            centers.append(prepared.explicit.pair(shares, view))
            continue
        given = check_init(given, n_clusters, width, feature_map.n_outputs, prepared.engine.dtype)
        if given.shape[1] == width:
            rows = with_metric(given, prepared.view_settings[view].metric)
            centers.append(feature_map(rows, np))
        else:
            centers.append(feature_map.centred(given))
    return Parameters(np.concatenate(centers, axis=1).astype(np.float64), task.uniform_weights())


def _place_given_together(task: Task) -> Parameters:
    """The same where one map takes all views: points of the data in all of them, or one table of its space."""
    prepared, n_clusters = task.prepared, task.settings.n_clusters
    fitted, given = prepared.maps_of_rows[0], [task.settings.init[name] for name in prepared.used]
    widths = [sample.views[0].shape[1] for sample in prepared.examined]
    one, n_outputs = all(table is given[0] for table in given), fitted.n_outputs
    with naming("init"):
        shape = np.shape(given[0])
    if one and shape[1:] == (n_outputs,) and any(width != n_outputs for width in widths):
        return Parameters(
            fitted.centred(check_init(given[0], n_clusters, n_outputs, n_outputs, float)), np.ones(1)
        )
    tables, dtype = [], prepared.engine.dtype
    for table, width, chosen in zip(given, widths, prepared.view_settings, strict=True):
        points = check_init(table, n_clusters, width, n_outputs if one else width, np.float64)
        tables.append(with_metric(points, chosen.metric).astype(dtype))
    rows = join_views(Views(prepared.used, tuple(tables), np.ones(n_clusters, dtype=dtype))).arrays[0]
    rows = rows.take(np.arange(n_clusters)) if len(tables) > 1 else rows
    return Parameters(fitted(rows, np).astype(np.float64), np.ones(1))
