"""The study of the defaults.

python -m benchmarks.study [--data FOLDER] [--jobs 2] [--until map|scan|choose|confirm]

Rows go to benchmarks/results/study.jsonl as they come; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from functools import partial

from benchmarks.datasets import data_folder
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Store
from benchmarks.methods.others import set_limits
from benchmarks.study.factors import BEFORE, FACTORS, FIRST
from benchmarks.study.fits import KEYS, measure
from benchmarks.study.run import Study
from benchmarks.study.sets import CHOSEN_ON

STAGES = ("map", "scan", "choose", "confirm")


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--jobs", type=int, default=2, help="processes with one thread each")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a fit may take")
    parser.add_argument("--until", choices=STAGES, default="confirm", help="the last stage to run")
    arguments = parser.parse_args(given)
    folder = data_folder(arguments.data)
    begin = partial(set_limits, 0.97 * arguments.limit, 1)
    with Pool(partial(measure, folder=folder), begin, arguments.jobs, arguments.limit) as pool:
        study = Study(Store("study", KEYS), pool)
        first = study.settle(FIRST, BEFORE)
        for line in (*first.scan, *first.duel, first.winner):
            print(line)
        if arguments.until == "map":
            return
        for factor in FACTORS:
            if factor != FIRST:
                print(factor, *study.scan(factor, BEFORE | {FIRST: first.winner}), sep="\n", flush=True)
        if arguments.until == "scan":
            return
        settled, final, choice = study.choose()
        print(*settled, *final, choice, sep="\n")
        study.beside({"before": BEFORE, "after": choice}, CHOSEN_ON, "chosen on")
        if arguments.until == "confirm":
            study.confirm(choice)


if __name__ == "__main__":
    main()
