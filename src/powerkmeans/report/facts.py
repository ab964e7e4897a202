"""Everything that the page tells, gathered from the model and the data; nothing of it is HTML yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from powerkmeans.choose.separation import Separation, separation_of
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.models.explain import ViewTable, view_table
from powerkmeans.objective.block import block_probabilities
from powerkmeans.report.markup import plain_text
from powerkmeans.report.opened import Given, Opened, index_of
from powerkmeans.report.original import OriginalView, original_views
from powerkmeans.report.plane import Planes, most_points, project
from powerkmeans.report.profiles import Profiles, profile
from powerkmeans.report.samples import (
    MOST_POINTS,
    Rows,
    Samples,
    drawn_rows,
    listed_rows,
    shares_of_views,
    summarise,
    take_rows,
)
from powerkmeans.report.telling import telling_view
from powerkmeans.sources.dask import are_lazy
from powerkmeans.support.values import naming, wrong
from powerkmeans.types import Array, Views


@dataclass(frozen=True)
class Listed:
    """Rows of the table, in its order.

    runner_up : the second most probable cluster, -1 if there is none
    view : position of the view that takes the sample farthest from its cluster, compared with other samples
    column, value, deviation : the most unusual column, its value, and how many standard deviations it is away
        from the mean of the cluster; column -1 if there is none
    """

    rows: Rows
    runner_up: Array
    view: Array
    column: Array
    value: Array
    deviation: Array


@dataclass(frozen=True)
class Facts:
    """What the page tells.

    ``described`` are the views whose columns describe clusters, those of the fit or others; ``about`` says so.
    """

    estimator: Any
    samples: Samples
    views: ViewTable
    original: list[OriginalView]
    described: list[OriginalView]
    profiles: Profiles
    drawn: Rows
    planes: Planes
    listed: Listed
    names: dict[int, str]
    scaling: str | None
    steps: str
    separation: Separation | None
    files: tuple[str, ...]
    about: str = ""
    wording: Callable[[str], str] = str


def gather(
    opened: Opened, present: Any, noise_threshold: float | None = None, files: tuple[str, ...] = ()
) -> Facts:
    """Ask the model about all rows and read the original ones once."""
    estimator, X, given = opened.estimator, opened.X, opened.given
    views = estimator._check_new(X, present, None)
    if are_lazy(views):
        raise TypeError(
            "A report reads its rows on this machine, but Dask has these; give it some: X[:100_000].compute()."
        )
    n_samples = len(views.weight)
    _check_training(estimator, n_samples)
    ids = _given_ids(given.ids, X, n_samples)
    tables = original_views(estimator, X, given.original, given.feature_names, n_samples)
    samples = summarise(estimator, views, noise_threshold)
    listed = listed_rows(samples)
    described, about = _described(tables, given, samples)
    profiles = profile(described, samples, views)
    with single_threaded_blas():
        drawn = drawn_rows(samples, listed, most_points(estimator, MOST_POINTS))
        planes = project(estimator, views, drawn, samples.labels[drawn])
    shown = np.union1d(drawn, listed)
    return Facts(
        estimator=estimator,
        samples=samples,
        views=view_table(estimator._fit.model, views, estimator.engine),
        original=tables,
        described=described,
        about=about,
        profiles=profiles,
        drawn=drawn,
        planes=planes,
        listed=_details(estimator, views, samples, listed, drawn, profiles, described),
        names=dict(zip(shown.tolist(), _ids_of(ids, shown), strict=True)),
        scaling=None if given.scaling is None else plain_text(given.scaling),
        steps=given.steps,
        separation=separation_of(estimator, views),
        files=files,
        wording=given.wording,
    )


def _described(tables: list[OriginalView], given: Given, samples: Samples) -> tuple[list[OriginalView], str]:
    """The views whose columns describe the clusters, and what is to be said of them."""
    found = [telling_view(one, samples.labels, samples.n_clusters) for one in given.beside]
    others = {view.name: view for view, _ in found}
    known = [view.name for view in tables]
    if not set(others) <= set(known):  # of no view of the fit, and of all samples
        return [view for view, _ in found], " ".join(about for _, about in found)
    return [others.get(view.name, view) for view in tables], " ".join(about for _, about in found)


def _check_training(estimator: PowerKMeansBase, n_samples: int) -> None:
    for feature_map in estimator._fit.model.maps:
        if feature_map.dual and feature_map.n_outputs != n_samples:
            raise ValueError(
                f"With feature_map='exact' the report is of the samples that the model was fitted to: X has "
                f"{n_samples}, the model {feature_map.n_outputs}."
            )


def _given_ids(ids: Any, X: Any, n_samples: int) -> Any:
    """Names of the samples as they were passed, or an index that names them; None if they have only numbers."""
    if ids is None:
        return index_of(X)
    if (
        isinstance(ids, (str, bytes, Mapping, Set))
        or not isinstance(ids, Iterable)
        or getattr(ids, "ndim", 1) != 1
    ):
        raise wrong("ids", "a sequence of one name for each sample", ids)
    with naming("ids"):
        ids = ids if hasattr(ids, "__len__") else list(ids)
        if len(ids) != n_samples:
            raise ValueError(f"ids has {len(ids)} entries, expected one for each of the {n_samples} samples.")
    return ids


def _ids_of(ids: Any, rows: Rows) -> list[str]:
    if ids is None:
        return [str(row) for row in rows.tolist()]
    chosen = ids[rows] if hasattr(ids, "inferred_type") else _safe_indexing(ids, rows)
    return [plain_text(" / ".join(map(str, one)) if isinstance(one, tuple) else one) for one in chosen]


def _details(
    estimator: PowerKMeansBase,
    views: Views,
    samples: Samples,
    listed: Rows,
    drawn: Rows,
    profiles: Profiles,
    tables: list[OriginalView],
) -> Listed:
    """What is odd about each listed sample."""
    rows = np.sort(listed)
    back = np.searchsorted(rows, listed)  # from the order of the table to the order of the rows
    some = take_rows(views, rows)
    column, value, deviation = _unusual(rows, samples, profiles, tables)
    return Listed(
        rows=listed,
        runner_up=_runner_up(estimator, some)[back],
        view=_standing_out(estimator, views, some, drawn)[back],
        column=column[back],
        value=value[back],
        deviation=deviation[back],
    )


def _runner_up(estimator: PowerKMeansBase, some: Views) -> Array:
    probabilities = np.array(estimator._apply(some, block_probabilities))
    if probabilities.shape[1] == 1:
        return np.full(len(probabilities), -1)
    probabilities[np.arange(len(probabilities)), np.argmax(probabilities, axis=1)] = -1
    return np.argmax(probabilities, axis=1)


def _standing_out(estimator: PowerKMeansBase, views: Views, some: Views, drawn: Rows) -> Array:
    """The view whose part of the distance is farthest above what it is for the samples of the map."""
    others = shares_of_views(estimator, take_rows(views, drawn))
    usual = np.nansum(others, axis=0) / np.maximum(np.sum(~np.isnan(others), axis=0), 1)
    excess = shares_of_views(estimator, some) - usual
    return np.argmax(np.where(np.isnan(excess), -np.inf, excess), axis=1)


def _unusual(
    rows: Rows, samples: Samples, profiles: Profiles, tables: list[OriginalView]
) -> tuple[Array, Array, Array]:
    """The column in which each of the rows is farthest from the mean of its cluster."""
    column, value, farthest = np.full(len(rows), -1), np.full(len(rows), np.nan), np.zeros(len(rows))
    start, everyone = 0, np.arange(len(rows))
    for view in tables:
        if not view.has_columns:
            continue
        part = slice(start, start + len(view.columns))
        values = view.take(rows)
        away = np.nan_to_num(profiles.standardised(values, samples.labels[rows], part), posinf=0, neginf=0)
        best = np.argmax(np.abs(away), axis=1)
        found = away[everyone, best]
        better = np.abs(found) > np.abs(farthest)
        column[better], farthest[better] = best[better] + start, found[better]
        value[better] = values[everyone, best][better]
        start = part.stop
    return column, value, farthest
