"""Descent: at fixed s no step of the library raises the objective, whatever the problem.

The paper's steps minimise a surrogate that touches the objective from above (eq:MM update, eq:step1 to eq:step3),
so f_s cannot rise, for every membership, any view weights and lambda, any positive sample weights, and with views
missing too. Tested: random problems through the library's own pass and updates, the largest rise of the objective
over a step, relative to its size. Rounding is all that may be seen. Two controls show that a rise would be seen:
steps 2.5 times as long, and a reference distance that is renewed in every iteration, which changes the objective
on the way. The same property is held by ``tests/properties/test_descent.py``, which shrinks what fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.theorems.sets import ENGINE, Plan
from benchmarks.theorems.verdicts import Floats, Row, Statement, Table, most_verdict, of
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import run_pass
from powerkmeans.compute.rows import RowEngine
from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.maps.fourier import make_fourier
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import make_membership
from powerkmeans.objective.updates import objective_value, updated
from powerkmeans.types import Parameters, PassStatistics, Problem, Views

EXPONENTS = (-0.2, -0.5, -1.0, -3.0, -10.0, -25.0, -60.0, -math.inf)
ROUNDING = 1e-12
# an objective below this share of the scatter is not what rises are measured by
SMALLEST = 1e-3
TOO_LONG = 2.5
_STEPS = 20


@dataclass(frozen=True)
class Case:
    """A problem with its rows and where to start."""

    engine: RowEngine
    weight: Floats
    problem: Problem
    start: Parameters
    s: float

    def sums(self, parameters: Parameters, problem: Problem) -> PassStatistics:
        """One pass of the library."""
        inputs = prepare(parameters, self.s, problem, self.engine.dtype)
        return run_pass(self.engine, inputs, block_statistics)

    @property
    def kind(self) -> tuple[str, float]:
        return self.problem.membership.name, self.s


def random_views(rng: np.random.Generator, n: int, n_views: int) -> list[Floats]:
    """Centred features: plain columns, rounded ones (ties and repeated rows), or Fourier features."""
    views = []
    for _ in range(n_views):
        X = rng.normal(size=(n, rng.integers(1, 6)))
        form = rng.integers(3)
        if form == 1:
            X = np.round(X)
        elif form == 2:
            omega = KERNELS["rbf"].frequencies(X.shape[1], int(rng.integers(2, 12)), rng)
            X = make_fourier(np.zeros(X.shape[1]), omega, float(rng.uniform(0.3, 5)), np.float64)(X, np)
        views.append(X - X.mean(axis=0) + 1e-9 * rng.normal(size=X.shape[1]))
    return views


def random_case(rng: np.random.Generator) -> Case:
    """Membership, exponent, lambda, view weights, sample weights, missing views and start at random."""
    n, k, n_views = int(rng.integers(3, 60)), int(rng.integers(1, 7)), int(rng.integers(1, 4))
    views = random_views(rng, n, n_views)
    weight = 10.0 ** rng.uniform(-2, 2, n)
    present = None
    if n_views > 1 and rng.random() < 0.5:
        present = rng.random((n, n_views)) > 0.3
        present[np.arange(n), rng.integers(n_views, size=n)] = True
    tables = Views(tuple(map(str, range(n_views))), tuple(views), weight, present)
    engine = open_engine(ENGINE, tables).with_features(tuple(IdentityMap(v.shape[1]) for v in views), True)
    scatter = np.array([float(np.mean(np.vecdot(v, v))) for v in views])
    problem = Problem(
        make_membership(str(rng.choice(["fuzzy", "possibilistic"])), float(rng.uniform(1.2, 4))),
        (0, *np.cumsum([v.shape[1] for v in views]).tolist()),
        np.maximum(scatter, 1e-6) * 10.0 ** rng.uniform(-1, 1, n_views),
        scatter,
        entropy=float(10.0 ** rng.uniform(-3, 3)) if rng.random() < 0.8 else math.inf,
    )
    wide = np.hstack(views)
    start = wide[rng.integers(n, size=k)] + rng.choice([0.0, 0.3]) * rng.normal(size=(k, wide.shape[1]))
    fixed = math.isinf(problem.entropy)  # an infinite lambda holds the weights even, so they have to begin so
    alpha = np.ones(n_views) if fixed else np.maximum(rng.dirichlet(np.ones(n_views)), 1e-6)
    return Case(engine, weight, problem, Parameters(start, alpha / alpha.sum()), float(rng.choice(EXPONENTS)))


def largest_rise(
    case: Case, step: float = 1.0, renew: Callable[[Problem, PassStatistics], Problem] | None = None
) -> float:
    """The largest rise of the objective over one step, relative to its size; negative if it always fell.

    With as many clusters as rows the objective itself is rounding; then the size is that of the scatter.
    """
    parameters, problem, values = case.start, case.problem, []
    for _ in range(_STEPS):
        sums = case.sums(parameters, problem)
        values.append(objective_value(float(sums.loss), parameters, problem))
        problem = problem if renew is None else renew(problem, sums)
        parameters = updated(parameters, sums, problem, step)
    entropy = problem.entropy if math.isfinite(problem.entropy) and len(parameters.view_weights) > 1 else 0.0
    scatter = float(np.sum(case.weight)) * float(case.start.view_weights @ problem.scatter)
    size = max(float(np.max(np.abs(values))), entropy, SMALLEST * scatter)
    return float(np.max(np.diff(values))) / size


def renewed(problem: Problem, sums: PassStatistics) -> Problem:
    """The reference distance as the mean squared distance to the nearest centroid of the moment."""
    spread = float(sums.hard_cost) / float(np.sum(sums.sizes))
    return replace(problem, reference_distance=np.full_like(problem.reference_distance, max(spread, 1e-9)))


def measure(plan: Plan) -> list[Row]:
    """Many random problems, and two wrong methods on as many."""
    rng = np.random.default_rng(5)
    cases = [random_case(rng) for _ in range(plan.pick(2000, 200))]
    rises = {id(case): largest_rise(case) for case in cases}
    some = cases[: plan.pick(400, 50)]
    soft = [case for case in some if case.problem.membership.name == "possibilistic"]
    controls = {
        f"steps {TOO_LONG:g} times as long": [largest_rise(case, step=TOO_LONG) for case in some],
        "reference distance renewed in every iteration": [largest_rise(case, renew=renewed) for case in soft],
    }
    rows = [
        _row(kind, [rises[id(case)] for case in cases if case.kind == kind])
        for kind in sorted({case.kind for case in cases})
    ]
    return [*rows, *(_control(name, values) for name, values in controls.items())]


def judge(rows: list[Row]) -> Statement:
    """What the rows say."""
    mine = of(rows, "descent")
    worst, problems = max(mine, key=lambda row: row["largest"]), sum(row["problems"] for row in mine)
    number = (
        f"largest relative rise {worst['largest']:.1e} in {problems} problems of {_STEPS} steps "
        f"({worst['membership']}, s = {worst['s']}); rounding, {ROUNDING:.0e}, is allowed"
    )
    return Statement(
        "descent",
        "Descent at fixed s",
        "At fixed s no iteration raises the objective, for every membership, any view weights and lambda, any "
        "positive sample weights, and with missing views (eq:MM update, eq:step1 to eq:step3).",
        [_table(mine), _control_table(of(rows, "descent, control"))],
        [most_verdict("objective over a step", worst["largest"], ROUNDING, number)],
    )


def _row(kind: tuple[str, float], rises: list[float]) -> Row:
    return {
        "measured": "descent",
        "membership": kind[0],
        "s": f"{kind[1]:g}",
        "problems": len(rises),
        "largest": max(rises),
    }


def _control(name: str, rises: list[float]) -> Row:
    return {
        "measured": "descent, control",
        "control": name,
        "problems": len(rises),
        "raised": sum(rise > ROUNDING for rise in rises),
        "largest": max(rises),
    }


def _table(rows: list[Row]) -> Table:
    lines = [[row["membership"], row["s"], str(row["problems"]), f"{row['largest']:.1e}"] for row in rows]
    caption = "Largest rise of the objective over a step, relative to its size; a negative number: it always fell."
    return Table(caption, ["membership", "s", "problems", "largest rise"], lines)


def _control_table(rows: list[Row]) -> Table:
    lines = [[r["control"], str(r["problems"]), str(r["raised"]), f"{r['largest']:.1e}"] for r in rows]
    caption = "Controls: what the same check says of two methods that are wrong."
    return Table(caption, ["what is wrong", "problems", "raised in", "largest rise"], lines)
