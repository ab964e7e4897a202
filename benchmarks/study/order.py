"""Whether an answer depends on the order of the rows: fits in the order of the file and in a shuffled one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

from benchmarks.harness.store import Row
from benchmarks.study.fits import answer_of
from benchmarks.study.sets import find_set, load

KEYS = ("data", "method")
_SEED, _SHUFFLE = 0, 1


class OrderJob(NamedTuple):
    """Two fits of a method to a set, with the same seed."""

    data: str
    method: str

    @property
    def key(self) -> tuple[str, str]:
        return (self.data, self.method)

    def row(self) -> Row:
        """What tells its row from others."""
        return dict(zip(KEYS, self.key, strict=True))


def measure_order(job: OrderJob, folder: Path) -> Row:
    """The adjusted Rand index between the labels in both orders, each row with itself."""
    views, y = load(job.data, folder, _SEED, find_set(job.data).inputs)
    k, order = len(np.unique(y)), np.random.default_rng(_SHUFFLE).permutation(len(y))
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        first = np.asarray(answer_of(job.method, views, k, _SEED).labels)
        shuffled = answer_of(job.method, [np.ascontiguousarray(view[order]) for view in views], k, _SEED)
    second = np.empty_like(first)
    second[order] = np.asarray(shuffled.labels)
    return {"agree": float(adjusted_rand_score(first, second)), "moved": rows_moved(first, second)}


def rows_moved(first: np.ndarray, second: np.ndarray) -> int:
    """How many rows are in another cluster, once clusters are matched."""
    counts = contingency_matrix(first, second)
    return len(first) - int(counts[linear_sum_assignment(-counts)].sum())
