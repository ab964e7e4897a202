"""Columns by name, by pattern and by position, and the views that ``--view`` makes of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from powerkmeans.cli.errors import UserError, listed, near, usage

# positions from 0, the last one not included: 0:64, :10, 5:
_RANGE = re.compile(r"(\d*):(\d*)")


def find_columns(pattern: str, header: Sequence[str], source: str) -> list[int]:
    """Where the columns stand that a name, a pattern with ``*`` or ``?``, or a range of positions stands for."""
    if pattern in header:
        return [header.index(pattern)]
    between = _RANGE.fullmatch(pattern)
    if between is not None and pattern != ":":
        start, stop = (int(bound) if bound else None for bound in between.groups())
        found = list(range(len(header)))[start:stop]
        if not found or (stop is not None and stop > len(header)):
            raise UserError(f"{source} has {len(header)} columns, so {pattern!r} is not a range of them.")
        return found
    if "*" in pattern or "?" in pattern:
        parts = ("." + "*" * (c == "*") if c in "*?" else re.escape(c) for c in pattern)
        form = re.compile("".join(parts), re.DOTALL)
        found = [place for place, name in enumerate(header) if form.fullmatch(name)]
        if found:
            return found
        shown = listed(list(header))
        raise UserError(f"{source} has no column like {pattern!r}; it has {shown}.")
    hint = near(pattern, list(header)) or f"; it has {listed(list(header))}."
    raise UserError(f"{source} has no column {pattern!r}{hint}")


def parse_views(given: Sequence[str]) -> dict[str, list[str]]:
    """``name=pattern,pattern`` options as names and what they stand for; a name that comes twice collects both."""
    views: dict[str, list[str]] = {}
    for text in given:
        name, equals, patterns = text.partition("=")
        if not equals or not name.strip() or not patterns.replace(",", "").strip():
            raise usage(f"--view {text!r} is not of the form name=column,column or name=prefix*.")
        views.setdefault(name.strip(), []).append(patterns.strip())
    return views


def cut_views(views: dict[str, list[str]], header: Sequence[str], source: str) -> dict[str, list[int]]:
    """Which columns each view has; a column belongs to one view."""
    owner: dict[int, str] = {}
    groups: dict[str, list[int]] = {}
    for name, given in views.items():
        patterns = patterns_of(given, header)
        places = dict.fromkeys(place for pattern in patterns for place in find_columns(pattern, header, source))
        for place in places:
            if place in owner:
                raise usage(
                    f"Column {header[place]!r} is in the views {owner[place]!r} and {name!r}; give it to one."
                )
            owner[place] = name
        groups[name] = list(places)
    return groups


def patterns_of(given: Sequence[str], header: Sequence[str]) -> list[str]:
    """Columns as an option names them: by commas, and again and again; a name may have a comma of its own."""
    parts = [[text] if text in header else [part.strip() for part in text.split(",")] for text in given]
    return [pattern for part in parts for pattern in part if pattern]


class Named:
    """The columns that an option names; each must be in one of the files."""

    def __init__(self, given: Sequence[str]) -> None:
        self.given = list(given)
        self._missed: dict[tuple[str, str], UserError] = {}
        self._found = set[str]()

    def places(self, header: Sequence[str], source: str) -> set[int]:
        """Where those columns stand that a file has."""
        places = set[int]()
        for text in self.given:
            for pattern in patterns_of([text], header):
                try:
                    places.update(find_columns(pattern, header, source))
                    self._found.add(pattern)
                except UserError as error:
                    self._missed.setdefault((text, pattern), error)
        return places

    def check(self) -> None:
        """Reject a pattern that no file had."""
        for ways, error in self._missed.items():
            if self._found.isdisjoint(ways):
                raise error


class Chosen:
    """The columns that ``--columns`` names, without those of ``--drop``."""

    def __init__(self, columns: Sequence[str], dropped: Sequence[str]) -> None:
        self._columns, self._dropped = Named(columns), Named(dropped)

    def places(self, header: Sequence[str], source: str) -> list[int]:
        """Where the columns stand that are used."""
        if not header:
            raise UserError(f"{source} has no columns to cluster.")
        wanted = self._columns.places(header, source) if self._columns.given else set(range(len(header)))
        dropped = self._dropped.places(header, source)
        if not wanted:
            self.check()
            raise usage(f"--columns names no column of {source}.")
        if not wanted - dropped:
            raise usage(f"--drop leaves no column of {source}.")
        return sorted(wanted - dropped)

    def check(self) -> None:
        """Reject a pattern that no file had."""
        self._columns.check()
        self._dropped.check()
