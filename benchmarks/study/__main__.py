"""The study of the defaults.

python -m benchmarks.study [--data FOLDER] [--jobs 2] [--until map|scan|choose|confirm|maps] [--maps]
    [--sets SET ...] [--seeds N] [--tables]

Rows go to benchmarks/results/study.jsonl (and study_starts.jsonl, study_order.jsonl) as they come; a run that was
stopped goes on where it was. --maps runs only the last stage: feature maps against each other, beside peers, and
whether answers depend on the order of the rows, on --sets with --seeds seeds at most. A run to the end writes
docs/study/tables.md and the pictures; --tables writes them from these rows.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from benchmarks.datasets import data_folder
from benchmarks.harness.pool import Pool
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Store
from benchmarks.methods.others import set_limits
from benchmarks.study import maps, pictures
from benchmarks.study.factors import BEFORE, FACTORS, FIRST
from benchmarks.study.fits import KEYS, measure
from benchmarks.study.maps_page import maps_section
from benchmarks.study.order import measure_order
from benchmarks.study.page import page
from benchmarks.study.run import Study
from benchmarks.study.sets import CHOSEN_ON, CONFIRMED_ON

STAGES = ("map", "scan", "choose", "confirm", "maps")
DOCS = Path(__file__).parents[2] / "docs"
HEAD = """# The study that set the defaults: all tables

`python -m benchmarks.study`; rows of every fit in `benchmarks/results/study.jsonl`. The rule and what was found:
[defaults](../defaults.md). Scores are percent, means over seeds; "time" is processor time relative to the least of
the levels, geometric mean over sets.
"""


def start_rows(pool: Pool, store: Store) -> list[dict]:
    """Annealings from many multiples of the critical exponent."""
    jobs = [
        (init, multiple, seed)
        for init in pictures.STARTS
        for multiple in pictures.MULTIPLES
        for seed in range(pictures.START_SEEDS)
    ]
    missing = [job for job in jobs if job not in store.rows]
    progress = Progress(len(missing))
    for _, row in pool.run(missing):
        store.add(row)
        progress.step("starts")
    return store.of(jobs)


def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Everything up to the wanted stage that is not there yet."""
    begin = partial(set_limits, 0.97 * arguments.limit, 1)
    with Pool(partial(measure, folder=folder), begin, arguments.jobs, arguments.limit) as pool:
        study = Study(Store("study", KEYS), pool)
        first = study.settle(FIRST, BEFORE)
        if arguments.until == "map":
            return
        for factor in FACTORS:
            if factor != FIRST:
                study.scan(factor, BEFORE | {FIRST: first.winner})
        if arguments.until == "scan":
            return
        _, _, choice = study.choose()
        study.beside({"before": BEFORE, "after": choice}, CHOSEN_ON, "chosen on")
        if arguments.until in ("confirm", "maps"):
            study.confirm(choice)
    with Pool(partial(pictures.start_row, folder=folder), begin, arguments.jobs, arguments.limit) as pool:
        start_rows(pool, Store("study_starts", pictures.START_KEYS))


def run_maps(arguments: argparse.Namespace, folder: Path) -> None:
    """Feature maps against each other, beside peers; and every method in two orders of the rows."""
    begin = partial(set_limits, 0.97 * arguments.limit, 1)
    with Pool(partial(measure, folder=folder), begin, arguments.jobs, arguments.limit) as pool:
        maps.run_sides(Study(Store("study", KEYS), pool), arguments.sets, arguments.seeds)
    with Pool(partial(measure_order, folder=folder), begin, arguments.jobs, 2 * arguments.limit) as pool:
        maps.run_order(pool, arguments.sets)


def write(docs: Path) -> None:
    """Tables and pictures of the rows that are there."""
    import matplotlib as mpl  # noqa: PLC0415 - only this needs it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    study = Study(Store("study", KEYS), None)
    settled, final, choice = study.choose()
    both = {"before": BEFORE, "after": choice}
    sides = {"chosen on": (study.beside(both, CHOSEN_ON, ""), CHOSEN_ON)}
    sides["confirmed on"] = (study.confirm(choice), CONFIRMED_ON)
    (docs / "study").mkdir(parents=True, exist_ok=True)
    (docs / "study" / "tables.md").write_text(
        f"{HEAD}\n{maps_section(study)}{page(settled, final, choice, sides)}"
    )
    drawn = {"study_factors": pictures.draw_factors(plt, settled), "study_splits": pictures.draw_splits(plt)}
    starts = list(Store("study_starts", pictures.START_KEYS).rows.values())
    if starts:
        drawn["study_starts"] = pictures.draw_starts(plt, starts)
    for name, figure in drawn.items():
        figure.savefig(docs / "images" / f"{name}.png", dpi=120)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--jobs", type=int, default=2, help="processes with one thread each")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a fit may take")
    parser.add_argument("--until", choices=STAGES, default="maps", help="the last stage to run")
    parser.add_argument("--maps", action="store_true", help="only the last stage")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of the last stage (default: all)")
    parser.add_argument("--seeds", type=int, help="of the last stage, at most")
    parser.add_argument("--tables", action="store_true", help="run nothing")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for tables and pictures")
    arguments = parser.parse_args(given)
    if not (arguments.tables or arguments.maps):
        run(arguments, data_folder(arguments.data))
    if not arguments.tables and (arguments.maps or arguments.until == "maps"):
        run_maps(arguments, data_folder(arguments.data))
    if arguments.tables or arguments.until == "maps":
        write(arguments.docs)


if __name__ == "__main__":
    main()
