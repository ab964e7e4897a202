"""Do the paper's theorems hold here? Verdicts with numbers.

python -m benchmarks.theorems [--quick] [--data FOLDER] [--only STATEMENT ...] [--again]

Prints for each statement what is claimed, what was measured, and verdicts: "holds", "does not hold here" or
"cannot be told from this", with the number that decides. The exit code is 0 if every verdict that counts holds,
and 1 if one fails or cannot be told. Verdicts that do not count are of cases beyond what the paper claims:
controls, orthogonal features, and the recommended size where only a larger one is proved.

Data ship with scikit-learn or are made here; HW2 and 100leaves come besides if --data or POWERKMEANS_DATA names
their folder. Rows go to benchmarks/results/theorems.jsonl, tables into docs/theorems.md, pictures to docs/images;
with --quick (generated data alone) to theorems_quick.jsonl and demo_output. With --only nothing is written, and
--again judges and draws the rows of the last run anew.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from benchmarks.paper.figures import pyplot
from benchmarks.report import print_table, read_lines, write_lines
from benchmarks.theorems import consistency, descent, every_partition, excess_risk, relative_error
from benchmarks.theorems.page import write_page
from benchmarks.theorems.pictures import PICTURES
from benchmarks.theorems.sets import Plan, optional_folder
from benchmarks.theorems.verdicts import Row, Statement, all_hold

ROOT = Path(__file__).parents[2]
STATEMENTS: dict[str, tuple[Callable[[Plan], list[Row]], Callable[[list[Row]], Statement]]] = {
    "relative_error": (relative_error.measure, relative_error.judge),
    "every_partition": (every_partition.measure, every_partition.judge),
    "excess_risk": (excess_risk.measure, excess_risk.judge),
    "consistency": (consistency.measure, consistency.judge),
    "descent": (descent.measure, descent.judge),
}
VERDICT = "verdict"


def parse(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.theorems",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="generated data alone, in seconds")
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA, or none)")
    parser.add_argument("--again", action="store_true", help="page and pictures from the rows of the last run")
    parser.add_argument("--only", nargs="+", choices=list(STATEMENTS), help="some statements; nothing is written")
    parser.add_argument(
        "--out", type=Path, help="folder for page and pictures (docs, docs/images; quick: demo_output)"
    )
    return parser.parse_args(given)


def show(statement: Statement) -> None:
    """Claim, tables and verdicts of one statement on stdout."""
    print(f"\n## {statement.title}\n\nClaimed: {statement.claim}\n")
    for table in statement.tables:
        print(f"{table.caption}\n")
        print_table(table.header, table.lines)
        print()
    for verdict in statement.verdicts:
        print(f"VERDICT  {verdict}", flush=True)


def verdict_rows(statement: Statement) -> list[Row]:
    """The verdicts as rows of their own."""
    return [
        {"measured": VERDICT, "statement": statement.key, "about": v.about, "outcome": str(v.outcome)}
        | {"number": v.number, "counts": v.counts}
        for v in statement.verdicts
    ]


def draw(rows: list[Row], images: Path) -> None:
    """All pictures, if there is something to draw them with."""
    plt = pyplot()
    if plt is None:
        return
    images.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        figure = picture(plt, rows)
        figure.savefig(images / f"theorem_{name}.png", dpi=150)
        plt.close(figure)


class Places(NamedTuple):
    """Where a run puts its results."""

    results: str
    page: Path
    images: Path


def places(arguments: argparse.Namespace) -> Places:
    folder = arguments.out or ROOT / ("demo_output" if arguments.quick else "docs")
    name = "theorems_quick" if arguments.quick else "theorems"
    return Places(name, folder / "theorems.md", folder if arguments.quick else folder / "images")


def save(rows: list[Row], statements: list[Statement], to: Places) -> None:
    """Rows and verdicts as JSON lines."""
    verdicts = [row for statement in statements for row in verdict_rows(statement)]
    print(f"\nwritten to {write_lines(to.results, [*rows, *verdicts])}")


def present(rows: list[Row], statements: list[Statement], to: Places) -> None:
    """Page and pictures."""
    write_page(to.page, statements)
    draw(rows, to.images)
    print(f"written to {to.page} and {to.images}")


def shortened(value: Any) -> Any:
    """What is measured, to seven digits: more are noise, and fill the file."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items()}
    return [shortened(inner) for inner in value] if isinstance(value, list) else value


def measured(names: Sequence[str], plan: Plan) -> list[Row]:
    """Rows of the statements, and on stderr how long each took."""
    rows = []
    with threadpool_limits(limits=1):
        for name in names:
            start, work = time.perf_counter(), time.process_time()
            rows += [shortened(row) for row in STATEMENTS[name][0](plan)]
            spent = f"{time.perf_counter() - start:.0f} s, {time.process_time() - work:.0f} s of one core"
            print(f"{name}: {spent}", file=sys.stderr, flush=True)
    return rows


def main(given: Sequence[str] | None = None) -> int:
    """Measure, judge, print, write; 0 if all verdicts that count hold."""
    arguments = parse(given)
    names, to = arguments.only or list(STATEMENTS), places(arguments)
    if arguments.again:
        rows = [row for row in read_lines(to.results) if row["measured"] != VERDICT]
    else:
        rows = measured(names, Plan(arguments.quick, None if arguments.quick else optional_folder(arguments.data)))
    statements = [STATEMENTS[name][1](rows) for name in names]
    for statement in statements:
        show(statement)
    if not arguments.only:
        if not arguments.again:
            save(rows, statements, to)
        present(rows, statements, to)
    good = all_hold([verdict for statement in statements for verdict in statement.verdicts])
    print(f"\n{'Every' if good else 'Not every'} verdict that counts holds.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
