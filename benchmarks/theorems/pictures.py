"""Pictures of what was measured: rows in, matplotlib figures out, in the style of the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.paper.pictures import BLACK, BLUE, GREEN, GREY, ORANGE, Figure, legend, log_scale, names, panels
from benchmarks.theorems import consistency, excess_risk
from benchmarks.theorems.costs import main_term
from benchmarks.theorems.every_partition import COVERED, HEAVY, NAMES, RULE
from benchmarks.theorems.verdicts import Row, of

_ACROSS = 4
_DELTA = 0.1
# within so many deviations lie nine of ten normal draws
_NORMAL_90 = 1.645
_GUIDE = {"color": GREY, "ls": ":", "lw": 1.2}


def draw_cost(plt: Any, rows: list[Row]) -> Figure:
    """The error of a partition's cost by D, a panel per set, with what the rule promises."""
    mine = of(rows, "relative error")
    sets = names(mine)
    columns = min(_ACROSS, len(sets))
    figure, grid = panels(plt, -(-len(sets) // columns), columns, (2.7, 2.5), sharey=True)
    for place, (axes, data) in enumerate(zip(grid.flat, sets, strict=False)):
        here = [row for row in mine if row["data"] == data]
        sizes, k = np.array(here[0]["sizes"]), here[0]["k"]
        for map_name, colour, label in (
            ("rff", BLUE, "independent frequencies, hardest partition and bandwidth"),
            ("orf", GREEN, "orthogonal ones, hardest partition, median bandwidth"),
        ):
            worst = np.max([row["error_90"] for row in here if row["map"] == map_name], axis=0)
            axes.plot(sizes, worst, color=colour, marker="o", ms=3, lw=1.4, label=label)
        axes.plot(sizes, _NORMAL_90 * np.sqrt(2 / sizes), label="1.64 √(2/D): a pair of near rows", **_GUIDE)
        levels = np.array([0.5, 0.25, 0.1])
        promised = np.array([main_term(k, eps, _DELTA) for eps in levels])
        axes.plot(
            promised, levels, color=ORANGE, ls="--", marker="s", ms=4, lw=1.4, label="the rule: ε at D(k, ε, 0.1)"
        )
        log_scale(axes, "x")
        log_scale(axes, "y")
        axes.set_title(f"{data} (k = {k})", fontsize=9)
        axes.set_xlabel("number of frequencies D")
        if place % columns == 0:
            axes.set_ylabel("|ratio - 1|, 90 % of draws")
    for axes in grid.flat[len(sets) :]:
        axes.remove()
    legend(figure, 4.3)
    return figure


def draw_partitions(plt: Any, rows: list[Row]) -> Figure:
    """Share of draws that keep all partitions of k + 1 near rows, by k, at the main term."""
    mine = [row for row in of(rows, "all partitions") if row["data"].endswith("near rows")]
    levels = list(dict.fromkeys((row["eps"], row["delta"]) for row in mine))
    figure, grid = panels(plt, 1, len(levels), (3.1, 2.6), sharey=True)
    styles = {COVERED: (BLUE, "o", f"{NAMES[COVERED]} kernel"), HEAVY: (ORANGE, "s", f"{NAMES[HEAVY]} kernel")}
    for axes, (eps, delta) in zip(grid.flat, levels, strict=True):
        for kernel, (colour, marker, label) in styles.items():
            here = [r for r in mine if (r["kernel"], r["eps"], r["delta"]) == (kernel, eps, delta)]
            shares = [row[RULE]["inside"] / row[RULE]["draws"] for row in here]
            axes.plot([row["k"] for row in here], shares, color=colour, marker=marker, ms=4, label=label)
        axes.axhline(1 - delta, color=BLACK, ls="--", lw=1, label="required: 1 - δ")
        axes.set_xscale("log")
        ks = sorted({row["k"] for row in mine})
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.set_xticks([], minor=True)
        axes.set(ylim=(0, 1.03), xlabel="number of clusters k", title=f"ε = {eps:g}, δ = {delta:g}")
    grid[0, 0].set_ylabel("share of draws with all\npartitions within ε")
    legend(figure)
    return figure


def draw_risk(plt: Any, rows: list[Row]) -> Figure:
    """Excess risk by n, a panel a population and exponent."""
    groups = excess_risk.groups(of(rows, "excess risk"))
    figure, grid = panels(plt, 1, len(groups), (3.5, 3.0))
    styles = {
        excess_risk.FIXED: (ORANGE, "s", "D by default, not covered"),
        excess_risk.EXACT: (BLACK, "^", "exact kernel"),
        excess_risk.ASKED: (BLUE, "o", "D as the theorem asks"),
    }
    for axes, ((data, s), mine) in zip(grid.flat, groups.items(), strict=True):
        sizes = np.array([row["n"] for row in mine], dtype=float)
        for shift, (name, (colour, marker, label)) in enumerate(styles.items()):
            points = np.array([excess_risk.mean_error(row["excess"][name]) for row in mine])
            _points(axes, sizes * 1.05 ** (1 - shift), points, colour, marker, label)
        slope = excess_risk.slope_of(mine, excess_risk.ASKED)
        axes.plot(sizes, slope.at(sizes), color=BLUE, lw=1.2, label="fit to D as the theorem asks")
        level = 2 * slope.at(sizes)[0]
        axes.plot(sizes, level * np.sqrt(sizes[0] / sizes), label="slope -1/2", **_GUIDE)
        axes.set_title(f"{data}, s = {s:g}\nslope {slope.slope:.2f} ± {slope.error:.2f}", fontsize=9)
        axes.set_xlabel("sample size n")
        log_scale(axes, "x")
        log_scale(axes, "y")
    grid[0, 0].set_ylabel("excess risk")
    legend(figure, 2.0)
    return figure


def draw_memberships(plt: Any, rows: list[Row]) -> Figure:
    """Distance of memberships along each path, and of matrices on data."""
    paths = consistency.groups(of(rows, "consistency"), "path")
    figure, grid = panels(plt, 1, len(paths) + 1, (2.7, 2.8))
    labels = {"n": "sample size n", "D": "frequencies D", consistency.ALL: "n (D = 0.32 n, |s| = 0.12 n)"}
    for axes, (way, here) in zip(grid.flat, paths.items(), strict=False):
        _path(axes, here, BLACK, "D", "to kernel k-means on the population")
        verb = "grow" if way == consistency.ALL else "grows"
        axes.set_xlabel(labels.get(way, way))
        axes.set_title(f"{way} {verb}\nslope {consistency.slope_of(here)}", fontsize=9)
    _matrices(grid.flat[len(paths)], of(rows, "membership matrices"))
    for axes in grid.flat:
        log_scale(axes, "x")
        log_scale(axes, "y")
    grid[0, 0].set_ylabel("distance of memberships")
    legend(figure, 2.65)
    return figure


def _matrices(axes: Any, rows: list[Row]) -> None:
    """Matrices of features and exact kernel on data, by D."""
    styles = zip((BLUE, ORANGE, GREEN), "os^", strict=True)
    for (data, here), (colour, marker) in zip(consistency.groups(rows, "data").items(), styles, strict=False):
        _path(axes, here, colour, marker, f"{data}, to the exact kernel's")
    sizes = np.array(consistency.SIZES, dtype=float)
    top = max(np.mean(row["distance"]) for row in rows)
    axes.plot(sizes, 1.6 * top * np.sqrt(sizes[0] / sizes), label="slope -1/2", **_GUIDE)
    axes.set_xlabel("frequencies D")
    axes.set_title("data: the same rows, features\nand exact kernel, s = -10", fontsize=9)


def _path(axes: Any, rows: Iterable[Row], colour: str, marker: str, label: str) -> None:
    found = list(rows)
    points = np.array([excess_risk.mean_error(row["distance"]) for row in found])
    _points(axes, np.array([consistency.step_of(row) for row in found]), points, colour, marker, label, line="-")


def _points(axes: Any, x: Any, points: Any, colour: str, marker: str, label: str, line: str = "none") -> None:
    """Means with two standard errors either way, held above zero for the logarithm."""
    mean, reach = points[:, 0], 2 * points[:, 1]
    below = np.minimum(reach, 0.9 * mean)
    style = {"color": colour, "marker": marker, "ms": 4, "lw": 1.2, "ls": line, "elinewidth": 1}
    axes.errorbar(x, mean, yerr=[below, reach], label=label, **style)


PICTURES: dict[str, Callable[[Any, list[Row]], Figure]] = {
    "cost": draw_cost,
    "partitions": draw_partitions,
    "risk": draw_risk,
    "memberships": draw_memberships,
}
