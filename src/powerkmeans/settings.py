"""Hyper-parameters, checked once: every message names the parameter, what it must be, and what it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from powerkmeans.features.exact import PRECOMPUTED
from powerkmeans.features.kernels import KERNELS

FEATURE_MAPS = ("rff", "orf", "nystroem", "identity", "exact")
INITS = ("auto", "cloud", "k-means++", "k-means", "random")


@dataclass(frozen=True)
class ViewSettings:
    """What each view has of its own."""

    feature_map: str
    kernel: str
    bandwidth: str | float
    n_components: str | int


@dataclass(frozen=True)
class Settings:
    """Checked hyper-parameters of one fit; the estimators' docstrings say what each does.

    The fields of ``ViewSettings`` hold one value for all views, or a list or dict of one value a view.
    """

    n_clusters: int
    feature_map: Any
    kernel: Any
    bandwidth: Any
    n_components: Any
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
    entropy: str | float = "auto"
    view_scaling: str | None = None
    view_baseline: str | None = None

    def of_views(self, names: tuple[str, ...]) -> tuple[ViewSettings, ...]:
        """The settings of each view, in the order of ``names``."""
        columns = {f.name: _spread(f.name, getattr(self, f.name), names) for f in fields(ViewSettings)}
        own = tuple(ViewSettings(**{k: column[i] for k, column in columns.items()}) for i in range(len(names)))
        for name, mine in zip(names, own, strict=True):
            if mine.kernel == PRECOMPUTED and mine.feature_map != "exact":
                which = "" if len(names) == 1 else f"view {name!r}: "
                raise ValueError(
                    f"{which}kernel='precomputed' is a matrix of kernel values, which only feature_map='exact' "
                    f"takes; got feature_map={mine.feature_map!r}."
                )
        return own


def check_settings(parameters: Mapping[str, Any], *, several_views: bool = False) -> Settings:
    """Check an estimator's parameters and return them as settings."""
    per_view = {f.name for f in fields(ViewSettings)} if several_views else set()
    checked = {}
    for field in fields(Settings):
        if field.name in parameters:
            check = _CHECKS[field.name]
            check = _one_or_one_a_view(check) if field.name in per_view else check
            checked[field.name] = check(field.name, parameters[field.name])
    return Settings(**checked)


def _one_or_one_a_view(check: Check) -> Check:
    def checked(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(view): check(f"{name}[{view!r}]", one) for view, one in value.items()}
        if isinstance(value, (list, tuple, np.ndarray)):
            return [check(f"{name}[{i}]", _unpacked(one)) for i, one in enumerate(value)]
        return check(name, value)

    return checked


def _unpacked(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _spread(name: str, value: Any, views: tuple[str, ...]) -> list[Any]:
    """One value a view. A dict may leave views out, which then take the default."""
    if isinstance(value, dict):
        unknown = [view for view in value if view not in views]
        if unknown:
            raise ValueError(f"{name} names the view {unknown[0]!r}; the views are {_listed(views)}.")
        return [value.get(view, _DEFAULTS[name]) for view in views]
    if isinstance(value, list):
        if len(value) != len(views):
            raise ValueError(
                f"{name} has {len(value)} {'entry' if len(value) == 1 else 'entries'}, expected {len(views)}, one "
                f"for each of the views {_listed(views)}."
            )
        return value
    return [value] * len(views)


Check = Callable[[str, Any], Any]


def _fail(name: str, expected: str, value: Any) -> ValueError:
    return ValueError(f"The {name!r} parameter must be {expected}. Got {value!r} instead.")


def _integer(smallest: int) -> Check:
    def check(name: str, value: Any) -> int:
        if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or value < smallest:
            raise _fail(name, f"an int in the range [{smallest}, inf)", value)
        return int(value)

    return check


def _real(allowed: Callable[[float], bool], expected: str) -> Check:
    def check(name: str, value: Any) -> float:
        number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        if not number or math.isnan(value) or not allowed(float(value)):
            raise _fail(name, expected, value)
        return float(value)

    return check


def _word(*words: str) -> Check:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise _fail(name, f"one of {_listed(words)}", value)
        return value

    return check


def _word_or(words: tuple[str, ...], otherwise: Check, expected: str) -> Check:
    def check(name: str, value: Any) -> Any:
        if isinstance(value, str) and value in words:
            return value
        try:
            return otherwise(name, value)
        except ValueError:
            raise _fail(name, f"{_listed(words)} or {expected}", value) from None

    return check


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(repr(word) for word in words)


def _s_init(name: str, value: Any) -> str | float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and value > 0:
        raise ValueError(
            f"s_init={value!r} must be negative: the power mean approaches the minimum as s falls to -inf. "
            f"Papers list |s|; pass s_init={-value!r}."
        )
    result: str | float = _NEGATIVE_OR_AUTO(name, value)
    return result


def _word_or_none(word: str) -> Check:
    def check(name: str, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value == word):
            return value
        raise _fail(name, f"{word!r} or None", value)

    return check


def _init(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _word(*INITS)(name, value)
    if callable(value) or value is None:
        raise _fail(name, f"one of {_listed(INITS)} or an array of centroids", value)
    return value


_POSITIVE = _real(lambda x: 0 < x < math.inf, "a finite number > 0")
_NEGATIVE_OR_AUTO = _word_or(
    ("auto",), _real(lambda s: s < 0, "a negative number"), "a negative number (-inf is k-means)"
)

_DEFAULTS = {"feature_map": "nystroem", "kernel": "rbf", "bandwidth": "median", "n_components": "auto"}

_CHECKS: dict[str, Check] = {
    "n_clusters": _integer(1),
    "feature_map": _word(*FEATURE_MAPS),
    "kernel": _word(*KERNELS, PRECOMPUTED),
    "bandwidth": _word_or(("median", "scale"), _POSITIVE, "a finite number > 0"),
    "n_components": _word_or(("auto",), _integer(1), "an int >= 1"),
    "membership": _word("fuzzy", "possibilistic"),
    "fuzziness": _real(lambda m: 1 < m < math.inf, "a finite number > 1"),
    "reference_distance": _word_or(("global", "median", "within"), _POSITIVE, "a finite number > 0"),
    "s_init": _s_init,
    "anneal_factor": _real(lambda x: 1 <= x < math.inf, "a finite number >= 1"),
    "anneal_every": _word_or(("auto",), _integer(1), "an int >= 1"),
    "init": _init,
    "n_init": _word_or(("auto",), _integer(1), "an int >= 1"),
    "max_iter": _integer(1),
    "tol": _real(lambda x: 0 <= x < math.inf, "a finite number >= 0"),
    "entropy": _word_or(("auto",), _real(lambda x: x > 0, "a number > 0"), "a number > 0 (inf: even weights)"),
    "view_scaling": _word_or_none("scatter"),
    "view_baseline": _word_or_none("gaussian"),
    "engine": lambda name, value: value,
    "verbose": lambda name, value: _integer(0)(name, int(value) if isinstance(value, bool) else value),
}
