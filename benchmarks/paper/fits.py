"""One fit: data in, a row of scores out, the same way for all methods."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.store import Row
from benchmarks.measure import fresh_high_water, risen_since
from benchmarks.methods import Answer, find
from benchmarks.methods.others import set_limits
from benchmarks.paper.protocol import Fit
from benchmarks.paper.sets import prepared
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity

_RUNNER_SHARE = 0.97  # a library's process is stopped before its worker is


def begin(limit: float | None, threads: int) -> None:
    """What a worker does first."""
    set_limits(None if limit is None else _RUNNER_SHARE * limit, threads)


def scores(y: np.ndarray, labels: np.ndarray) -> Row:
    """Accuracy, three forms of normalised mutual information, purity and the number of clusters."""
    return {
        "ACC": clustering_accuracy(y, labels),
        "NMI": normalized_mutual_info(y, labels),
        "NMI_arithmetic": normalized_mutual_info(y, labels, average_method="arithmetic"),
        "NMI_max": normalized_mutual_info(y, labels, average_method="max"),
        "Purity": purity(y, labels),
        "clusters": len(np.unique(labels)),
    }


def fit(job: Fit, folder: Path, threads: int) -> Row:
    """Run one fit and score it; its time and peak memory leave out the data and the imports."""
    views, y = prepared(job.data, folder, job.scaling)
    method = find(job.table, job.method)
    method.load()
    given = views if method.several else [np.hstack(views) if len(views) > 1 else views[0]]
    with warnings.catch_warnings(), threadpool_limits(limits=threads):
        warnings.simplefilter("ignore")
        before = fresh_high_water()
        start = time.perf_counter()
        answer = method.run(given, len(np.unique(y)), job.seed, **job.setting)
        seconds = time.perf_counter() - start
        peak = risen_since(before)
    labels = np.asarray(answer.labels)
    if labels.shape != y.shape:
        raise ValueError(f"{job.method} gave labels of shape {labels.shape} for {len(y)} rows")
    return scores(y, labels) | _account(answer, seconds, peak) | {"version": method.version(), "threads": threads}


def _account(answer: Answer, seconds: float, peak: int) -> Row:
    """Time and memory as the method tells them, or else as they were seen from here."""
    return {
        "seconds": round(seconds if answer.seconds is None else float(answer.seconds), 4),
        "peak_bytes": peak if answer.peak_bytes is None else int(answer.peak_bytes),
        "iterations": None if answer.iterations is None else int(answer.iterations),
        "note": answer.note,
    }
