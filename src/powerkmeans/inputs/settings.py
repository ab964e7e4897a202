"""Hyper-parameters, checked once: every message names the parameter, what it must be, and what it was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from powerkmeans.compute.options import checked_engine
from powerkmeans.features.graph.neighbours import FEW_NEIGHBORS
from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.inputs.metric import COSINE, METRICS
from powerkmeans.inputs.tensors import numbers_here
from powerkmeans.objective.membership import MEMBERSHIPS
from powerkmeans.support.values import (
    POSITIVE,
    Check,
    flag,
    integer,
    is_number,
    listed,
    random_state,
    real,
    shown,
    word,
    word_or,
    word_or_none,
    wrong,
)

# leaves the choice of a feature map, or of a membership, to the fit
AUTO = "auto"
INITS = ("auto", "cloud", "k-means++", "k-means", "random")
# more runs than anyone waits for; they are planned before the first begins
MOST_RUNS = 10**5
# a run looks back on as many iterations as there are at an exponent
MOST_STEPS = 2**31 - 1


@dataclass(frozen=True)
class ViewSettings:
    """What each view has of its own."""

    feature_map: str
    kernel: str
    metric: str
    bandwidth: str | float
    n_components: str | int

    @property
    def given(self) -> bool:
        """Whether the view is a matrix of kernel values."""
        return self.kernel == PRECOMPUTED


@dataclass(frozen=True)
class Settings:
    """Checked hyper-parameters of one fit; the estimators' docstrings say what each does.

    The fields of ``ViewSettings`` hold one value for all views, or a list or dict of one value per view.
    """

    n_clusters: int
    feature_map: Any
    kernel: Any
    metric: Any
    bandwidth: Any
    n_components: Any
    n_neighbors: str | int
    membership: str
    fuzziness: float
    reference_distance: str | float
    s_init: str | float
    anneal_factor: float
    anneal_every: int | str
    init: Any
    n_init: str | int
    max_iter: int
    tol: float
    engine: Any
    verbose: int
    advice: bool = True
    rows_per_landmark: int = 1
    entropy: str | float = "auto"
    view_scaling: str | None = None
    view_baseline: str | None = None
    several: bool = False

    def of_views(self, names: tuple[str, ...]) -> tuple[ViewSettings, ...]:
        """The settings of each view, in the order of ``names``."""
        columns = {f.name: _spread(f.name, getattr(self, f.name), names) for f in fields(ViewSettings)}
        views = tuple(ViewSettings(**{k: column[i] for k, column in columns.items()}) for i in range(len(names)))
        views = self._without_choice(views)
        for name, one in zip(names, views, strict=True):
            which = "" if len(names) == 1 else f"view {name!r}: "
            _check_kernel(which, one)
            _check_metric(which, one)
        if any(MAPS[one.feature_map].fuses for one in views):
            self._check_fused(views)
        if self.rows_per_landmark > 1:
            self._check_landmarks(views)
        return views

    def _without_choice(self, views: tuple[ViewSettings, ...]) -> tuple[ViewSettings, ...]:
        """``"auto"`` where a setting makes no sense but for maps of single views stands for one of these."""
        open_to_all = not self._of_single_views(views) and not self._too_few(views)
        if open_to_all and all(one.feature_map == AUTO for one in views):
            return views
        return tuple(replace(one, feature_map=_of_kernel(one)) for one in views)

    def _of_single_views(self, views: tuple[ViewSettings, ...]) -> str | None:
        """A setting that has no meaning where one map takes all views together, as it was given."""
        first = views[0]
        given = {
            "kernel": (first.kernel, "rbf"),
            "bandwidth": (first.bandwidth, "median"),
            "entropy": (self.entropy, "auto"),
            "view_scaling": (self.view_scaling, "scatter" if self.several else None),
            "view_baseline": (self.view_baseline, "gaussian" if self.several else None),
        }
        for other in views:
            given |= {
                name: (getattr(other, name), getattr(first, name))
                for name in ("kernel", "bandwidth", "n_components")
                if getattr(other, name) != getattr(first, name)
            }
        return next((f"{name}={value!r}" for name, (value, usual) in given.items() if value != usual), None)

    def _check_landmarks(self, views: tuple[ViewSettings, ...]) -> None:
        """Reject averages of rows where there are no landmarks, or all rows are kept besides."""
        given, kinds = f"rows_per_landmark={self.rows_per_landmark}", [MAPS[one.feature_map] for one in views]
        if any(kind.dual for kind in kinds):
            raise ValueError(
                f"{given} averages landmarks, but feature_map='exact' keeps all training rows in the model. Use "
                "feature_map='nystroem' or 'graph', or leave rows_per_landmark at 1."
            )
        if not any(kind.has_landmarks for kind in kinds):
            raise ValueError(
                f"{given} has no meaning with feature_map={views[0].feature_map!r}, which has no landmarks. Leave "
                "it at 1, or use feature_map='nystroem' or 'graph'."
            )

    def _too_few(self, views: tuple[ViewSettings, ...]) -> bool:
        """Whether there are no more landmarks than a row of a graph has neighbours."""
        size, count = views[0].n_components, self.n_neighbors
        return not isinstance(size, str) and size <= (FEW_NEIGHBORS if isinstance(count, str) else count)

    def _check_fused(self, views: tuple[ViewSettings, ...]) -> None:
        """Reject what says nothing where one map takes all views together."""
        name = next(one.feature_map for one in views if MAPS[one.feature_map].fuses)
        if any(one.feature_map != name for one in views):
            raise ValueError(
                f"feature_map={name!r} makes one map of all views; give it for all of them, or for none."
            )
        given = self._of_single_views(views)
        if given is not None:
            raise ValueError(
                f"{given} has no meaning with feature_map={name!r}, which has neither kernels nor features of "
                "single views. Leave it at its default, or use feature_map='nystroem'."
            )
        size = views[0].n_components
        if not isinstance(self.n_neighbors, str) and self._too_few(views):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be less than the number of landmarks, n_components={size}."
            )


def _of_kernel(chosen: ViewSettings) -> str:
    if chosen.feature_map != AUTO:
        return chosen.feature_map
    return "exact" if chosen.given else "nystroem"


def _check_kernel(which: str, chosen: ViewSettings) -> None:
    """Reject a kernel that the map of the view does not take."""
    if MAPS[chosen.feature_map].fuses or chosen.kernel in MAPS[chosen.feature_map].kernels():
        return
    what = " is a matrix of kernel values, which" if chosen.given else " is one that"
    taking = " or ".join(f"feature_map={name!r}" for name, kind in MAPS.items() if chosen.kernel in kind.kernels())
    raise ValueError(
        f"{which}kernel={chosen.kernel!r}{what} only {taking} takes; got feature_map={chosen.feature_map!r}."
    )


def _check_metric(which: str, chosen: ViewSettings) -> None:
    """Reject directions of rows where there are none, but a matrix of kernel values."""
    if chosen.given and chosen.metric == COSINE:
        raise ValueError(
            f"{which}metric='cosine' scales rows, but kernel='precomputed' has none: normalise the matrix "
            "instead, K[i, j] / sqrt(K[i, i] * K[j, j]), and use metric='euclidean'."
        )


def check_settings(parameters: Mapping[str, Any], *, several_views: bool = False) -> Settings:
    """Check an estimator's parameters and return them as settings."""
    per_view = {f.name for f in fields(ViewSettings)} if several_views else set()
    checked = {}
    for name in [name for name in _CHECKS if name in parameters]:
        check = _one_or_one_per_view(_CHECKS[name]) if name in per_view else _CHECKS[name]
        checked[name] = check(name, parameters[name])
    checked.pop("random_state", None)  # what it seeds is drawn when a fit begins
    return Settings(**checked, several=several_views and "view_scaling" in checked)


def _one_or_one_per_view(check: Check) -> Check:
    def checked(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {_view(name, view): check(f"{name}[{view!r}]", one) for view, one in value.items()}
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
            return [check(f"{name}[{i}]", _unpacked(one)) for i, one in enumerate(value)]
        return check(name, value)

    return checked


def _view(name: str, view: Any) -> str:
    if not isinstance(view, str):
        raise TypeError(f"{name} must be by the names of views, which are strings. Got {shown(view)} instead.")
    return str.__str__(view)


def _unpacked(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.timedelta64) else value


def _spread(name: str, value: Any, views: tuple[str, ...]) -> list[Any]:
    """One value per view. A dict may leave views out, which then take the default."""
    if isinstance(value, dict):
        unknown = [view for view in value if view not in views]
        if unknown:
            raise ValueError(f"{name} names the view {unknown[0]!r}; the views are {listed(views)}.")
        return [value.get(view, _DEFAULTS[name]) for view in views]
    if isinstance(value, list):
        if len(value) != len(views):
            raise ValueError(
                f"{name} has {len(value)} {'entry' if len(value) == 1 else 'entries'}, expected {len(views)}, one "
                f"for each of the views {listed(views)}."
            )
        return value
    return [value] * len(views)


def _s_init(name: str, value: Any) -> str | float:
    if is_number(value) and value > 0:
        raise ValueError(
            f"s_init={shown(value)} must be negative: the power mean approaches the minimum as s falls to -inf. "
            f"Papers list |s|; pass s_init={shown(-value)}."
        )
    result: str | float = _NEGATIVE_OR_AUTO(name, value)
    return result


def _membership(name: str, value: Any) -> Any:
    return word(AUTO, *MEMBERSHIPS)(name, value)  # those that are registered when it is asked


def _kernel(name: str, value: Any) -> Any:
    return word(*KERNELS, PRECOMPUTED)(name, value)


def _feature_map(name: str, value: Any) -> Any:
    return word(*MAPS)(name, value)


def _has_rows(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) > 0 and shape[0] > 0
    return isinstance(value, (list, tuple, Mapping)) and len(value) > 0


def _init(name: str, value: Any) -> Any:
    """A word, or tables of centroids, which are looked at beside the data."""
    if isinstance(value, str):
        return word(*INITS)(name, value)
    if not _has_rows(value):
        raise wrong(name, f"one of {listed(INITS)} or an array of centroids", value)
    return numbers_here(value, name)


def _verbose(name: str, value: Any) -> int:
    return int(value) if isinstance(value, bool) else integer(0)(name, value)


_NEGATIVE_OR_AUTO = word_or(
    ("auto",), real(lambda s: s < 0, "a negative number"), "a negative number (-inf is k-means)"
)
_AUTO_OR_COUNT = word_or(("auto",), integer(1), "an int >= 1")

_DEFAULTS = {
    "feature_map": AUTO,
    "kernel": "rbf",
    "metric": "euclidean",
    "bandwidth": "median",
    "n_components": "auto",
}

_CHECKS: dict[str, Check] = {
    "n_clusters": integer(1),
    "feature_map": _feature_map,
    "kernel": _kernel,
    "metric": word(*METRICS),
    "bandwidth": word_or(("median", "scale"), POSITIVE, "a finite number > 0"),
    "n_components": _AUTO_OR_COUNT,
    "n_neighbors": _AUTO_OR_COUNT,
    "rows_per_landmark": integer(1),
    "membership": _membership,
    "fuzziness": real(lambda m: 1 < m < math.inf, "a finite number > 1"),
    "reference_distance": word_or(("global", "median", "within"), POSITIVE, "a finite number > 0"),
    "s_init": _s_init,
    "anneal_factor": real(lambda x: 1 <= x < math.inf, "a finite number >= 1"),
    "anneal_every": word_or(("auto",), integer(1, MOST_STEPS), "an int >= 1"),
    "init": _init,
    "n_init": word_or(("auto",), integer(1, MOST_RUNS), f"an int in the range [1, {MOST_RUNS}]"),
    "max_iter": integer(1),
    "tol": real(lambda x: 0 <= x < math.inf, "a finite number >= 0"),
    "entropy": word_or(("auto",), real(lambda x: x > 0, "a number > 0"), "a number > 0 (inf: even weights)"),
    "view_scaling": word_or_none("scatter"),
    "view_baseline": word_or_none("gaussian"),
    "engine": lambda name, value: checked_engine(value),
    "random_state": random_state,
    "verbose": _verbose,
    "advice": flag,
}
