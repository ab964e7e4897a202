"""What a user should know about a fit: what went wrong, and what the data make unwise, each with its way out.

Kernels, maps and columns are looked at before the fit (``fitting/look.py``); views and typicality are judged by
sums that the last pass has made anyway.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from powerkmeans.advice.look import LARGEST_ERROR, look_at_view
from powerkmeans.fitting.collapse import find_collapse
from powerkmeans.fitting.task import Task
from powerkmeans.models.model import Restart
from powerkmeans.objective.space import inner_products
from powerkmeans.objective.updates import updated_centers
from powerkmeans.types import Float64Array, Parameters, PassStatistics, Problem, Status

# clusters say nothing about a view if they explain less of it than this multiple of what chance does, and of
# another view more than the second; where chance explains more than the last there are too few samples to tell
UNINFORMED, INFORMED, LARGEST_CHANCE = 2.0, 5.0, 0.01
# typicalities that nearly all samples should not have
ALL_OUTLIERS, ALL_TYPICAL = 0.2, 0.99


class Looked(NamedTuple):
    """What was found before there are clusters.

    What is unwise, maps that are too small by view, notes, and views whose rows are nothing beside outliers.
    """

    unwise: list[str]
    too_small: dict[int, str]
    notes: list[str]
    hidden: list[str]


def look_at_features(task: Task) -> Looked:
    """What the data make unwise before there are clusters, and what to note of it in any case."""
    prepared = task.prepared
    several = len(prepared.views.names) + len(prepared.left_out) > 1
    looked = Looked([_about_left_out(prepared.left_out)] if prepared.left_out else [], {}, [], [])
    for index, name in enumerate(prepared.views.names):
        seen, prefix = look_at_view(task, index), f"view {name!r}: "
        looked.unwise.extend(prefix + text if several else text for text in seen.unwise)
        if seen.too_small is not None:
            looked.too_small[index] = prefix + seen.too_small if several else seen.too_small
        if seen.hidden:
            looked.hidden.append(name)
        if seen.error is not None:
            looked.notes.append(f"{prefix}kernel error {seen.error:.3f}, which is large above {LARGEST_ERROR:g}")
    return looked


def _about_left_out(names: tuple[str, ...]) -> str:
    listed = ", ".join(repr(name) for name in names)
    if len(names) == 1:
        return (
            f"view {listed} is constant, or its kernel is flat, and gets the weight 0. Leave it out, or give it a "
            "smaller bandwidth if it does vary."
        )
    return (
        f"views {listed} are constant, or their kernels are flat, and get the weight 0. Leave them out, or give a "
        "smaller bandwidth to those that do vary."
    )


def advice(task: Task, looked: Looked, found: Parameters, final: PassStatistics) -> list[str]:
    """All that the data make unwise; of views and typicality the last pass tells."""
    strangers = _about_views(task, found, final)
    # the map of a view that says nothing may be as small as it is
    too_small = [text for view, text in looked.too_small.items() if view not in strangers]
    return [*looked.unwise, *too_small, *strangers.values(), *_about_typicality(task, final)]


def _about_views(task: Task, found: Parameters, final: PassStatistics) -> dict[int, str]:
    """Views that the clusters say nothing about: between these lies no more of them than between random ones."""
    names, present = task.prepared.views.names, task.prepared.views.present
    if len(names) == 1 or task.settings.n_clusters == 1:
        return {}
    there = np.ones(len(names)) if present is None else np.mean(present, axis=0)
    chance = (task.settings.n_clusters - 1) / np.maximum(task.prepared.sample.n_distinct * there - 1, 1)
    explained = explained_shares(found, final, task.problem)
    if not np.any(explained > INFORMED * chance):
        return {}
    wrong = np.flatnonzero((explained < UNINFORMED * chance) & (chance < LARGEST_CHANCE))
    return {
        view: f"view {names[view]!r} (weight {found.view_weights[view]:.3f}) has nothing to do with the clusters: "
        f"they explain {explained[view]:.2%} of it, and chance {chance[view]:.2%}. Check it, or leave it out."
        for view in wrong.tolist()
    }


def explained_shares(found: Parameters, final: PassStatistics, problem: Problem) -> Float64Array:
    """How much of each view's scatter lies between the clusters, with samples weighted as in the last pass."""
    mass, widths = final.mass, np.diff(problem.splits)
    means = updated_centers(found, final, problem)
    middle = np.sum(means * np.repeat(mass, widths, axis=1), axis=0) / np.repeat(np.sum(mass, axis=0), widths)
    step, offset = means - found.centers, means - middle
    within = np.sum(final.scatter - mass * inner_products(step, step, problem), axis=0)
    between = np.sum(mass * inner_products(offset, offset, problem), axis=0)
    return between / np.maximum(within + between, np.finfo(np.float64).tiny)


def _about_typicality(task: Task, final: PassStatistics) -> list[str]:
    """Whether the reference distance makes outliers of nearly all samples, or of none.

    ``(N / R)^(1/m)`` is ``u / (1 - u)`` where all samples have the typicality ``u``. Where they differ, it is
    a power mean and nearer to one half than their mean.
    """
    membership, choice = task.problem.membership, task.settings.reference_distance
    mass, residual = float(np.sum(final.mass)), float(np.sum(final.residual))
    if not membership.bounded:
        return []
    odds = (mass / residual) ** (1 / membership.fuzziness) if residual > 0 else math.inf
    typical, given = 1 / (1 + 1 / odds) if odds > 0 else 0.0, f"reference_distance={choice!r}"
    if typical < ALL_OUTLIERS:
        return [
            f"{given} makes outliers of nearly all samples: their typicality is {typical:.2g} or less on "
            "average. Use reference_distance='global'."
        ]
    if typical > ALL_TYPICAL and not isinstance(choice, str):
        return [
            f"{given} is so large that no sample is an outlier: their typicality is {typical:.4f} or more on "
            "average. Use reference_distance='global', or membership='fuzzy', which does without."
        ]
    return []


def troubles(
    task: Task, looked: Looked, restart: Restart, n_used: int, n_apart: int, critical: float | None
) -> list[str]:
    """What went wrong in the fit itself."""
    settings, n_clusters = task.settings, task.settings.n_clusters
    if n_apart == 1 and n_clusters > 1 and restart.status is not Status.EXACT:
        return [_about_collapse(task, restart, critical)]
    found = []
    if looked.hidden and restart.status is Status.EXACT:
        found.append(
            f"What is left of the cost is nothing beside far outliers (view {looked.hidden[0]!r}), so the fit "
            "ended before it looked at all others. Leave outliers out, clip them, or use feature_map='nystroem'."
        )
    if n_used < n_clusters:
        more = bool(looked.unwise) or restart.status is Status.MAX_ITER
        found.append(_about_fewer(task, n_used, more))
    if restart.status is Status.MAX_ITER:
        found.append(
            f"The annealing did not converge in max_iter={settings.max_iter} iterations (s reached "
            f"{restart.s:.4g}). Increase max_iter or tol, or anneal faster (anneal_factor, anneal_every)."
        )
    return found


def _about_fewer(task: Task, n_used: int, more: bool) -> str:
    """Clusters without samples; rows that repeat are to blame only if there are too few others.

    ``more``: whether something else is wrong, which is told after this.
    """
    settings, n_distinct = task.settings, task.prepared.sample.n_distinct
    text = f"Number of distinct clusters ({n_used}) found smaller than n_clusters ({settings.n_clusters}). "
    if n_distinct < settings.n_clusters:
        return text + f"There are only {n_distinct} distinct rows. Use n_clusters={n_used}."
    why = "What is said below may be why; if not, use" if more else "Use"
    moves = "" if isinstance(settings.s_init, str) else " or s_init='auto', which moves superfluous centroids"
    return text + f"{why} n_clusters={n_used}{moves}."


def _about_collapse(task: Task, restart: Restart, critical: float | None) -> str:
    settings = task.settings
    text = (
        f"All {settings.n_clusters} centroids collapsed into one: s went from {restart.s_init:.4g} to "
        f"{restart.s:.4g}, and clusters did not separate on the way. "
    )
    if isinstance(settings.s_init, str):
        return text + f"Use a max_iter larger than {settings.max_iter}, or a larger bandwidth."
    if critical is None and not task.problem.membership.bounded:
        critical = find_collapse(task).critical
    begin = "" if critical is None else f"They begin to at s={critical:.4g}. "
    return text + begin + "Use s_init='auto', which starts where they do."
