"""What the fit itself came to: a collapse, fewer clusters, too few iterations, typicalities out of proportion."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from powerkmeans.advice.thresholds import NEGLIGIBLE, UNALIKE
from powerkmeans.fitting.collapse import find_collapse
from powerkmeans.fitting.finish import Fitted
from powerkmeans.models.model import Restart
from powerkmeans.types import Status


def kept_run(fitted: Fitted) -> Restart:
    """The run whose clusters these are."""
    return fitted.result.restarts[fitted.result.best]


def collapsed(fitted: Fitted) -> str | None:
    """All centroids sit in one place."""
    settings, run = fitted.task.settings, kept_run(fitted)
    if fitted.result.n_apart > 1 or settings.n_clusters == 1 or run.status is Status.EXACT:
        return None
    text = (
        f"All {settings.n_clusters} centroids collapsed into one: s went from {run.s_init:.4g} to "
        f"{run.s:.4g}, and clusters did not separate on the way. "
    )
    if isinstance(settings.s_init, str):
        return text + f"Use a max_iter larger than {settings.max_iter}, or a larger bandwidth."
    critical = fitted.result.critical
    if critical is None and not fitted.task.problem.membership.bounded:
        critical = find_collapse(fitted.task).critical
    begin = "" if critical is None else f"They begin to at s={critical:.4g}. "
    return text + begin + "Use s_init='auto', which starts where they do."


def ended_by_outliers(fitted: Fitted, hidden: list[str]) -> str | None:
    """The cost was negligible beside outliers, in the views that are named, before other rows counted."""
    if not hidden or kept_run(fitted).status is not Status.EXACT:
        return None
    return (
        f"What is left of the cost is nothing beside far outliers (view {hidden[0]!r}), so the fit "
        "ended before it looked at all others. Leave outliers out, clip them, or use feature_map='nystroem'."
    )


def fewer_clusters(fitted: Fitted, more: bool) -> str | None:
    """Clusters without samples; rows that repeat are to blame only if there are too few others.

    ``more``: whether something else is wrong, which is told after this.
    """
    settings, n_used = fitted.task.settings, fitted.result.n_used
    if n_used == settings.n_clusters:
        return None
    n_distinct = fitted.task.prepared.sample.n_distinct
    text = f"Number of distinct clusters ({n_used}) found smaller than n_clusters ({settings.n_clusters}). "
    if n_distinct < settings.n_clusters:
        return text + f"There are only {n_distinct} distinct rows. Use n_clusters={n_used}."
    why = "What is said below may be why; if not, use" if more else "Use"
    moves = "" if isinstance(settings.s_init, str) else " or s_init='auto', which moves superfluous centroids"
    other = " or feature_map='nystroem'" if fitted.task.prepared.maps_of_rows[0].base.fuses else ""
    return text + f"{why} n_clusters={n_used}{moves}{other}."


def not_converged(fitted: Fitted) -> str | None:
    """The iterations ran out."""
    run = kept_run(fitted)
    if run.status is not Status.MAX_ITER:
        return None
    return (
        f"The annealing did not converge in max_iter={fitted.task.settings.max_iter} iterations (s reached "
        f"{run.s:.4g}). Increase max_iter or tol, or anneal faster (anneal_factor, anneal_every)."
    )


def typicality_out_of_proportion(fitted: Fitted) -> str | None:
    """The reference distance makes outliers of nearly all samples, or of none."""
    choice = fitted.task.settings.reference_distance
    if not fitted.task.problem.membership.bounded:
        return None
    typical, given = _mean_typicality(fitted), f"reference_distance={choice!r}"
    if typical < UNALIKE:
        return (
            f"{given} makes outliers of nearly all samples: their typicality is {typical:.2g} or less on "
            "average. Use reference_distance='global'."
        )
    if typical > 1 - NEGLIGIBLE and not isinstance(choice, str):
        return (
            f"{given} is so large that no sample is an outlier: their typicality is {typical:.4f} or more on "
            "average. Use reference_distance='global', or membership='fuzzy', which does without."
        )
    return None


def _mean_typicality(fitted: Fitted) -> float:
    """A mean of typicalities, from the sums ``N`` and ``R`` of the last pass.

    Where all samples have the typicality ``u``, attraction and residual of it are as ``N`` to ``R``. Where they
    differ, the ``u`` for which they would be so is a mean of theirs, nearer to one half than the plain one.
    """
    membership = fitted.task.problem.membership
    mass, residual = float(np.sum(fitted.final.mass)), float(np.sum(fitted.final.residual))

    def excess(degree: float) -> float:
        u = np.asarray(degree)
        return float(residual * membership.attraction(u, np) - mass * membership.residual(u, np))

    return float(brentq(excess, 0.0, 1.0, xtol=1e-6)) if mass + residual > 0 else 0.0
