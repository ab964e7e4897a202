"""What changes of the library cost or save: default fits with these sources beside fits with another checkout's.

python -m benchmarks.against CHECKOUT [--data FOLDER] [--seeds 3] [--only SET]

Rows go to benchmarks/results/against.jsonl; those of the other checkout are kept, by its commit, and those of
these sources are measured anew. Without a folder only the synthetic families are fitted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.report import print_table
from benchmarks.study.families import FAMILIES
from benchmarks.study.sets import load

KEYS = ("data", "sources", "seed")
HERE = "here"
CHILD = Path(__file__).with_name("against_child.py")
# real sets of the study and the most seeds that each takes
REAL = {"LGG": 20, "Yale": 20, "100leaves, view 0": 20, "HW2": 2, "handwritten": 2, "Caltech101-7": 1}


class Fits:
    """A process that fits with the sources of a checkout."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, path: Path, seed: int) -> Row:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{path}\t{seed}\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise RuntimeError(f"The fits ended with status {self._process.wait()}.")
        return dict(json.loads(answer))


@contextmanager
def fits_of(checkout: Path) -> Iterator[Fits]:
    """Fits with the sources of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", str(CHILD)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Fits(process)
        assert process.stdin is not None
        process.stdin.close()


def commit_of(checkout: Path) -> str:
    """The commit that a checkout is at, in short."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def measure(store: Store, sources: str, checkout: Path, wanted: Iterable[tuple[str, int]], folder: Path) -> None:
    """Fit what the store has not."""
    missing = [(name, seed) for name, seed in wanted if (name, sources, seed) not in store.rows]
    with fits_of(checkout) as fitted, tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "set.npz"
        for name, seed in missing:
            views, y = load(name, folder, seed, "standardised")
            np.savez(path, y=y, **{f"view{index}": view for index, view in enumerate(views)})
            store.add({"data": name, "sources": sources, "seed": seed} | fitted(path, seed))


def summary(rows: Iterable[Row], there: str) -> list[Row]:
    """One row per set with seeds in common: means of what was measured there and here, and of the differences."""
    by_key = {(row["data"], row["sources"], row["seed"]): row for row in rows}
    lines = []
    for name in dict.fromkeys(data for data, _, _ in by_key):
        seeds = [seed for data, sources, seed in by_key if data == name and sources == HERE]
        pairs = [(by_key[name, there, s], by_key[name, HERE, s]) for s in seeds if (name, there, s) in by_key]
        if pairs:
            line: Row = {"data": name, "fits": len(pairs)}
            for what in ("ACC", "NMI", "iterations", "cpu_seconds"):
                line[what] = tuple(
                    float(np.mean([row[what] for row in side])) for side in zip(*pairs, strict=True)
                )
            line["points"] = [100 * (new["ACC"] - old["ACC"]) for old, new in pairs]
            lines.append(line)
    return lines


def show(lines: list[Row]) -> None:
    header = ["data", "fits", "ACC", "points", "NMI", "iterations", "seconds"]
    table = [
        [
            line["data"],
            line["fits"],
            "{:.1f} → {:.1f}".format(*(100 * value for value in line["ACC"])),
            f"{np.mean(line['points']):+.2f}",
            "{:.1f} → {:.1f}".format(*(100 * value for value in line["NMI"])),
            "{:.0f} → {:.0f}".format(*line["iterations"]),
            "{:.2f} → {:.2f}".format(*line["cpu_seconds"]),
        ]
        for line in lines
    ]
    print_table(header, [*table, _all_sets(lines)])


def _all_sets(lines: list[Row]) -> list[object]:
    """Every set counts the same; iterations and times are geometric means of ratios."""
    points = np.concatenate([line["points"] for line in lines])
    error = float(np.std(points) / np.sqrt(len(points)))
    mean = [np.mean([line[what] for line in lines], axis=0) * 100 for what in ("ACC", "NMI")]
    ratio = [
        np.exp(np.mean([np.log(line[what][1] / line[what][0]) for line in lines]))
        for what in ("iterations", "cpu_seconds")
    ]
    return [
        "all",
        len(points),
        "{:.2f} → {:.2f}".format(*mean[0]),
        f"{mean[0][1] - mean[0][0]:+.2f} ± {error:.2f}",
        "{:.2f} → {:.2f}".format(*mean[1]),
        f"times {ratio[0]:.2f}",
        f"times {ratio[1]:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="another checkout, whose commit names its rows")
    parser.add_argument("--data", help="folder of .npz data sets, for the real ones besides")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=[*FAMILIES, *REAL], metavar="SET", action="append")
    arguments = parser.parse_args()
    named = arguments.data or os.environ.get("POWERKMEANS_DATA")
    sets = {**dict.fromkeys(FAMILIES, arguments.seeds), **(REAL if named else {})}
    chosen = {name: seeds for name, seeds in sets.items() if name in (arguments.only or sets)}
    wanted = [(name, seed) for name, seeds in chosen.items() for seed in range(min(seeds, arguments.seeds))]
    store, there = Store("against", KEYS), commit_of(arguments.checkout)
    folder = data_folder(named) if named else Path()
    measure(store, there, arguments.checkout, wanted, folder)
    store.discard(lambda row: row["sources"] == HERE and (row["data"], row["seed"]) in wanted)
    measure(store, HERE, Path(__file__).parents[1], wanted, folder)
    show(summary(store.of([(name, sources, seed) for name, seed in wanted for sources in (there, HERE)]), there))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
