"""The systems of the paper as settings of our two estimators.

Without a setting a method keeps only what defines it (feature map, membership) and takes our defaults for the
rest; with an ``s_init`` it takes the paper's form: annealing from there after a k-means start, and several views
compared by their losses as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.methods.interface import Answer, Method, Run, Views, square
from benchmarks.methods.noise_edge import above_noise_edge
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

STARTS = (-5.0, -10.0, -15.0, -20.0, -25.0)
ENTROPIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
LANDMARKS = 432
_OURS: dict[str, Any] = {"module": "powerkmeans", "install": "powerkmeans"}
_PAPER_VIEWS = {
    "view_scaling": None,
    "view_baseline": None,
    "bandwidth": "median",
    "reference_distance": "global",
    "anneal_every": 2,
}


def one_view(paper: dict[str, Any] | None = None, **defining: Any) -> Run:
    """``KernelPowerKMeans`` with what defines a method; ``paper`` is added when a setting has ``s_init``."""

    def run(views: Views, k: int, seed: int, **setting: Any) -> Answer:
        (X,) = views
        form = (paper or {}) if "s_init" in setting else {}
        model = KernelPowerKMeans(k, random_state=seed, **(defining | form | setting)).fit(X)
        n_iter = sum(restart["n_iter"] for restart in model.restarts_)
        return Answer(model.labels_, n_iter, predict=lambda others: model.predict(*others))

    return run


def fitted(views: Views, k: int, seed: int, **parameters: Any) -> MultiViewPowerKMeans:
    """A fitted ``MultiViewPowerKMeans``, in the paper's form if ``s_init`` is given."""
    form = _PAPER_VIEWS if "s_init" in parameters else {}
    return MultiViewPowerKMeans(k, random_state=seed, **(form | parameters)).fit(views)


def any_views(views: Views, k: int, seed: int, **parameters: Any) -> KernelPowerKMeans | MultiViewPowerKMeans:
    """The fitted estimator of one view, or that of several."""
    if len(views) == 1:
        return KernelPowerKMeans(k, random_state=seed, **parameters).fit(views[0])
    return MultiViewPowerKMeans(k, random_state=seed, **parameters).fit(views)


def many_views(**defining: Any) -> Run:
    """``MultiViewPowerKMeans`` with what defines a method, in the paper's form when a setting has ``s_init``."""

    def run(views: Views, k: int, seed: int, **setting: Any) -> Answer:
        model = fitted(views, k, seed, **(defining | setting))
        weights = " ".join(f"{weight:.3f}" for weight in model.view_weights_)
        n_iter = sum(restart["n_iter"] for restart in model.restarts_)
        return Answer(model.labels_, n_iter, note=f"view weights {weights}", predict=model.predict)

    return run


def of_components(run: Run) -> Run:
    """A method that gets, of each view, the principal components above the noise edge."""

    def projected(views: Views, k: int, seed: int, **setting: Any) -> Answer:
        return run([above_noise_edge(view, k) for view in views], k, seed, **setting)

    return projected


def _single(run: Run, **more: Any) -> Method:
    return Method(run, **_OURS, **more)


def _several(run: Run, **more: Any) -> Method:
    return Method(run, several=True, **_OURS, **more)


_ONE_GRID = {"s_init": STARTS}
_MANY_GRID = {"s_init": STARTS, "entropy": ENTROPIES}

# Feature maps by name, with all else as the library has it; each says its map, so that no change of a default
# moves its rows.
LANDMARK_MAP, GRAPH_MAP, EDGE_MAP, AUTO_MAP = MAP_CONTENDERS = (
    "ours, landmarks",
    "ours, graph",
    "ours, graph above the noise edge",
    "ours, auto",
)


def _by_map(method: Callable[[Run], Method], run: Callable[..., Run]) -> dict[str, Method]:
    """The same estimator with each of the feature maps."""
    graph = run(feature_map="graph")
    runs = (run(feature_map="nystroem"), graph, of_components(graph), run(feature_map="auto"))
    return {name: method(one) for name, one in zip(MAP_CONTENDERS, runs, strict=True)}


DEFAULTS = _single(one_view(feature_map="nystroem"))  # those of 0.1.0, which the rows on file are of
SINGLE_VIEW: dict[str, Method] = _by_map(_single, one_view) | {
    "ours, nystroem 432": _single(one_view(feature_map="nystroem", n_components=LANDMARKS)),
    "kernel k-means": _single(one_view(feature_map="exact", s_init=-np.inf, n_init=10), bytes_needed=square()),
    "power k-means": _single(one_view(feature_map="identity"), grid=_ONE_GRID),
    "KPKM": _single(one_view(feature_map="exact"), grid=_ONE_GRID, bytes_needed=square()),
    "RFF-KPKM": _single(one_view({"anneal_every": 3}, feature_map="rff"), grid=_ONE_GRID),
}
MULTI_VIEW: dict[str, Method] = _by_map(_several, many_views) | {
    "MKPKM": _several(many_views(feature_map="exact", membership="fuzzy"), grid=_MANY_GRID, bytes_needed=square()),
    "RFF-MKPKM": _several(many_views(feature_map="rff", membership="fuzzy"), grid=_MANY_GRID),
    "IP-RFF-MKPKM": _several(many_views(feature_map="rff", membership="possibilistic"), grid=_MANY_GRID),
}
