"""``fit --dry-run``: what a fit would take, from a short fit to a few rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.cli.errors import UserError, counted
from powerkmeans.cli.inputs import Inputs
from powerkmeans.cli.memory import duration, size
from powerkmeans.cli.modelling import fitted
from powerkmeans.cli.terminal import Terminal, facts, heading
from powerkmeans.compute.blocks import BLOCK_BYTES
from powerkmeans.compute.options import kept_here
from powerkmeans.compute.rows import BYTES_PER_LABEL, kept_bytes
from powerkmeans.compute.sampling import HELD
from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.estimators.labels import calling_columns
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.fused import folder_aside
from powerkmeans.fitting.pilot import PILOT_ROWS, ROWS_PER_CLUSTER
from powerkmeans.fitting.samples import rows_drawn
from powerkmeans.fitting.task import SAMPLE_BYTES
from powerkmeans.inputs.settings import AUTO
from powerkmeans.preparing.prepared import rows_of
from powerkmeans.support.memory import available_memory

# rows of the first probe, at least so many and so many per cluster; the second has that many times as many
_PROBE_ROWS, _PROBE_PER_CLUSTER, _LARGER = 1000, 20, 4
# passes over all rows that a fit makes besides the annealing: hashes, means, scatter, k-means steps, labels
_FULL_PASSES = 8
# the same where a graph is: rows are mapped once, and passes over the few features that they get are nothing
_FULL_PASSES_OF_A_GRAPH = 1
_PASS_ROWS = 2**15
# memory beside what is kept of all rows: bytes per row that a sample is drawn from, and copies of the rows drawn
# (all but one of a part of these at a time), of their features and of blocks; benchmarks.memory has the sum
# beside what was measured
_HASHED_ROW, _ROWS_DRAWN, _FEATURES_DRAWN, _BLOCKS = 100, 4, 3, 2


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
    file_bytes: int
    work_bytes: int
    read_seconds: float
    dtype: str

    @property
    def bytes(self) -> int:
        return self.data_bytes + self.feature_bytes + self.work_bytes


class Probe(NamedTuple):
    """A fit to some of the rows."""

    n_rows: int
    seconds: float
    model: Any

    @property
    def iterations(self) -> int:
        return sum(run["n_iter"] for run in self.model.restarts_)


class Kept(NamedTuple):
    """What is kept of all rows: bytes in memory and in a temporary file, and whether features are among it."""

    memory: int
    file: int
    features: bool


def estimate(inputs: Inputs, parameters: dict[str, Any], read_seconds: float, terminal: Terminal) -> Estimate:
    """Fit a few rows and a few more, and reckon with how the work grows."""
    n, k = inputs.samples.n_samples, parameters["n_clusters"]
    if n < k:
        raise UserError(f"There are {n} samples, fewer than the {k} clusters that -k asks for.")
    few = min(n, max(_PROBE_ROWS, _PROBE_PER_CLUSTER * k))
    with terminal.bar("Probing") as bar, terminal.hearing_warnings(), calling_columns(inputs.labels):
        bar.wait(f"fits to {few:,} rows and more")
        first = _probe(inputs, parameters, few)  # loads what is loaded once
        parameters = _sized(parameters, first.model, n)
        probes = [_probe(inputs, parameters, m) for m in sorted({few, min(n, _LARGER * few)})]
        pass_seconds = _pass_seconds(probes[-1].model, inputs)
    kept = _kept(probes[-1].model, n, parameters["engine"])
    arrays = list(inputs.X.values()) if isinstance(inputs.X, dict) else [inputs.X]
    return Estimate(
        n_samples=n,
        n_clusters=k,
        views={view.name: (len(view.columns), inputs.samples.coverage(view.name)) for view in inputs.views},
        probe_rows=probes[-1].n_rows,
        probe_seconds=probes[-1].seconds,
        seconds=_seconds(probes, n, pass_seconds, kept=kept.features),
        data_bytes=2 * sum(array.nbytes for array in arrays),
        feature_bytes=kept.memory,
        file_bytes=kept.file,
        work_bytes=_work_bytes(probes[-1].model, n, kept.memory),
        read_seconds=read_seconds,
        dtype=str(np.result_type(*arrays)),
    )


def _probe(inputs: Inputs, parameters: dict[str, Any], n_rows: int) -> Probe:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(inputs.samples.n_samples, n_rows, replace=False))
    X = rows_of(inputs.X, rows)
    weight = None if inputs.weight is None else inputs.weight[rows]
    start = time.perf_counter()
    model = fitted((MultiViewPowerKMeans if inputs.several else KernelPowerKMeans)(**parameters), X, weight)
    return Probe(n_rows, time.perf_counter() - start, model)


def _sized(parameters: dict[str, Any], model: Any, n: int) -> dict[str, Any]:
    """With no more components than a fit to all rows takes: few rows may have more of them for the same work."""
    found, names = model._fit.model, np.atleast_1d(model.feature_map_)
    if parameters["n_components"] != AUTO or AUTO in np.atleast_1d(parameters["feature_map"]):
        return parameters
    if not all(one.base.approximates for one in found.maps):
        return parameters
    sizes = [
        min(one.base.n_components, MAPS[names[view]].largest_size(model.n_clusters, n, found.view_widths[view]))
        for one, view in zip(found.maps, found.used_views, strict=True)
    ]
    return parameters | {"n_components": max(sizes)}


def _pass_seconds(model: Any, inputs: Inputs) -> float:
    """What labelling all rows would take, by some of them."""
    n, m = inputs.samples.n_samples, min(inputs.samples.n_samples, _PASS_ROWS)
    start = time.perf_counter()
    model.predict(rows_of(inputs.X, slice(m)))
    return (time.perf_counter() - start) * n / m


def _seconds(probes: list[Probe], n: int, pass_seconds: float, *, kept: bool) -> float:
    """An iteration takes a constant and so much per annealed row; passes over all rows are added.

    Exact kernels grow with the square.
    """
    small, large = probes[0], probes[-1]
    if large.model._fit.model.problem.dual:
        return large.seconds * (n / large.n_rows) ** 2
    pilot = max(PILOT_ROWS, ROWS_PER_CLUSTER * large.model.n_clusters)
    annealed = pilot if n >= 2 * pilot else n
    each = [probe.seconds / probe.iterations for probe in (small, large)]
    a_row = max(0.0, each[1] - each[0]) / max(1, large.n_rows - small.n_rows)
    annealing = large.iterations * (each[1] + a_row * (annealed - large.n_rows))
    passes = _FULL_PASSES_OF_A_GRAPH if kept and large.model._fit.model.fuses else _FULL_PASSES
    return annealing + (passes * pass_seconds if annealed < n else 0.0)


def _kept(model: Any, n: int, engine: Any) -> Kept:
    """Features or kernel matrices: in memory within the budget, those of a graph else in a file."""
    found = model._fit.model
    if found.problem.dual:
        return Kept(8 * n * n, 0, features=False)
    width, labels = found.problem.splits[-1], BYTES_PER_LABEL * n
    needed = kept_bytes(n, width, len(found.maps), found.dtype.itemsize)
    if kept_here(needed, engine):
        return Kept(needed, 0, features=True)
    aside = found.fuses and folder_aside((n, width), found.dtype, engine) is not None
    return Kept(labels, n * width * found.dtype.itemsize if aside else 0, features=aside)


def _work_bytes(model: Any, n: int, kept_bytes: int) -> int:
    """What a fit takes beside what it keeps of all rows."""
    found = model._fit.model
    if found.problem.dual:
        return 0
    row = found.dtype.itemsize * sum(found.view_widths)
    drawn = min(n, rows_drawn(row))
    features = found.dtype.itemsize * found.problem.splits[-1]
    hashes = max(0, _HASHED_ROW * min(n, HELD) - kept_bytes)  # which are gone when anything is kept
    sample = 0 if found.fuses else _FEATURES_DRAWN * min(SAMPLE_BYTES, drawn * features)
    rows = drawn * row + (_ROWS_DRAWN - 1) * min(SAMPLE_BYTES, drawn * row)
    return hashes + rows + sample + _BLOCKS * min(n * features, BLOCK_BYTES)


def show_estimate(found: Estimate, terminal: Terminal) -> None:
    """Tell what to expect."""
    if terminal.as_json:
        listed = [{"view": n, "columns": c, "coverage": share} for n, (c, share) in found.views.items()]
        terminal.give(
            {**vars(found), "bytes": found.bytes, "views": listed, "dry_run": True, "notes": terminal.notes}
        )
        return
    terminal.show(heading("Dry run", "the input is in order; nothing was written"), facts(_lines(found)), "")


def _lines(found: Estimate) -> list[tuple[str, str]]:
    views = ", ".join(f"{name} ({columns:,} columns)" for name, (columns, _) in found.views.items())
    free = available_memory()
    room = "" if free is None else f"; {size(free)} are free"
    fit, reading, probe = map(duration, (found.seconds, found.read_seconds, found.probe_seconds))
    features, work = size(found.feature_bytes), size(found.work_bytes)
    return [
        ("shape", f"{found.n_samples:,} samples · {views} · {counted(found.n_clusters, 'cluster')}"),
        ("memory", f"about {size(found.bytes)}{room}"),
        ("", f"read as {found.dtype}: rows and scaled rows {size(found.data_bytes)}"),
        ("", f"kept of all rows {features}, and about {work} to work with"),
        *([("disk", f"{size(found.file_bytes)} in a temporary file, while it runs")] if found.file_bytes else []),
        ("time", f"about {fit} for the fit, reading took {reading}"),
        ("", f"an estimate, from a fit to {found.probe_rows:,} rows in {probe}"),
    ]
