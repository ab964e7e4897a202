"""Where the time of a default fit goes, and how far its map is from what the machine could do at best.

python -m benchmarks.fit_profile [--shapes 1e6x10k8 digits ...] [--threads 2] [--repeats 3] [--tables]
    [--page docs/benchmarks.md]

Functions of the library are wrapped by clocks: a stage has the seconds of its functions, less those of stages
within them, and what no stage has is the rest. Each shape is in a process of its own, after a small fit that loads
all code; medians of the repeats. The floor of mapping all rows is the arithmetic of distances to all landmarks,
rows times landmarks times columns multiply-adds, at the rate of a large float32 matrix product with as many
threads, and one reading of the rows; both rates are measured in the same process.
"""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import data_folder
from benchmarks.harness.fill import fill
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Row, Store
from benchmarks.machine import bytes_per_second, flops_per_second
from benchmarks.measure import NeighbourClock
from benchmarks.methods import Views, ours, threads
from benchmarks.raw_rows import WARM_UP_ROWS, no_preparation
from benchmarks.raw_sets import FROM_FOLDER, checked_name, load, place, title
from benchmarks.report import table_text, with_table
from benchmarks.study.factors import set_constants

NAME, KEYS = "fit_profile", ("data", "threads")
SHAPES = ("1e6x10k8", "1e6x10k20", "2e5x50k20", "1e6x5+5k20", "digits")
SAMPLE, GRAPH, AGREEMENT, LANDMARKS, MAPPED, ANNEALING, COSTS, FINISH, LAST, ADVICE, REST = STAGES = (
    "sample drawn",
    "graph built",
    "its agreement",
    "landmarks of a kernel instead",
    "all rows mapped",
    "annealing",
    "costs of its runs on all rows",
    "finish on all rows",
    "labels and last sums",
    "advice",
    "rest",
)
_FITTING, _CHOICE = "powerkmeans.fitting.", "powerkmeans.features.graph.choice."
_BEST_OF = 3
_RATES = {"gflops": "GFLOP/s", "gb_per_second": "GB/s"}


class Clocked(NamedTuple):
    """The stage of a function; with ``within`` only where that stage has called it."""

    stage: str
    within: str | None = None


FUNCTIONS: dict[str, Clocked] = {
    _FITTING + "fused.draw_samples": Clocked(SAMPLE),
    _FITTING + "prepare.draw_samples": Clocked(SAMPLE),
    _FITTING + "fused.make_maps": Clocked(GRAPH),
    **{
        _CHOICE + name: Clocked(AGREEMENT)
        for name in ("compared_rows", "labels_of", "agree", "again", "agreement", "purity_of")
    },
    _FITTING + "prepare.choose_bandwidths": Clocked(LANDMARKS),
    _FITTING + "prepare.make_maps": Clocked(LANDMARKS),
    _FITTING + "fused._stored": Clocked(MAPPED),
    _FITTING + "fused._mapped_in_passes": Clocked(MAPPED),
    _FITTING + "prepare.centre": Clocked(MAPPED),
    _FITTING + "prepare._scale": Clocked(MAPPED),
    _FITTING + "fit.find_collapse": Clocked(ANNEALING),
    _FITTING + "fit.anneal_all": Clocked(ANNEALING),
    _FITTING + "runs._summary": Clocked(COSTS, within=ANNEALING),
    _FITTING + "fit.complete": Clocked(FINISH),
    _FITTING + "fit.finish": Clocked(LAST),
    "powerkmeans.estimators.base.findings": Clocked(ADVICE),
}


class Clock:
    """Seconds by stage; those of a stage within another are not counted for that one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = 0.0

    def wrapped(self, function: Callable[..., Any], clocked: Clocked) -> Callable[..., Any]:
        """The function, with its time on the clock."""

        def timed(*given: Any, **named: Any) -> Any:
            if clocked.within is not None and self._open[-1:] != [clocked.within]:
                return function(*given, **named)
            self._turn(lambda: self._open.append(clocked.stage))
            try:
                return function(*given, **named)
            finally:
                self._turn(self._open.pop)

        return timed

    def _turn(self, change: Callable[[], object]) -> None:
        """Book the time since the last turn to the stage that was open, and go on with another."""
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        change()
        self._since = now


@contextmanager
def clocked_stages() -> Iterator[Clock]:
    """A clock on all stages of the fits inside."""
    clock = Clock()
    with set_constants({name: clock.wrapped(_function(name), stage) for name, stage in FUNCTIONS.items()}):
        yield clock


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


class Job(NamedTuple):
    """The profile of one shape."""

    data: str
    threads: int
    repeats: int = 1
    folder: Path | None = None

    @property
    def key(self) -> tuple[str, int]:
        return (self.data, self.threads)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def measure(job: Job) -> Row:
    """Fit and predict some times, and measure what the machine could do."""
    views, y = load(job.data, job.folder)
    k = len(np.unique(y))
    with warnings.catch_warnings(), threadpool_limits(limits=job.threads):
        warnings.simplefilter("ignore")
        ours.any_views([view[:: max(1, len(view) // WARM_UP_ROWS)] for view in views], k, 0)
        neighbours = NeighbourClock()
        models, stages, predicts = zip(*[one_fit(views, k) for _ in range(job.repeats)], strict=True)
        row = {"stages": medians(stages), "predict_seconds": float(np.median(predicts))}
        return row | floor(views, models[0].n_components_) | about(models[0], neighbours)


def about(model: Any, neighbours: NeighbourClock) -> Row:
    """Which map it was, and how much of the cores others took in the meantime."""
    taken = dict.fromkeys(np.atleast_1d(model.feature_map_).tolist())  # one for each view
    return {"feature_map": ", ".join(taken), "others": neighbours.share()}


def one_fit(views: Views, k: int) -> tuple[Any, dict[str, float], float]:
    """A fitted model, the seconds of its stages, and those of a predict."""
    with clocked_stages() as clock:
        start = time.perf_counter()
        model = ours.any_views(views, k, 0)
        fitted = time.perf_counter()
    model.predict(views[0] if len(views) == 1 else views)
    predicted = time.perf_counter() - fitted
    spent = clock.seconds
    return model, spent | {REST: fitted - start - sum(spent.values())}, predicted


def medians(stages: Sequence[dict[str, float]]) -> dict[str, float]:
    """Seconds of each stage that any of the fits had."""
    found = [stage for stage in STAGES if any(stage in one for one in stages)]
    return {stage: float(np.median([one.get(stage, 0.0) for one in stages])) for stage in found}


def floor(views: Views, n_landmarks: Any) -> Row:
    """What mapping all rows takes at best: the arithmetic of all distances, and one reading of the rows."""
    X, landmarks = np.hstack(views), np.broadcast_to(n_landmarks, len(views))
    rate = max(flops_per_second() for _ in range(_BEST_OF))
    bandwidth = max(bytes_per_second(X.reshape(-1)[: X.size // 2 * 2]) for _ in range(_BEST_OF))
    products = sum(len(X) * int(m) * view.shape[1] for m, view in zip(landmarks, views, strict=True))
    row = {"landmarks": int(np.max(landmarks)), "floor_seconds": 2 * products / rate + X.nbytes / bandwidth}
    return row | {"gflops": rate / 1e9, "gb_per_second": bandwidth / 1e9}


def stage_table(rows: Sequence[Row]) -> str:
    """Stages by shapes: seconds, and their share of the fit."""
    shown = [stage for stage in STAGES if any(stage in row["stages"] for row in rows)]
    lines = [[stage, *(_part(row["stages"], stage) for row in rows)] for stage in shown]
    totals = [f"{sum(row['stages'].values()):.3g} s" for row in rows]
    return table_text(["stage", *(title(row["data"]) for row in rows)], [*lines, ["fit", *totals]])


def _part(stages: dict[str, float], stage: str) -> str:
    if stage not in stages:
        return "-"
    return f"{stages[stage]:.3g} s ({stages[stage] / sum(stages.values()):.0%})"


def floor_table(rows: Sequence[Row]) -> str:
    """Mapping all rows, and predicting, beside the floor."""
    header = ["data", "map", "landmarks", "floor", "all rows mapped", "/ floor", "predict", "/ floor"]
    lines = []
    for row in rows:
        best, taken = row["floor_seconds"], (row["stages"][MAPPED], row["predict_seconds"])
        cells = [cell for seconds in taken for cell in (f"{seconds:.3g} s", f"{seconds / best:.1f}")]
        lines.append([title(row["data"]), row["feature_map"], row["landmarks"], f"{best:.3g} s", *cells])
    return table_text(header, lines)


def tables(rows: Sequence[Row]) -> str:
    """Both tables, and what the machine did in the meantime."""
    good = [row for row in rows if "error" not in row]
    if not good:
        return "No profile is on file."
    rates = ", ".join(f"{max(row[name] for row in good):.3g} {unit}" for name, unit in _RATES.items())
    shares = [row["others"] for row in good if row["others"] is not None]
    busy = f" Other processes took up to {max(shares):.0%} of the cores." if shares else ""
    used = ", ".join(str(number) for number in sorted({row["threads"] for row in good}))
    return f"{stage_table(good)}\n\n{floor_table(good)}\n\nThreads: {used}; at best {rates}.{busy}"


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of real sets, else POWERKMEANS_DATA")
    parser.add_argument("--shapes", nargs="+", type=checked_name, default=list(SHAPES), metavar="SHAPE")
    parser.add_argument("--threads", type=int, default=threads())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--here", action="store_true", help="fit in this process, for a try")
    parser.add_argument("--tables", action="store_true", help="print what is on file, fit nothing")
    parser.add_argument("--page", type=Path, help="write the tables into their place in this page")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    store = Store(NAME, KEYS)
    for data in [] if arguments.tables else arguments.shapes:
        folder = data_folder(arguments.data) if data in FROM_FOLDER else None
        job = Job(data, arguments.threads, arguments.repeats, folder)
        store.forget([job.key])
        with Pool(measure, no_preparation, 0 if arguments.here else 1) as pool:
            fill(store, pool, [job], f"{title(data)}, {job.repeats} times")
    order = sorted(store.rows.values(), key=lambda row: place(SHAPES, row["data"]))
    text = tables(order)
    print(text)
    if arguments.page is not None:
        arguments.page.write_text(with_table(arguments.page.read_text(), "profile", text))


if __name__ == "__main__":
    main()
