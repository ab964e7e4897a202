"""What the command keeps beside a model, held to a table before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from powerkmeans.cli.scaling import KINDS, ROWS
from powerkmeans.inputs.metric import COSINE
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.schema import (
    Check,
    Scope,
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

_HUGE, _TINY = float(np.finfo(np.float64).max), float(np.finfo(np.float64).tiny)


def _array(kinds: str, low: float = -_HUGE, high: float = _HUGE, *, gaps: bool = False) -> Check:
    """An array of numbers in a range, with NaN for gaps if there may be any."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise Flaw(f"{where} must be an array of numbers")
        finite = value[~np.isnan(value)] if gaps and value.dtype.kind == "f" else value
        if finite.size and not (float(np.min(finite)) >= low and float(np.max(finite)) <= high):
            raise Flaw(f"{where} holds numbers outside [{low:g}, {high:g}]")

    return check


def _measure(value: Any, where: str, scope: Scope) -> None:
    """A number, NaN where there was nothing to measure."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or math.isinf(value):
        raise Flaw(f"{where} must be a number")


def _sample(value: Any, where: str, scope: Scope) -> None:
    """The id of a sample, or its row."""
    if not isinstance(value, (str, int, float)):
        raise Flaw(f"{where} must be an id")


_VIEW = {
    "name": text,
    "columns": listed(text),
    "centre": _array("f"),
    "scale": _array("f", _TINY),
    "deviation": _array("f", 0),
    "constant": _array("b"),
}
_MEASURES = ("n_features", "coverage", "weight", "distance_share", "explained", "agreement", "silhouette")
_FOUND = {
    "views": record({"view": listed(text, "V")} | {name: listed(_measure, "V") for name in _MEASURES}),
    "profiles": mapping(_array("f", gaps=True)),
    "sizes": _array("iu", 0),
    "n_noise": integer(0),
    "highest": listed(record({"sample": _sample, "score": number(0, 1)})),
    "files": listed(text),
}
_EXTRA = record(
    {
        "format": one_of("powerkmeans-input"),
        "version": integer(1),
        "views": listed(record(_VIEW), "V"),
        "scale": one_of(*KINDS),
        "named": flag,
        "id_column": optional(text),
        "threshold": optional(number(0, 1)),
        "found": record(_FOUND, lacking=_FOUND),
    }
)


def check_extra(extra: Mapping[str, Any], model: Any) -> None:
    """Check what was kept beside ``model``, the fit of an estimator."""
    _EXTRA(extra, "extra", Scope(2))
    names, given = list(model.view_names), [view["name"] for view in extra["views"]]
    if len(given) != len(names) or (given != names and len(names) > 1):  # a single view may have any name
        raise Flaw("extra.views are not those of the model")
    if extra["scale"] == ROWS and set(model.metrics) != {COSINE}:
        raise Flaw("extra.scale tells of rows that the model does not scale")
    for view, width in zip(extra["views"], model.view_widths, strict=True):
        parts = [view[name] for name in ("columns", "centre", "scale", "deviation", "constant")]
        if any(np.shape(part) != (width,) for part in parts):
            raise Flaw(f"extra.views: {view['name']!r:.40} must have {width} columns")
    _check_found(extra["found"], extra["views"], len(model.parameters.centers))


def _check_found(found: Mapping[str, Any], views: list[dict[str, Any]], n_clusters: int) -> None:
    if "sizes" in found and (found["sizes"].shape != (n_clusters,) or not np.sum(found["sizes"])):
        raise Flaw("extra.found.sizes must have an entry for each cluster")
    shapes = {view["name"]: (n_clusters, len(view["columns"])) for view in views}
    profiles = found.get("profiles") or {}
    if profiles and {name: profile.shape for name, profile in profiles.items()} != shapes:
        raise Flaw("extra.found.profiles must have a mean for each cluster and column")
