"""The paper's tables again: every method, data set and seed, as Markdown with the printed numbers beside.

python -m benchmarks.paper.tables --table multi|ablation|single|all [--data FOLDER] [--quick] [--jobs 2]

Rows are appended to benchmarks/results/paper_<table>.jsonl as they come (the ablation shows rows of the table
multi); a run that was stopped goes on where it was, --fresh starts over with the methods and sets that are named
(or all), --retry runs again what failed, and --tables runs nothing. With --jobs over 1 every fit has one thread. A
method of one's own is added with --methods module:name.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.datasets import data_folder
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Store
from benchmarks.methods import METHODS
from benchmarks.paper import protocol
from benchmarks.paper.markdown import page
from benchmarks.paper.runs import Limits, Runner, fitting_pool, planned
from benchmarks.paper.sets import SETS, SMALL, DataSet

PAGES = Path(__file__).parents[2] / "docs" / "paper"
FILES = {"multi": "multi_view.md", "ablation": "ablation.md", "single": "single_view.md"}
QUICK_SEEDS = 3


def chosen_sets(table: str, arguments: argparse.Namespace) -> list[DataSet]:
    """The wanted sets of a table that have data."""
    wanted = arguments.sets or (SMALL if arguments.quick else [data.name for data in SETS[table]])
    return [data for data in SETS[table] if data.name in wanted and data.files]


def chosen_methods(table: str, wanted: list[str] | None) -> list[str]:
    """The wanted methods of a table in its order, k-means always, and last those of one's own."""
    own = [name for name in wanted or [] if ":" in name]
    listed = protocol.table_methods(table)
    return [n for n in listed if wanted is None or n in wanted or n in protocol.ALWAYS] + own


def run_table(table: str, arguments: argparse.Namespace, renew: bool) -> str:
    """Run what is lacking and give the page; ``renew``: without the rows that are to be run again."""
    rows_of = protocol.TABLES[table]
    suffix = "_quick" if arguments.quick else ""
    store = Store(f"paper_{rows_of}{suffix}")
    sets, methods = chosen_sets(rows_of, arguments), chosen_methods(table, arguments.methods)
    if renew:
        names = {data.name for chosen in sets for data in (chosen, chosen.scan) if data is not None}
        mine = lambda row: row["data"] in names and row["method"] in methods  # noqa: E731
        store.discard(lambda row: mine(row) and (arguments.fresh or "error" in row))
    if not arguments.tables:
        run_fits(rows_of, store, sets, methods, arguments)
    shown = [data for data in SETS[rows_of] if data in sets or not (data.files or arguments.quick)]
    return page(table, shown, methods, store)


def run_fits(
    rows_of: str, store: Store, sets: list[DataSet], methods: list[str], arguments: argparse.Namespace
) -> None:
    """Every fit of which there is no row."""
    limits = Limits(arguments.data, arguments.jobs, arguments.limit, arguments.memory)
    progress = Progress(sum(planned(rows_of, data, methods, arguments.seeds) for data in sets))
    with fitting_pool(limits) as pool:
        runner = Runner(rows_of, store, pool, progress, limits)
        for data in sets:
            runner.run(data, methods, arguments.seeds)
    progress.close()


def parse(given: list[str] | None) -> argparse.Namespace:
    names = dict.fromkeys(data.name for sets in SETS.values() for data in sets)
    known = {name for methods in METHODS.values() for name in methods}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=[*protocol.TABLES, "all"], default="all")
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--sets", nargs="+", choices=names)
    parser.add_argument(
        "--methods", nargs="+", help="besides KMeans(1) and KMeans(10); or module:name of a Method"
    )
    parser.add_argument("--seeds", type=int, help="at most so many seeds in every cell")
    parser.add_argument("--jobs", type=int, default=2, help="processes; 0: this one, without limits")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a fit may take")
    parser.add_argument("--memory", type=float, default=24.0, help="gigabytes that a method's arrays may take")
    parser.add_argument("--quick", action="store_true", help="small sets, three seeds, results of their own")
    parser.add_argument("--fresh", action="store_true", help="start over")
    parser.add_argument("--tables", action="store_true", help="run nothing: pages of the rows there are")
    parser.add_argument("--retry", action="store_true", help="run again what failed")
    parser.add_argument(
        "--pages", type=Path, default=PAGES, help="folder for the Markdown pages (not with --quick)"
    )
    arguments = parser.parse_args(given)
    unknown = [name for name in arguments.methods or [] if name not in known and ":" not in name]
    if unknown:
        parser.error(f"unknown method {unknown[0]!r}; there are {', '.join(sorted(known))}")
    arguments.data = data_folder(arguments.data)
    if arguments.quick:
        arguments.seeds = min(arguments.seeds or QUICK_SEEDS, QUICK_SEEDS)
    return arguments


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    renewed: set[str] = set() if arguments.fresh or arguments.retry else set(SETS)
    for table in protocol.TABLES if arguments.table == "all" else [arguments.table]:
        text = run_table(table, arguments, renew=protocol.TABLES[table] not in renewed)
        renewed.add(protocol.TABLES[table])
        print(text, flush=True)
        if not arguments.quick:
            arguments.pages.mkdir(parents=True, exist_ok=True)
            (arguments.pages / FILES[table]).write_text(text)


if __name__ == "__main__":
    main()
