"""Columns that cannot be clustered as they are: all of them at once, with what would help."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError, counted
from powerkmeans.cli.reading.text import why_no_number
from powerkmeans.cli.samples import is_full
from powerkmeans.cli.table import Table
from powerkmeans.preparing.spelling import PLAIN, Kind, Spelling, kind_of

# more categories than these, or as many as half of the rows, are texts or names
MOST_LEVELS = 50
_MOST_SHOWN, _WIDEST = 20, 48
_FILL = "--impute median"
_OTHER_DATE = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4}( .*)?")
_PLAIN = re.compile(r"[\w.:,+-]+")
_EITHER = re.compile(r"(^|[^0-9.])[1-9][0-9]{0,2}\.[0-9]{3}($|[^0-9.eE])")
_POINTS = re.compile(r"[0-9]\.[0-9]{3}[.,][0-9]")
_MEASURE = re.compile(r"(.*[0-9]) ?([^\W\d]\S*)")


class Trouble(NamedTuple):
    """A column, what it holds, and what to say about it."""

    column: str
    holds: str
    say: str


def is_category(texts: NDArray[Any]) -> bool:
    """Whether words come back often enough to be categories."""
    levels = len(set(texts.tolist()) - {""})
    return 0 < levels <= MOST_LEVELS and 2 * levels <= max(4, int(np.sum(texts != "")))


def check_columns(
    tables: Sequence[Table],
    kinds: Mapping[str, Mapping[str, Kind | None]],
    spelling: Spelling,
    *,
    fills: bool,
    spelt: bool = True,
) -> None:
    """Reject words and gaps that nobody said what to do with, all in one message.

    ``fills``, ``spelt`` : whether somebody said what gaps are filled with, and what stands before decimals
    """
    messages = []
    for table in tables:
        several = len(tables) > 1
        words = [label for label, kind in kinds[table.name].items() if kind is None]
        found = [_about_words(table, label, spelling) for label in words]
        found += [] if spelt else _of_either(table, kinds[table.name])
        if not fills:
            gaps = _about_gaps(table, several=several)
            found = [_with_gaps(one, gaps.pop(one.column, None)) for one in found] + list(gaps.values())
        if found:
            messages.append(_message(table, found, several=several, with_words=bool(words)))
    if messages:
        raise UserError("\n".join(messages))


def _about_words(table: Table, label: str, spelling: Spelling) -> Trouble:
    texts = table.words_of(label)
    filled = texts[texts != ""]
    levels = sorted(set(filled.tolist()))
    if not levels:
        return _about_nothing(table, label)
    odd = [text for text in levels if kind_of([text], spelling) is not Kind.NUMBER]
    if not odd:
        return _of_units(label, sorted({spelling.unit(text) or "none" for text in levels}))
    if 2 * int(np.sum(np.isin(filled, odd))) <= len(filled) or _way_to_numbers(odd, spelling):
        return _spoilt(table, label, texts, odd, spelling)
    return _of_words(table, label, texts, spelling)


def _of_either(table: Table, kinds: Mapping[str, Kind | None]) -> list[Trouble]:
    """Amounts such as € 180.500, whose points may stand before decimals or between thousands."""
    found = []
    for label, kind in kinds.items():
        texts = table.words_of(label) if kind is Kind.NUMBER else ()
        pointed = [text for text in texts if "." in text]
        if pointed and all(_EITHER.search(text) for text in pointed) and PLAIN.unit(pointed[0]) not in ("", "%"):
            holds = f"{pointed[0]!r}: thousands, or three decimals?"
            found.append(Trouble(label, holds, "--decimal , --thousands . or, for decimals, --decimal ."))
    return found


def _of_words(table: Table, label: str, texts: NDArray[Any], spelling: Spelling) -> Trouble:
    """A column of dates, measures, names, categories or texts."""
    name, levels = quoted(label), sorted(set(texts.tolist()) - {""})
    if all(_OTHER_DATE.fullmatch(text) for text in levels):
        return Trouble(label, f"dates like {levels[0]}", f"write them as 2024-12-31, or --drop {name}")
    unit = None if is_category(texts) else _unit_behind(levels, spelling)
    if unit is not None:
        return Trouble(
            label, f"numbers with {unit!r} behind: {_some(levels)}", f"write them without, or --drop {name}"
        )
    if len(levels) == int(np.sum(texts != "")) > 2:
        id_hint = "" if table.ids is not None else f"--id {name}, or "
        return Trouble(label, f"{len(levels):,} words, each once: {_some(levels)}", f"{id_hint}--drop {name}")
    if is_category(texts):
        marks = [level for level in levels if not any(letter.isalnum() for letter in level)]
        missing = f", --na {quoted(marks[0])}" if marks else ""
        holds = f"{counted(len(levels), 'word')}: {_some(levels)}"
        return Trouble(label, holds, f"--encode {name}{missing}, or --drop {name}")
    return Trouble(label, f"{len(levels):,} different words: {_some(levels)}", f"--drop {name}")


def _unit_behind(levels: list[str], spelling: Spelling) -> str | None:
    """The unit that stands behind every number of a column, such as m²; None if there is none."""
    found = [_MEASURE.fullmatch(text) for text in levels]
    units = {one[2] if one and kind_of([one[1]], spelling) is Kind.NUMBER else None for one in found}
    return units.pop() if len(units) == 1 else None


def _about_nothing(table: Table, label: str) -> Trouble:
    formulas = table.source.lower().endswith(".xlsx")
    holds = "nothing: every cell is missing" + (", or a formula that was never calculated" if formulas else "")
    return Trouble(label, holds, f"--drop {quoted(label)}")


def _of_units(label: str, units: list[str]) -> Trouble:
    holds = f"numbers of different units: {_some(units)}"
    return Trouble(label, holds, f"write them in one, or --drop {quoted(label)}")


def _spoilt(table: Table, label: str, texts: NDArray[Any], odd: list[str], spelling: Spelling) -> Trouble:
    """A column of numbers with something else in it."""
    row = int(np.argmax(np.isin(texts, odd)))
    cells = int(np.sum(np.isin(texts, odd)))
    more = f" and {counted(cells - 1, 'other cell')}" if cells > 1 else ""
    why = _way_to_numbers(odd, spelling)
    way = why or f"--na {quoted(texts[row])} if it means missing, or --drop {quoted(label)}"
    says = "are no numbers" if more else "is not a number"
    return Trouble(label, f"{texts[row][:24]!r} in {table.place(row)}{more} {says}", way)


def _way_to_numbers(odd: list[str], spelling: Spelling) -> str | None:
    """What makes numbers of texts, or what may be behind them; None if nothing is known."""
    if _has_points_between(odd, spelling):
        return "--decimal , --thousands . if points stand between thousands"
    why = why_no_number(odd[0], spelling.decimal)
    if why is None or "--thousands" not in why:  # which may be decimals as well
        for mark in sorted({",", ".", "'", " "} - {spelling.decimal, spelling.thousands}):
            if kind_of(odd, replace(spelling, thousands=mark)) is Kind.NUMBER:
                way = f"--thousands {quoted(mark)}"
                return f"{why}; {way} between thousands" if why and "--decimal" in why else way
    return why


def _has_points_between(odd: list[str], spelling: Spelling) -> bool:
    """Whether most texts are numbers such as 1.234.567 or 1.234,5, and some can be nothing else."""
    if spelling.decimal != "." or not any(_POINTS.search(text) for text in odd):
        return False
    other = replace(spelling, decimal=",", thousands=".")
    return 2 * sum(kind_of([text], other) is Kind.NUMBER for text in odd) > len(odd)


def _with_gaps(words: Trouble, gaps: Trouble | None) -> Trouble:
    """Categories with missing cells, which have to be filled as well."""
    if gaps is None or not words.say.startswith("--encode"):
        return words
    encode, drop = words.say.rsplit(", or ", 1)
    return Trouble(words.column, f"{words.holds}; {gaps.holds}", f"{encode} {_FILL}, or {drop}")


def _about_gaps(table: Table, *, several: bool) -> dict[str, Trouble]:
    """Missing cells by their columns."""
    if is_full(table):
        return {}
    missing = table.cells.is_missing
    if several:
        missing = missing & ~np.all(missing, axis=1, keepdims=True)
    counts = np.sum(missing, axis=0)
    found = {}
    for place, label in enumerate(table.columns):
        if not counts[place]:
            continue
        first = table.place(int(np.argmax(missing[:, place])))
        gaps = f"{counted(int(counts[place]), 'missing cell')}, the first in {first}"
        some = Trouble(label, gaps, f"{_FILL}, knn or drop-rows")
        found[label] = some if counts[place] < len(table) else _about_nothing(table, label)
    return found


def _message(table: Table, found: list[Trouble], *, several: bool, with_words: bool) -> str:
    rows = [("column", "what it holds", "say"), *(_cut(one) for one in found[:_MOST_SHOWN])]
    widths = [max(len(row[place]) for row in rows) for place in range(2)]
    lines = [f"  {row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}" for row in rows]
    rest = [one.column for one in found[_MOST_SHOWN:]]
    more = [f"  and {counted(len(rest), 'more column')}: {_some(rest)}"] if rest else []
    gaps = any(_FILL in one.say for one in found)
    ways = _marks_of_several(found)
    ways += ["--drop-text, or --encode-text for categories"] if with_words else []
    ways += [_FILL] if gaps else []
    whole = " A sample has a view whole or not at all." if several and gaps else ""
    return "\n".join(
        [
            f"{table.source} has {counted(len(found), 'column')} that cannot be clustered as they are:"
            if len(found) > 1
            else f"{table.source} has a column that cannot be clustered as it is:",
            *lines,
            *more,
            *([f"For all columns at once: {'; '.join(ways)}.{whole}"] if ways else []),
        ]
    )


def _marks_of_several(found: list[Trouble]) -> list[str]:
    """What may mean missing in more than one column of numbers."""
    said = Counter(one.say.rpartition(", or --drop")[0] for one in found if one.say.startswith("--na "))
    return [way for way, times in said.items() if times > 1]


def _cut(one: Trouble) -> tuple[str, str, str]:
    return _short(one.column, 24), _short(one.holds, _WIDEST + 24), one.say


def _some(levels: list[str]) -> str:
    shown = ", ".join(_short(level, 16) for level in levels[:3])
    return shown if len(levels) <= 3 else f"{shown}, ..."


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(name: str) -> str:
    """A name as one types it in a shell."""
    if _PLAIN.fullmatch(name):
        return name
    in_double = "'" in name and not set(name) & set('"$`\\!')
    return f'"{name}"' if in_double else "'" + name.replace("'", "'\\''") + "'"


def looks_like_ids(table: Table, place: int) -> bool:
    """Whether a column of numbers counts the rows, or names each by a number of its own."""
    if place in table.words or len(table) < 10:
        return False
    values = table.values[:, place]
    whole = np.all(np.isfinite(values)) and np.all(values == np.floor(values))
    if not whole or len(np.unique(values)) < len(values):
        return False
    counts = bool(np.all(np.diff(values) == 1))
    return counts or re.search(r"(^|[_ ])id$|^id[_ ]|[a-z]I[dD]$", table.columns[place]) is not None
