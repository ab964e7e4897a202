"""The pictures of the figures: rows in, matplotlib figures out. Colours are those of Okabe and Ito."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.harness.store import Row, Store
from benchmarks.methods.interface import GIGABYTE
from benchmarks.paper import protocol
from benchmarks.paper.cells import Cell, default_cell
from benchmarks.paper.figure_rows import DIMENSION, LANDMARKS
from benchmarks.paper.sets import SETS

BLUE, ORANGE, GREEN, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#000000", "#8C8C8C"
MEMORY = 24 * GIGABYTE
_MOST_TICKS = 5
_ACROSS = 4
_LEGEND_INCHES = 2.7
Figure = Any


def names(rows: Iterable[Row]) -> list[str]:
    """The sets of rows, in their order."""
    return list(dict.fromkeys(row["data"] for row in rows))


def panels(plt: Any, lines: int, columns: int, size: tuple[float, float], **more: Any) -> tuple[Figure, Any]:
    """A grid of axes, each of the size in inches."""
    shape = (size[0] * columns, size[1] * lines + 0.4)
    return plt.subplots(lines, columns, figsize=shape, squeeze=False, layout="constrained", **more)


def log_scale(axes: Any, which: str) -> None:
    """A logarithmic axis with a handful of plain numbers."""
    set_scale, set_ticks = getattr(axes, f"set_{which}scale"), getattr(axes, f"set_{which}ticks")
    set_scale("log")
    low, high = getattr(axes, f"get_{which}lim")()
    for digits, step in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2)):
        ticks = [d * 10.0**e for e in range(-6, 7, step) for d in digits if low <= d * 10.0**e <= high]
        if len(ticks) <= _MOST_TICKS:
            break
    set_ticks(ticks, [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks])
    set_ticks([], minor=True)


def titled(row: Row) -> str:
    return f"{row['data']}\n({row['kind']})"


def draw_convergence(plt: Any, rows: list[Row]) -> Figure:
    """Objective (above) and exponent (below) along the iterations, a column per set."""
    good = [row for row in rows if "objective" in row]
    sets = names(good)
    columns = min(_ACROSS, len(sets))
    figure, grid = panels(plt, 2 * -(-len(sets) // columns), columns, (2.6, 1.9))
    for place, data in enumerate(sets):
        line, column = divmod(place, columns)
        upper, lower = grid[2 * line : 2 * line + 2, column]
        for row in (row for row in good if row["data"] == data):
            given = bool(row["setting"])
            colour, label = (ORANGE, "the paper's form, s₀ = -15, λ = 10") if given else (BLUE, "our defaults")
            steps = np.arange(1, row["iterations"] + 1)
            sizes = np.array([np.nan if s is None else -s for s in row["s"]])
            fall = np.array(row["objective"]) - row["objective"][-1]
            upper.plot(steps, fall / (abs(fall[0]) or 1), color=colour, label=label, lw=1.6)
            lower.step(steps, sizes, color=colour, where="post", lw=1.6)
            if np.isnan(sizes).any():
                start = steps[np.isnan(sizes)][0]
                upper.axvline(start, color=colour, lw=0.8, ls=":")
                lower.axvline(start, color=colour, lw=0.8, ls=":", label="k-means steps from here (s = -∞)")
            upper.set_title(titled(row), fontsize=9)
        log_scale(lower, "y")
        lower.set_xlabel("iteration")
        lower.sharex(upper)
        if column == 0:
            upper.set_ylabel("objective\n(first = 1, last = 0)")
            lower.set_ylabel("|s| (annealing)")
    for axes in (axes for line in grid for axes in line if not axes.has_data()):
        axes.remove()
    legend(figure)
    return figure


def draw_sensitivity(plt: Any, rows: list[Row]) -> Figure:
    """Mean ACC of every s_0 and lambda as heat maps, a panel per set."""
    good = [row for row in rows if "ACC" in row]
    sets = names(good)
    figure, grid = panels(plt, -(-len(sets) // _ACROSS), min(_ACROSS, len(sets)), (3.1, 2.7))
    for axes, data in zip(grid.flat, sets, strict=False):
        mine = [row for row in good if row["data"] == data]
        starts = sorted({row["setting"]["s_init"] for row in mine}, reverse=True)
        entropies = sorted({row["setting"]["entropy"] for row in mine})
        values = np.array([[_mean_acc(mine, start, entropy) for entropy in entropies] for start in starts])
        image = axes.imshow(values, cmap="cividis", aspect="auto")
        middle = (np.nanmin(values) + np.nanmax(values)) / 2
        for (i, j), value in np.ndenumerate(values):
            shade = "white" if value < middle else "black"
            axes.text(j, i, f"{value:.1f}", ha="center", va="center", color=shade, fontsize=8)
        axes.set_xticks(range(len(entropies)), [f"{e:g}" for e in entropies])
        axes.set_yticks(range(len(starts)), [f"{s:g}" for s in starts])
        axes.set(xlabel="λ (price of uneven weights)", ylabel="s₀")
        axes.set_title(titled(mine[0]), fontsize=9)
        figure.colorbar(image, ax=axes, label="ACC (%)")
    for axes in grid.flat[len(sets) :]:
        axes.remove()
    return figure


def _mean_acc(rows: list[Row], start: float, entropy: float) -> float:
    chosen = [row["ACC"] for row in rows if row["setting"] == {"s_init": start, "entropy": entropy}]
    return 100 * float(np.mean(chosen)) if chosen else float("nan")


def draw_dimension(plt: Any, rows: list[Row]) -> Figure:
    """ACC by the number of frequencies with the deviation over seeds, and the exact kernel as a line."""
    good = [row for row in rows if "ACC" in row and row["column"] == DIMENSION]
    sets = names(good)
    figure, grid = panels(plt, 1, len(sets), (3.4, 2.9))
    for axes, data in zip(grid.flat, sets, strict=True):
        mine = [row for row in good if row["data"] == data]
        random = [row for row in mine if row["setting"]]
        line = [100 * row["ACC"] for row in mine if not row["setting"]]
        sizes = sorted({int(row["setting"]["n_components"]) for row in random})
        values = [[100 * row["ACC"] for row in random if row["setting"]["n_components"] == D] for D in sizes]
        means, spread = np.array([np.mean(v) for v in values]), np.array([np.std(v) for v in values])
        axes.fill_between(sizes, means - spread, means + spread, color=BLUE, alpha=0.2, lw=0)
        axes.plot(sizes, means, color=BLUE, marker="o", ms=4, label="RFF-KPKM, mean ± deviation")
        if line:
            axes.axhline(np.mean(line), color=ORANGE, ls="--", label="KPKM, exact kernel")
        axes.set(xlabel="number of frequencies D", ylabel="ACC (%)")
        axes.set_title(f"{titled(mine[0])}, {len(values[0])} seeds", fontsize=9)
    legend(figure)
    return figure


def draw_times(plt: Any, rows: list[Row], store: Store) -> Figure:
    """Seconds of a fit of every method on every set; what failed is said in its place."""
    sets = [data for data in SETS["multi"] if data.name in names(rows)]
    methods = protocol.table_methods("multi")
    cells = {(m, d.name): default_cell("multi", d, m, store) for m in methods for d in sets}
    shown = [m for m in methods if any(cells[m, d.name].rows for d in sets)][::-1]
    columns = min(_ACROSS, len(sets))
    figure, grid = panels(plt, -(-len(sets) // columns), columns, (2.6, 0.22 * len(shown) + 0.9), sharey=True)
    seconds = [c.quickest for c in cells.values() if c.rows]
    left = min(seconds) / 2
    for axes in grid.flat[len(sets) :]:
        axes.remove()
    for axes, data in zip(grid.flat, sets, strict=False):
        for place, method in enumerate(shown):
            _bar(axes, place, cells[method, data.name], left, method in protocol.OURS["multi"])
        axes.set_xlim(left, max(seconds) * 2)
        log_scale(axes, "x")
        axes.set_yticks(range(len(shown)), shown, fontsize=8)
        axes.set_xlabel("seconds, quickest fit")
        axes.set_title(str(data).replace(" (", "\n(", 1), fontsize=9)
        axes.grid(axis="x", color="#DDDDDD", lw=0.6)
        axes.set_axisbelow(True)
    legend(figure)
    return figure


def _bar(axes: Any, place: int, c: Cell, left: float, mine: bool) -> None:
    """One fit's time as a bar, or why there is none."""
    if c.rows:
        colour, label = (BLUE, "powerkmeans") if mine else (GREY, "others")
        axes.barh(place, c.quickest - left, left=left, color=colour, height=0.7, label=label)
    elif not c.empty:
        axes.text(left * 1.1, place, c.score("ACC"), va="center", fontsize=7, color=ORANGE)


def draw_exact(plt: Any, rows: list[Row]) -> Figure:
    """Time, memory and ACC of exact kernel and random features by the number of rows."""
    good = [row | {"n": int(row["data"].split()[1])} for row in rows if "ACC" in row]
    figure, grid = panels(plt, 1, 3, (3.7, 3.0))
    styles = {
        "KPKM": (ORANGE, "s", "KPKM, exact kernel"),
        "RFF-KPKM": (BLUE, "o", "RFF-KPKM"),
        LANDMARKS: (BLACK, "^", "432 landmarks"),
    }
    values: list[Callable[[Row], float]] = [
        lambda row: row["seconds"],
        lambda row: row["peak_bytes"] / GIGABYTE,
        lambda row: 100 * row["ACC"],
    ]
    for axes, value in zip(grid.flat, values, strict=True):
        for method, (colour, marker, label) in styles.items():
            mine = [row for row in good if row["method"] == method]
            sizes = sorted({row["n"] for row in mine})
            means = [np.mean([value(row) for row in mine if row["n"] == n]) for n in sizes]
            if sizes:
                axes.plot(sizes, means, color=colour, marker=marker, ms=4, label=label)
        axes.set_xlabel("rows n of CIFAR10 (re-extracted)")
    _memory_limit(grid[0, 1])
    for axes, label in zip(
        grid.flat, ("seconds per fit", "peak memory on top of the data (GB)", "ACC (%)"), strict=True
    ):
        axes.set_ylabel(label)
        log_scale(axes, "x")
    for axes in grid[0, :2]:
        log_scale(axes, "y")
    legend(figure)
    return figure


def _memory_limit(axes: Any) -> None:
    """The matrix of n by n doubles, and where it stops fitting."""
    most = int(np.sqrt(MEMORY / 8))
    sizes = np.geomspace(500, most, 20)
    axes.plot(sizes, 8 * sizes**2 / GIGABYTE, color=GREY, ls="--", label="n by n doubles, computed")
    axes.axhline(MEMORY / GIGABYTE, color=BLACK, lw=0.8, ls=":")
    place = {"ha": "right", "va": "bottom", "fontsize": 8}
    axes.text(most, MEMORY / GIGABYTE * 1.1, f"24 GB: n = {most:,}", **place)


def legend(figure: Figure, inches: float = _LEGEND_INCHES) -> None:
    """One legend below all axes, an entry so many inches wide."""
    marks = {
        label: mark for axes in figure.axes for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    columns = max(1, int(figure.get_figwidth() // inches))
    place = {"loc": "outside lower center", "ncols": min(columns, len(marks)), "frameon": False}
    figure.legend(marks.values(), marks.keys(), fontsize=9, **place)
