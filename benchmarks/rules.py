"""The library's rules of thumb, what a fit is without each, and the numbers that are none.

A rule is a name, what it says, and the constants (or functions) that take it away, by the dotted names at which
they are read: a constant that another module imports has its name there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.study.factors import starts
from powerkmeans.fitting.collapse import FULL_STEPS, find_collapse
from powerkmeans.fitting.starts import _place_cloud
from powerkmeans.solver.schedules import Geometric, Pace, Unfolding
from powerkmeans.solver.starts import _draw

# kinds of sets that a rule acts on, where it does not act on all
SEVERAL, MISSING, WIDE, MANY_ROWS = "several", "missing", "wide", "many rows"
MANY_CLUSTERS = "many clusters"
_FITTING, _SOLVER = "powerkmeans.fitting.", "powerkmeans.solver."
_STARTS, _COLLAPSE = _FITTING + "starts.", _FITTING + "collapse."
_PILOT, _BASELINE = _FITTING + "pilot.", _FITTING + "baseline."
_SCHEDULES, _RUNS = _SOLVER + "schedules.", _FITTING + "runs."
_ROWS = "STATISTIC_ROWS"


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


class _Restless(Unfolding):
    """Goes on while clusters separate."""

    def after(self, s: float, pace: Pace) -> float:
        return super().after(s, pace._replace(growing=False))


def _steady(s_init: float, factor: float, _: int, *limits: float) -> Geometric:
    return Geometric(s_init, factor, 1, *limits)


def _start_of(multiple: float) -> Any:
    return starts(multiple, multiple).constants[_STARTS + "_start"]


def _one_draw(potential: Any, size: int, rng: Any) -> Any:
    return _draw(potential, 1, rng)


def _one_cloud(task: Any, collapse: Any, rng: Any) -> Any:
    complete = task.prepared.views._replace(present=None)
    return _place_cloud(replace(task, prepared=task.prepared._replace(views=complete)), collapse, rng)


def _no_moves(task: Any, result: Any, restart: Any, listener: Any) -> Any:
    return result, restart


def _none_released(*_: Any) -> None:
    return None


def _not_hardened(task: Any, result: Any, on_iteration: Any) -> Any:
    return result


NOTHING = "nothing"
RULES: dict[str, Rule] = {
    NOTHING: Rule("the fit as it is"),
    "the same draw": Rule("not a rule: the fit with other random numbers, to see what chance does", draw=1000),
    # starts
    "two starts: cloud alone": Rule("one run, from the cloud", parameters={"init": "cloud"}),
    "two starts: k-means++ alone": Rule("one run, from k-means++", parameters={"init": "k-means++"}),
    "cloud's margin": Rule("the lower cost wins, by however little", {_RUNS + "MARGIN": 0.0}),
    "cloud's margin: 0.2 %": Rule("the cloud wins unless it costs 0.2 % more", {_RUNS + "MARGIN": 0.002}),
    "start margin: 0": Rule(
        "the cloud begins at 0.8 critical exponents, rows at 1.2; both at it", {_STARTS + "START_MARGIN": 0.0}
    ),
    "start margin: 0.1": Rule("at 0.9 and 1.1", {_STARTS + "START_MARGIN": 0.1}),
    "start margin: both 1.2": Rule("both at 1.2 (no tree of splits then)", {_STARTS + "_start": _start_of(1.2)}),
    "start margin: both 0.8": Rule("both at 0.8", {_STARTS + "_start": _start_of(0.8)}),
    "cloud's size: 0.03": Rule(
        "the cloud is a tenth of the data's spread; 0.03", {_SOLVER + "starts.CLOUD_SCALE": 0.03}
    ),
    "cloud's size: 0.3": Rule("0.3", {_SOLVER + "starts.CLOUD_SCALE": 0.3}),
    "views' part of the cloud": Rule(
        "where samples lack views, each view has a cloud to itself; none",
        {_STARTS + "_place_cloud": _one_cloud},
        on=MISSING,
    ),
    "smallest start: 0.01": Rule("no run begins above s = -0.5; above -0.01", {_STARTS + "SMALLEST_START": 0.01}),
    "smallest start: 1": Rule("above s = -1", {_STARTS + "SMALLEST_START": 1.0}),
    "greedy k-means++": Rule("the best of 2 + log k draws; the first", {_SOLVER + "starts._draw": _one_draw}),
    # annealing
    "longer steps": Rule("steps are 1.8 times as long; 1", {_STARTS + "RELAXATION": 1.0}),
    "waiting": Rule("s stays while steps grow; never", {_STARTS + "Unfolding": _Restless}),
    "hurrying": Rule("s goes three steps at once where nothing moves; one", {_SCHEDULES + "HASTE": 1}),
    "waiting and hurrying": Rule("neither", {_STARTS + "Unfolding": _steady}),
    "quiet: 1e-3": Rule(
        "nothing moves or is apart below 0.0001 of the spread; 0.001",
        {_SCHEDULES + "QUIET": 1e-3, _SOLVER + "mm.QUIET": 1e-3},
    ),
    "quiet: 1e-5": Rule("0.00001", {_SCHEDULES + "QUIET": 1e-5, _SOLVER + "mm.QUIET": 1e-5}),
    "window of 5": Rule("converged when five iterations agree; two", {_STARTS + "Unfolding": _Impatient}),
    "settle: no multiple": Rule(
        "no run is over before 1.5 times the critical exponent and s = -3; s = -3 alone",
        {_STARTS + "SETTLE_MULTIPLE": 0.0},
    ),
    "settle: no exponent": Rule("the multiple alone", {_STARTS + "SETTLE_EXPONENT": 0.0}),
    "hand-over: none": Rule(
        "k-means goes on beyond s = -15 and 6 times the critical exponent; the annealing to its end",
        {_STARTS + "HARD_EXPONENT": -math.inf},
    ),
    "hand-over: no multiple": Rule("s = -15 alone", {_STARTS + "HARD_MULTIPLE": 0.0}),
    "hand-over: no exponent": Rule("the multiple alone", {_STARTS + "HARD_EXPONENT": 0.0}),
    "end of annealing": Rule(
        "runs that have not separated end at s = -200; at twice the settling exponent",
        {_SCHEDULES + "END_OF_ANNEALING": 0.0},
    ),
    # finish and moves
    "finish as k-means": Rule("the annealing ends as k-means; as it is", {_RUNS + "harden": _not_hardened}),
    "moves": Rule("centroids that serve little are moved; not", {_RUNS + "improve": _no_moves}),
    "moves' margin: 0.2 %": Rule("a move must save 0.001 %; 0.2 %", {_FITTING + "moves.MARGIN": 0.002}),
    "moves' margin: none": Rule("anything", {_FITTING + "moves.MARGIN": 0.0}),
    "steps of a split: 3": Rule(
        "ten steps to a cluster's axis, and of 2-means; three", {_SOLVER + "relocate._SPLIT_STEPS": 3}
    ),
    "followed splits: 1": Rule(
        "the three best splits are followed beyond their clusters; the best", {_SOLVER + "relocate._FOLLOWED": 1}
    ),
    "followed splits: not": Rule("none", {_SOLVER + "relocate._FOLLOWING_STEPS": 0}),
    "rows let go": Rule(
        "rows that only their own pull holds change sides; not", {_FITTING + "moves.release_rows": _none_released}
    ),
    # collapse
    "quick subspace": Rule(
        "four steps of the subspace; sixteen",
        {_FITTING + "fit.find_collapse": lambda task: find_collapse(task, FULL_STEPS)},
        on=WIDE,
    ),
    "quick subspace: 1": Rule(
        "one step", {_FITTING + "fit.find_collapse": lambda task: find_collapse(task, 1)}, on=WIDE
    ),
    "full moments: always": Rule(
        "up to 512 features second moments are full, beyond on a subspace of as many; full",
        {_COLLAPSE + "FULL_MOMENTS": 2**62},
        on=WIDE,
    ),
    "full moments: up to 128": Rule("up to 128", {_COLLAPSE + "FULL_MOMENTS": 128}),
    "oversampling": Rule(
        "the subspace grows by eight directions more than clusters; as many (the critical exponent is 0.4 % off)",
        {_COLLAPSE + "_OVERSAMPLING": 0},
        on=WIDE,
    ),
    "collapsed point to 1e-9": Rule("to 1e-3", {_COLLAPSE + "_FIXED_POINT_TOL": 1e-3}, on=SEVERAL),
    "enough steps: 10": Rule(
        "100 steps of the collapsed point, and of k-means on a cloud of noise; 10",
        {_COLLAPSE + "ENOUGH_STEPS": 10, _BASELINE + "ENOUGH_STEPS": 10},
        on=SEVERAL,
    ),
    # views
    "entropy: 0.1": Rule("0.3 of the loss; 0.1", {_FITTING + "problem.ENTROPY_SHARE": 0.1}, on=SEVERAL),
    "entropy: 1": Rule("all of it", {_FITTING + "problem.ENTROPY_SHARE": 1.0}, on=SEVERAL),
    "baseline": Rule("views are compared with chance; not", parameters={"view_baseline": None}, on=SEVERAL),
    "baseline: to 1e-6": Rule("to 1e-3; to a millionth", {_BASELINE + "_TOL": 1e-6}, on=SEVERAL),
    "baseline: rows per cluster": Rule(
        "and 50 rows of the cloud per cluster; 2000", {_BASELINE + "ROWS_PER_CLUSTER": 0}, on=MANY_CLUSTERS
    ),
    "baseline: 64 directions": Rule("256 principal directions; 64", {_BASELINE + "_DIRECTIONS": 64}, on=SEVERAL),
    # landmarks
    "free landmarks": Rule(
        "few rows have more landmarks than the theorem asks for; not", {"powerkmeans.features.size.FREE_WORK": 0}
    ),
    "grown landmarks": Rule(
        "and more where these lose 2 % of what the clusters can show; not",
        {"powerkmeans.features.map_error.GOOD_ERROR": 1.0},
    ),
    "grown landmarks: 0.5 %": Rule("0.5 %", {"powerkmeans.features.map_error.GOOD_ERROR": 0.005}),
    # samples
    "pilot": Rule("many rows are annealed on a sample; on all", {_PILOT + "PILOT_ROWS": 2**62}, on=MANY_ROWS),
    "pilot of 4096": Rule("the sample has 16,384 rows; 4096", {_PILOT + "PILOT_ROWS": 2**12}, on=MANY_ROWS),
    "sample of 50,000": Rule("16,384, as the pilot", {_FITTING + "samples.START_ROWS": 2**14}, on=MANY_ROWS),
    "statistics of 500 rows": Rule(
        "medians and covariances of 2000 rows; 500 (takes the time of a bandwidth, which the others are given)",
        {
            "powerkmeans.support.draws." + _ROWS: 500,
            "powerkmeans.features.bandwidth." + _ROWS: 500,
            "powerkmeans.features.maps.base." + _ROWS: 500,
            _BASELINE + _ROWS: 500,
        },
        {"bandwidth": "median"},
    ),
}

_ROUNDING = "what is below it is rounding"
_RANGE = "keeps numbers inside their type"
_MEMORY = "bounds memory; answers hardly depend on it"
_SPEED = "how work is cut up; answers do not depend on it"
_REFUSES = "input beyond it is refused, with a message"
_UNEVEN = "no set here takes such coordinates: benchmarks.doubts has those that do, and tests"
_DOUBTED = "no graph of a set here is doubted: benchmarks.doubts has those that are, and tests"
_GRAPH = "of the graph, not of the kernels that are ablated here: docs/graph.md has its measurements"
_TOLD = "how far a fit is told to be; answers do not depend on it"
_RARE = "bounds work on data that no set here has"
# numbers that no result hangs on: limits of arithmetic, of memory, and of what is accepted
GUARDS: dict[str, str] = {
    "features.averages._NOBODY": "a mark, no number",
    "features.graph.agreement.COMPARED_ROWS": _SPEED,
    "features.graph.distances._DIFFERENCES": _SPEED,
    "features.graph.neighbours.CARD_NUMBERS": _SPEED,
    "features.graph.neighbours.DEVICE_NUMBERS": _SPEED,
    "support.tensors._PROCESSOR": "a mark, no number",
    **{f"fitting.checkpoints.{name}": _SPEED for name in ("ITERATIONS", "SECONDS", "KIND", "VERSION", "_WITHOUT")},
    **{f"fitting.progress.{name}": _TOLD for name in ("_RUN_ITERATIONS", "_FINISH_ITERATIONS", "_LAST_EXPONENT")},
    **{f"fitting.progress.{name}": _TOLD for name in ("_LAST_FACTOR", "_GUESS_AFTER", "_GUESS_FROM")},
    "fitting.clustering.QUICK_FACTOR": _GRAPH,
    "features.graph.agreement.CLEAR": _GRAPH,
    "features.graph.agreement.PURE": _GRAPH,
    "features.graph.agreement.LUCK": "the most that was measured on a set of the study, CESC",
    "features.graph.agreement.MOST_DRAWS": _SPEED,
    "features.graph.agreement.LEAST_PART": _GRAPH,
    "features.graph.agreement.FEW_LANDMARKS": _GRAPH,
    "features.graph.build.CLEAR_GAP": _GRAPH,
    "features.graph.agreement.SETTLED": _GRAPH,
    "features.graph.choice.WIDER": _GRAPH,
    "features.graph.alike.ALIKE": _GRAPH,
    "features.graph.choice.MARGIN": _GRAPH,
    **{f"features.graph.choice.{name}": _UNEVEN for name in ("LESS", "ROOM", "WAYS")},
    "features.graph.uneven.LIFTED": "between clusters of a thousandth and the digits of single precision",
    "features.graph.choice.TELLING_ROUNDS": _GRAPH,
    "features.graph.build.SPLINTERED": "for distances that are few numbers, as no set here has: a test has them",
    "features.graph.build._TYPICAL_ROWS": "a median, which more rows do not change by a percent",
    "features.graph.distances.NORMAL_QUARTILES": "of the normal distribution",
    **{f"features.graph.doubt.{name}": _DOUBTED for name in ("LOOSE", "MATTERS", "CAUSED", "FOLLOWS")},
    **{f"features.graph.doubt.{name}": _DOUBTED for name in ("TWO_VALUES", "LEAST_PART")},
    "features.graph.build.MORE": "what few neighbours leave apart by chance, as no set here has: tests have it",
    "features.graph.doubt._AT_ONCE": _SPEED,
    "features.graph.edge._POINTS": "a median of a known law, to three digits",
    "features.graph.neighbours.FEW_NEIGHBORS": _GRAPH,
    "features.graph.neighbours.TILE_NUMBERS": _SPEED,
    "features.graph.neighbours._GROUPS": _SPEED,
    "features.graph.shares.LEAST_SHARE": "a view that says nothing keeps a weight that is nothing",
    "features.graph.spectrum.DEGREE_FLOOR": _GRAPH,
    "features.graph.spectrum.DENSE_LANDMARKS": _SPEED,
    "features.graph.spectrum.TOLERANCE": _SPEED,
    "features.graph.spectrum.NONE": "rounding of eigenvalues, with digits to spare",
    "features.graph.spectrum.WIDE": "more than a line has, which is four: no set here is cut otherwise by it",
    "features.graph.votes.FAR_AT_HALF": "the unit of outlier scores; no order depends on it",
    "features.map_error.EXAMINED_ROWS": "20,000 pairs, which give an error to a few percent",
    "features.map_error.FEWEST_ROWS": "wide rows are examined too, by fewer pairs",
    "features.map_error.WORK": _SPEED,
    "features.maps.graph.MANY_LANDMARKS": _GRAPH,
    "features.maps.graph.LANDMARKS_PER_CLUSTER": _GRAPH,
    "fitting.fused._ADDED_ROWS": _SPEED,
    "fitting.mapping._ROWS": _SPEED,
    "fitting.task.SAMPLE_BYTES": _MEMORY,
    "support.memory.WORK_BYTES": _MEMORY,
    "solver.settling.NEGLIGIBLE": _ROUNDING,
    "solver.schedules._LONGEST_ANNEALING": _RANGE,
    "fitting.collapse.QUICK_STEPS": "the value of the rule 'quick subspace'",
    "fitting.collapse.FULL_STEPS": "the exponent by itself, which users read to four digits and more",
    "fitting.explicit.LOST_KERNEL": _REFUSES,
    "fitting.explicit._ROUNDING_GROWTH": _REFUSES,
    "objective.block.LARGEST_AMPLIFICATION": _RANGE,
    "objective.block.STEEPEST": _RANGE,
    "features.maps.exact._ROUNDING": _ROUNDING,
    "features.pairs.PAIRS_AT_ONCE": _SPEED,
    "features.size.LANDMARK_NUMBERS": _MEMORY,
    "features.size.MOST_LANDMARKS": "bounds time; users ask for more where advice tells that these lose much",
    "features.size.MOST_WORK": "bounds time; users ask for more where advice tells that these lose much",
    "features.size._COPIES": _MEMORY,
    "support.precision.ROUNDING": _ROUNDING,
    "support.memory.GIB": "a unit",
    "support.memory.SPARE_BYTES": _MEMORY,
    "support.memory.ENTRIES": _MEMORY,
    "support.memory.SMALLEST_BLOCK": _SPEED,
    "support.memory.KERNEL_ROWS": _SPEED,
    "support.values.LARGEST": _RANGE,
    "support.values.LARGEST_SEED": _RANGE,
    "support.values._DIGITS": _REFUSES,
}
