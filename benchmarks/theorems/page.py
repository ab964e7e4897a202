"""The page of results: prose stays, what lies between markers is made anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import table_text
from benchmarks.theorems.verdicts import Statement, Table

VERDICTS = "verdicts"


def section(name: str, text: str) -> str:
    """A text between markers that carry its name."""
    return f"<!-- {name}: begin, written by the command -->\n\n{text}\n\n<!-- {name}: end -->"


def refreshed(page: str, sections: dict[str, str]) -> str:
    """The page with its sections replaced; those that it lacks come last."""
    for name, text in sections.items():
        new = section(name, text)
        pattern = re.compile(rf"<!-- {name}: begin.*?<!-- {name}: end -->", re.DOTALL)
        found = pattern.search(page)
        page = f"{page}\n{new}\n" if found is None else page[: found.start()] + new + page[found.end() :]
    return page


def table_markdown(table: Table) -> str:
    """A caption and its table; bars would end a cell."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in table.lines]
    return f"{table.caption}\n\n{table_text(table.header, lines)}"


def verdicts_markdown(statements: Sequence[Statement]) -> str:
    """One line a verdict."""
    lines = [
        [
            s.title,
            v.about.replace("|", "\\|"),
            str(v.outcome) + ("" if v.counts else " *"),
            v.number.replace("|", "\\|"),
        ]
        for s in statements
        for v in s.verdicts
    ]
    note = "\\* beyond what is claimed: does not change the exit code."
    return f"{table_text(['statement', 'what', 'verdict', 'the number that decides'], lines)}\n\n{note}"


def write_page(path: Path, statements: Sequence[Statement]) -> None:
    """Put the results of a run into a page, which is made if there is none."""
    page = path.read_text() if path.exists() else "# The theorems, put to the test\n"
    sections = {VERDICTS: verdicts_markdown(statements)}
    for s in statements:
        sections[s.key] = "\n\n".join(table_markdown(table) for table in s.tables)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(refreshed(page, sections))
