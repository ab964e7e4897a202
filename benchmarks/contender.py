"""Ours as an option of a command: a feature map and whatever else is told, beside landmarks in the same run."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.methods import Views, ours

REFERENCE_MAP = "nystroem"  # landmarks, the default of 0.1.0


class Contender(NamedTuple):
    """Parameters of our estimators: the feature map, and more by name; all else is the library's default."""

    feature_map: str
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        return {"feature_map": self.feature_map} | dict(self.more)

    def __str__(self) -> str:
        """What names its rows: no change of what is set goes unseen."""
        return ", ".join([self.feature_map, *[f"{name}={value}" for name, value in self.more]])


class Timed(NamedTuple):
    """A fitted estimator, the seconds of its fit by the clock, and those of the processor."""

    model: Any
    seconds: float
    cpu_seconds: float


def timed_fit(who: Contender, views: Views, k: int, seed: int, threads: int = 1) -> Timed:
    """Fit and take the times, which leave out the data."""
    with warnings.catch_warnings(), threadpool_limits(limits=threads):
        warnings.simplefilter("ignore")
        start, cpu = time.perf_counter(), time.process_time()
        model = ours.any_views(views, k, seed, **who.parameters)
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
