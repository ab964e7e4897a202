"""The factors of the study and their levels. A level says all that it sets: no change of a default moves it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from benchmarks.methods import Views
from powerkmeans import suggest_n_components
from powerkmeans.fitting.starts import Start, _start

_STARTS, _RUNS, _MOVES = "powerkmeans.fitting.starts", "powerkmeans.fitting.runs", "powerkmeans.fitting.moves"
_PROBLEM = "powerkmeans.fitting.problem"
_SAMPLE, _NEIGHBOURS = 2000, 7


@dataclass(frozen=True)
class Level:
    """Parameters of the estimator (a function of views and k where it takes one), constants, and the input."""

    parameters: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    inputs: str = "standardised"
    several_only: dict[str, Any] = field(default_factory=dict)  # parameters of the estimator of several views
    most_rows: int | None = None
    unfit: str = ""  # why it cannot be a default, whatever its figures


Levels = dict[str, Level]
Choice = dict[str, str]  # factor: level


def _size(times: float) -> Callable[[Views, int], int]:
    """A multiple of what the theory asks for."""
    return lambda views, k: math.ceil(times * suggest_n_components(k))


def _map(kind: str, size: Any) -> Level:
    return Level({"feature_map": kind, "n_components": size})


def _some(view: np.ndarray) -> np.ndarray:
    """Rows that a distance is measured on; the same for every seed."""
    return view[np.random.default_rng(0).permutation(len(view))[:_SAMPLE]]


def _of_median(share: float) -> Callable[[Views, int], list[float]]:
    """A share of the median distance between rows, a view."""

    def bandwidths(views: Views, k: int) -> list[float]:
        rows = [_some(view) for view in views]
        return [
            share * float(np.median(euclidean_distances(part)[np.triu_indices(len(part), 1)])) for part in rows
        ]

    return bandwidths


def _of_neighbours(views: Views, k: int) -> list[float]:
    """The median distance to the seventh neighbour, a view."""
    found = [NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(view).kneighbors(_some(view)) for view in views]
    return [float(np.median(distances[:, -1])) for distances, _ in found]


def local_kernel(view: np.ndarray) -> np.ndarray:
    """``exp(-d_ij^2 / (2 sigma_i sigma_j))`` with ``sigma_i`` the distance to the seventh neighbour, made PSD."""
    squared = euclidean_distances(view.astype(np.float64), squared=True)
    sigma = np.sqrt(np.partition(squared, _NEIGHBOURS, axis=1)[:, _NEIGHBOURS])
    sigma = np.maximum(sigma, 1e-6 * float(np.max(sigma)))
    values, vectors = eigh(np.exp(-squared / (2 * np.outer(sigma, sigma))))
    return (vectors * np.maximum(values, 0)) @ vectors.T


def starts(cloud: float, other: float) -> Level:
    """Multiples of the critical exponent by the kind of start; the library has one number for both."""

    def start(kind: str, *known: Any) -> Start:
        with set_constants({f"{_STARTS}.START_MARGIN": 1 - cloud if kind == "cloud" else other - 1}):
            return _start(kind, *known)

    return Level(constants={f"{_STARTS}._start": start})


def _choice(margin: float, **parameters: Any) -> Level:
    return Level(parameters, {f"{_RUNS}.MARGIN": margin})


def _schedule(factor: float, every: str | int = "auto") -> Level:
    return Level({"anneal_factor": factor, "anneal_every": every})


_SOFT = {"membership": "possibilistic", "reference_distance": "global"}
# Factors in the order in which they are settled: the first by itself, the others around its winner.
FACTORS: dict[str, Levels] = {
    "map": {
        "rff D": _map("rff", _size(1)),
        "rff 4D": _map("rff", _size(4)),
        "orf D": _map("orf", _size(1)),
        "orf 4D": _map("orf", _size(4)),
        "nystroem 2D": _map("nystroem", _size(2)),
        "nystroem 4D": _map("nystroem", _size(4)),
        "nystroem 500": _map("nystroem", 500),
        "nystroem 1000": _map("nystroem", 1000),
    },
    "bandwidth": {
        "median": Level({"bandwidth": "median"}),
        "0.5 median": Level({"bandwidth": _of_median(0.5)}),
        "0.7 median": Level({"bandwidth": _of_median(0.7)}),
        "1.4 median": Level({"bandwidth": _of_median(1.4)}),
        "scale": Level({"bandwidth": "scale"}),
        "7th neighbour": Level({"bandwidth": _of_neighbours}),
        "local, exact": Level({"feature_map": "exact", "kernel": "precomputed"}, most_rows=2500),
    },
    "start": {
        "0.9": starts(0.9, 1.2),
        "0.8": starts(0.8, 1.2),
        "1.0": starts(1.0, 1.2),
        "1.2": starts(1.2, 1.2),
        "1.5": starts(1.5, 1.2),
    },
    "which run": {
        "margin 0.2 %": _choice(0.002),
        "lowest cost": _choice(0.0),
        "margin 1 %": _choice(0.01),
        "cloud alone": _choice(0.002, init="cloud"),
        "k-means++ alone": _choice(0.002, init="k-means++"),
    },
    "schedule": {
        "1.04, waiting": _schedule(1.04),
        "1.02, waiting": _schedule(1.02),
        "1.08, waiting": _schedule(1.08),
        "1.04 every 2": _schedule(1.04, 2),
    },
    "moves": {
        "above 1 %": Level(constants={f"{_MOVES}.MARGIN": 0.01}),
        "above 0.2 %": Level(constants={f"{_MOVES}.MARGIN": 0.002}),
        "none": Level(constants={f"{_MOVES}.MARGIN": 1e9}),
    },
    "membership": {
        "possibilistic for several views": Level({"membership": "fuzzy"}, several_only=_SOFT),
        "fuzzy": Level({"membership": "fuzzy"}),
        "possibilistic": Level(_SOFT),
        "possibilistic for several, median": Level(
            {"membership": "fuzzy"},
            several_only=_SOFT | {"reference_distance": "median"},
            unfit="a median by coordinates depends on the basis of the features, so an exact kernel and its "
            "landmarks would have different reference distances; mean ACC is the same",
        ),
    },
    "entropy": {
        "0.3": Level(constants={f"{_PROBLEM}.ENTROPY_SHARE": 0.3}),
        "0.1": Level(constants={f"{_PROBLEM}.ENTROPY_SHARE": 0.1}),
        "1": Level(constants={f"{_PROBLEM}.ENTROPY_SHARE": 1.0}),
        "even weights": Level(several_only={"entropy": math.inf}),
    },
    "view scaling": {
        "scatter, baseline": Level(several_only={"view_scaling": "scatter", "view_baseline": "gaussian"}),
        "scatter alone": Level(several_only={"view_scaling": "scatter", "view_baseline": None}),
        "baseline alone": Level(several_only={"view_scaling": None, "view_baseline": "gaussian"}),
    },
    "input": {
        "standardised": Level(inputs="standardised"),
        "raw": Level(inputs="raw"),
        "unit rows": Level(inputs="unit rows"),
        "standardised, unit rows": Level(inputs="standardised, unit rows"),
    },
}
FIRST = "map"
SEVERAL_ONLY = ("entropy", "view scaling")  # factors that only several views have
ADVICE = ("input",)  # what users do before a fit: told, not chosen
# What the defaults were when the study began: the first level of every factor.
BEFORE: Choice = {factor: next(iter(levels)) for factor, levels in FACTORS.items()}


def levels_of(choice: Choice) -> list[Level]:
    return [FACTORS[factor][choice[factor]] for factor in FACTORS]


def text_of(choice: Choice) -> str:
    """A choice in a line: what differs from the defaults before the study."""
    changed = [f"{factor}: {level}" for factor, level in choice.items() if level != BEFORE[factor]]
    return "; ".join(changed) or "before"


def constants_of(choice: Choice) -> dict[str, Any]:
    """The constants of the library that a choice sets, by their dotted names."""
    return {name: value for level in levels_of(choice) for name, value in level.constants.items()}


@contextmanager
def set_constants(wanted: dict[str, Any]) -> Iterator[None]:
    """Set constants of the library, and put them back."""
    places = {name: (importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in wanted}
    before = {name: getattr(module, attribute) for name, (module, attribute) in places.items()}
    try:
        for name, (module, attribute) in places.items():
            setattr(module, attribute, wanted[name])
        yield
    finally:
        for name, (module, attribute) in places.items():
            setattr(module, attribute, before[name])


def parameters(choice: Choice, views: Views, k: int) -> dict[str, Any]:
    """Parameters of the estimator for a choice; later factors win where two set the same."""
    merged: dict[str, Any] = {}
    for level in levels_of(choice):
        merged |= level.parameters
        merged |= level.several_only if len(views) > 1 else {}
    if merged.get("kernel") == "precomputed":
        merged |= {"n_components": "auto", "bandwidth": "median"}
    values = {name: value(views, k) if callable(value) else value for name, value in merged.items()}
    if len(views) == 1 and isinstance(values["bandwidth"], list):
        (values["bandwidth"],) = values["bandwidth"]
    return values


def inputs_of(choice: Choice) -> str:
    return FACTORS["input"][choice["input"]].inputs


def most_rows(choice: Choice) -> float:
    """The most rows that a choice can take."""
    return min((level.most_rows for level in levels_of(choice) if level.most_rows is not None), default=math.inf)
