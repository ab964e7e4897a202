"""Views that say nothing: constant ones, and those that have nothing to do with the clusters."""

from __future__ import annotations

import sys

import numpy as np

from powerkmeans.advice.thresholds import NEGLIGIBLE, RELATED, UNCERTAINTY
from powerkmeans.fitting.finish import Fitted
from powerkmeans.objective.space import inner_products
from powerkmeans.objective.updates import updated_centers
from powerkmeans.types import Float64Array, Parameters, PassStatistics, Problem


def constant_views(names: tuple[str, ...], *, kernels: bool = True) -> str | None:
    """Views were left out because they do not vary, as far as their kernels see if there are any."""
    listed = ", ".join(repr(name) for name in names)
    if not names:
        return None
    if not kernels:
        one = len(names) == 1
        what, gets = ("view", "is constant and gets") if one else ("views", "are constant and get")
        return f"{what} {listed} {gets} the weight 0. Leave {'it' if one else 'them'} out."
    if len(names) == 1:
        return (
            f"view {listed} is constant, or its kernel is flat, and gets the weight 0. Leave it out, or give it a "
            "smaller bandwidth if it does vary."
        )
    return (
        f"views {listed} are constant, or their kernels are flat, and get the weight 0. Leave them out, or give a "
        "smaller bandwidth to those that do vary."
    )


def unrelated_views(fitted: Fitted) -> dict[int, str]:
    """Views that the clusters say nothing about, each with its sentence."""
    task, found = fitted.task, fitted.result.model.parameters
    names, n_clusters = task.prepared.used, task.settings.n_clusters
    if len(names) == 1 or n_clusters == 1 or fitted.result.model.fuses:
        return {}
    chance = _by_chance(fitted)
    explained = explained_shares(found, fitted.final, task.problem)
    if not np.any(explained > RELATED * chance):
        return {}
    unrelated = np.flatnonzero((explained < UNCERTAINTY * chance) & (chance < NEGLIGIBLE))
    return {
        view: f"view {names[view]!r} (weight {found.view_weights[view]:.3f}) has nothing to do with the clusters: "
        f"they explain {explained[view]:.2%} of it, and chance {chance[view]:.2%}. Check it, or leave it out."
        for view in unrelated.tolist()
    }


def _by_chance(fitted: Fitted) -> Float64Array:
    """What as many random clusters explain of each view: ``(k - 1) / (n - 1)``."""
    prepared, n_clusters = fitted.task.prepared, fitted.task.settings.n_clusters
    present = prepared.views.present
    cover = np.ones(len(prepared.views.names)) if present is None else np.asarray(np.mean(present, axis=0))
    chance: Float64Array = (n_clusters - 1) / np.maximum(prepared.sample.n_distinct * cover - 1, 1)
    return chance


def explained_shares(found: Parameters, final: PassStatistics, problem: Problem) -> Float64Array:
    """How much of each view's scatter lies between the clusters, with samples weighted as in the last pass."""
    mass, widths = final.mass, np.diff(problem.splits)
    means = updated_centers(found, final, problem)
    middle = np.sum(means * np.repeat(mass, widths, axis=1), axis=0) / np.repeat(np.sum(mass, axis=0), widths)
    step, offset = means - found.centers, means - middle
    within = np.sum(final.scatter - mass * inner_products(step, step, problem), axis=0)
    between = np.sum(mass * inner_products(offset, offset, problem), axis=0)
    return between / np.maximum(within + between, sys.float_info.min)
