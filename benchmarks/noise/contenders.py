"""Who takes part: our methods, those of ``benchmarks.methods``, and detectors that only score samples.

A contender gets views, number of clusters and seed, and answers with labels, outlier scores or both. Fuzzy
memberships have no outlier score, and neither has k-means; both get the distance to the nearest centroid, so that
it shows what the possibilistic membership adds to that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.methods import METHODS, Method, Views, find
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

OURS, CLUSTERING, DETECTOR = "ours", "clustering", "detector"
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
SHOWN = (0.2, 0.5)  # the shares of the tables, which every contender is run at


class Outcome(NamedTuple):
    """What a contender says; the larger a score, the more of an outlier. The seconds are by its own clock."""

    labels: np.ndarray | None = None
    scores: np.ndarray | None = None
    view_weights: list[float] | None = None
    seconds: float | None = None
    note: str = ""


Run = Callable[[Views, int, int], Outcome]


@dataclass(frozen=True)
class Contender:
    """One way to cluster or to score.

    ``shares`` and ``seeds`` are fewer where a fit is slow; ``least_views`` is what it needs to be itself; ``sets``
    are the only ones it is run on, if given. ``method`` knows whether it is installed, ``scores`` whether it tells
    outliers.
    """

    run: Run
    method: Method
    group: str = CLUSTERING
    seeds: int = 5
    shares: tuple[float, ...] = SHARES
    least_views: int = 1
    sets: tuple[str, ...] | None = None

    scores: bool = False

    @property
    def labels(self) -> bool:
        """Whether it clusters."""
        return self.group != DETECTOR


def side_by_side(views: Views) -> np.ndarray:
    return views[0] if len(views) == 1 else np.hstack(views)


def ours(membership: str, **parameters: Any) -> Run:
    """Our estimator for one view or for several: landmarks, and defaults for whatever is not given."""

    def run(views: Views, k: int, seed: int) -> Outcome:
        estimator = KernelPowerKMeans if len(views) == 1 else MultiViewPowerKMeans
        X = views[0] if len(views) == 1 else views
        chosen = {"feature_map": "nystroem", "membership": membership} | parameters
        model = estimator(k, random_state=seed, **chosen).fit(X)
        fuzzy = membership == "fuzzy"
        scores = model.transform(X).min(axis=1) if fuzzy else model.outlier_score(X)
        return Outcome(model.labels_, scores, [round(float(weight), 4) for weight in model.view_weights_])

    return run


def kmeans_10(views: Views, k: int, seed: int) -> Outcome:
    """KMeans(10) with the distance to the nearest centroid as score."""
    X = side_by_side(views)
    model = KMeans(k, n_init=10, random_state=seed).fit(X)
    return Outcome(model.labels_, model.transform(X).min(axis=1))


def of_method(method: Method, **more: Any) -> Contender:
    """A method of ``benchmarks.methods``, with its columns side by side unless it takes several views."""

    def run(views: Views, k: int, seed: int) -> Outcome:
        answer = method.run(list(views) if method.several else [side_by_side(views)], k, seed)
        return Outcome(np.asarray(answer.labels), seconds=answer.seconds, note=answer.note)

    return Contender(run, method, least_views=2 if method.several else 1, **more)


def _nothing(*_: Any) -> Any:
    """In place of a method's own run, where the contender has one."""
    raise TypeError("run the contender, not its method")


def detector(score: Callable[[np.ndarray, int], np.ndarray], **needs: Any) -> Contender:
    """A detector: all columns side by side and a seed in, scores out."""

    def run(views: Views, k: int, seed: int) -> Outcome:
        return Outcome(scores=score(side_by_side(views), seed))

    return Contender(run, Method(_nothing, **needs), DETECTOR, scores=True)


def isolation_forest(X: np.ndarray, seed: int) -> np.ndarray:
    return -np.asarray(IsolationForest(random_state=seed).fit(X).score_samples(X))


def local_outlier_factor(X: np.ndarray, seed: int) -> np.ndarray:
    return -np.asarray(LocalOutlierFactor().fit(X).negative_outlier_factor_)


def glosh(X: np.ndarray, seed: int) -> np.ndarray:
    """GLOSH of the package hdbscan, with its defaults but one process; scikit-learn's HDBSCAN has no scores."""
    model = importlib.import_module("hdbscan").HDBSCAN(core_dist_n_jobs=1).fit(X)
    return np.asarray(model.outlier_scores_)


def _known(name: str, **more: Any) -> Contender:
    kind = "single" if name in METHODS["single"] else "multi"
    return of_method(find(kind, name), **more)


def _own(run: Run) -> Contender:
    return Contender(run, Method(_nothing, module="powerkmeans", install="powerkmeans"), OURS, scores=True)


# A library is a process of its own, which takes up to three seconds to start: fewer seeds.
# The two of imml and mvlearn's are the slowest: fewer shares too, and mvlearn's on the smallest set of two views.
_SLOW: dict[str, Any] = {"seeds": 2, "shares": (0.1, *SHOWN)}
CONTENDERS: dict[str, Contender] = {
    "ours, auto": _own(ours("auto", feature_map="auto")),
    "ours, possibilistic": _own(ours("possibilistic", feature_map="nystroem")),
    "ours, possibilistic, median": _own(
        ours("possibilistic", feature_map="nystroem", reference_distance="median")
    ),
    "ours, fuzzy": _own(ours("fuzzy", feature_map="nystroem")),
    "KMeans(1)": _known("KMeans(1)"),
    "KMeans(10)": Contender(kmeans_10, METHODS["single"]["KMeans(10)"], scores=True),
    "MiniBatchKMeans": _known("MiniBatchKMeans"),
    "KMeans(10), Nystroem": _known("KMeans(10), Nystroem"),
    "SpectralClustering": _known("SpectralClustering"),
    "scikit-fuzzy": _known("scikit-fuzzy", seeds=2),
    "soft-clustering": _known("soft-clustering", seeds=2),
    "SimpleMKKM": _known("SimpleMKKM", seeds=3),
    "SVD-SMKKM": _known("SVD-SMKKM"),
    "imml EEIMVC": _known("imml EEIMVC", **_SLOW),
    "imml LFIMVC": _known("imml LFIMVC", **_SLOW),
    "mvlearn spectral": _known("mvlearn spectral", seeds=1, shares=SHOWN, sets=("HW2",)),
    "IsolationForest": detector(isolation_forest),
    "LocalOutlierFactor": detector(local_outlier_factor),
    "GLOSH": detector(glosh, module="hdbscan", install="hdbscan"),
}
DISTANCES = ("ours, fuzzy", "KMeans(10)")  # whose score is the distance to the nearest centroid
EXPLAINED = {
    "scikit-fuzzy": "fuzzy c-means, m = 1.1",
    "soft-clustering": "possibilistic c-means",
}


def contender(name: str) -> Contender:
    """One of the study, or a :class:`benchmarks.methods.Method` of one's own as ``module:name``."""
    return CONTENDERS[name] if name in CONTENDERS else of_method(find("multi", name))
