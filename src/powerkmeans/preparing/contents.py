"""The table of what is kept of a preparation: every entry, and every number of an operation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.schema import (
    Check,
    Scope,
    anything,
    flag,
    integer,
    listed,
    mapping,
    number,
    one_of,
    optional,
    record,
    text,
)
from powerkmeans.models.saving import PREPARATION
from powerkmeans.preparing.operations import FUNCTIONS
from powerkmeans.preparing.scaling import KINDS
from powerkmeans.preparing.spelling import Kind
from powerkmeans.preparing.words import ERROR, IGNORE, UNSEEN

_HUGE, _TINY = float(np.finfo(np.float64).max), float(np.finfo(np.float64).tiny)


def _array(kinds: str, low: float = -_HUGE, high: float = _HUGE, *, gaps: bool = False, n_dims: int = 1) -> Check:
    """An array of numbers in a range, with NaN for gaps if there may be any."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or value.ndim != n_dims:
            raise Flaw(f"{where} must be an array of numbers")
        finite = value[~np.isnan(value)] if gaps and value.dtype.kind == "f" else value
        if finite.size and not (float(np.min(finite)) >= low and float(np.max(finite)) <= high):
            raise Flaw(f"{where} holds numbers outside [{low:g}, {high:g}]")

    return check


def _tuple(inner: Check) -> Check:
    """A tuple of such things."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, tuple):
            raise Flaw(f"{where} must be a tuple")
        for place, item in enumerate(value):
            inner(item, f"{where}[{place}]", scope)

    return check


def _measure(value: Any, where: str, scope: Scope) -> None:
    """A number, NaN where there was nothing to measure."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or math.isinf(value):
        raise Flaw(f"{where} must be a number")


def _sample(value: Any, where: str, scope: Scope) -> None:
    """The id of a sample, or its row."""
    if not isinstance(value, (str, int, float)):
        raise Flaw(f"{where} must be an id")


def _one_letter(value: Any, where: str, scope: Scope) -> None:
    if not isinstance(value, str) or len(value) != 1:
        raise Flaw(f"{where} must be one character")


_SPELLING = record({"decimal": one_of(".", ","), "thousands": optional(_one_letter), "missing": _tuple(text)})
_SCALES = _array("f", -_HUGE)


def _not_zero(value: Any, where: str, scope: Scope) -> None:
    _SCALES(value, where, scope)
    if np.any(np.abs(value) < _TINY):
        raise Flaw(f"{where} holds zeros")


def _nested(value: Any, where: str, scope: Scope) -> None:
    if not isinstance(value, list) or not all(isinstance(chain, list) for chain in value):
        raise Flaw(f"{where} must be lists of operations")


_FIELDS: dict[str, dict[str, Check]] = {
    "columns": {"columns": _tuple(text), "places": _tuple(integer(0)), "among": integer(0)},
    "read": {"kinds": _tuple(one_of(*Kind)), "spelling": _SPELLING},
    "indicators": {"levels": _tuple(_tuple(text)), "unseen": one_of(*UNSEEN)},
    "ordinals": {
        "levels": _tuple(_tuple(text)),
        "unseen": one_of(IGNORE, ERROR),
        "unknown": _measure,
        "missing": _measure,
    },
    "fill": {"values": _array("f"), "absent": flag},
    "fill_words": {"values": _tuple(text)},
    "fill_by_neighbours": {
        "donors": _array("f", gaps=True, n_dims=2),
        "units": _array("f", _TINY),
        "n_neighbors": integer(1),
        "absent": flag,
    },
    "totals": {"total": number(_TINY)},
    "function": {"function": one_of(*FUNCTIONS), "counts": flag},
    "affine": {"centre": _array("f"), "scale": _not_zero},
    "unit_rows": {"norm": one_of("l1", "l2", "max")},
    "project": {"centre": _array("f"), "directions": _array("f", n_dims=2)},
    "take": {"places": _tuple(integer(0))},
    "beside": {"chains": _nested},
}


# fields with defaults that the first files of this version had not
_LATER = ("unseen", "counts", "places", "among")


def _check_of(name: str) -> Callable[[Any, str], None]:
    check = record({"operation": text, **_FIELDS[name]}, lacking=_LATER)
    return lambda entry, where: check(entry, where, Scope(2))


OPERATION_CHECKS = {name: _check_of(name) for name in _FIELDS}

_VIEW_1 = {
    "name": text,
    "columns": listed(text),
    "centre": _array("f"),
    "scale": _array("f", _TINY),
    "deviation": _array("f", 0),
    "constant": _array("b"),
}
_VIEW = {"name": text, "columns": listed(text), "chain": listed(anything)}
_MEASURES = ("n_features", "coverage", "weight", "distance_share", "explained", "agreement", "silhouette")
_FOUND = {
    "views": record({"view": listed(text, "V")} | {name: listed(_measure, "V") for name in _MEASURES}),
    "profiles": mapping(_array("f", gaps=True, n_dims=2)),
    "units": mapping(_array("f", 0)),
    "sizes": _array("iu", 0),
    "n_noise": integer(0),
    "highest": listed(record({"sample": _sample, "score": number(0, 1)})),
    "files": listed(text),
}


def _extra(view: Mapping[str, Check]) -> Check:
    return record(
        {
            "format": one_of(PREPARATION),
            "version": integer(1),
            "views": listed(record(view), "V"),
            "scale": one_of(*KINDS),
            "named": flag,
            "id_column": optional(text),
            "threshold": optional(number(0, 1)),
            "found": record(_FOUND, lacking=_FOUND),
        }
    )


_EXTRA = {1: _extra(_VIEW_1), 2: _extra(_VIEW)}


def check_extra(extra: Any, version: Any) -> None:
    """Check what was kept beside a model, before anything is made of it."""
    check = _EXTRA[version if isinstance(version, int) and version in _EXTRA else 2]
    check(extra, "extra", Scope(2))
    for view in extra["views"] if version == 1 else ():
        parts = [view[name] for name in ("columns", "centre", "scale", "deviation", "constant")]
        if len({len(part) for part in parts}) > 1:
            raise Flaw(f"extra.views: the columns of {view['name']!r:.40} do not agree")


def check_found(found: Mapping[str, Any], views: Sequence[Any], n_clusters: int) -> None:
    """Hold what was found in a fit to its clusters and columns."""
    if "sizes" in found and (found["sizes"].shape != (n_clusters,) or not np.sum(found["sizes"])):
        raise Flaw("extra.found.sizes must have an entry for each cluster")
    widths = {view.name: len(view.columns) for view in views}
    profiles, units = found.get("profiles") or {}, found.get("units") or {}
    if profiles and {name: one.shape for name, one in profiles.items()} != {
        name: (n_clusters, width) for name, width in widths.items()
    }:
        raise Flaw("extra.found.profiles must have a mean for each cluster and column")
    if (profiles or units) and {name: len(one) for name, one in units.items()} != widths:
        raise Flaw("extra.found.units must have a number for each column")
