"""The suites in which a processor shows, on every processor that this one can pretend to be.

python tests/processors.py [--jobs 2] [--list]

Products of OpenBLAS and loops of NumPy round otherwise on other processors, and a suite that is green on one can
fail on the next. Processors are those of ``benchmarks.core_types``; each runs with two threads, and what threads
touch with one as well. What was run, what was not and why is printed; any failure is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.core_types import Found, Setting, find_all  # noqa: E402

# what threads and memory touch; the compiled kernels run here on each of their own targets
CORE = ("tests/engines", "tests/compute/test_kernels.py", "tests/test_against_oracle.py")
FORMS = (*CORE, "tests/inputs")
ALL = (
    *FORMS,
    "tests/api/test_source_input.py",
    "tests/properties",
    "tests/objective/test_power_mean.py",
    "tests/objective/test_membership.py",
)
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class Run(NamedTuple):
    """Suites to run on one processor with a number of threads."""

    setting: Setting
    n_threads: int
    suites: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.setting.name}, {self.n_threads} thread{'s' * (self.n_threads > 1)}"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.setting.environment, **dict.fromkeys(THREADS, str(self.n_threads))}


class Outcome(NamedTuple):
    """Of a run: how many tests passed, failed and so on, what pytest said, and its seconds."""

    name: str
    ok: bool
    counts: Counter[str]
    text: str
    seconds: float


def plan(found: Found) -> list[Run]:
    """Whole processors get every suite with two threads, and what threads touch with one; the others get less."""
    two = [Run(setting, 2, ALL if setting.whole else FORMS) for setting in found.settings]
    return two + [Run(setting, 1, CORE) for setting in found.settings if setting.whole]


def carry_out(run: Run, jobs: int) -> Outcome:
    options = ["-q", "-p", "no:cacheprovider", "--numprocesses", str(jobs)]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *run.suites],
        cwd=ROOT,
        env=run.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    counts = count(done.stdout)
    return Outcome(run.name, done.returncode == 0, counts, done.stdout, time.perf_counter() - start)


def count(text: str) -> Counter[str]:
    """Of what pytest counts in its last words."""
    last = [line for line in text.splitlines() if re.search(r"\d+ (passed|failed|error)", line)][-1:]
    return Counter({word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|error)", "".join(last))})


def line(outcome: Outcome) -> str:
    said = ", ".join(f"{n} {word}" for word, n in outcome.counts.items()) or "nothing was run"
    return f"{'ok  ' if outcome.ok else 'FAIL'}  {outcome.name:<45}  {said} in {outcome.seconds:.0f} s"


def closing_line(outcomes: list[Outcome], not_here: dict[str, str]) -> str:
    """How many processors and tests, how many failed, what was left out."""
    total = sum((outcome.counts for outcome in outcomes), Counter())
    bad = [outcome.name for outcome in outcomes if not outcome.ok]
    verdict = (
        f"{len(bad)} of {len(outcomes)} runs failed ({'; '.join(bad)})" if bad else f"{len(outcomes)} runs green"
    )
    seconds = sum(outcome.seconds for outcome in outcomes)
    left = f"; not run: {', '.join(not_here)}" if not_here else ""
    return f"processors: {verdict}, {total['passed']} tests passed in {seconds:.0f} s{left}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="processes of pytest at a time")
    parser.add_argument("--list", action="store_true", help="say what would be run, and run nothing")
    options = parser.parse_args(arguments)
    found = find_all()
    for name, why in found.not_here.items():
        print(f"not   {name}: {why}", flush=True)
    runs, outcomes = plan(found), []
    for run in runs:
        if options.list:
            print(f"      {run.name}: {' '.join(run.suites)}")
            continue
        outcomes.append(carry_out(run, options.jobs))
        if not outcomes[-1].ok:
            print(outcomes[-1].text)
        print(line(outcomes[-1]), flush=True)
    if outcomes:
        print(closing_line(outcomes, found.not_here))
    return int(not all(outcome.ok for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
