"""The composition root: data, features, engine and solver meet here, for estimators and commands alike."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from powerkmeans.engines import open_engine
from powerkmeans.engines.blas import single_threaded_blas
from powerkmeans.features.bandwidth import weighted_median
from powerkmeans.model import FitResult, Model, Restart
from powerkmeans.moves import Mover
from powerkmeans.objective.block import PassInput, block_labels, block_statistics, prepare
from powerkmeans.objective.membership import Fuzzy, make_membership
from powerkmeans.objective.updates import objective_value
from powerkmeans.preparation import Prepared, prepare_features
from powerkmeans.settings import Settings
from powerkmeans.solver.annealing import Hard
from powerkmeans.solver.mm import count_distinct, minimise
from powerkmeans.starts import Collapse, Start, find_collapse, place_cloud, place_rows, plan_starts
from powerkmeans.streams import stream
from powerkmeans.types import (
    Array,
    Block,
    Float64Array,
    Iteration,
    Parameters,
    Problem,
    RunPass,
    SolverResult,
    Status,
)
from powerkmeans.views import Views, check_init

# another start replaces the cloud's answer only if it is better by more than the features' own error
CLOUD_MARGIN = 0.01


class Listener(Protocol):
    """Hears of a fit as it goes; ``iteration`` returns True to stop the run."""

    def note(self, text: str) -> None: ...
    def begin_run(self, start: Start, index: int, n_runs: int) -> None: ...
    def iteration(self, line: Iteration) -> bool: ...
    def end_run(self, restart: Restart) -> None: ...
    def end(self, restart: Restart) -> None: ...


def fit_views(views: Views, settings: Settings, seed: int, listener: Listener) -> FitResult:
    """Fit a model to checked views."""
    with single_threaded_blas():
        prepared = prepare_features(views, settings, seed)
        for note in prepared.notes:
            listener.note(note)
        problem = make_problem(prepared, settings, seed)
        run_pass = _run_pass(prepared, problem)
        collapse = _collapse_if_needed(prepared, problem, settings, seed)
        critical = None if collapse is None else collapse.critical
        starts = plan_starts(settings, critical)
        if critical is not None:
            listener.note(f"critical exponent {critical:.4g}: clusters begin to separate there")
        results, restarts = [], []
        for index, start in enumerate(starts):
            listener.begin_run(start, index, len(starts))
            rng = stream(seed, "start", str(index))
            placed = _place(start, prepared, problem, collapse, settings, rng)
            result = minimise(
                run_pass,
                placed,
                schedule=start.schedule,
                problem=problem,
                tol=settings.tol,
                max_iter=settings.max_iter,
                on_iteration=listener.iteration,
            )
            results.append(result)
            restarts.append(_restart(start, result, run_pass, problem))
            listener.end_run(restarts[-1])
            if result.status is Status.INTERRUPTED:
                break
        best = choose_restart(restarts)
        if settings.s_init == "auto":
            mover = Mover(prepared, problem, settings, run_pass, stream(seed, "moves"))
            results[best], restarts[best] = mover.improve(results[best], restarts[best], listener.iteration)
            listener.end(restarts[best])
        return _finish(views.names, prepared, problem, results[best], restarts, best, critical)


def choose_restart(restarts: list[Restart]) -> int:
    """The run of lowest hard objective; a cloud first run is kept unless clearly beaten.

    The cloud's answer does not depend on the draw of rows, and differences below one per cent are within
    the features' own error.
    """
    values = [restart.hard_objective for restart in restarts]
    best = int(np.argmin(values))
    first = restarts[0]
    if first.init == "cloud" and first.status is not Status.INTERRUPTED:
        clearly = values[best] < values[0] - CLOUD_MARGIN * abs(values[0])
        return best if clearly else 0
    return best


def apply(model: Model, views: Views, engine: object, function: Callable[[Block, PassInput], Array]) -> Array:
    """Evaluate a function of blocks under a fitted model, one row a sample."""
    with single_threaded_blas():
        rows = open_engine(engine, views.arrays, views.weight).with_features(model.maps, keep=False)
        return rows.map_rows(function, prepare(model.parameters, model.s, model.problem, model.dtype))


def mean_loss(model: Model, views: Views, engine: object) -> float:
    """Weighted mean of ``M_s`` over the samples."""
    with single_threaded_blas():
        rows = open_engine(engine, views.arrays, views.weight).with_features(model.maps, keep=False)
        inputs = prepare(model.parameters, model.s, model.problem, model.dtype)
        sums = rows.fold(block_statistics, inputs)
    return float(sums.loss) / float(np.sum(views.weight, dtype=np.float64))


def warn_if_unwell(result: FitResult, settings: Settings) -> None:
    """Tell what a user should know about how the fit went."""
    restart = result.restarts[result.best]
    n_clusters = settings.n_clusters
    if result.n_distinct == 1 and n_clusters > 1 and restart.status is not Status.EXACT:
        warnings.warn(
            f"All {n_clusters} centroids collapsed into one: s started at {restart.s_init:.4g} and ended at "
            f"{restart.s:.4g}, before clusters could separate. Use s_init='auto', a more negative s_init, a larger "
            "max_iter, or a wider bandwidth (or a smaller reference_distance, if possibilistic).",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif result.n_distinct < n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({result.n_distinct}) found smaller than n_clusters "
            f"({n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if restart.status is Status.MAX_ITER:
        warnings.warn(
            f"The annealing did not converge in max_iter={settings.max_iter} iterations (s reached "
            f"{restart.s:.4g}). Increase max_iter or tol, or anneal faster (anneal_factor, anneal_every).",
            ConvergenceWarning,
            stacklevel=4,
        )


def _run_pass(prepared: Prepared, problem: Problem) -> RunPass:
    engine = prepared.engine
    return lambda parameters, s: engine.fold(block_statistics, prepare(parameters, s, problem, engine.dtype))


def make_problem(prepared: Prepared, settings: Settings, seed: int) -> Problem:
    fuzzy = Problem(Fuzzy(settings.fuzziness), prepared.splits, prepared.scatter, prepared.scatter)
    if settings.membership == "fuzzy":
        return fuzzy
    membership = make_membership(settings.membership, settings.fuzziness)
    reference = _reference_distance(prepared, fuzzy, settings, seed)
    return Problem(membership, prepared.splits, reference, prepared.scatter)


def _reference_distance(prepared: Prepared, fuzzy: Problem, settings: Settings, seed: int) -> Float64Array:
    """eta, one value a view, fixed for all restarts."""
    choice = settings.reference_distance
    if choice == "global":
        return prepared.scatter
    if choice == "median":
        return _median_squared_norms(prepared)
    if choice == "within":
        rng = stream(seed, "reference")
        start = place_rows(prepared, "k-means++", settings.n_clusters, rng)
        run_pass = _run_pass(prepared, fuzzy)
        within = _k_means(run_pass, start, fuzzy, settings)
        sums = run_pass(within, -math.inf)
        spread = np.sum(sums.scatter, axis=0) / np.sum(sums.mass, axis=0)
        return np.maximum(spread, 1e-6 * prepared.scatter)
    return np.full(len(prepared.scatter), float(choice))


def _median_squared_norms(prepared: Prepared) -> Float64Array:
    medians = []
    for feature_map, view in zip(prepared.maps, prepared.sample.views, strict=True):
        features = feature_map(view, np).astype(np.float64)
        norms = np.vecdot(features, features)
        medians.append(weighted_median(norms, prepared.sample.weight))
    return np.array(medians)


def _collapse_if_needed(prepared: Prepared, problem: Problem, settings: Settings, seed: int) -> Collapse | None:
    if settings.s_init != "auto" and settings.init != "cloud":
        return None
    return find_collapse(prepared.engine, problem, settings.n_clusters, stream(seed, "collapse"))


def _place(
    start: Start,
    prepared: Prepared,
    problem: Problem,
    collapse: Collapse | None,
    settings: Settings,
    rng: np.random.Generator,
) -> Parameters:
    if start.init == "cloud":
        assert collapse is not None
        return place_cloud(collapse, problem, settings.n_clusters, rng)
    if start.init == "given":
        return _given(prepared, settings)
    placed = place_rows(prepared, start.init, settings.n_clusters, rng)
    if start.init == "k-means":
        return _k_means(_run_pass(prepared, problem), placed, problem, settings)
    return placed


def _given(prepared: Prepared, settings: Settings) -> Parameters:
    """Centroids given by the user: points of the data, or of the (uncentred) feature space."""
    (feature_map,) = prepared.maps
    width = prepared.sample.views[0].shape[1]
    dtype = prepared.engine.dtype
    given = check_init(settings.init, settings.n_clusters, width, feature_map.n_outputs, dtype)
    if given.shape[1] == width:
        centers = feature_map(given, np)
    else:
        centers = (given - feature_map.mean) * feature_map.scale
    return Parameters(centers.astype(np.float64), np.ones(1))


def _k_means(run_pass: RunPass, start: Parameters, problem: Problem, settings: Settings) -> Parameters:
    return minimise(
        run_pass, start, schedule=Hard(), problem=problem, tol=settings.tol, max_iter=settings.max_iter
    ).parameters


def _restart(start: Start, result: SolverResult, run_pass: RunPass, problem: Problem) -> Restart:
    hard = run_pass(result.parameters, -math.inf)
    return Restart(
        init=start.init,
        s_init=start.s_init,
        s=result.s,
        n_iter=len(result.history),
        status=result.status,
        hard_objective=objective_value(float(hard.loss), result.parameters, problem),
    )


def _finish(
    names: tuple[str, ...],
    prepared: Prepared,
    problem: Problem,
    result: SolverResult,
    restarts: list[Restart],
    best: int,
    critical: float | None,
) -> FitResult:
    """Label the samples, with the clusters that have any first, and measure the final state."""
    engine = prepared.engine
    parameters = result.parameters
    labels = engine.map_rows(block_labels, prepare(parameters, result.s, problem, engine.dtype))
    used = np.bincount(labels, minlength=len(parameters.centers)) > 0
    order = np.argsort(~used, kind="stable")
    parameters = Parameters(parameters.centers[order], parameters.view_weights)
    final = engine.fold(block_statistics, prepare(parameters, result.s, problem, engine.dtype))
    return FitResult(
        model=Model(names, prepared.maps, parameters, problem, result.s, engine.dtype),
        labels=np.argsort(order).astype(labels.dtype)[labels],
        objective=objective_value(float(final.loss), parameters, problem),
        inertia=float(final.hard_cost),
        bandwidths=prepared.bandwidths,
        critical=critical,
        n_distinct=min(count_distinct(parameters, problem), int(np.sum(used))),
        restarts=tuple(restarts),
        best=best,
        history=result.history,
    )
