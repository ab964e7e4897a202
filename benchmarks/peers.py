"""Time to quality beside other k-means, on the same array in one process, as ratios to KMeans(n_init=10).

python -m benchmarks.peers [--data FOLDER] [--sets ...] [--methods ...] [--repeats 5] [--seeds 5] [--quick]

Two kinds of comparison. In "features" all methods get one float32 array: the set's standardised views, each mapped
by orthogonal random Fourier features at its median bandwidth, side by side. In "raw" they get the standardised
columns, and each brings a kernel of its own or none; there the cost of the columns is what KMeans alone minimises,
so compare the accuracies.

Methods take turns within a run: --repeats times for the first seed, of which the median counts, once for others.
Ratios are of one seed in one run. A busy neighbour slows threads that spin while they wait more than others, so
the share of the cores that other processes took is printed below each table: trust ratios where it is small, or
bind the run to one core (taskset -c 0). Rows are written after every fit, and replace older ones of their method.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import data_folder, mixture, real_views
from benchmarks.measure import NeighbourClock, peak_memory, scored, timed
from benchmarks.methods import OURS, PEERS, REFERENCE, Method, threads
from benchmarks.report import mean_std, print_table, read_lines, write_lines
from powerkmeans import MultiViewPowerKMeans

Row = dict[str, Any]

FILES = {
    "HW2": ["HW2"],
    "handwritten": ["handwritten"],
    "Caltech101-20 (re-extracted)": ["Caltech101-20_reextracted"],
    "CIFAR10 (re-extracted)": [f"CIFAR10_reextracted_part{i}" for i in range(3)],
}
MIXTURE, QUICK = "mixture, 1,000,000 rows", "quick"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "peers.png"
HEADER = ["method", "seconds", f"time / {REFERENCE}", f"hard cost / {REFERENCE}", "ACC", "NMI", "peak MB"]
FEATURE_SEED = 0


@dataclass(frozen=True)
class Task:
    """The array that all methods of one kind get, and the classes it has."""

    kind: str
    data: str
    X: np.ndarray
    y: np.ndarray

    @property
    def k(self) -> int:
        return len(np.unique(self.y))

    def __str__(self) -> str:
        shape = f"{self.X.shape[0]:,} rows, {self.X.shape[1]:,} columns, {self.X.dtype}, k={self.k}"
        drawn = (
            f"; features drawn with seed {FEATURE_SEED}"
            if self.kind == "features" and self.data != MIXTURE
            else ""
        )
        return f"{self.data}, {self.kind}: {shape}{drawn}; threads for every method: {threads()}"


def quick_views() -> tuple[list[np.ndarray], np.ndarray]:
    """Two views of as many rows as the handwritten digits."""
    X, y = mixture(2000, 10, 40, 0.9)
    return [X[:, :25], X[:, 25:]], y


def shared_features(views: list[np.ndarray], k: int) -> np.ndarray:
    """Orthogonal random Fourier features of all views side by side, each of unit scatter."""
    draw = {"feature_map": "orf", "s_init": -np.inf, "init": "random", "max_iter": 1, "view_baseline": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration is enough to draw them, and does not converge
        model = MultiViewPowerKMeans(k, random_state=FEATURE_SEED, **draw).fit(views)
    maps = model._fit.model.maps
    return np.hstack([features(view, np) for features, view in zip(maps, views, strict=True)])


def tasks(data: str, kinds: list[str], folder: str | None) -> Iterator[Task]:
    """The arrays of one set, one after the other."""
    if data == MIXTURE:  # its columns are its features, and there is no other kind
        if "features" in kinds:
            yield Task("features", data, *mixture(1_000_000, 20, 16, 0.7))
        return
    views, y = quick_views() if data == QUICK else real_views(data_folder(folder), FILES[data])
    views = [StandardScaler().fit_transform(view) for view in views]
    for kind in kinds:
        X = shared_features(views, len(np.unique(y))) if kind == "features" else np.hstack(views)
        yield Task(kind, data, np.ascontiguousarray(X, dtype=np.float32), y)


def choose(kind: str, wanted: list[str], n_rows: int | None = None) -> dict[str, Method]:
    """The wanted methods that are installed and take so many rows; the reference always, and first."""
    chosen = {name: method for name, method in PEERS[kind].items() if name in (REFERENCE, *wanted)}
    ordered = {REFERENCE: chosen[REFERENCE]} | chosen
    small = {name: m for name, m in ordered.items() if n_rows is None or n_rows <= (m.most_rows or n_rows)}
    return {name: method for name, method in small.items() if method.available()}


def print_missing(kinds: list[str], wanted: list[str]) -> None:
    """Say which of the wanted methods are skipped, and how to get them."""
    for kind in kinds:
        for name, method in PEERS[kind].items():
            if name in wanted and not method.available():
                print(f"{name} is skipped: pip install {method.install}")


def measured(task: Task, methods: dict[str, Method], repeats: int, seeds: int) -> Iterator[list[Row]]:
    """All rows so far, after every single fit."""
    rows: dict[tuple[str, int], Row] = {}
    for seed in [*[0] * repeats, *range(1, seeds)]:
        for name, method in methods.items():
            seconds, answer = timed(method, task.X, task.k, seed)
            if (name, seed) not in rows:
                labels = {"kind": task.kind, "data": task.data, "method": name, "seed": seed}
                shape = {"n": len(task.X), "p": task.X.shape[1], "k": task.k, "threads": threads()}
                about = {"version": method.version(), **shape, "times": []}
                rows[name, seed] = labels | about | scored(answer, task.X, task.y)
            rows[name, seed]["times"].append(round(seconds, 6))
            compare(rows[name, seed], rows[REFERENCE, seed])
            yield list(rows.values())


def compare(row: Row, reference: Row) -> None:
    """Add the median time, the time of an iteration, and the ratios to the reference's row of the same seed."""
    row["seconds"] = float(np.median(row["times"]))
    row["iteration_ms"] = 1e3 * row["seconds"] / row["iterations"] if row["iterations"] else None
    row["time_ratio"] = row["seconds"] / reference["seconds"]
    row["cost_ratio"] = row["cost"] / reference["cost"]


def with_memory(rows: list[Row], task: Task, wanted: bool) -> list[Row]:
    """The same rows, if wanted with the peak memory of their method's fit at the first seed."""
    if not wanted:
        return rows
    names = dict.fromkeys(row["method"] for row in rows)
    peaks = {name: peak_memory(task.kind, name, task.X, task.k) for name in names}
    return [row | {"peak_mb": round(peaks[row["method"]], 1)} for row in rows]


def merged(old: list[Row], new: list[Row]) -> list[Row]:
    """Old rows without those that the new ones replace, and the new ones."""
    keys = ("kind", "data", "method")
    replaced = {tuple(row[key] for key in keys) for row in new}
    return [row for row in old if tuple(row[key] for key in keys) not in replaced] + new


def by_method(rows: list[Row], kind: str) -> dict[str, list[Row]]:
    """Rows by method, in the order of the registry."""
    groups = {name: [row for row in rows if row["method"] == name] for name in PEERS[kind]}
    return {name: runs for name, runs in groups.items() if runs}


def table(rows: list[Row]) -> list[list[str]]:
    """A line per method: medians of times over seeds, means of the rest."""
    lines = []
    for name, runs in by_method(rows, rows[0]["kind"]).items():
        value = {key: [run[key] for run in runs] for key in ("seconds", "time_ratio", "cost_ratio", "ACC", "NMI")}
        times = [f"{np.median(value['seconds']):.3g}", f"{np.median(value['time_ratio']):.2f}"]
        scores = [f"{np.mean(value['cost_ratio']):.4f}", mean_std(value["ACC"]), f"{np.mean(value['NMI']):.3f}"]
        peak = f"{runs[0]['peak_mb']:.0f}" if "peak_mb" in runs[0] else "-"
        lines.append([f"**{name}**" if name == OURS else name, *times, *scores, peak])
    return lines


STYLES = {
    OURS: ("#332288", "*"),
    REFERENCE: ("#222222", "o"),
    "KMeans(1)": ("#888888", "o"),
    "MiniBatchKMeans": ("#DDAA33", "s"),
    "faiss": ("#CC6677", "v"),
    "faiss, 10 starts": ("#882255", "^"),
    "fastkmeans": ("#44AA99", "D"),
}


def draw_points(axes: Any, rows: list[Row]) -> None:
    """One set: every seed as a faint point, medians and means as marks."""
    for name, runs in by_method(rows, "features").items():
        (colour, marker), mine = STYLES[name], name == OURS
        times, costs = ([run[key] for run in runs] for key in ("time_ratio", "cost_ratio"))
        axes.scatter(times, costs, s=14, color=colour, alpha=0.35, linewidths=0, zorder=2)
        style = {"s": 330 if mine else 75, "zorder": 4 if mine else 3, "edgecolors": "white", "linewidths": 0.8}
        axes.scatter(np.median(times), np.mean(costs), color=colour, marker=marker, label=name, **style)
        if mine:
            place = {"xytext": (0, 11), "textcoords": "offset points", "ha": "center", "va": "bottom"}
            axes.annotate(name, (np.median(times), np.mean(costs)), color=colour, weight="bold", **place)
    first = rows[0]
    axes.set_title(f"{first['data']}\nn={first['n']:,}, p={first['p']:,}, k={first['k']}", fontsize=10)
    axes.axhline(1, color="#BBBBBB", lw=0.8, zorder=1)
    axes.axvline(1, color="#BBBBBB", lw=0.8, zorder=1)
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.15)
    low, high = axes.get_xlim()
    ticks = [t for t in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xticks([], minor=True)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set(xlabel=f"time / {REFERENCE}", ylabel=f"cost / {REFERENCE}")


def picture(rows: list[Row], path: Path) -> None:
    """Cost against time of all sets of shared features in the results, as ratios to the reference."""
    rows = [row for row in rows if row["kind"] == "features"]
    sets = list(dict.fromkeys(row["data"] for row in rows))
    importlib.import_module("matplotlib").use("Agg")
    plt = importlib.import_module("matplotlib.pyplot")
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    columns = min(3, len(sets))
    lines = -(-len(sets) // columns)
    size = (4.6 * columns, 3.9 * lines + 0.6)
    figure, grid = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axes, data in zip(grid.flat, sets, strict=False):
        draw_points(axes, [row for row in rows if row["data"] == data])
    for axes in grid.flat[len(sets) :]:
        axes.remove()
    marks = {
        label: mark for axes in figure.axes for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    ordered = [name for name in STYLES if name in marks]
    place = {"loc": "outside lower center", "ncols": min(len(ordered), 4 if columns < 3 else 7)}
    figure.legend([marks[name] for name in ordered], ordered, frameon=False, markerscale=0.9, **place)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def try_picture(rows: list[Row], path: Path) -> None:
    """Draw if there is something to draw and something to draw with."""
    if not any(row["kind"] == "features" for row in rows):
        return
    try:
        picture(rows, path)
        print(f"drawn to {path}")
    except ImportError:
        print("no picture: pip install matplotlib")


def parse(given: list[str] | None) -> argparse.Namespace:
    names = list(dict.fromkeys(name for methods in PEERS.values() for name in methods))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--sets", nargs="+", choices=[*FILES, MIXTURE], default=[*FILES, MIXTURE])
    parser.add_argument("--kinds", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--methods", nargs="+", choices=names, default=names, help=f"besides {REFERENCE}")
    parser.add_argument("--repeats", type=int, default=5, help="timed fits of the first seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="measure peak memory, in another fit per method")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--quick", action="store_true", help="a small synthetic set, two seeds, no picture")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    quick = arguments.quick
    results, sets = ("peers_quick", [QUICK]) if quick else ("peers", arguments.sets)
    repeats, seeds = (1, 2) if quick else (arguments.repeats, arguments.seeds)
    old = read_lines(results)
    print_missing(arguments.kinds, arguments.methods)
    for data in sets:
        for task in tasks(data, arguments.kinds, arguments.data):
            print(f"\n{task}\n", flush=True)
            new, clock = list[Row](), NeighbourClock()
            for new in measured(task, choose(task.kind, arguments.methods, len(task.X)), repeats, seeds):
                write_lines(results, merged(old, new))
            taken = clock.share()
            new = [row | {"others": taken} for row in with_memory(new, task, arguments.memory)]
            old = merged(old, new)
            write_lines(results, old)
            print_table(HEADER, table(new))
            print(f"\nother processes took {taken:.0%} of the cores" if taken is not None else "", flush=True)
    print(f"\nwritten to {write_lines(results, old)}")
    if not quick:
        try_picture(old, arguments.picture)


if __name__ == "__main__":
    main()
