"""How the fit went, in words and small tables."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn

from powerkmeans.models.explain import ViewTable
from powerkmeans.report.markup import count, counted, number, percent, plain_text
from powerkmeans.report.samples import Samples
from powerkmeans.types import Status

# by how much better than a guess a view alone must find the clusters to be called telling, or telling in part
TELLING, IN_PART = 0.75, 0.3
LONGEST_VALUE = 90

VERDICTS = {
    "telling": "tells the clusters apart",
    "part": "tells some clusters apart",
    "little": "says little about the clusters",
    "constant": "constant, not used",
    "": "",
}


class Parameter(NamedTuple):
    """A parameter as it was given, its default, and what an automatic choice became."""

    name: str
    value: str
    default: str
    became: str

    @property
    def given(self) -> bool:
        return self.value != self.default


def verdict(table: ViewTable, view: int, largest: float) -> str:
    """How well one view alone finds the clusters, beyond guessing the largest, whose share is given.

    A key of ``VERDICTS``; empty where there is nothing to tell apart.
    """
    agreement = float(table["agreement"][view])
    if np.isnan(agreement):
        return "constant"
    if largest >= 1:
        return ""
    beyond = (agreement - largest) / (1 - largest)
    return "telling" if beyond >= TELLING else "part" if beyond >= IN_PART else "little"


def verdicts(table: ViewTable, samples: Samples) -> list[str]:
    """One for each view."""
    largest = float(np.max(samples.sizes)) / len(samples)
    return [verdict(table, view, largest) for view in range(len(table["view"]))]


def warnings_of(estimator: Any, n_samples: int) -> list[str]:
    """What a reader must know before trusting the page; nothing if the fit went well."""
    result = estimator._fit
    found = [*result.shortfalls, *result.advice]
    if result.restarts[result.best].status is Status.INTERRUPTED:
        found.append("The fit was stopped by a callback before it had finished.")
    n_learnt = estimator.n_samples_seen_
    if n_learnt != n_samples:
        found.append(
            f"The model has learnt from {counted(n_learnt, 'sample')}; this page is about {count(n_samples)}."
        )
    return found


def summary(samples: Samples, table: ViewTable) -> str:
    """What was found, in one sentence."""
    names = [plain_text(name) for name in table["view"]]
    several = f" in {len(names)} views" if len(names) > 1 else ""
    verb = "falls" if len(samples) == 1 else "fall"
    parts = [f"{counted(len(samples), 'sample')}{several} {verb} into {_clusters(samples)}"]
    if len(names) > 1:
        best = int(np.argmax(table["weight"]))
        weight = percent(float(table["weight"][best]))
        parts.append(f"the view \u201c{names[best]}\u201d mattered most ({weight} of the weight)")
        found = verdicts(table, samples)
        weak = [name for name, word in zip(names, found, strict=True) if word in ("little", "constant")]
        parts += [_weak(weak, len(names))] if weak else []
    if samples.fence is not None:
        parts.append(_outliers(int(np.sum(samples.outlier)), len(samples)))
    first, rest = parts[0], parts[1:]
    listed = rest[0] if len(rest) == 1 else f"{', '.join(rest[:-1])}, and {rest[-1]}" if rest else ""
    return f"{first}; {listed}." if listed else f"{first}."


def _clusters(samples: Samples) -> str:
    sizes = samples.sizes[samples.sizes > 0]
    if len(sizes) == 1:
        return "one cluster"
    smallest, largest = int(np.min(sizes)), int(np.max(sizes))
    range_ = f"{count(smallest)} each" if smallest == largest else f"{count(smallest)} to {count(largest)}"
    return f"{count(len(sizes))} clusters of {range_}"


def _weak(names: list[str], n_views: int) -> str:
    if len(names) == n_views:
        return "no view by itself tells the clusters apart"
    if len(names) <= 2:
        which = " and ".join(f"\u201c{name}\u201d" for name in names)
        return f"{which} {'say' if len(names) == 2 else 'says'} little about the clusters"
    return f"{len(names)} of the views say little about the clusters"


def _outliers(found: int, of: int) -> str:
    if found == 0:
        return "no sample stands out as an outlier"
    share = percent(found / of)
    return (
        "1 sample stands out as an outlier"
        if found == 1
        else f"{count(found)} samples ({share}) stand out as outliers"
    )


def parameters_of(estimator: Any) -> list[Parameter]:
    """All parameters: as given, by default, and what automatic choices became."""
    defaults = {name: p.default for name, p in inspect.signature(type(estimator)).parameters.items()}
    result = []
    for name, value in estimator.get_params(deep=False).items():
        chosen = _became(estimator, name) if isinstance(value, str) else ""
        chosen = "" if chosen == value else chosen  # a word that stands for itself
        result.append(Parameter(name, shown(value), shown(defaults[name]), chosen))
    return sorted(result, key=lambda parameter: not parameter.given)


def _became(estimator: Any, name: str) -> str:
    """What a word stood for in this fit."""
    attribute = {"bandwidth", "n_components", "reference_distance", "entropy", "s_init"}
    if name == "n_init":
        return str(len(estimator.restarts_))
    if name == "membership":
        return str(estimator._fit.model.problem.membership.name)
    if name == "feature_map":
        return ", ".join(dict.fromkeys(str(one) for one in np.ravel(estimator.feature_map_) if one))
    if name == "init":
        return ", ".join(dict.fromkeys(restart["init"] for restart in estimator.restarts_))
    if estimator._fit.model.fuses:
        attribute -= {"entropy"}  # of which a graph knows nothing
    value = getattr(estimator, f"{name}_", None) if name in attribute else None
    return (
        ""
        if value is None or np.all(np.isnan(value))
        else ", ".join(number(float(item)) for item in np.ravel(value)[:8])
        + (", \u2026" if np.size(value) > 8 else "")
    )


def shown(value: Any) -> str:
    """A parameter's value in a few words, the same for the same value."""
    text = _plain(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "\u2026"


def _plain(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return str(value)
    if isinstance(value, float):
        return number(value, 6)
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {tuple(int(size) for size in value.shape)}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_plain(key)}: {_plain(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    text = repr(value)
    return type(value).__name__ if " at 0x" in text or "RandomState" in text else text  # an address says nothing


def versions() -> dict[str, str]:
    """What the page was made with."""
    return {
        "powerkmeans": str(import_module("powerkmeans").__version__),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
