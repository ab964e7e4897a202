"""Broken tables given to the command: each is refused in one sentence, or answered with whole and finite results.

``python -m benchmarks.fuzz --part inputs`` runs the command's own entry in forked processes, in an empty folder.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

from benchmarks.fuzz.tables import N_COLUMNS, broken_table, plain_rows
from benchmarks.fuzz.workers import MISS, Judge
from powerkmeans.cli.app import app
from powerkmeans.cli.errors import Exit

REFUSED, ANSWERED = "refused", "answered"
_REFUSALS = (Exit.USAGE, Exit.DATA, Exit.OUTPUT)
_TOO_LARGE = "in memory, and"  # said of a file by its name, before anything is read
# a fit that takes little time
QUICK = ("-k", "3", "-o", "out", "--set", "anneal_factor=2", "--max-iter", "30", "--no-report", "--json")
MAPS = ("identity", "nystroem", "graph", "rff", "exact")
ANY: tuple[tuple[str, ...], ...] = ((), ("--float32",), ("--columns", "0:2"))
NAMED: tuple[tuple[str, ...], ...] = (
    ("--id", "id"), ("--id", "id"), ("--id", "id"), ("--drop-text",), ("--encode-text",), ("--drop", "id"),
    ("--columns", "a,b"), ("--view", "x=a,b", "--view", "y=c,d"), ("--encode", "id"), ("--na", "-"),
)  # fmt: skip
TEXT: tuple[tuple[str, ...], ...] = (
    ("--no-header",), ("--delimiter", ";"), ("--decimal", ","), ("--thousands", ","), ("--encoding", "latin-1"),
    ("--encoding", "utf-16"),
)  # fmt: skip
READING: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("csv", "tsv"), (*ANY, *NAMED, *NAMED, *TEXT)),
    **dict.fromkeys(("parquet", "feather", "xlsx"), (*ANY, *NAMED)),
    **dict.fromkeys(("npz", "zarr"), (*ANY, ("--array", "view0"))),
    **dict.fromkeys(("mat", "mat7.3"), (*ANY, ("--array", "a"))),
    "h5ad": (*ANY, ("--array", "X"), ("--array", "layers/counts"), ("--id", "kind")),
    "h5mu": (*ANY, ("--array", "X"), ("--id", "kind")),
    "npy": ANY,
}
# options of a fit alone
_OF_A_FIT = ("--drop-text", "--encode-text", "--drop", "--columns", "--view", "--encode")
PREPARING: tuple[tuple[str, ...], ...] = (
    (), (), ("--impute", "median"), ("--impute", "knn"), ("--impute", "drop-rows"), ("--scale", "robust"),
    ("--scale", "none"), ("--scale", "rows"), ("--log",), ("--total", "100"), ("--dry-run",),
    ("--outliers", "0.1"),
)  # fmt: skip


@cache
def model() -> bytes:
    """A model that the command fitted to a table of the right columns."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        rows = plain_rows(np.random.default_rng(0))
        np.savetxt("rows.csv", rows, delimiter=",", header=",".join("abcd"[:N_COLUMNS]), comments="")
        done = CliRunner().invoke(app, ["fit", "rows.csv", *QUICK, "--feature-map", "identity"])
        if done.exit_code:
            raise RuntimeError(done.stderr)
        return Path("out/model.npz").read_bytes()


def judge(seed: int) -> Judge:
    """What becomes of tables by their numbers."""
    model()
    return lambda number: outcome(np.random.default_rng([seed, number]), Path())


def outcome(rng: np.random.Generator, folder: Path) -> str:
    """What the command makes of one broken table, in an empty folder."""
    table = broken_table(rng)
    path = table.written(folder)
    arguments = command(rng, table.kind, path, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = CliRunner().invoke(app, arguments)
        wrong = fault(done, arguments[0], folder)
    finally:
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    what = f"{table.kind}, {table.broken}"
    if wrong:
        return f"{MISS} {wrong} ({what}; {' '.join(arguments)})"
    return f"{ANSWERED if done.exit_code == Exit.DONE else REFUSED} ({what})"


def command(rng: np.random.Generator, kind: str, path: Path, folder: Path) -> list[str]:
    """Arguments for a table of some format: mostly a fit, in one of many ways."""
    known = READING[kind]
    reading, preparing = known[rng.integers(len(known))], PREPARING[rng.integers(len(PREPARING))]
    way = rng.random()
    if way < 0.7:
        more = (
            "--feature-map",
            MAPS[rng.integers(len(MAPS))],
            *(() if rng.random() < 0.7 else ("--format", "parquet")),
        )
        return ["fit", str(path), *QUICK, *reading, *preparing, *more]
    reading = () if reading[:1] and reading[0] in _OF_A_FIT else reading
    if way < 0.9:
        (folder / "model.npz").write_bytes(model())
        return ["predict", str(folder / "model.npz"), str(path), *reading, "-o", str(folder / "labels.csv")]
    if way < 0.95:
        labels = folder / "labels.csv"
        labels.write_text("id,cluster\n" + "".join(f"s{i},{i % 3}\n" for i in range(30)))
        column = ("--truth-column", str(rng.choice(["a", "b"]))) if rng.random() < 0.7 else ()
        return ["evaluate", str(labels), str(path), *(("--id", "id") if rng.random() < 0.6 else ()), *column]
    return ["bandwidth", str(path), *reading]


def fault(done: Result, name: str, folder: Path) -> str | None:
    """What is wrong with what a command did; None if nothing is."""
    said = " ".join(done.output.split())
    if done.exit_code in _REFUSALS or _TOO_LARGE in said:
        errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        if len(errors) != 1 or "Traceback" in done.stderr:
            return f"{len(errors)} sentences: {said[-160:]}"
        return f"leaves {left}" if (left := _left(folder, "labels.csv" if name == "evaluate" else "")) else None
    if done.exit_code != Exit.DONE:
        return f"exit {done.exit_code}: {said[-240:]}"
    odd = [str(path) for path in _written(folder) if path.suffix == ".csv" and not _finite_table(path)]
    if name == "fit" and not _finite(json.loads(done.stdout)):
        odd.append("what is printed")
    return f"not finite: {', '.join(odd)}" if odd else None


def _left(folder: Path, known: str) -> str:
    """What a refused command left behind."""
    names = {path.name for path in folder.iterdir()} - {"model.npz", known}
    return ", ".join(sorted(name for name in names if not name.startswith("table.")))


def _written(folder: Path) -> Iterator[Path]:
    yield from (folder / "out").glob("*")
    if (folder / "model.npz").exists():
        yield folder / "labels.csv"


def _finite_table(path: Path) -> bool:
    """Whether all columns but ids are finite, or empty where there is no answer."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    numbers = [cell for row in rows for key, cell in row.items() if key not in ("id", "sample", "row") and cell]
    return bool(rows) and all(_is_finite_text(cell) for cell in numbers)


def _is_finite_text(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return True  # an id under another name


def _finite(told: Any) -> bool:
    if isinstance(told, dict):
        return all(map(_finite, told.values()))
    if isinstance(told, list):
        return all(map(_finite, told))
    return not isinstance(told, float) or math.isfinite(told)
