"""The part of the study's page about feature maps: standings, both sides beside peers, the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.harness.store import Row, Store
from benchmarks.methods.ours import LANDMARK_MAP
from benchmarks.report import table_text
from benchmarks.study import maps
from benchmarks.study.page import failures, side_tables, standing_table
from benchmarks.study.run import Study
from benchmarks.study.sets import SIDES, StudySet

INTRODUCTION = f"""## Feature maps

Ours with each map and the library's defaults for the rest, by the same rule as the factors below; what stood is
"{LANDMARK_MAP}", so "most ACC lost" is against it. The sets are those of the factors and more, each on its side
before the first fit; "uneven topics" has rows of unit length and the digits are as they are, all others are
standardised."""
ORDER = """Adjusted Rand index between the labels of one seed in the order of the file and in a shuffled order, in
brackets the rows that changed their cluster; 1.000 is an answer that does not depend on the order."""


def maps_section(study: Study) -> str:
    """Standings, both sides and the order of the rows, of the sets on which what stood has been run."""
    sides = {title: _run_on(study, side) for title, side in SIDES.items()}
    chosen_on = sides["chosen on"]
    if not chosen_on:
        return ""
    found, winner = maps.choose(study, chosen_on)
    parts = [INTRODUCTION, standing_table(found), f"The rule's choice: **{winner}**."]
    for title, side in sides.items():
        rows = maps.rows_of(study, maps.METHODS, side, "")
        parts += [f"### Maps and peers: {title}", side_tables(rows, side), failures(rows)]
    parts += ["### The order of the rows", ORDER]
    parts += [order_table(maps.order_store(), side, title) for title, side in sides.items()]
    return "\n\n".join(part for part in parts if part) + "\n\n"


def _run_on(study: Study, side: Sequence[StudySet]) -> list[StudySet]:
    """The sets on which what stood has been run."""
    first = {data.name: maps.jobs_of(LANDMARK_MAP, [data], 1)[0].key for data in side}
    return [data for data in side if "ACC" in study.store.rows.get(first[data.name], {})]


def order_table(store: Store, side: Sequence[StudySet], title: str) -> str:
    """Sets by methods; the last line has the least of each."""
    columns = {name: store.of((data.name, name) for data in side) for name in maps.METHODS}
    shown = {name: {row["data"]: row for row in rows} for name, rows in columns.items() if rows}
    lines = [[data.name, *[_cell(rows.get(data.name)) for rows in shown.values()]] for data in side]
    least = [[row["agree"] for row in rows.values() if "agree" in row] for rows in shown.values()]
    lines.append(["least", *[f"{np.min(values):.3f}" if values else "-" for values in least]])
    return table_text([title, *shown], lines) if shown else ""


def _cell(row: Row | None) -> str:
    if row is None or "agree" not in row:
        return "-"
    return f"{row['agree']:.3f}" + (f" ({row['moved']})" if row["moved"] else "")
