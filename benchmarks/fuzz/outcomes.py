"""What became of one call: taken, refused in words that name the parameter, or missed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.fuzz.entries import Entry
from benchmarks.fuzz.pool import OwnError

TAKEN, REFUSED, LONG = "taken", "refused", "not tried, right but long"
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
    except (ValueError, TypeError) as error:
        named = not kind.named or parameter in str(error) or (kind.file and not kind.forbidden(value))
        return REFUSED if named else f"does not name {parameter}: {type(error).__name__}: {_line(error)}"
    except (OSError, ImportError) as error:
        return REFUSED if kind.file else f"{type(error).__name__}: {_line(error)}"
    except OwnError as error:  # scikit-learn shows what data hold, and these cannot be shown
        return REFUSED if not kind.named else f"{type(error).__name__}: {_line(error)}"
    except BaseException as error:
        return f"{type(error).__name__}: {_line(error)}"
    if kind.forbidden(value):
        return "taken in silence"
    return TAKEN if all_finite(result) else "not finite"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]


def all_finite(result: Any) -> bool:
    """Whether what is left of a call holds no NaN or infinity where there must be none."""
    if isinstance(result, (list, tuple)):
        return all(map(all_finite, result))
    if isinstance(result, (float, np.ndarray)) and getattr(result, "dtype", np.dtype(float)).kind == "f":
        return bool(np.all(np.isfinite(result)))
    return all(all_finite(getattr(result, name)) for name in _FINITE if hasattr(result, name))
