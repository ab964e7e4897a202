"""A fitted model in a notebook: sizes of clusters and weights of views below scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from powerkmeans.types import Array

# clusters or views that are listed; the others are counted
_LISTED = 20
_WIDEST_BAR = 12.0
# all in the colour of the text, which is legible on whatever a notebook puts behind it
_BAR = "display:inline-block;height:.7em;background:currentColor;opacity:.45;border-radius:2px;width"
_PLAIN = "border:0;border-collapse:collapse;color:inherit;font-size:inherit"
_CELL = "border:0;background:none;padding:1px 10px 1px 0;text-align"
_ALIGNED = ("left", "right", "right", "left")


def with_clusters(estimator: Any, diagram: str) -> str:
    """The diagram, and below it what was found if the estimator is fitted."""
    if not hasattr(estimator, "_fit"):
        return diagram
    views, used = estimator.view_names_in_, estimator._fit.model.used_views
    maps = [name if view in used else "" for view, name in enumerate(np.atleast_1d(estimator.feature_map_))]
    facts = f"feature map: {', '.join(dict.fromkeys(filter(None, maps)))} · {estimator.status_}"
    tables = [_clusters(cluster_sizes(estimator))]
    if len(views) > 1:
        tables.append(_views(views, estimator.view_weights_, maps))
    beside = "".join(f'<div style="margin-right:2.5em">{table}</div>' for table in tables)
    return (
        f'{diagram}<div style="font-family:sans-serif;font-size:.85em;margin:.5em 0">{escape(facts)}'
        f'<div style="display:flex;flex-wrap:wrap;margin-top:.3em">{beside}</div></div>'
    )


def cluster_sizes(estimator: Any) -> Array:
    """What the samples of each cluster weigh, of all that the model was fitted to or has learnt from."""
    fitted = estimator._fit
    if fitted.stream is not None:
        return np.asarray(fitted.stream.sums.sizes, dtype=np.float64)
    return np.bincount(fitted.labels, minlength=len(fitted.model.parameters.centers)).astype(np.float64)


def _clusters(sizes: Array) -> str:
    share = sizes / max(float(np.sum(sizes)), np.finfo(np.float64).tiny)
    rows = [(str(number), f"{sizes[number]:,.6g}", f"{share[number]:.1%}") for number in range(len(sizes))]
    return _table(("cluster", "samples", "share"), rows, share)


def _views(names: Array, weights: Array, maps: list[str]) -> str:
    columns = zip(names, weights, maps, strict=True)
    rows = [(str(name), f"{weight:.3f}", kind or "not used") for name, weight, kind in columns]
    return _table(("view", "weight", "feature map"), rows, np.asarray(weights))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], lengths: Array) -> str:
    """Texts with a bar after each row, the longest one full."""
    longest = max(float(np.max(lengths)), np.finfo(np.float64).tiny)
    lines = [_row("th", [*header, ""])]
    for cells, length in zip(rows[:_LISTED], lengths, strict=False):
        width = _WIDEST_BAR * float(length) / longest
        lines.append(_row("td", [*map(escape, cells), f'<span style="{_BAR}:{width:.1f}em"></span>']))
    if len(rows) > _LISTED:
        lines.append(_row("td", [f"{len(rows) - _LISTED} more", "", "", ""]))
    return f'<table style="{_PLAIN}">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[str]) -> str:
    """A row of markup."""
    sides = zip(cells, _ALIGNED, strict=True)
    inside = "".join(f'<{tag} style="{_CELL}:{side}">{cell}</{tag}>' for cell, side in sides)
    return f'<tr style="background:none">{inside}</tr>'
