"""One small change of one file, and the name that it keeps while lines move."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Site(NamedTuple):
    """What may be changed: where in the text, in which function, by which operator, into what."""

    function: str
    operator: str
    start: int
    stop: int
    text: str


class Mutant(NamedTuple):
    """A site of a file with its ordinal among those of the same operator in the same function."""

    room: str
    path: str
    site: Site
    ordinal: int

    @property
    def name(self) -> str:
        """What it is called everywhere: file, function, operator, ordinal."""
        return f"{self.path}::{self.site.function}::{self.site.operator}::{self.ordinal}"

    def applied(self, source: str) -> str:
        """The text of the file with the change."""
        return source[: self.site.start] + self.site.text + source[self.site.stop :]

    def change(self, source: str) -> str:
        """What is replaced and by what, in a line."""
        return " ".join(f"{source[self.site.start : self.site.stop]} -> {self.site.text}".split())

    def diff(self, source: str) -> str:
        """The change as people read it."""
        before, after = source.splitlines(keepends=True), self.applied(source).splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, self.path, self.name, n=2))

    def digest(self, source: str) -> str:
        """What stands for the text of the file with the change."""
        return hashlib.sha256(self.applied(source).encode()).hexdigest()[:12]

    def rank(self, seed: int) -> str:
        """Its place among all mutants of a seed, the same whatever else there is."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()


def named(room: str, path: str, sites: Iterable[Site]) -> list[Mutant]:
    """Mutants of the sites of a file, in the order of the text."""
    seen: Counter[tuple[str, str]] = Counter()
    mutants = []
    for site in sorted(sites, key=lambda site: (site.start, -site.stop)):
        seen[site.function, site.operator] += 1
        mutants.append(Mutant(room, path, site, seen[site.function, site.operator]))
    return mutants
