"""``powerkmeans bench``: a pass and a fit beside scikit-learn's k-means, in turns on one machine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.cluster import KMeans

from powerkmeans.cli.errors import usage
from powerkmeans.cli.terminal import Terminal, grid, heading
from powerkmeans.compute.options import NumpyOptions
from powerkmeans.estimators import KernelPowerKMeans
from powerkmeans.models.answers import model_statistics
from powerkmeans.types import Views

_LLOYD_STEPS = 10
_OURS = "power k-means"


def run(options: dict[str, Any]) -> None:
    """Generate, let everything take turns, tell medians."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    rows, columns, k = options["rows"], options["n_columns"], options["n_clusters"]
    if rows < 2 * k:
        raise usage(f"--rows {rows} are too few for {k} clusters.")
    X = blobs(rows, columns, k, options["seed"])
    engine: Any = NumpyOptions(n_threads=options["threads"], kernel=options["engine"])
    with terminal.bar("Timing") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bar.update(0.0)
        turns = timed(X, k, engine, options["seed"], options["repeats"], bar.update)
    table = summed_up(turns)
    if terminal.as_json:
        terminal.give(
            {"rows": rows, "columns": columns, "n_clusters": k, "repeats": options["repeats"], "runs": table}
        )
        return
    lines = [
        [line["what"], _ms(line["seconds"]), _times(line["ratio"]), _cost(line["cost_ratio"])] for line in table
    ]
    about = f"{rows:,} rows · {columns} columns · {k} clusters · float32 · {_turns(options['repeats'])}"
    terminal.show(
        heading("Generated blobs", about),
        grid(["", "time", "beside KMeans, 10 runs", "cost beside it"], lines),
        Text("\n  A pass is one iteration's; ours does twice the arithmetic of a Lloyd iteration.\n", "dim"),
    )


def blobs(n_rows: int, n_columns: int, k: int, seed: int) -> NDArray[np.float32]:
    """Overlapping clusters of different size."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, n_columns)) * 2.2 / n_columns**0.25
    labels = rng.choice(k, n_rows, p=rng.dirichlet(np.full(k, 5.0)))
    return (centers[labels] + rng.normal(size=(n_rows, n_columns))).astype(np.float32)


def timed(
    X: NDArray[Any], k: int, engine: Any, seed: int, repeats: int, tell: Callable[[float, str], None]
) -> list[dict[str, tuple[float, float]]]:
    """Seconds and cost of each, turn by turn."""
    turns = []
    for turn in range(repeats):
        runs: dict[str, tuple[float, float]] = {}
        for place, (name, work) in enumerate(_runs(X, k, engine, seed + turn).items()):
            tell((turn * 5 + place) / (5 * repeats), f"turn {turn + 1} of {repeats}: {name}")
            runs[name] = work()
        turns.append(runs)
    return turns


def _runs(X: NDArray[Any], k: int, engine: Any, seed: int) -> dict[str, Callable[[], tuple[float, float]]]:
    def ours() -> tuple[float, float]:
        model = KernelPowerKMeans(k, feature_map="identity", engine=engine, random_state=seed)
        return _seconds(lambda: model.fit(X)), float(model.inertia_)

    def theirs(n_init: int) -> tuple[float, float]:
        model = KMeans(k, n_init=n_init, random_state=seed)
        return _seconds(lambda: model.fit(X)), float(model.inertia_)

    return {
        "KMeans, 10 runs": lambda: theirs(10),
        "KMeans, 1 run": lambda: theirs(1),
        _OURS: ours,
        "one Lloyd iteration": lambda: (_lloyd(X, k, seed), np.nan),
        "one pass of ours": lambda: (_pass(X, k, engine, seed), np.nan),
    }


def _pass(X: NDArray[Any], k: int, engine: Any, seed: int) -> float:
    """One pass over rows with centroids that no fit has to find first."""
    few = X[: 50 * k]
    model = KernelPowerKMeans(k, feature_map="identity", engine=engine, max_iter=2, random_state=seed).fit(few)
    views = Views(("X",), (X,), np.ones(len(X), dtype=X.dtype))
    return _seconds(lambda: model_statistics(model._fit.model, views, engine, precise=False))


def _lloyd(X: NDArray[Any], k: int, seed: int) -> float:
    """One iteration: a fit of several less a fit of one."""
    start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    times, steps = [], 1
    for n_iter in (1, 1 + _LLOYD_STEPS):
        model = KMeans(k, init=start, n_init=1, max_iter=n_iter, tol=0, algorithm="lloyd")
        times.append(_seconds(lambda model=model: model.fit(X)))  # type: ignore[misc]
        steps = model.n_iter_ - 1
    return (times[1] - times[0]) / max(steps, 1)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def summed_up(turns: list[dict[str, tuple[float, float]]]) -> list[dict[str, Any]]:
    """Medians over the turns, and of the ratios within a turn."""
    base = "KMeans, 10 runs"
    lines = []
    for name in turns[0]:
        finished = not np.isnan(turns[0][name][1])
        ratios = [turn[name][0] / turn[base][0] for turn in turns]
        costs = [turn[name][1] / turn[base][1] for turn in turns]
        lines.append(
            {
                "what": name,
                "seconds": float(np.median([turn[name][0] for turn in turns])),
                "ratio": float(np.median(ratios)) if finished else None,
                "cost_ratio": float(np.median(costs)) if finished else None,
            }
        )
    return lines


def _turns(repeats: int) -> str:
    return "one turn" if repeats == 1 else f"medians of {repeats} turns"


def _ms(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _cost(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.4f}"
