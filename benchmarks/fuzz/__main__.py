"""Try to break the library for some minutes: files of models, tables for the command, values of parameters.

python -m benchmarks.fuzz [--minutes 10] [--seed S] [--part models] [--count 1000] [--sanitized] [--totals]

Every run adds a line to benchmarks/results/fuzz.jsonl, and takes a seed that no run had before it unless one is
given; ``--totals`` adds the lines up. ``--sanitized`` has the compiled kernels checked by sanitizers meanwhile
(benchmarks/fuzz/sanitized.py). Cases run in child processes with limits; the exit code is 1 if there was a miss.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

from benchmarks.fuzz.sanitized import build_sanitized
from benchmarks.fuzz.workers import Judge, tried
from benchmarks.report import RESULTS, machine

FILE = RESULTS / "fuzz.jsonl"
# how the minutes of a run are shared out, and how many cases all runs together shall have tried
PARTS = {"models": (0.4, 100_000), "inputs": (0.3, 10_000), "values": (0.3, 50_000)}
MOST = 10_000_000


class Found(NamedTuple):
    """What a part of a run came to."""

    counts: Counter[str]
    misses: list[str]
    seconds: float


def runs() -> list[dict[str, Any]]:
    """All runs so far."""
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def new_seed() -> int:
    """One more than the largest that any run had."""
    return max((run["seed"] for run in runs()), default=-1) + 1


def fuzzed(part: str, seed: int, seconds: float, count: int) -> Found:
    """Try cases of one part, until the time or their number is up."""
    cases, size = _judge(part, seed)
    counts, misses, began = Counter[str](), list[str](), time.monotonic()
    for case in tried(cases, range(min(count, size)), began + seconds):
        counts[_word(case.outcome)] += 1
        if case.missed:
            misses.append(f"{part}, seed {seed}, case {case.number}: {case.outcome}")
            print(misses[-1], flush=True)
    return Found(counts, misses, time.monotonic() - began)


def _judge(part: str, seed: int) -> tuple[Judge, int]:
    """Who tells what becomes of a case, and how many cases there are."""
    module = importlib.import_module(f"benchmarks.fuzz.{part}")
    if part == "values":
        cases = module.drawn(seed)
        return module.judge(cases), len(cases)
    return module.judge(seed), MOST


def _word(outcome: str) -> str:
    """An outcome without its particulars, as it is counted."""
    return outcome.partition(" ")[0] if outcome.startswith("MISS") else outcome.partition(" (")[0]


def write_run(seed: int, found: dict[str, Found], *, sanitized: bool) -> None:
    """Add the line of a run to the file; runs may end at the same time."""
    parts = {name: {"seconds": round(part.seconds, 1), **part.counts} for name, part in found.items()}
    misses = [miss for part in found.values() for miss in part.misses]
    line = {"seed": seed, "sanitized": sanitized, "parts": parts, "misses": misses, **machine()}
    with open(FILE, "a") as stream:
        stream.write(json.dumps(line) + "\n")


def print_totals() -> None:
    """Print what all runs came to; what was missed stands in the line of its run, and is a test since."""
    for name, (_, wanted) in PARTS.items():
        for sanitized in (False, True):
            parts = [
                run["parts"][name] for run in runs() if name in run["parts"] and run["sanitized"] == sanitized
            ]
            counts = Counter[str]()
            for part in parts:
                counts.update({what: count for what, count in part.items() if what != "seconds"})
            told = ", ".join(f"{count:,} {what}" for what, count in counts.most_common())
            goal = "sanitized" if sanitized else f"of {wanted:,}"
            minutes = sum(part["seconds"] for part in parts) / 60
            if parts or not sanitized:
                print(f"{name}, {goal}: {counts.total():,} in {minutes:.0f} min ({told})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="a new one unless given")
    parser.add_argument("--part", choices=PARTS, help="all of them, one after the other, unless given")
    parser.add_argument("--count", type=int, default=MOST, help="at most so many cases of each part")
    parser.add_argument("--sanitized", action="store_true", help="with sanitized kernels")
    parser.add_argument("--totals", action="store_true", help="what all runs so far came to; tries nothing")
    given = parser.parse_args()
    if given.totals:
        print_totals()
        return 0
    if given.sanitized and "ASAN_OPTIONS" not in os.environ:
        return _again_sanitized()
    seed = new_seed() if given.seed is None else given.seed
    shares = {given.part: 1.0} if given.part else {name: share for name, (share, _) in PARTS.items()}
    found = {name: fuzzed(name, seed, 60 * given.minutes * share, given.count) for name, share in shares.items()}
    write_run(seed, found, sanitized=given.sanitized)
    for name, part in found.items():
        told = ", ".join(f"{count:,} {what}" for what, count in part.counts.most_common())
        print(f"{name}: {part.counts.total():,} cases in {part.seconds:.0f} s: {told}")
    return 1 if any(part.misses for part in found.values()) else 0


def _again_sanitized() -> int:
    """Run once more, where Python opens sanitized libraries."""
    environment = build_sanitized()
    if environment is None:
        return 0
    command = [sys.executable, "-m", "benchmarks.fuzz", *sys.argv[1:]]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
