"""What became of one call: taken, refused in words that name the parameter, or missed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.fuzz.entries import Entry
from benchmarks.fuzz.kinds import Kind
from benchmarks.fuzz.pool import OwnError

TAKEN, REFUSED, LONG = "taken", "refused", "not tried, right but long"
# methods whose answers may be NaN by their documentation
_OPEN = ("cluster_means",)
# attributes that must be finite after a fit
_FINITE = ("labels_", "objective_", "inertia_", "cluster_centers_", "view_weights_")


def outcome(entry: Entry, parameter: str, value: Any) -> str:
    """``taken``, ``refused`` or not tried, or else what is wrong."""
    kind = entry.kind(parameter)
    if kind.long(value):
        return LONG
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = entry.call(parameter, value)
    except BaseException as error:  # whatever it is, it is a line of the result
        return _refusal(kind, parameter, value, error)
    if kind.forbidden(value):
        return "taken in silence"
    return TAKEN if entry.name.endswith(_OPEN) or all_finite(result) else "not finite"


def _refusal(kind: Kind, parameter: str, value: Any, error: BaseException) -> str:
    """``refused`` if the error is one that users can go by, or else what is wrong with it."""
    if isinstance(error, (ValueError, TypeError)):
        named = not kind.named or parameter in str(error) or (kind.file and not kind.forbidden(value))
        return REFUSED if named else f"does not name {parameter}: {type(error).__name__}: {_line(error)}"
    of_files = kind.file and isinstance(error, (OSError, ImportError))
    # scikit-learn shows what data hold, and some values cannot be shown
    of_data = not kind.named and isinstance(error, OwnError)
    return REFUSED if of_files or of_data else f"{type(error).__name__}: {_line(error)}"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]


def all_finite(result: Any) -> bool:
    """Whether what is left of a call holds no NaN or infinity where there must be none."""
    if isinstance(result, (list, tuple)):
        return all(map(all_finite, result))
    if isinstance(result, (float, np.ndarray)) and getattr(result, "dtype", np.dtype(float)).kind == "f":
        return bool(np.all(np.isfinite(result)))
    return all(all_finite(getattr(result, name)) for name in _FINITE if hasattr(result, name))
