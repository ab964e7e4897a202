"""The paper's figures again: pictures in docs/images, and what they show as JSON lines.

python -m benchmarks.paper.figures --figure convergence|sensitivity|dimension|time|exact|all [--data FOLDER]

convergence: objective and exponent along the iterations of IP-RFF-MKPKM. sensitivity: its ACC over s_0 and lambda,
from the scan of the table of several views. dimension: ACC of RFF-KPKM by the number of frequencies. time: seconds
of all methods of that table, as far as it has been run. exact: KPKM with the kernel matrix beside RFF-KPKM, by the
number of rows. Rows that exist are not run again.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.paper import figure_rows, pictures
from benchmarks.paper.figure_rows import Plan
from benchmarks.paper.runs import Limits

ROOT = Path(__file__).parents[2]
QUICK_SEEDS = 2
FIGURES: dict[str, tuple[Callable[[Plan], list[Row]], Callable[..., Any]]] = {
    "convergence": (figure_rows.convergence, pictures.draw_convergence),
    "sensitivity": (figure_rows.sensitivity, pictures.draw_sensitivity),
    "dimension": (figure_rows.dimension, pictures.draw_dimension),
    "time": (figure_rows.times, pictures.draw_times),
    "exact": (figure_rows.exact, pictures.draw_exact),
}


def pyplot() -> Any:
    """Matplotlib's pyplot without a window, or None and a line that says how to get it."""
    try:
        importlib.import_module("matplotlib").use("Agg")
        plt = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        print("no pictures: pip install matplotlib")
        return None
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    return plt


def make(name: str, plan: Plan, plt: Any, images: Path) -> None:
    """Run what a figure lacks, and draw it if there is something to draw it with."""
    rows_of, draw = FIGURES[name]
    rows = rows_of(plan)
    good = [row for row in rows if "error" not in row]
    for error in sorted({f"{row['method']}: {row['error']}" for row in rows if "error" in row and name != "time"}):
        print(f"{name}: {error}")
    if not good:
        print(
            f"{name}: nothing to show; " + ("run benchmarks.paper.tables first" if name == "time" else "see above")
        )
        return
    if plt is None:
        return
    more = (Store(f"paper_multi{plan.suffix}"),) if name == "time" else ()
    picture = draw(plt, rows, *more)
    images.mkdir(parents=True, exist_ok=True)
    path = images / f"paper_{name}.png"
    picture.savefig(path, dpi=150)
    plt.close(picture)
    print(f"{name}: {len(good)} rows, drawn to {path}", flush=True)


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", choices=[*FIGURES, "all"], default="all")
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--seeds", type=int, default=20, help="at most so many seeds")
    parser.add_argument("--jobs", type=int, default=2, help="processes; 0: this one, without limits")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a fit may take")
    parser.add_argument("--quick", action="store_true", help="small sets, two seeds, results of their own")
    parser.add_argument("--images", type=Path, help="folder for the pictures (docs/images; quick: demo_output)")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    seeds = min(arguments.seeds, QUICK_SEEDS) if arguments.quick else arguments.seeds
    limits = Limits(data_folder(arguments.data), arguments.jobs, arguments.limit)
    plan = Plan(limits, seeds, arguments.quick)
    images = arguments.images or ROOT / ("demo_output" if arguments.quick else "docs/images")
    plt = pyplot()
    for name in FIGURES if arguments.figure == "all" else [arguments.figure]:
        make(name, plan, plt, images)


if __name__ == "__main__":
    main()
