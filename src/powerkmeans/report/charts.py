"""Small pictures in SVG: bars and lines. Colours are the style sheet's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from powerkmeans.report.markup import Markup, join, number, tag
from powerkmeans.types import Float64Array

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 24
# more points than pixels say nothing
MOST_STEPS = 400

Scale = Callable[[float], float]


class Line(NamedTuple):
    """One line of a chart and the class of its stroke; its name is in the legend."""

    values: Float64Array
    name: str = ""
    style: str = "line"


def bar(share: float, label: str | None = None, style: str = "bar") -> Markup:
    """A horizontal bar of a share of the width."""
    width = f"{100 * min(max(share, 0.0), 1.0):.2f}%" if math.isfinite(share) else "0"
    hidden = {"aria_hidden": "true"} if label is None else {"role": "img", "aria_label": label}
    track = tag("rect", class_="track", width="100%", height="100%", rx=2)
    return tag("svg", track, tag("rect", class_="fill", width=width, height="100%", rx=2), class_=style, **hidden)


def line_chart(lines: Sequence[Line], label: str, *, scale: str = "", mark: int | None = None) -> Markup:
    """Lines over iterations; ``mark`` is where a dashed line stands.

    ``scale`` is ``"log"``, ``"zero"`` for an axis that begins there, or empty.
    """
    log = scale == "log"
    values = [np.log10(line.values) if log else line.values for line in lines]
    known = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = _limits(0.0 if scale == "zero" else float(np.min(known)), float(np.max(known)))
    n_steps = len(values[0])

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(n_steps - 1, 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    levels = log_ticks(low, high) if log else ticks(low, high)
    if all(np.all(series[np.isfinite(series)] % 1 == 0) for series in values) and not log:
        levels = [level for level in levels if level % 1 == 0]  # what is counted has no halves
    digits = _digits(levels)
    parts = [_level(y(math.log10(level) if log else level), number(level, digits)) for level in levels]
    parts += [_tick(x(step), step + 1) for step in sorted({0, n_steps - 1})]
    if mark is not None and 0 < mark < n_steps:
        parts.append(tag("line", class_="mark", x1=_at(x(mark)), x2=_at(x(mark)), y1=TOP, y2=HEIGHT - BOTTOM))
    parts += [_drawn(series, line.style, x, y) for line, series in zip(lines, values, strict=True)]
    return tag("svg", *parts, class_="chart", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)


def ticks(low: float, high: float) -> list[float]:
    """Two to five round numbers between two bounds.

    >>> ticks(0.1, 1.05), ticks(-340, 46)
    ([0.2, 0.4, 0.6, 0.8, 1.0], [-300.0, -200.0, -100.0, 0.0])
    """
    power = 10.0 ** math.floor(math.log10(high - low))
    step = next(s * power for s in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if (high - low) / (s * power) < 5)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, digits) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten.

    >>> log_ticks(1.2, 1.95), log_ticks(-0.5, 3.2)
    ([20.0, 50.0], [1.0, 10.0, 100.0, 1000.0])
    """
    powers = range(math.floor(low), math.ceil(high) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [float(f"{s * 10.0**power:.3g}") for power in powers for s in steps]
        found = [level for level in found if low <= math.log10(level) <= high]
        if len(found) >= 2:
            return found
    return [float(f"{10**low:.3g}"), float(f"{10**high:.3g}")]


def _drawn(values: Float64Array, style: str, x: Scale, y: Scale) -> Markup:
    steps = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).astype(int))
    places = [(x(int(step)), y(float(values[step]))) for step in steps if math.isfinite(values[step])]
    if len(places) == 1:
        return tag("circle", class_=f"{style} dot", cx=_at(places[0][0]), cy=_at(places[0][1]), r=3)
    path = "M" + "L".join(f"{_at(px)} {_at(py)}" for px, py in places) if places else ""
    return tag("path", class_=style, d=path)


def _digits(levels: Sequence[float]) -> int:
    """As many significant digits as tell levels apart.

    >>> _digits([0.25, 0.3]), _digits([11.2767, 11.2768])
    (4, 6)
    """
    return next((n for n in range(4, 17) if len({number(level, n) for level in levels}) == len(levels)), 17)


def _level(height: float, label: str) -> Markup:
    return join(
        tag("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=_at(height), y2=_at(height)),
        tag("text", label, x=LEFT - 6, y=_at(height + 3.5), text_anchor="end"),
    )


def _tick(place: float, step: int) -> Markup:
    anchor = "start" if step == 1 else "end"
    text = f"iteration {step}" if step == 1 else str(step)
    return tag("text", text, x=_at(place), y=HEIGHT - 7, text_anchor=anchor)


def _limits(low: float, high: float) -> tuple[float, float]:
    margin = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _at(value: float) -> str:
    return f"{value:.1f}"
