"""Wrong and odd values for every parameter of everything public: each is taken, or refused by name.

``python -m benchmarks.fuzz.values --count 5000 --seed 0`` tries as many, drawn from all; ``--count 0`` tries all.
Calls run in child processes with a limit on time and memory, so that a crash is a line of the result.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from typing import NamedTuple

from matplotlib import pyplot

from benchmarks.fuzz.entries import Entry, entries
from benchmarks.fuzz.outcomes import LONG, REFUSED, TAKEN, outcome
from benchmarks.fuzz.pool import Factory, pool
from benchmarks.fuzz.workers import MISS, Judge, tried


class Case(NamedTuple):
    """Positions of an entry, one of its parameters and a value; valid values come after those of the pool."""

    entry: int
    parameter: str
    value: int


def all_cases() -> tuple[list[Case], list[Case]]:
    """Odd values, and values that must be taken."""
    odd, valid, size = list[Case](), list[Case](), len(pool())
    for number, entry in enumerate(entries()):
        for parameter in entry.parameters:
            odd += [Case(number, parameter, value) for value in range(size)]
            known = len(entry.kind(parameter).valid)
            valid += [Case(number, parameter, size + value) for value in range(known)]
    return odd, valid


def draw_on_nothing() -> None:
    """Pictures are not shown."""
    pyplot.switch_backend("agg")
    pyplot.rcParams["figure.max_open_warning"] = 0


def judge(cases: list[Case]) -> Judge:
    """What becomes of cases by their numbers."""
    known, values = entries(), pool()
    draw_on_nothing()
    return lambda number: _told(known, values, cases[number])


def _told(known: list[Entry], values: list[tuple[str, Factory]], case: Case) -> str:
    """``taken``, ``refused`` or not tried, or else what is wrong, with the call."""
    entry, must = known[case.entry], case.value >= len(values)
    valid = entry.kind(case.parameter).valid
    value = valid[case.value - len(values)] if must else values[case.value][1]()
    found = outcome(entry, case.parameter, value)
    pyplot.close("all")
    if found == TAKEN or (found in (REFUSED, LONG) and not must):
        return found
    return f"{MISS} {described_case(case)}: {'valid, but ' if must else ''}{found}"


def described_case(case: Case) -> str:
    """A call in words."""
    entry, values = entries()[case.entry], pool()
    label = values[case.value][0] if case.value < len(values) else f"valid {case.value - len(values)}"
    return f"{entry.name}  {case.parameter} = {label}"


def drawn(seed: int) -> list[Case]:
    """Every odd value of every parameter, in an order that the seed decides."""
    odd, _ = all_cases()
    return random.Random(seed).sample(odd, len(odd))


def run(cases: list[Case]) -> int:
    """Try the cases, print counts and misses; return the number of misses."""
    counts = Counter[str]()
    for case in tried(judge(cases), range(len(cases))):
        counts["missed" if case.missed else case.outcome] += 1
        if case.missed:
            print(f"{described_case(cases[case.number])}\n    {case.outcome}", flush=True)
    print(f"{len(cases)} calls: " + ", ".join(f"{number} {name}" for name, number in sorted(counts.items())))
    return counts["missed"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000, help="how many odd values to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--entry", default="", help="only entries whose name begins so")
    given = parser.parse_args()
    known = entries()
    odd, valid = ([c for c in part if known[c.entry].name.startswith(given.entry)] for part in all_cases())
    chosen = random.Random(given.seed).sample(odd, min(given.count, len(odd))) if given.count else odd
    return 1 if run([*valid, *chosen]) else 0


if __name__ == "__main__":
    sys.exit(main())
