"""Commands that fit ours over sets and seeds: what they have in common, from options to rows that are kept."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.fill import fill
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Row, Store
from benchmarks.methods import Views, ours
from benchmarks.study.fits import answer_of

REFERENCE_MAP = "nystroem"  # landmarks, the default of 0.1.0


class Contender(NamedTuple):
    """Parameters of our estimators: the feature map, and more by name; all else is the library's default."""

    feature_map: str
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        return {"feature_map": self.feature_map} | dict(self.more)

    def fit(self, views: Views, k: int, seed: int) -> Any:
        return ours.any_views(views, k, seed, **self.parameters)

    def __str__(self) -> str:
        """What names its rows: no change of what is set goes unseen."""
        return ", ".join([self.feature_map, *[f"{name}={value}" for name, value in self.more]])


class Peer(NamedTuple):
    """A method of others by the name that the study has for it."""

    method: str

    def fit(self, views: Views, k: int, seed: int) -> Any:
        return SimpleNamespace(labels_=answer_of(self.method, views, k, seed).labels)

    def __str__(self) -> str:
        return self.method


class Timed(NamedTuple):
    """A fitted estimator, the seconds of its fit by the clock, and those of the processor."""

    model: Any
    seconds: float
    cpu_seconds: float


def timed_fit(who: Contender | Peer, views: Views, k: int, seed: int, threads: int = 1) -> Timed:
    """Fit and take the times, which leave out the data."""
    with warnings.catch_warnings(), threadpool_limits(limits=threads):
        warnings.simplefilter("ignore")
        start, cpu = time.perf_counter(), time.process_time()
        model = who.fit(views, k, seed)
        return Timed(model, time.perf_counter() - start, time.process_time() - cpu)


def load_libraries() -> None:
    """What a worker does first: a fit to a few rows, so that imports are in no fit's time."""
    timed_fit(Contender(REFERENCE_MAP), [np.arange(20, dtype=np.float32)[:, None]], 2, 0)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that name the contender."""
    parser.add_argument("--feature-map", default="auto", help="of ours (default: auto)")
    parser.add_argument(
        "--with",
        dest="more",
        nargs="+",
        default=[],
        type=_parameter,
        metavar="NAME=VALUE",
        help="more parameters of ours, such as n_neighbors=15",
    )
    parser.add_argument("--alone", action="store_true", help=f"not beside feature_map={REFERENCE_MAP!r}")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how fits are run."""
    parser.add_argument("--jobs", type=int, default=2, help="processes with one thread each; 0: this one")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a fit may take")
    parser.add_argument("--fresh", action="store_true", help="run again what there are rows of")


def run_jobs(
    store: Store, jobs: Sequence[Any], measure: Callable[[Any], Row], arguments: argparse.Namespace, about: str
) -> list[Row]:
    """The rows of all jobs, of which those are run that are missing, failed, or are to be run again."""
    store.forget((job.key for job in jobs), only_errors=not arguments.fresh)
    with Pool(measure, load_libraries, arguments.jobs, arguments.limit) as pool:
        fill(store, pool, jobs, about)
    return store.of(job.key for job in jobs)


def contenders(arguments: argparse.Namespace) -> list[Contender]:
    """The one that the options name, and landmarks with the library's defaults."""
    named = Contender(arguments.feature_map, tuple(sorted(arguments.more)))
    return [named] if arguments.alone else list(dict.fromkeys([named, Contender(REFERENCE_MAP)]))


def _parameter(text: str) -> tuple[str, Any]:
    """``name=value``; a value that is no JSON is a word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
