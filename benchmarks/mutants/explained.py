"""Survivors that no test need notice, with the reason of each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants.mutant import Mutant

PLACE = Path(__file__).with_name("explained.toml")
KINDS = ("equivalent", "speed", "message", "rounding", "rule of thumb", "unreachable", "elsewhere")


class Explanation(NamedTuple):
    """Why a mutant may live: the kind of reason, a sentence, and the change that it speaks of."""

    kind: str
    reason: str
    change: str


def explanations(place: Path = PLACE) -> dict[str, Explanation]:
    """By the names of mutants."""
    entries = tomllib.loads(place.read_text())["mutant"] if place.exists() else []
    return {entry["name"]: Explanation(entry["kind"], entry["reason"], entry["change"]) for entry in entries}


def flaws(known: dict[str, Explanation], mutants: Iterable[Mutant], sources: dict[str, str]) -> list[str]:
    """What is wrong with the list: names of nothing, changes that are others now, kinds that are none."""
    named = {mutant.name: mutant for mutant in mutants}
    found = []
    for name, given in known.items():
        if name not in named:
            found.append(f"{name} is explained, and there is no such mutant")
        elif (now := named[name].change(sources[named[name].path])) != given.change:
            found.append(f"{name} is explained as {given.change!r}, and is {now!r}")
        if given.kind not in KINDS:
            found.append(f"{name} is of kind {given.kind!r}; kinds are {', '.join(KINDS)}")
    return found
