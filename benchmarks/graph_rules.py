"""What each rule of the graph buys: a fit with all of them, and without each.

python -m benchmarks.graph_rules [--data FOLDER] [--sets SET ...] [--only RULE ...] [--seeds 2] [--jobs 2]
    [--fresh]

Accuracy with ``feature_map="graph"`` on the quick sets of the study, in points of a hundred, beside that of
the fit as it is. Rows go to benchmarks/results/graph_rules.jsonl; a run that was stopped goes on where it was, and
--fresh runs again what it names. Without a folder the sets that ship with scikit-learn and the synthetic ones are
fitted.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contender import Contender, add_run_options, run_jobs, timed_fit
from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.report import print_table
from benchmarks.study.factors import set_constants
from benchmarks.study.sets import find_set, load
from powerkmeans.metrics import clustering_accuracy

SETS = (
    *("anisotropic", "rings", "moons", "spirals", "imbalanced 1:50", "uneven widths", "15 blobs", "topics"),
    *("uneven topics", "high dimension", "15 of 300 columns", "complementary views", "noise views"),
    *("spoilt views", "shapes in two views", "digits", "iris", "wine", "breast cancer"),
    *("LGG", "CESC", "Yale", "HW2", "handwritten", "Caltech101-7"),
)  # fmt: skip
KEYS = ("data", "rule", "seed")
_GRAPH = "powerkmeans.features.graph."


class Rule(NamedTuple):
    """What is there instead of a rule: constants or functions by dotted names, or parameters."""

    text: str
    constants: dict[str, Any]
    parameters: tuple[tuple[str, Any], ...] = ()


def _even(rows: Any, graph: Any, labels: Any) -> Any:
    return graph.landmarks.weights


def _unbounded(distance: Any, typical: Any) -> Any:
    return distance / typical


def _with_itself(distance: Any, xp: Any) -> Any:
    return distance, xp.zeros_like(distance[:, 0], dtype=xp.bool)


# compiled code knows the rules of distances by itself
_BY_EQUATIONS = (("engine", "numpy"),)
NOTHING = "nothing"
RULES: dict[str, Rule] = {
    NOTHING: Rule("the fit as it is", {}),
    "directions: k": Rule("as many directions as clusters always", {_GRAPH + "build.CLEAR_GAP": 0.0}),
    "directions: k + 1": Rule("one more always", {_GRAPH + "build.CLEAR_GAP": math.inf}),
    "neighbours: 10": Rule("ten always", {}, (("n_neighbors", 10),)),
    "neighbours: 40": Rule("forty always", {}, (("n_neighbors", 40),)),
    "noise edge": Rule("all columns always", {_GRAPH + "agreement.CLEAR": -1.0}),
    "telling columns": Rule("the noise edge alone", {_GRAPH + "choice.TELLING_ROUNDS": 0}),
    "degrees raised": Rule("degrees as they are", {_GRAPH + "spectrum.DEGREE_FLOOR": 0.0}),
    "no neighbour of itself": Rule(
        "a landmark is its own neighbour", {_GRAPH + "neighbours._without_itself": _with_itself}, _BY_EQUATIONS
    ),
    "weights of views": Rule("even weights", {_GRAPH + "build.view_weights": _even}),
    "bounded distances": Rule(
        "distances over their median", {_GRAPH + "distances.bounded": _unbounded}, _BY_EQUATIONS
    ),
}


class Job(NamedTuple):
    """One fit without one rule."""

    data: str
    rule: str
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.data, self.rule, self.seed)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def measure(job: Job, folder: Path) -> Row:
    """Fit and score."""
    views, y = load(job.data, folder, job.seed, find_set(job.data).inputs)
    rule = RULES[job.rule]
    with set_constants(rule.constants):
        found = timed_fit(Contender("graph", rule.parameters), views, len(np.unique(y)), job.seed)
    return {"ACC": clustering_accuracy(y, found.model.labels_), "cpu_seconds": round(found.cpu_seconds, 4)}


def lines(rows: Iterable[Row], sets: Sequence[str], rules: Sequence[str]) -> list[list[str]]:
    """A line a set: its accuracy, and what it loses without each rule; then the mean, and the worst."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if "error" not in row:
            cells.setdefault((row["data"], row["rule"]), []).append(100 * row["ACC"])
    table = np.array([[np.mean(cells.get((data, rule), [np.nan])) for rule in rules] for data in sets])
    offset = table[:, 1:] - table[:, :1]
    result = [
        [data, f"{table[i, 0]:.1f}", *[f"{value:+.1f}" for value in offset[i]]] for i, data in enumerate(sets)
    ]
    result.append(["mean", f"{np.mean(table[:, 0]):.1f}", *[f"{value:+.1f}" for value in np.mean(offset, axis=0)]])
    result.append(["worst", "", *[f"{value:+.1f}" for value in np.min(offset, axis=0)]])
    return result


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"), help="folder of .npz data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", default=list(SETS))
    parser.add_argument("--only", nargs="+", choices=list(RULES), metavar="RULE", default=list(RULES))
    parser.add_argument("--seeds", type=int, default=2)
    add_run_options(parser)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    folder = data_folder(arguments.data) if arguments.data else Path()
    sets = [name for name in arguments.sets if arguments.data or not find_set(name).needs_folder]
    rules = list(dict.fromkeys([NOTHING, *arguments.only]))
    jobs = [Job(data, rule, seed) for data in sets for seed in range(arguments.seeds) for rule in rules]
    store = Store("graph_rules", KEYS)
    rows = run_jobs(store, jobs, partial(measure, folder=folder), arguments, "rules of the graph")
    print("accuracy in points of a hundred, and what it changes by without each rule")
    print_table(["data", *rules], lines(rows, sets, rules))
    print(*[f"{name}: {rule.text}" for name, rule in RULES.items() if name in rules], sep="\n")
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
