"""The noise study: accuracy and outlier scores on spoilt data, as docs/noise.md and pictures in docs/images.

python -m benchmarks.noise [--sets ...] [--methods ...] [--seeds N] [--jobs 2] [--limit SECONDS] [--quick]

Rows are appended to benchmarks/results/noise.jsonl as they come; a run that was stopped goes on where it was.
--redo ours (or names of methods) discards their rows first, --retry those that failed. The tables of the page are
written anew, its words stay. Sets that are not in the data folder are left out with a line. --quick: sets that
need no folder, few rows, two seeds and two shares, with results and pages of their own.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.harness.store import Row, Store
from benchmarks.noise import page, pictures
from benchmarks.noise.contenders import CONTENDERS, OURS, contender
from benchmarks.noise.curves import Results
from benchmarks.noise.plan import KEYS, Extent, named
from benchmarks.noise.runs import Runner, fitting_pool
from benchmarks.noise.sets import QUICK, SETS
from benchmarks.paper.figures import pyplot

ROOT = Path(__file__).parents[2]


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"), help="folder of .npz data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS)
    parser.add_argument("--methods", nargs="+", help='"ours", names, or module:name of a Method of one\'s own')
    parser.add_argument("--seeds", type=int, help="at most so many seeds for everyone")
    parser.add_argument("--jobs", type=int, default=2, help="processes; 0: this one, without limits")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a fit may take")
    parser.add_argument("--quick", action="store_true", help="a small form of it in about a minute")
    parser.add_argument("--redo", nargs="+", metavar="METHOD", help='run these again; "ours" for all of ours')
    parser.add_argument("--retry", action="store_true", help="run again what failed")
    parser.add_argument("--docs", type=Path, help="folder of noise.md and images (docs; quick: demo_output)")
    arguments = parser.parse_args(given)
    for name in [*(arguments.methods or []), *(arguments.redo or [])]:
        try:
            _ = name == OURS or contender(name)
        except (KeyError, ImportError, AttributeError, TypeError):
            parser.error(f"unknown method {name!r}; there are {', '.join([OURS, *CONTENDERS])}, or module:name")
    return arguments


def extent_of(arguments: argparse.Namespace) -> Extent:
    """What the arguments ask for, in the order of the study, methods of one's own last."""
    sets = arguments.sets or (QUICK if arguments.quick else SETS)
    wanted = named(arguments.methods or CONTENDERS, CONTENDERS)
    methods = [name for name in CONTENDERS if name in wanted] + sorted(wanted - set(CONTENDERS))
    return Extent(tuple(name for name in SETS if name in sets), tuple(methods), arguments.seeds, arguments.quick)


def opened(extent: Extent, arguments: argparse.Namespace) -> Store:
    """The rows so far, without those that are to be run again on the sets that are named."""
    store = Store(extent.store, KEYS)
    again = named(arguments.redo or [], CONTENDERS)

    def unwanted(row: Row) -> bool:
        mine = row["data"] in extent.sets and row["method"] in extent.methods
        return mine and (row["method"] in again or ("error" in row and arguments.retry))

    if again or arguments.retry:
        store.discard(unwanted)
    return store


def draw(results: Results, folder: Path) -> None:
    """Both pictures, if there is something to draw them with."""
    plt = pyplot()
    if plt is None or not results.good:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for metric in pictures.STYLES:
        figure = pictures.draw(plt, results, metric)
        path = folder / f"noise_{metric.lower()}.png"
        figure.savefig(path, dpi=150)
        plt.close(figure)
        print(f"drawn to {path}", flush=True)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    extent = extent_of(arguments)
    store = opened(extent, arguments)
    folder = Path(arguments.data) if arguments.data else None
    with fitting_pool(folder, arguments.jobs, arguments.limit) as pool:
        Runner(extent, store, pool, folder).run()
    shown = {*CONTENDERS, *extent.methods}
    results = Results(row for row in store.rows.values() if row["method"] in shown)
    docs = arguments.docs or ROOT / ("demo_output" if arguments.quick else "docs")
    print(page.write(docs / "noise.md", results), flush=True)
    draw(results, docs / "images")


if __name__ == "__main__":
    main()
