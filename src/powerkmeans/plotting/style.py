"""What all pictures share: colours for light and dark paper, axes, ticks and labels.

Fonts, sizes, grids and backgrounds are those of the user's rcParams. matplotlib is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.support.install import needed
from powerkmeans.support.values import wrong
from powerkmeans.types import Array

Axes = Any
Figure = Any
_FEWEST_TICKS, _MOST_TICKS = 3, 6
MARKERS = "osD^vP"


class Palette(NamedTuple):
    """Colours that all kinds of eyes tell apart, on the paper that they are drawn on.

    ink : text and what matters most; faint : what is there for comparison
    """

    ink: str
    paper: str
    faint: str
    blue: str
    orange: str
    clusters: tuple[str, ...]

    def cluster(self, index: int) -> str:
        """The colour of a cluster; they repeat beyond ten."""
        return self.clusters[index % len(self.clusters)]

    def marker(self, index: int) -> str:
        """The marker of a cluster: another one each time that the colours repeat."""
        return MARKERS[index // len(self.clusters) % len(MARKERS)]


class EndLabel(NamedTuple):
    """A label at the end of a line: where that is, the text and its colour, and the colour of a thread to it."""

    x: float
    y: float
    text: str
    colour: str
    thread: str | None = None


# the accents are those of Okabe and Ito, the clusters' colours Paul Tol's "muted" and "light"
_LIGHT = Palette(
    ink="#1A1A1A", paper="#FFFFFF", faint="#8C8C8C", blue="#0072B2", orange="#D55E00",
    clusters=(
        "#332288", "#CC6677", "#44AA99", "#DDCC77", "#882255", "#88CCEE", "#999933", "#117733", "#AA4499",
        "#777777",
    ),
)  # fmt: skip
_DARK = Palette(
    ink="#F2F2F2", paper="#000000", faint="#9A9A9A", blue="#56B4E9", orange="#E69F00",
    clusters=(
        "#77AADD", "#EE8866", "#44BB99", "#EEDD88", "#FFAABB", "#BBCC33", "#99DDFF", "#AAAA00", "#CC88DD",
        "#DDDDDD",
    ),
)  # fmt: skip


def pyplot() -> Any:
    """matplotlib.pyplot, or an error with the line that installs it."""
    return needed("matplotlib.pyplot", "plot", "to draw")


def panels(ax: Any, shape: tuple[int, int], size: tuple[float, float], **more: Any) -> Array:
    """As many axes as ``shape`` has cells: new ones of the size in inches, the given, or a given one divided."""
    lines, columns = shape
    if ax is None:
        figsize = (size[0] * columns, size[1] * lines)
        _, grid = pyplot().subplots(lines, columns, figsize=figsize, squeeze=False, layout="constrained", **more)
        return grid.ravel()
    given = checked_axes(ax)
    if len(given) == lines * columns:
        return given
    if len(given) != 1:
        raise ValueError(
            f"There are {lines * columns} panels to draw: pass as ax one Axes, whose place is divided, or "
            f"{lines * columns} of them. Got {len(given)}."
        )
    return _divided(given[0], lines, columns, **more)


def checked_axes(ax: Any) -> Array:
    """The given axes in one row; none if new ones are to be made."""
    if ax is None:
        return np.array([], dtype=object)
    kind = needed("matplotlib.axes", "plot", "to draw").Axes
    grid = ax.ravel().tolist() if isinstance(ax, np.ndarray) else ax
    several = list(grid) if isinstance(grid, (list, tuple)) else [grid]
    if not several or not all(isinstance(one, kind) for one in several):
        raise wrong("ax", "an Axes of matplotlib, a sequence of them or None", ax)
    return np.array(several, dtype=object)


def _divided(ax: Axes, lines: int, columns: int, **more: Any) -> Array:
    """Axes in the place of one, which is turned off."""
    ax.set_axis_off()
    spec = ax.get_subplotspec()
    if spec is None:
        place = ax.get_position()
        grid = ax.figure.add_gridspec(
            lines, columns, left=place.x0, right=place.x1, bottom=place.y0, top=place.y1, wspace=0.35, hspace=0.3
        )
    else:
        grid = spec.subgridspec(lines, columns, wspace=0.35, hspace=0.3)
    return grid.subplots(squeeze=False, **more).ravel()


def one_axes(ax: Any, size: tuple[float, float]) -> Axes:
    """The given axes, or new ones of the given size in inches."""
    return panels(ax, (1, 1), size)[0]


def palette_of(ax: Axes) -> Palette:
    """The colours for the paper of ``ax``, with ink and paper as the user has set them."""
    colors = needed("matplotlib.colors", "plot", "to draw")
    face = colors.to_rgba(ax.get_facecolor())
    if face[3] == 0:
        face = colors.to_rgba(ax.figure.get_facecolor())
    dark = float(np.dot(face[:3], (0.2126, 0.7152, 0.0722))) < 0.5
    chosen = _DARK if dark and face[3] > 0 else _LIGHT
    ink = pyplot().rcParams["text.color"]
    legible = abs(_lightness(colors.to_rgba(ink)) - _lightness(face)) > 0.5
    paper = colors.to_hex(face) if face[3] > 0 else chosen.paper
    return chosen._replace(paper=paper, ink=colors.to_hex(ink) if legible else chosen.ink)


def _lightness(color: Sequence[float]) -> float:
    return float(np.dot(color[:3], (0.2126, 0.7152, 0.0722)))


def bare(*axes: Axes) -> None:
    """Take off the frame's upper and right side, which say nothing."""
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


def small(ax: Axes, share: float = 0.85) -> float:
    """A font size below that of the axis labels."""
    return share * float(ax.xaxis.label.get_size())


def log_axis(ax: Axes, which: str) -> None:
    """A logarithmic axis with a handful of plain numbers."""
    getattr(ax, f"set_{which}scale")("log")
    low, high = getattr(ax, f"get_{which}lim")()
    axis = getattr(ax, f"{which}axis")
    ticks = plain_ticks(low, high)
    axis.set_ticks(
        ticks, [f"{tick:,.0f}" if tick >= 1 and tick == round(tick) else f"{tick:.3g}" for tick in ticks]
    )
    axis.set_ticks([], minor=True)


def plain_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two positive ones, few enough to read."""
    for digits, step in (((1, 1.5, 2, 3, 4, 5, 7), 1), ((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2)):
        ticks = [d * 10.0**e for e in range(-6, 9, step) for d in digits if low <= d * 10.0**e <= high]
        if len(ticks) <= _MOST_TICKS:
            break
    if len(ticks) >= _FEWEST_TICKS:
        return ticks
    decade = 10.0 ** np.floor(np.log10(high - low))
    step = next(decade * size for size in (0.1, 0.2, 0.5, 1, 2) if (high - low) / (decade * size) <= _MOST_TICKS)
    return [round(i * step, 12) for i in range(int(np.ceil(low / step)), int(high / step) + 1)]


def label_ends(ax: Axes, labels: Iterable[EndLabel], gap: float = 1.15) -> None:
    """Write the names of lines at their right ends, moved apart where they would touch.

    The limits of the y axis must be set before; ``gap`` is in heights of a line of text.
    """
    ordered = sorted(labels, key=lambda label: label.y)
    if not ordered:
        return
    size = small(ax)
    inches = ax.get_position().height * ax.figure.get_figheight()
    to_axes = ax.transData - ax.transAxes
    wanted = np.array([to_axes.transform((label.x, label.y))[1] for label in ordered])
    placed = spread_out(wanted, gap * size / 72 / inches)
    for label, place in zip(ordered, placed, strict=True):
        thread = None if label.thread is None else {"arrowstyle": "-", "color": label.thread, "lw": 1}
        ax.annotate(
            label.text,
            label[:2],
            xytext=(1.03, place),
            textcoords=ax.transAxes,
            va="center",
            color=label.colour,
            fontsize=size,
            annotation_clip=False,
            arrowprops=thread,
        )


def spread_out(wanted: Array, gap: float) -> Array:
    """Ascending places at least ``gap`` apart, as near to the wanted ones as pools of neighbours allow."""
    pools: list[tuple[float, int]] = []  # the place of the lowest, and how many
    for position in wanted:
        start, count = float(position), 1
        while pools and pools[-1][0] + pools[-1][1] * gap > start:
            before, n_before = pools.pop()
            middle = (before + (n_before - 1) * gap / 2) * n_before + (start + (count - 1) * gap / 2) * count
            count += n_before
            start = middle / count - (count - 1) * gap / 2
        pools.append((start, count))
    return np.array([start + i * gap for start, count in pools for i in range(count)])


def halo(palette: Palette, width: float = 2.5) -> list[Any]:
    """What keeps text legible on top of points: an edge in the colour of the paper."""
    effects = import_module("matplotlib.patheffects")
    return [effects.withStroke(linewidth=width, foreground=palette.paper)]
