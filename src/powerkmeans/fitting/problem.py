"""The problem that is posed on prepared features: memberships, and how views are compared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from powerkmeans.fitting.baseline import chance_shares
from powerkmeans.fitting.collapse import collapsed_losses
from powerkmeans.fitting.features import prepare_features
from powerkmeans.fitting.listener import told_part
from powerkmeans.fitting.pilot import pilot_of
from powerkmeans.fitting.prepared import Prepared
from powerkmeans.fitting.reference import reference_distance
from powerkmeans.fitting.task import Task
from powerkmeans.inputs.settings import AUTO, Settings
from powerkmeans.objective.membership import Fuzzy, make_membership
from powerkmeans.types import Problem, Views

# lambda over the loss of a view before there are clusters: at 1 a noise view keeps a third of the weight of
# two, at 0.3 a fourteenth
ENTROPY_SHARE = 0.3


def make_task(views: Views, settings: Settings, seed: int) -> Task:
    """Prepare the features and pose the problem on them."""
    return make_tasks(views, settings, seed)[0]


def make_tasks(views: Views, settings: Settings, seed: int) -> tuple[Task, Task | None]:
    """The task on all rows, and the same on a sample of them where there are many."""
    task = _with_membership(prepare_features(views, settings, seed), settings, seed)
    weighed = len(task.problem.scatter) > 1
    pilot = pilot_of(task) if weighed or isinstance(settings.s_init, str) else None
    problem = _with_entropy(pilot or task)
    return replace(task, problem=problem), None if pilot is None else replace(pilot, problem=problem)


def _with_membership(prepared: Prepared, settings: Settings, seed: int) -> Task:
    """The problem without what it takes to weigh views."""
    plain, membership = (
        Fuzzy(settings.fuzziness),
        make_membership(_membership(prepared, settings), settings.fuzziness),
    )
    problem = Problem(plain, prepared.splits, prepared.scatter, prepared.scatter, dual=prepared.dual)
    task = Task(prepared, problem, settings, seed)
    reference = reference_distance(task) if membership.bounded else problem.reference_distance
    return replace(task, problem=replace(problem, membership=membership, reference_distance=reference))


def _membership(prepared: Prepared, settings: Settings) -> str:
    """As set; else possibilistic for views that have features of their own, in which outliers are far off."""
    if settings.membership != AUTO:
        return settings.membership
    return "fuzzy" if prepared.maps_of_rows[0].base.fuses else "possibilistic"


def _with_entropy(task: Task) -> Problem:
    """Fix how views are compared: the price of uneven weights and what chance explains of each.

    lambda is as given, or a share of the mean loss of a view where all centroids sit together.
    """
    choice, problem = task.settings.entropy, task.problem
    if len(problem.scatter) == 1:  # nothing to weigh
        return problem if isinstance(choice, str) else replace(problem, entropy=choice)
    with told_part("views compared"):
        losses = collapsed_losses(task)
        entropy = ENTROPY_SHARE * float(np.mean(losses)) if isinstance(choice, str) else choice
        learned = task.settings.view_baseline is not None and math.isfinite(entropy)
        baseline = losses * chance_shares(task) if learned else None
    return replace(problem, entropy=entropy, baseline=baseline)
