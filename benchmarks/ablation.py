"""What each rule of thumb buys: a fit with all of them, and without each.

python -m benchmarks.ablation [--data FOLDER] [--seeds 3] [--sets small|all] [--only RULE] [--fresh]

Rows go to benchmarks/results/ablation.jsonl as they come, and a run that was stopped goes on where it was. Without
a folder only the synthetic families are fitted. Bandwidths are found once for each set and seed and given to
all fits, whose times are without the search.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import data_folder, mixture
from benchmarks.harness.store import Row, Store
from benchmarks.methods import Views
from benchmarks.report import print_table
from benchmarks.rules import (
    MANY_CLUSTERS,
    MANY_ROWS,
    MISSING,
    NOTHING,
    RULES,
    SEVERAL,
    WIDE,
    Rule,
)
from benchmarks.study.factors import set_constants
from benchmarks.study.sets import CHOSEN_ON, SYNTHETIC, load
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy

KEYS = ("data", "rule", "seed")
Loaded = tuple[Views, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A set with the kinds of rules that act on it, the most seeds it takes, and whether it is slow or real."""

    load: Callable[[Path, int], Loaded]
    kinds: frozenset[str] = frozenset()
    seeds: int = 20
    real: bool = False
    slow: bool = False
    special: bool = False  # only for rules of its kinds

    def takes(self, rule: Rule) -> bool:
        return rule.on in self.kinds if rule.on else not self.special


def _of_study(name: str) -> Callable[[Path, int], Loaded]:
    return lambda folder, seed: load(name, folder, seed, "standardised")


def _with_gaps(name: str) -> Callable[[Path, int], Loaded]:
    """A set of which every view lacks 30 % of the samples, and every sample has a view."""

    def loaded(folder: Path, seed: int) -> Loaded:
        views, y = load(name, folder, seed, "standardised")
        rng = np.random.default_rng([seed, 30])
        present = rng.random((len(y), len(views))) >= 0.3
        present[np.arange(len(y)), rng.integers(len(views), size=len(y))] = True
        return [np.where(there[:, None], view, np.nan) for view, there in zip(views, present.T, strict=True)], y

    return loaded


def _mixture(n_samples: int) -> Callable[[Path, int], Loaded]:
    def loaded(folder: Path, seed: int) -> Loaded:
        X, y = mixture(n_samples, 10, 8, 0.7)
        return [X], y

    return loaded


def _kinds(*names: str) -> frozenset[str]:
    return frozenset(names)


def _families() -> dict[str, Case]:
    named = [data for data in CHOSEN_ON if data.kind == SYNTHETIC]
    wide = {data.name for data in named if data.several} | {"many small"}
    return {
        data.name: Case(_of_study(data.name), _kinds(*[SEVERAL] * data.several, *[WIDE] * (data.name in wide)))
        for data in named
    }


CASES: dict[str, Case] = {
    **_families(),
    "noise views, 30 % missing": Case(_with_gaps("noise views"), _kinds(SEVERAL, MISSING, WIDE)),
    "spoilt views, 30 % missing": Case(_with_gaps("spoilt views"), _kinds(SEVERAL, MISSING, WIDE)),
    "LGG": Case(_of_study("LGG"), _kinds(SEVERAL), real=True),
    "Yale": Case(_of_study("Yale"), _kinds(), real=True),
    "HW2": Case(_of_study("HW2"), _kinds(SEVERAL, WIDE), real=True, slow=True, seeds=2),
    "handwritten": Case(_of_study("handwritten"), _kinds(SEVERAL, WIDE), real=True, slow=True, seeds=2),
    "Caltech101-7": Case(_of_study("Caltech101-7"), _kinds(SEVERAL, WIDE), real=True, slow=True, seeds=2),
    "100leaves, view 0": Case(_of_study("100leaves, view 0"), _kinds(WIDE), real=True, slow=True, seeds=2),
    "mixture, 40,000 rows": Case(_mixture(40_000), _kinds(MANY_ROWS), slow=True, seeds=2, special=True),
    "handwritten, 30 % missing": Case(
        _with_gaps("handwritten"), _kinds(MISSING), real=True, slow=True, seeds=2, special=True
    ),
    "100leaves": Case(_of_study("100leaves"), _kinds(MANY_CLUSTERS), real=True, slow=True, seeds=1, special=True),
}


def fit(views: Views, k: int, seed: int, **parameters: Any) -> Any:
    """One fit with landmarks and the defaults, but for what is given; one view has the estimator for one."""
    several = len(views) > 1
    if not several:
        parameters.pop("view_baseline", None)
    kind = MultiViewPowerKMeans if several else KernelPowerKMeans
    parameters = {"feature_map": "nystroem", "random_state": seed} | parameters
    return kind(k, **parameters).fit(views if several else views[0])


@lru_cache(maxsize=1)
def _ready(name: str, folder: Path, seed: int) -> tuple[Views, np.ndarray, Any]:
    """Views, classes, and the bandwidths that the defaults find."""
    views, y = CASES[name].load(folder, seed)
    found = fit(views, len(np.unique(y)), seed, max_iter=1).bandwidth_
    return views, y, float(found) if len(views) == 1 else [float(value) for value in found]


def measure(name: str, rule: str, seed: int, folder: Path = Path()) -> Row:
    """A fit without the rule; processor seconds do not mind what else the machine does."""
    wanted = RULES[rule]
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        views, y, bandwidth = _ready(name, folder, seed)
        parameters = {"bandwidth": bandwidth} | wanted.parameters
        with set_constants(wanted.constants):
            start = time.process_time()
            model = fit(views, len(np.unique(y)), seed + wanted.draw, **parameters)
            seconds = time.process_time() - start
    return {
        "data": name,
        "rule": rule,
        "seed": seed,
        "ACC": clustering_accuracy(y, model.labels_),
        "cost": float(model.inertia_),
        "iterations": sum(restart["n_iter"] for restart in model.restarts_),
        "cpu_seconds": round(seconds, 4),
    }


def jobs(rules: Iterable[str], cases: dict[str, Case], seeds: int) -> list[tuple[str, str, int]]:
    """Seed after seed, and all rules of a set together: a run that is stopped has whole seeds."""
    rules = list(dict.fromkeys([NOTHING, *rules]))
    return [
        (name, rule, seed)
        for seed in range(seeds)
        for name, case in cases.items()
        for rule in rules
        if seed < case.seeds and (rule == NOTHING or case.takes(RULES[rule]))
    ]


def pairs(rows: Iterable[Row]) -> dict[str, dict[str, list[tuple[Row, Row]]]]:
    """For each rule and set the fits without the rule, each beside the fit with it on the same seed."""
    rows = list(rows)
    whole = {(row["data"], row["seed"]): row for row in rows if row["rule"] == NOTHING}
    found: dict[str, dict[str, list[tuple[Row, Row]]]] = {rule: {} for rule in RULES if rule != NOTHING}
    for row in rows:
        beside = whole.get((row["data"], row["seed"]))
        if row["rule"] in found and beside is not None:
            found[row["rule"]].setdefault(row["data"], []).append((row, beside))
    return {rule: sets for rule, sets in found.items() if sets}


def summary(rule: str, sets: dict[str, list[tuple[Row, Row]]]) -> Row:
    """What fits lose or gain without the rule: points of ACC, hard cost and time; every set counts the same."""
    points = {name: [100 * (a["ACC"] - b["ACC"]) for a, b in both] for name, both in sets.items()}
    means = {name: float(np.mean(values)) for name, values in points.items()}
    every = np.concatenate(list(points.values()))
    worst = min(means, key=lambda name: means[name])
    return {
        "rule": rule,
        "sets": len(sets),
        "fits": len(every),
        "points": float(np.mean(list(means.values()))),
        "error": float(np.std(every) / np.sqrt(len(every))),
        "worst": worst,
        "worst_points": means[worst],
        "cost": _ratio(sets, "cost"),
        "iterations": _ratio(sets, "iterations"),
        "time": _ratio(sets, "cpu_seconds"),
        "equal": sum(a["ACC"] == b["ACC"] and a["cost"] == b["cost"] for both in sets.values() for a, b in both),
    }


def _ratio(sets: dict[str, list[tuple[Row, Row]]], what: str) -> float:
    """Geometric mean over sets of the ratio of means over seeds."""
    ratios = [sum(a[what] for a, _ in both) / sum(b[what] for _, b in both) for both in sets.values()]
    return float(np.exp(np.mean(np.log(ratios))))


def show(rows: Iterable[Row]) -> None:
    header = ["without", "sets", "fits", "the same", "ACC, points", "worst set", "hard cost", "iterations", "time"]
    lines = []
    for rule, sets in pairs(rows).items():
        r = summary(rule, sets)
        lines.append(
            [
                rule,
                r["sets"],
                r["fits"],
                r["equal"],
                f"{r['points']:+.2f} ± {r['error']:.2f}",
                f"{r['worst']} {r['worst_points']:+.1f}" if r["worst_points"] < 0 else "",
                f"{r['cost']:.4f}",
                f"{r['iterations']:.2f}",
                f"{r['time']:.2f}",
            ]
        )
    print_table(header, lines)


def _chosen(arguments: argparse.Namespace) -> tuple[dict[str, Case], Path]:
    named = arguments.data or os.environ.get("POWERKMEANS_DATA")
    cases = {
        name: case
        for name, case in CASES.items()
        if (named or not case.real) and not (case.slow and arguments.sets == "small")
    }
    return cases, data_folder(named) if named else Path()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets, for the real ones besides")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", choices=["small", "all"], default="all")
    parser.add_argument("--only", choices=[rule for rule in RULES if rule != NOTHING], metavar="RULE")
    parser.add_argument("--fresh", action="store_true", help="measure again what is there")
    arguments = parser.parse_args()
    cases, folder = _chosen(arguments)
    wanted = jobs([arguments.only] if arguments.only else RULES, cases, arguments.seeds)
    store = Store("ablation", KEYS)
    if arguments.fresh:
        store.discard(lambda row: tuple(row[key] for key in KEYS) in set(wanted))
    for job in wanted:
        if job not in store.rows:
            store.add(measure(*job, folder))
    show(store.of(wanted))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
