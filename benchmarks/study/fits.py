"""One fit of the study: a choice of levels, or a peer, on one set with one seed."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.store import Row
from benchmarks.methods import METHODS, Answer, Method, Views, find
from benchmarks.paper.fits import scores
from benchmarks.study import factors
from benchmarks.study.factors import BEFORE, Choice
from benchmarks.study.sets import find_set, load
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

KEYS = ("data", "choice", "seed")
_KEPT = ("ACC", "NMI", "Purity", "clusters")
_MOST_ROWS = {"SpectralClustering": 10_000}  # ten minutes were not enough for 20,000


class Job(NamedTuple):
    """What is fitted: ``changed`` are the levels that differ from the defaults before.

    ``peer`` is the name of a method instead: one of others, or ours with a feature map and no level changed.
    """

    data: str
    seed: int
    changed: tuple[tuple[str, str], ...] = ()
    peer: str = ""

    @property
    def choice(self) -> Choice:
        return BEFORE | dict(self.changed)

    @property
    def name(self) -> str:
        return self.peer or factors.text_of(self.choice)

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.data, self.name, self.seed)

    def row(self) -> Row:
        """What tells its row from others."""
        return dict(zip(KEYS, self.key, strict=True))


def job_of(data: str, choice: Choice, seed: int) -> Job:
    changed = ((factor, level) for factor, level in choice.items() if level != BEFORE[factor])
    return Job(data, seed, tuple(changed))


def measure(job: Job, folder: Path) -> Row:
    """Fit and score; processor seconds leave out the data, and do not mind what else the machine does."""
    inputs = find_set(job.data).inputs if job.peer else factors.inputs_of(job.choice)
    views, y = load(job.data, folder, job.seed, inputs)
    k = len(np.unique(y))
    constants = {} if job.peer else factors.constants_of(job.choice)  # a named method has the library's own
    if not job.peer and len(y) > factors.most_rows(job.choice):
        return {"error": f"not attempted: for at most {factors.most_rows(job.choice):,.0f} rows"}
    with (
        warnings.catch_warnings(),
        threadpool_limits(limits=1),
        factors.set_constants(constants),
    ):
        warnings.simplefilter("ignore")
        start, cpu = time.perf_counter(), time.process_time()
        answer = answer_of(job.peer, views, k, job.seed) if job.peer else _ours(job.choice, views, k, job.seed)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    row = {name: value for name, value in scores(y, np.asarray(answer.labels)).items() if name in _KEPT}
    cpu = cpu if answer.seconds is None else answer.seconds  # a library in a process of its own
    return row | {"cpu_seconds": round(cpu, 4), "seconds": round(seconds, 4), "note": answer.note}


def _ours(choice: Choice, views: Views, k: int, seed: int) -> Answer:
    parameters = factors.parameters(choice, views, k) | {"random_state": seed}
    if parameters.get("kernel") == "precomputed":
        views = [factors.local_kernel(view) for view in views]
    if len(views) == 1:
        return Answer(KernelPowerKMeans(k, **parameters).fit(views[0]).labels_)
    model = MultiViewPowerKMeans(k, **parameters).fit(views)
    return Answer(model.labels_, note="view weights " + " ".join(f"{w:.3f}" for w in model.view_weights_))


def method_of(peer: str, views: int) -> Method:
    """The method of that name for so many views; of several if there is none for one."""
    return find("single" if views == 1 and peer in METHODS["single"] else "multi", peer)


def why_not(peer: str, rows: int, views: int) -> str:
    """Why a peer is not run on so many rows and views; empty if it is."""
    method = method_of(peer, views)
    if method.several and views == 1:
        return "not attempted: for several views"
    if rows > _MOST_ROWS.get(peer, rows):
        return f"not attempted: for at most {_MOST_ROWS[peer]:,} rows"
    return method.why_missing() or method.why_too_large(rows, views, 24e9)


def answer_of(name: str, views: Views, k: int, seed: int) -> Answer:
    """What a method answers; one of a single view gets all columns side by side."""
    method = method_of(name, len(views))
    why = why_not(name, len(views[0]), len(views))
    if why:
        raise RuntimeError(why)
    return method.run(views if method.several else [np.hstack(views)], k, seed)
