"""One fit: data are spoilt, then scaled; labels are judged by the clean samples, scores by the spoilt ones."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.harness.store import Row
from benchmarks.noise.contenders import Outcome, contender
from benchmarks.noise.corruptions import corrupt
from benchmarks.noise.plan import Fit
from benchmarks.noise.sets import loaded, standardised
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info


def cpu_seconds() -> float:
    """Processor time of this process and of those that it started and that have ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def fit(job: Fit, folder: Path | None) -> Row:
    """Run one fit on one thread and score it; its times leave out the data and the imports.

    A library's process counts with its start in the processor time, but not in the seconds.
    """
    clean, y = loaded(job.data, job.rows, folder)
    views, spoilt = corrupt(job.corruption, clean, job.share, job.seed)
    views = standardised(views)
    who = contender(job.method)
    who.method.load()
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        start, cpu = time.perf_counter(), cpu_seconds()
        outcome = who.run(views, len(np.unique(y)), job.seed)
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    times = {"seconds": round(outcome.seconds or seconds, 4), "cpu_seconds": round(cpu, 4)}
    said = {"view_weights": outcome.view_weights, "note": outcome.note, "version": who.method.version()}
    return scored(outcome, y, spoilt) | times | {name: what for name, what in said.items() if what}


def scored(outcome: Outcome, y: np.ndarray, spoilt: np.ndarray) -> Row:
    """ACC and NMI of the clean samples alone, the clusters lost to spoilt ones, and the AUC of the scores."""
    row: Row = {}
    if outcome.labels is not None:
        labels = np.asarray(outcome.labels)
        if labels.shape != y.shape:
            raise ValueError(f"labels of shape {labels.shape} for {len(y)} rows")
        row["ACC"] = clustering_accuracy(y[~spoilt], labels[~spoilt])
        row["NMI"] = normalized_mutual_info(y[~spoilt], labels[~spoilt])
        row["clusters"] = len(np.unique(labels))
        row["spoilt_clusters"] = int(sum(np.mean(spoilt[labels == j]) > 0.5 for j in np.unique(labels)))
    if outcome.scores is not None and spoilt.any() and not spoilt.all():
        if not np.isfinite(outcome.scores).all():
            raise ValueError("some outlier scores are not finite")
        row["AUC"] = float(roc_auc_score(spoilt, outcome.scores))
    return row
