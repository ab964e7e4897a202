"""Wrong and odd values for every parameter of everything public: each is taken, or refused by name.

``python -m benchmarks.fuzz.values --count 5000 --seed 0`` tries as many, drawn from all; ``--count 0`` tries all.
Calls run in child processes with a limit on time and memory, so that a crash is a line of the result.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from multiprocessing.connection import Connection
from typing import NamedTuple

from matplotlib import pyplot

from benchmarks.fuzz.entries import entries
from benchmarks.fuzz.outcomes import LONG, REFUSED, TAKEN, outcome
from benchmarks.fuzz.pool import pool

SECONDS, BYTES = 60.0, 6 * 2**30


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


def work(cases: list[Case], start: int, pipe: Connection) -> None:
    """Try cases one after the other, in an empty folder."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    draw_on_nothing()
    known, values = entries(), pool()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing, chdir(folder):
        sys.stderr = sys.stdout = nothing
        for case in cases[start:]:
            pipe.send(tried(known, values, case))


def draw_on_nothing() -> None:
    """Pictures are not shown."""
    pyplot.switch_backend("agg")
    pyplot.rcParams["figure.max_open_warning"] = 0


def tried(known: list, values: list, case: Case) -> str:
    """The outcome of one case."""
    entry = known[case.entry]
    must = case.value >= len(values)
    valid = entry.kind(case.parameter).valid
    value = valid[case.value - len(values)] if must else values[case.value][1]()
    found = outcome(entry, case.parameter, value)
    pyplot.close("all")
    return f"valid, but {found}" if must and found != TAKEN else found


def outcomes(cases: list[Case]) -> Iterator[str]:
    """The outcome of every case; a child that dies or hangs is replaced."""
    context, done = multiprocessing.get_context("fork"), 0
    while done < len(cases):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=work, args=(cases, done, there))
        child.start()
        there.close()
        while done < len(cases):
            found = _received(here)
            done += 1
            yield found
            if found.startswith("child "):
                break
        child.kill()
        child.join()


def _received(pipe: Connection) -> str:
    if not pipe.poll(SECONDS):
        return f"child hangs for {SECONDS:.0f} s"
    try:
        return str(pipe.recv())
    except EOFError:
        return "child dies"


def run(cases: list[Case]) -> int:
    """Try the cases, print counts and misses; return the number of misses."""
    known, values = entries(), pool()
    counts = Counter[str]()
    for case, found in zip(cases, outcomes(cases), strict=True):
        fine = found in (TAKEN, REFUSED, LONG)
        counts[found if fine else "missed"] += 1
        if not fine:
            entry = known[case.entry]
            label = values[case.value][0] if case.value < len(values) else f"valid {case.value - len(values)}"
            print(f"{entry.name}  {case.parameter} = {label}\n    {found}", flush=True)
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
