"""The library's rules of thumb, what a fit is without each, and the numbers that are none.

A rule is a name, what it says, and the constants (or functions) that take it away, by the dotted names at which
they are read: a constant that another module imports has its name there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from powerkmeans.fitting.collapse import FULL_STEPS, _fixed_point, find_collapse
from powerkmeans.solver.schedules import Geometric, Unfolding
from powerkmeans.solver.starts import _draw

# kinds of sets that a rule acts on, where it does not act on all
SEVERAL, MISSING, WIDE, MANY_ROWS, SOME_ROWS = "several", "missing", "wide", "many rows", "some rows"
MANY_CLUSTERS = "many clusters"
_FITTING, _SOLVER = "powerkmeans.fitting.", "powerkmeans.solver."
_STARTS, _COLLAPSE = _FITTING + "starts.", _FITTING + "collapse."
_PILOT, _BASELINE = _FITTING + "pilot.", _FITTING + "baseline."
_SCHEDULES, _RELOCATE = _SOLVER + "schedules.", _SOLVER + "relocate."


@dataclass(frozen=True)
class Rule:
    """What is measured in one row.

    text : what the rule says, and what is there instead of it
    constants : values without the rule, by dotted names
    parameters : of the estimator, where that is how the rule is taken away
    on : the kind of sets that the rule acts on; empty for all but the special ones
    draw : added to the seed of the estimator, not of the data
    """

    text: str
    constants: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    on: str = ""
    draw: int = 0


class _Impatient(Unfolding):
    """Converged as soon as two iterations agree."""

    window = 2  # type: ignore[assignment]


def _steady(s_init: float, factor: float, _: int, *limits: float) -> Geometric:
    return Geometric(s_init, factor, 1, *limits)


def _one_draw(potential: Any, size: int, rng: Any) -> Any:
    return _draw(potential, 1, rng)


def _rough_point(task: Any, inputs: Any, tol: float = 1e-3) -> Any:
    return _fixed_point(task, inputs, tol)


def _no_moves(task: Any, result: Any, restart: Any, listener: Any) -> Any:
    return result, restart


def _not_hardened(task: Any, result: Any, on_iteration: Any) -> Any:
    return result


NOTHING = "nothing"
RULES: dict[str, Rule] = {
    NOTHING: Rule("the fit as it is"),
    "the same draw": Rule("not a rule: the fit with other random numbers, to see what chance does", draw=1000),
    # starts
    "two starts: cloud alone": Rule("one run, from the cloud", parameters={"init": "cloud"}),
    "two starts: k-means++ alone": Rule("one run, from k-means++", parameters={"init": "k-means++"}),
    "cloud's margin": Rule("the lower cost wins, by however little", {_FITTING + "fit.CLOUD_MARGIN": 0.0}),
    "start multiples: both 1.0": Rule(
        "runs begin at 0.9 and 1.2 times the critical exponent; both at it",
        {_STARTS + "CLOUD_MULTIPLE": 1.0, _STARTS + "OTHER_MULTIPLE": 1.0},
    ),
    "start multiples: both 1.2": Rule("both runs at 1.2 times", {_STARTS + "CLOUD_MULTIPLE": 1.2}),
    "start multiples: both 0.9": Rule("both runs at 0.9 times", {_STARTS + "OTHER_MULTIPLE": 0.9}),
    "cloud's size: 0.03": Rule(
        "the cloud is a tenth of the data's spread; 0.03", {_SOLVER + "starts.CLOUD_SCALE": 0.03}
    ),
    "cloud's size: 0.3": Rule("0.3", {_SOLVER + "starts.CLOUD_SCALE": 0.3}),
    "views' part of the cloud: 0": Rule(
        "where samples lack views, each view has a tenth of a cloud to itself; none",
        {_STARTS + "SEPARATE": 0.0},
        on=MISSING,
    ),
    "views' part of the cloud: 1": Rule("a whole cloud", {_STARTS + "SEPARATE": 1.0}, on=MISSING),
    "smallest start: 0.01": Rule("no run begins above s = -0.5; above -0.01", {_STARTS + "SMALLEST_START": 0.01}),
    "smallest start: 1": Rule("above s = -1", {_STARTS + "SMALLEST_START": 1.0}),
    "greedy k-means++": Rule("the best of 2 + log k draws; the first", {_SOLVER + "starts._draw": _one_draw}),
    # annealing
    "longer steps": Rule("steps are 1.8 times as long; 1", {_STARTS + "RELAXATION": 1.0}),
    "waiting": Rule("s stays while steps grow; never", {_SCHEDULES + "LONGEST_WAIT": 0}),
    "waiting: no limit": Rule("at most 16 iterations; any number", {_SCHEDULES + "LONGEST_WAIT": 10**9}),
    "hurrying": Rule("s goes three steps at once where nothing moves; one", {_SCHEDULES + "QUICK_STEPS": 1}),
    "hurrying: below 0.001": Rule(
        "nothing moves: below 0.0001 of the spread; 0.001", {_SCHEDULES + "QUIET": 1e-3}
    ),
    "waiting and hurrying": Rule("neither", {_STARTS + "Unfolding": _steady}),
    "window of 5": Rule("converged when five iterations agree; two", {_STARTS + "Unfolding": _Impatient}),
    "settle: no multiple": Rule(
        "no run is over before 1.5 times the critical exponent and s = -3; s = -3 alone",
        {_STARTS + "SETTLE_MULTIPLE": 0.0},
    ),
    "settle: no exponent": Rule("the multiple alone", {_STARTS + "SETTLE_EXPONENT": 0.0}),
    "settle: neither": Rule("neither", {_STARTS + "SETTLE_MULTIPLE": 0.0, _STARTS + "SETTLE_EXPONENT": 0.0}),
    "hand-over: none": Rule(
        "k-means goes on beyond s = -15 and 6 times the critical exponent; the annealing to its end",
        {_STARTS + "HARD_EXPONENT": -math.inf},
    ),
    "hand-over: no multiple": Rule("s = -15 alone", {_STARTS + "HARD_MULTIPLE": 0.0}),
    "hand-over: no exponent": Rule("the multiple alone", {_STARTS + "HARD_EXPONENT": 0.0}),
    "end of annealing: none": Rule(
        "runs that have not separated end at s = -200; at twice the settling exponent",
        {_SCHEDULES + "END_OF_ANNEALING": 0.0},
    ),
    "apart: 1e-2": Rule("centroids are apart beyond 0.0001 of the spread; 0.01", {_SOLVER + "mm.APART": 1e-2}),
    "apart: 1e-6": Rule("beyond 0.000001", {_SOLVER + "mm.APART": 1e-6}),
    # finish and moves
    "finish as k-means": Rule("the annealing ends as k-means; as it is", {_FITTING + "fit.harden": _not_hardened}),
    "moves": Rule("centroids that serve little are moved; not", {_FITTING + "fit.improve": _no_moves}),
    "moves' margin": Rule("a move must save 0.2 %; a millionth", {_FITTING + "moves.MARGIN": 1e-6}),
    "moves' margin: 1 %": Rule("1 %", {_FITTING + "moves.MARGIN": 0.01}),
    "power steps of a split: 1": Rule("five steps to a cluster's axis; one", {_RELOCATE + "_POWER_STEPS": 1}),
    "2-means steps of a split: 1": Rule("three steps of 2-means; one", {_RELOCATE + "_LLOYD_STEPS": 1}),
    "steps of a split: 3 and 3": Rule("three of both", {_RELOCATE + "_POWER_STEPS": 3}),
    # collapse
    "quick subspace": Rule(
        "four steps of the subspace; sixteen",
        {_FITTING + "fit.find_collapse": lambda task: find_collapse(task, FULL_STEPS)},
        on=WIDE,
    ),
    "quick subspace: 1": Rule(
        "one step", {_FITTING + "fit.find_collapse": lambda task: find_collapse(task, 1)}, on=WIDE
    ),
    "whole moments: always": Rule(
        "up to 512 features second moments are whole, beyond on a subspace; whole",
        {_COLLAPSE + "WHOLE_MOMENTS": 2**62},
        on=WIDE,
    ),
    "whole moments: never": Rule("on a subspace", {_COLLAPSE + "WHOLE_MOMENTS": 0}),
    "oversampling": Rule("eight directions more than clusters; none", {_COLLAPSE + "_OVERSAMPLING": 0}, on=WIDE),
    "Krylov width": Rule(
        "a subspace has 512 directions; any number", {_COLLAPSE + "_KRYLOV_WIDTH": 2**30}, on=MANY_CLUSTERS
    ),
    "collapsed point to 1e-9": Rule("to 1e-3", {_COLLAPSE + "_fixed_point": _rough_point}, on=SEVERAL),
    "collapsed loss to 1e-3": Rule("to 1e-9, as the point", {_COLLAPSE + "_LOSS_TOL": 1e-9}, on=SEVERAL),
    "collapsed point in 100 steps": Rule("in 10", {_COLLAPSE + "_FIXED_POINT_STEPS": 10}, on=SEVERAL),
    # views
    "entropy: 0.1": Rule("0.3 of the loss; 0.1", {_FITTING + "fit.ENTROPY_SHARE": 0.1}, on=SEVERAL),
    "entropy: 1": Rule("all of it", {_FITTING + "fit.ENTROPY_SHARE": 1.0}, on=SEVERAL),
    "baseline": Rule("views are compared with chance; not", parameters={"view_baseline": None}, on=SEVERAL),
    "baseline: one start": Rule("the better of two; the first", {_BASELINE + "_STARTS": 1}, on=SEVERAL),
    "baseline: 10 steps": Rule("at most 100; 10", {_BASELINE + "_MAX_ITER": 10}, on=SEVERAL),
    "baseline: 500 rows": Rule(
        "covariance and cloud of 2000 rows; 500",
        {_BASELINE + "COVARIANCE_ROWS": 500, _BASELINE + "CLOUD_ROWS": 500},
        on=SEVERAL,
    ),
    "baseline: rows per cluster": Rule(
        "and 50 rows of the cloud per cluster; 2000", {_BASELINE + "CLOUD_ROWS_PER_CLUSTER": 0}, on=MANY_CLUSTERS
    ),
    "baseline: 64 directions": Rule("256 principal directions; 64", {_BASELINE + "_DIRECTIONS": 64}, on=SEVERAL),
    # samples
    "pilot": Rule("many rows are annealed on a sample; on all", {_PILOT + "PILOT_ROWS": 2**62}, on=MANY_ROWS),
    "pilot of 4096": Rule("the sample has 16,384 rows; 4096", {_PILOT + "PILOT_ROWS": 2**12}, on=MANY_ROWS),
    "pilot: half the data": Rule(
        "at most half of the rows; any sample that is smaller", {_PILOT + "SMALLER": 1}, on=SOME_ROWS
    ),
    "sample of 50,000": Rule("16,384, as the pilot", {_FITTING + "prepare.START_ROWS": 2**14}, on=MANY_ROWS),
    "origin of 500 rows": Rule("2000, as the bandwidth", {_FITTING + "prepare.ORIGIN_ROWS": 2000}),
    "bandwidth of 2000 rows": Rule(
        "500 (takes the time of a bandwidth, which the others are given)",
        {"powerkmeans.features.bandwidth.MEDIAN_ROWS": 500},
        {"bandwidth": "median"},
    ),
}

_ROUNDING = "what is below it is rounding"
_RANGE = "keeps numbers inside their type"
_MEMORY = "bounds memory; answers hardly depend on it"
_SPEED = "how work is cut up; answers do not depend on it"
_REFUSES = "input beyond it is refused, with a message"
_RARE = "bounds work on data that no set here has"
# numbers that no result hangs on: limits of arithmetic, of memory, and of what is accepted
GUARDS: dict[str, str] = {
    "solver.mm.NEGLIGIBLE": _ROUNDING,
    "solver.mm.STILL": _ROUNDING,
    "solver.schedules._LONGEST_ANNEALING": _RANGE,
    "solver.schedules._LARGEST_FACTOR": _RANGE,
    "solver.relocate._CHUNK": _MEMORY,
    "fitting.baseline._WIDEST": _RARE,
    "fitting.baseline._ENTRIES": _MEMORY,
    "fitting.collapse.QUICK_STEPS": "the value of the rule 'quick subspace'",
    "fitting.collapse.FULL_STEPS": "the exponent by itself, which users read to four digits and more",
    "fitting.collapse._FIXED_POINT_TOL": "the value of the rule 'collapsed point to 1e-9'",
    "fitting.collapse._EXHAUSTED": _ROUNDING,
    "fitting.explicit.EXPLICIT_ROWS": _MEMORY,
    "fitting.explicit._SMALLEST_PIVOT": _ROUNDING,
    "fitting.explicit.LOST_KERNEL": _REFUSES,
    "fitting.explicit._INDEFINITE": _REFUSES,
    "fitting.explicit._MANY": _REFUSES,
    "fitting.pilot.ROWS_PER_CLUSTER": _RARE + ": more than 82 clusters of many rows",
    "fitting.pilot.SMALLEST_PILOT": _RARE + ": thousands of rows that are wider than 16,000 columns",
    "fitting.pilot.FEWEST_PER_CLUSTER": _RARE + ": more than 800 clusters",
    "fitting.prepare.SAMPLE_BYTES": _MEMORY,
    "fitting.reference.SMALLEST_REFERENCE": _RANGE,
    "fitting.scatter.FLAT": _ROUNDING,
    "objective.block.LARGEST_AMPLIFICATION": _RANGE,
    "objective.block.ROUNDING": _ROUNDING,
    "objective.block.STEEPEST": _RANGE,
    "objective.updates.SMALLEST_VIEW_WEIGHT": _RANGE,
    "features.bandwidth._CITYBLOCK_WORK": _RARE + ": Laplacian kernels of wide rows",
    "features.bandwidth._EXPANDED_DIGITS": _ROUNDING,
    "features.bandwidth._SLACK": _ROUNDING,
    "features.maps.exact._ROUNDING": _ROUNDING,
    "features.maps.exact._EVEN": _ROUNDING,
    "features.maps.exact._ROWS_AT_ONCE": _SPEED,
    "features.maps.maps.SMALLEST_EIGENVALUE": _ROUNDING,
    "features.size._COPIES": _MEMORY,
    "features.size._BLOCK": _MEMORY,
    "features.size._WORTH_A_LOOK": _MEMORY,
}
