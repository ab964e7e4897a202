"""All that a user should know about a finished fit, each with its way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from powerkmeans.advice.columns import far_outliers, hidden_by_outliers, unscaled_columns, zero_rows
from powerkmeans.advice.graph import about_graph
from powerkmeans.advice.kernel import (
    ExaminedKernel,
    examined_kernel,
    flat_kernel,
    identity_kernel,
    map_error,
    map_too_small,
    too_many_directions,
)
from powerkmeans.advice.outcome import (
    collapsed,
    ended_by_outliers,
    fewer_clusters,
    kept_run,
    not_converged,
    typicality_out_of_proportion,
)
from powerkmeans.advice.sample import ExaminedRows, examined_rows
from powerkmeans.advice.thresholds import LARGEST_ERROR
from powerkmeans.advice.totals import followed_totals
from powerkmeans.advice.views import constant_views, unrelated_views
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.features.kernels import KERNELS
from powerkmeans.fitting.finish import Fitted
from powerkmeans.fitting.task import Task
from powerkmeans.types import Status

Labels = Mapping[str, Sequence[Any] | None]


class Findings(NamedTuple):
    """Sentences: where the fit fell short, what the data make unwise, and what ``verbose`` notes of it."""

    shortfalls: tuple[str, ...]
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ViewFindings(NamedTuple):
    """What the rows of one view tell.

    Sentences; one more if its map is too small, which does not matter where the view does not; the map's error;
    whether most rows are nothing beside outliers.
    """

    sentences: tuple[str, ...] = ()
    too_small: str | None = None
    error: float | None = None
    hidden: bool = False


def findings(fitted: Fitted, labels: Labels, *, advice: bool = True) -> Findings:
    """Judge a finished fit; without advice only by what it came to, and no row is looked at.

    ``labels`` are the names of columns, by the views that have such.
    """
    with single_threaded_blas():
        if not advice:
            return Findings(_shortfalls(fitted, [], more=False))
        task = fitted.task
        views = [_about_view(task, index, labels.get(name)) for index, name in enumerate(task.prepared.used)]
        kernels = not task.prepared.maps_of_rows[0].base.fuses
        general = _said([constant_views(task.prepared.left_out, kernels=kernels), *about_graph(task)])
        of_rows = (*general, *(text for index, view in enumerate(views) for text in _named(task, index, view)))
        hidden = [task.prepared.used[index] for index, view in enumerate(views) if view.hidden]
        return Findings(
            shortfalls=_shortfalls(fitted, hidden, more=bool(of_rows)),
            advice=(*of_rows, *_about_fit(fitted, views)),
            notes=_notes(task, views),
        )


def _shortfalls(fitted: Fitted, hidden: list[str], *, more: bool) -> tuple[str, ...]:
    """Where the fit itself went wrong; after a collapse nothing else is worth telling."""
    alone = collapsed(fitted)
    if alone is not None:
        return (alone,)
    more = more or kept_run(fitted).status is Status.MAX_ITER
    return _said([ended_by_outliers(fitted, hidden), fewer_clusters(fitted, more), not_converged(fitted)])


def _about_fit(fitted: Fitted, views: list[ViewFindings]) -> tuple[str, ...]:
    """What takes clusters to tell. The map of a view that is unrelated to them may be as small as it is."""
    unrelated = unrelated_views(fitted)
    small = [
        _prefix(fitted.task, index) + view.too_small
        for index, view in enumerate(views)
        if view.too_small is not None and index not in unrelated
    ]
    totals = [_prefix(fitted.task, index) + text for index, text in followed_totals(fitted).items()]
    return _said([*small, *unrelated.values(), *totals, typicality_out_of_proportion(fitted)])


def _notes(task: Task, views: list[ViewFindings]) -> tuple[str, ...]:
    return tuple(
        f"view {name!r}: kernel error {view.error:.3f}, which is large above {LARGEST_ERROR:g}"
        for name, view in zip(task.prepared.used, views, strict=True)
        if view.error is not None
    )


def _named(task: Task, index: int, view: ViewFindings) -> list[str]:
    return [_prefix(task, index) + text for text in view.sentences]


def _prefix(task: Task, index: int) -> str:
    """The name of a view, where there are others."""
    prepared = task.prepared
    several = len({*prepared.used, *prepared.left_out}) > 1
    return f"view {prepared.used[index]!r}: " if several else ""


def _about_view(task: Task, index: int, labels: Sequence[Any] | None) -> ViewFindings:
    """Judge all rows of one view, and some of them at close range."""
    found = _about_rows(task, index, labels)
    return found._replace(sentences=_said([zero_rows(task, index), *found.sentences]))


def _about_rows(task: Task, index: int, labels: Sequence[Any] | None) -> ViewFindings:
    """Judge the columns of one view, its bandwidth, and its map if that stands for a kernel."""
    prepared = task.prepared
    chosen = prepared.view_settings[index]
    rows = None if chosen.given else examined_rows(task, index)
    if rows is None:
        return ViewFindings()
    columns = unscaled_columns(rows, labels)
    if prepared.maps_of_rows[0].base.fuses:
        return ViewFindings(_said([columns]))
    bandwidth = prepared.bandwidths[index]
    if bandwidth is None:
        return _about_plain(task, index, rows, columns)
    examined = examined_kernel(rows, KERNELS[chosen.kernel], bandwidth)
    useless = flat_kernel(examined) or identity_kernel(examined)
    if useless or rows.few or task.settings.n_clusters == 1 or not prepared.maps[index].base.approximates:
        return ViewFindings(_said([columns, useless]))
    return _about_map(task, index, examined, columns)


def _about_plain(task: Task, index: int, rows: ExaminedRows, columns: str | None) -> ViewFindings:
    """Judge plain columns, which rounding and outliers matter to."""
    feature_map, scatter = task.prepared.maps[index], float(task.problem.scatter[index])
    sentences = _said([columns, far_outliers(rows, feature_map, scatter)])
    return ViewFindings(sentences, hidden=hidden_by_outliers(rows, feature_map, scatter))


def _about_map(task: Task, index: int, examined: ExaminedKernel, columns: str | None) -> ViewFindings:
    """Judge the size of a map; what is wrong with the bandwidth comes first."""
    feature_map, n_clusters = task.prepared.maps[index], task.settings.n_clusters
    local = too_many_directions(examined, feature_map)
    if local:
        return ViewFindings(_said([columns, local]))
    error, structured = map_error(examined, feature_map, n_clusters)
    n_rows = len(examined.rows.sample.weight) // task.settings.rows_per_landmark
    too_small = map_too_small(error, feature_map, n_clusters, n_rows) if structured else None
    return ViewFindings(_said([columns]), too_small, error)


def _said(sentences: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(text for text in sentences if text)
