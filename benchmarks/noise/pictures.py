"""The pictures: a panel per set and corruption, a line per method; rows in, matplotlib figures out."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.noise.contenders import CONTENDERS, SHARES
from benchmarks.noise.corruptions import OF_SAMPLES
from benchmarks.noise.curves import Results
from benchmarks.noise.page import TITLES, scorer
from benchmarks.noise.plan import corruptions_of
from benchmarks.noise.sets import KINDS, SETS
from benchmarks.paper.pictures import BLACK, BLUE, GREEN, GREY, ORANGE, Figure, panels

SKY, PURPLE, YELLOW, RED = "#56B4E9", "#CC79A7", "#E69F00", "#D41159"
_OTHERS = "other clusterings"


class Style(NamedTuple):
    """How a line is drawn, and what the legend calls it."""

    colour: str
    marker: str
    label: str
    width: float = 1.4
    dashes: str = "-"


_GREY_LINE = Style("#B5B5B5", "", _OTHERS, 0.8)
_COMMON = {
    "ours, auto": Style(RED, "*", "ours, auto", 2.4),
    "ours, possibilistic": Style(BLUE, "o", "ours, possibilistic", 2.4),
    "ours, possibilistic, median": Style(SKY, "s", "ours, possibilistic, median", 2.0),
    "ours, fuzzy": Style(PURPLE, "D", "ours, fuzzy", 2.0),
    "KMeans(10)": Style(BLACK, "x", "KMeans(10)"),
}
STYLES: dict[str, dict[str, Style]] = {
    "ACC": _COMMON
    | {
        "KMeans(10), Nystroem": Style(ORANGE, "^", "KMeans(10), Nystroem"),
        "SpectralClustering": Style(GREEN, "v", "SpectralClustering"),
        "SVD-SMKKM": Style(YELLOW, "P", "SVD-SMKKM"),
        "scikit-fuzzy": Style(BLACK, "+", "fuzzy c-means", 1.2, "--"),
        "soft-clustering": Style(GREY, "", "possibilistic c-means", 1.2, ":"),
    },
    "AUC": {name: style._replace(label=scorer(name)) for name, style in _COMMON.items()}
    | {
        "IsolationForest": Style(ORANGE, "^", "IsolationForest"),
        "LocalOutlierFactor": Style(GREEN, "v", "LocalOutlierFactor"),
        "GLOSH": Style(YELLOW, "P", "GLOSH"),
    },
}
_SCALES = {"ACC": (100.0, "ACC of clean samples (%)"), "AUC": (1.0, "AUC of outlier scores")}


def draw(plt: Any, results: Results, metric: str) -> Figure:
    """A metric against the share of spoilt samples: a line of panels per set, a column per corruption."""
    sets = results.sets(SETS)
    figure, grid = panels(plt, len(sets), len(OF_SAMPLES), (2.9, 2.1), sharex=True, sharey=True)
    for line, data in zip(grid, sets, strict=True):
        for axes, corruption in zip(line, OF_SAMPLES, strict=True):
            if corruption in corruptions_of(data):
                _panel(axes, results, (data, corruption), metric)
            else:
                axes.set_axis_off()
                place = {"ha": "center", "va": "center", "transform": axes.transAxes}
                axes.text(0.5, 0.5, "one view:\nnothing to permute", color=GREY, fontsize=9, **place)
        line[0].set_ylabel(f"{data}\n({KINDS[data]})", fontsize=9)
    for axes, corruption in zip(grid[0], OF_SAMPLES, strict=True):
        axes.set_title(TITLES[corruption], fontsize=10)
    _finish(figure, grid, metric)
    return figure


def _panel(axes: Any, results: Results, what: tuple[str, str], metric: str) -> None:
    """The lines of one set and corruption, ours in front."""
    data, corruption = what
    scale, _ = _SCALES[metric]
    named = STYLES[metric]
    for method in reversed(results.methods(CONTENDERS)):
        curve = results.curve(data, method, corruption, metric)
        if not curve.values:
            continue
        style = named.get(method, _GREY_LINE)
        axes.plot(
            [100 * share for share in curve.shares],
            [scale * mean for mean in curve.means],
            color=style.colour,
            marker=style.marker,
            ms=4,
            lw=style.width,
            ls=style.dashes,
            label=style.label,
            zorder=3 if method in named else 2,
        )
    axes.set_xticks([0, *[100 * share for share in SHARES]])
    axes.grid(axis="y", color="#E5E5E5", lw=0.6)
    axes.set_axisbelow(True)
    if metric == "AUC":
        axes.axhline(0.5, color=GREY, lw=0.8, ls=":")


def _finish(figure: Figure, grid: Any, metric: str) -> None:
    """The labels that all panels share, and one legend below them in the order of the styles."""
    for axes in grid[-1]:
        axes.set_xlabel("spoilt samples (%)", fontsize=9)
    figure.supylabel(_SCALES[metric][1], fontsize=9)
    marks = {
        label: mark for axes in grid.flat for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    order = [style.label for style in [*STYLES[metric].values(), _GREY_LINE] if style.label in marks]
    place = {"loc": "outside lower center", "ncols": 3, "frameon": False}
    figure.legend([marks[label] for label in order], order, fontsize=9, **place)
