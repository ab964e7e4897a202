"""``fit --dry-run``: what a fit would take, from a short fit to a few rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from powerkmeans.cli.bundle import rows_of
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.inputs import Inputs
from powerkmeans.cli.memory import available_bytes, duration, size
from powerkmeans.cli.modelling import fitted
from powerkmeans.cli.terminal import Terminal, facts, heading
from powerkmeans.engines import NumpyOptions
from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.fitting.pilot import PILOT_ROWS, ROWS_PER_CLUSTER, SMALLER

_PROBE_ROWS, _PROBE_PER_CLUSTER = 1000, 20
# passes over all rows that a fit makes besides the annealing: maps, means, scatter, hashes, k-means steps, labels
_FULL_PASSES = 20


@dataclass(frozen=True)
class Estimate:
    """What to expect of a fit; seconds and bytes are estimates."""

    n_samples: int
    n_clusters: int
    views: dict[str, tuple[int, float]]
    probe_rows: int
    probe_seconds: float
    seconds: float
    data_bytes: int
    feature_bytes: int
    read_seconds: float

    @property
    def bytes(self) -> int:
        return self.data_bytes + self.feature_bytes


def estimate(inputs: Inputs, parameters: dict[str, Any], read_seconds: float, terminal: Terminal) -> Estimate:
    """Fit a few rows, and reckon with how the work grows."""
    n, k = inputs.samples.n_samples, parameters["n_clusters"]
    if n < k:
        raise UserError(f"There are {n} samples, fewer than the {k} clusters that -k asks for.")
    m = min(n, max(_PROBE_ROWS, _PROBE_PER_CLUSTER * k))
    rows = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
    probe = rows_of(inputs.X, rows)
    with terminal.bar("Probing") as bar, terminal.hearing_warnings():
        bar.wait(f"a fit to {m:,} rows")
        start = time.perf_counter()
        model = fitted((MultiViewPowerKMeans if inputs.several else KernelPowerKMeans)(**parameters), probe)
        fit_seconds = time.perf_counter() - start
        start = time.perf_counter()
        model.predict(probe)
        pass_seconds = time.perf_counter() - start
    arrays = inputs.X.values() if isinstance(inputs.X, dict) else [inputs.X]
    return Estimate(
        n_samples=n,
        n_clusters=k,
        views={view.name: (len(view.columns), inputs.samples.coverage(view.name)) for view in inputs.views},
        probe_rows=m,
        probe_seconds=fit_seconds,
        seconds=_seconds(model, n, m, fit_seconds, pass_seconds),
        data_bytes=2 * sum(array.nbytes for array in arrays),
        feature_bytes=_feature_bytes(model, n, parameters["engine"]),
        read_seconds=read_seconds,
    )


def _seconds(model: Any, n: int, m: int, fit_seconds: float, pass_seconds: float) -> float:
    """The annealing grows with the rows up to a sample, passes with all rows; exact kernels with their square."""
    if model._fit.model.problem.dual:
        return fit_seconds * (n / m) ** 2
    pilot = max(PILOT_ROWS, ROWS_PER_CLUSTER * model.n_clusters)
    annealed = pilot if n >= SMALLER * pilot else n
    return fit_seconds * annealed / m + (_FULL_PASSES * pass_seconds * n / m if annealed < n else 0.0)


def _feature_bytes(model: Any, n: int, engine: Any) -> int:
    """Features are kept as far as the engine's budget goes; kernel matrices always."""
    found = model._fit.model
    if found.problem.dual:
        return 8 * n * n
    budget = engine.memory_budget if isinstance(engine, NumpyOptions) else NumpyOptions().memory_budget
    return int(min(n * found.problem.splits[-1] * found.dtype.itemsize, budget))


def show_estimate(found: Estimate, terminal: Terminal) -> None:
    """Tell what to expect."""
    if terminal.as_json:
        listed = [{"view": n, "columns": c, "coverage": share} for n, (c, share) in found.views.items()]
        terminal.give(
            {**vars(found), "bytes": found.bytes, "views": listed, "dry_run": True, "notes": terminal.notes}
        )
        return
    views = [f"{name} ({columns:,} columns)" for name, (columns, _) in found.views.items()]
    free = available_bytes()
    room = "" if free is None else f"; {size(free)} are free"
    terminal.show(
        heading("Dry run", "the input is in order; nothing was written"),
        facts(
            [
                ("shape", f"{found.n_samples:,} samples · {', '.join(views)} · {found.n_clusters} clusters"),
                ("memory", f"about {size(found.bytes)}{room}"),
                ("", f"rows as read and scaled {size(found.data_bytes)}, features {size(found.feature_bytes)}"),
                (
                    "time",
                    f"about {duration(found.seconds)} for the fit, reading took {duration(found.read_seconds)}",
                ),
                ("", f"an estimate, from a fit to {found.probe_rows:,} rows in {duration(found.probe_seconds)}"),
            ]
        ),
        "",
    )
