"""What the figures show: rows of fits, run where they are lacking and kept like those of the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Row, Store
from benchmarks.methods import ours
from benchmarks.methods.interface import GIGABYTE
from benchmarks.paper import protocol
from benchmarks.paper.fits import fit
from benchmarks.paper.protocol import Fit
from benchmarks.paper.runs import Limits, Runner, fitting_pool
from benchmarks.paper.sets import (
    CIFAR10,
    CIFAR10_PART,
    SETS,
    SMALL,
    STANDARDISED,
    DataError,
    DataSet,
    check,
    prepared,
)

PROPOSED = "IP-RFF-MKPKM"
MIDDLE = {"s_init": -15.0, "entropy": 10.0}
DIMENSIONS = (5, 10, 20, 30, 40, 60, 80, 100)
SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000, 60000)
EXACT_SEEDS, LINE_SEEDS = 3, 5
DIMENSION, EXACT, CONVERGENCE = "dimension", "exact", "convergence"
LANDMARKS = "ours, nystroem 432"


@dataclass(frozen=True)
class Plan:
    """How much is run: at most so many seeds, small sets only if quick."""

    limits: Limits
    seeds: int = 20
    quick: bool = False

    @property
    def suffix(self) -> str:
        return "_quick" if self.quick else ""

    def sets(self, table: str) -> list[DataSet]:
        return [data for data in SETS[table] if data.files and (data.name in SMALL or not self.quick)]


def convergence(plan: Plan) -> list[Row]:
    """Objective and exponent along the iterations of the proposed method, in the paper's form and in ours."""
    sets = [data.scan or data for data in plan.sets("multi")]
    fits = [
        Fit("multi", data, STANDARDISED, PROPOSED, CONVERGENCE, 0, setting)
        for data in sets
        for setting in (MIDDLE, {})
    ]
    return _filled("convergence", plan, "multi", fits, history)


def history(job: Fit, folder: Path, threads: int) -> Row:
    """The course of one fit of the proposed method."""
    views, y = prepared(job.data, folder, job.scaling)
    k = len(np.unique(y))
    model = ours.fitted(views, k, job.seed, feature_map="rff", membership="possibilistic", **job.setting)
    course = {name: np.asarray(model.history_[name], dtype=float).tolist() for name in ("objective", "inertia")}
    exponents = [None if np.isinf(s) else float(s) for s in model.history_["s"]]
    return course | {"s": exponents, "iterations": len(exponents), "threads": threads}


def sensitivity(plan: Plan) -> list[Row]:
    """The scan of the table of several views, every setting of the proposed method."""
    seeds = min(plan.seeds, protocol.SCAN_SEEDS)
    fits = [f for data in plan.sets("multi") for f in protocol.scan_fits("multi", data, PROPOSED, seeds)]
    return _filled("multi", plan, "multi", fits)


def dimension(plan: Plan) -> list[Row]:
    """Accuracy by the number of frequencies, and that of the exact kernel."""
    fits = []
    for data in plan.sets("single"):
        for seed in range(plan.seeds):
            fits += [
                Fit("single", data, STANDARDISED, "RFF-KPKM", DIMENSION, seed, {"n_components": D})
                for D in DIMENSIONS
            ]
        line = range(min(plan.seeds, LINE_SEEDS))
        fits += [Fit("single", data, STANDARDISED, "KPKM", DIMENSION, seed) for seed in line]
    return _filled("dimension", plan, "single", fits)


def exact(plan: Plan) -> list[Row]:
    """Time, memory and accuracy of exact kernel and random features, by the number of rows of CIFAR10."""
    fits = []
    for rows in [n for n in SIZES if n <= 2000 or not plan.quick]:
        whole = CIFAR10_PART if rows <= 20_000 else replace(CIFAR10, scan=None)
        data = replace(whole, name=f"CIFAR10, {rows} rows", rows=rows)
        seeds = range(min(plan.seeds, EXACT_SEEDS if rows <= 8000 else 1))
        linear = ("RFF-KPKM", LANDMARKS)
        fits += [Fit("single", data, STANDARDISED, method, EXACT, seed) for method in linear for seed in seeds]
        if protocol.find("single", "KPKM").bytes_needed(rows, 1) <= GIGABYTE * 4:
            fits += [Fit("single", data, STANDARDISED, "KPKM", EXACT, seed) for seed in seeds]
    return _filled("exact", plan, "single", fits)


def times(plan: Plan) -> list[Row]:
    """The rows of the defaults in the table of several views, as far as it has been run."""
    known = protocol.table_methods("multi")
    rows = Store(f"paper_multi{plan.suffix}").rows.values()
    return [row for row in rows if row["column"] == protocol.DEFAULTS and row["method"] in known]


def _filled(name: str, plan: Plan, table: str, fits: list[Fit], function: Callable[..., Row] = fit) -> list[Row]:
    """The rows of these fits, run where they are lacking."""
    store = Store(f"paper_{name if name in protocol.TABLES else f'figure_{name}'}{plan.suffix}")
    progress = Progress(len(fits))
    with fitting_pool(plan.limits, function) as pool:
        runner = Runner(table, store, pool, progress, plan.limits)
        for data in dict.fromkeys(f.data for f in fits):
            try:
                check(data, plan.limits.folder)
            except DataError as error:
                progress.line(str(error))
                continue
            runner.fill(data, [f for f in fits if f.data == data])
    progress.close()
    return store.of(f.key for f in fits)
