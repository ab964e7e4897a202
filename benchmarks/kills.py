"""Kill the command at random moments of a run; its folder must hold whole old results, or whole new ones.

python -m benchmarks.kills [--count 100] [--seed 0]

Each run fits another seed over the results of the run before, and is killed (SIGKILL) after a share of the time
that such a run takes at the moment; then a reader looks at the folder (``powerkmeans explain``), which finishes
what was begun, and the next run clears away what was hidden. A line a run goes to benchmarks/results/kills.jsonl.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import write_lines
from powerkmeans.cli.app import app
from powerkmeans.cli.manifest import NAME, entry_of, read_manifest

RESULTS = {"labels.csv", "memberships.csv", "model.npz", "report.html"}


def begun(folder: Path, *words: str) -> multiprocessing.Process:
    """Begin a command in a forked process, in which everything is imported: its work is what is killed."""
    process = multiprocessing.get_context("fork").Process(target=_command, args=(folder, words))
    process.start()
    return process  # type: ignore[return-value]


def _command(folder: Path, words: Sequence[str]) -> None:
    os.chdir(folder)
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        app.main(list(words), prog_name="powerkmeans")


def fit_words(seed: int) -> list[str]:
    """A run over the results in a folder; seeds give other results."""
    words = ["fit", "rows.npy", "-k", "5", "-o", "out", "--overwrite", "-q", "--threads", "1", "--seed", str(seed)]
    return [*words, "--feature-map", "rff", "--set", "anneal_factor=1.5"]


def fit(folder: Path, seed: int) -> multiprocessing.Process:
    """Begin such a run."""
    return begun(folder, *fit_words(seed))


def state(out: Path) -> dict[str, Any]:
    """What is in the folder: which files, whether they are those of one run, what is hidden there."""
    told = read_manifest(out)
    hidden = sorted(path.name for path in out.iterdir() if path.name.startswith("."))
    seen = {path.name: entry_of(path) for path in out.iterdir() if path.is_file() and path.name != NAME}
    whole = told is not None and told.finished and seen == told.files and set(seen) == RESULTS
    return {"whole": whole, "finished": told is not None and told.finished, "hidden": hidden, "files": seen}


def killed(folder: Path, seed: int, delay: float) -> dict[str, Any]:
    """Kill a run after some seconds; what it leaves, and what is there after somebody has looked."""
    out = folder / "out"
    before = state(out)["files"]
    process = fit(folder, seed)
    process.join(delay)
    process.kill()
    process.join()
    at_once = state(out)
    look = begun(folder, "explain", "out/model.npz")
    look.join()
    after = state(out)
    what = "the old ones" if after["files"] == before else "the new ones"
    return {
        "delay": round(delay, 4),
        "ended before": process.exitcode == 0,
        "between": not at_once["finished"],
        "hidden": len(at_once["hidden"]),
        "read": look.exitcode == 0,
        "results": what if after["whole"] else "MIXED",
    }


def run_time(folder: Path, seed: int) -> float:
    """How long a run takes at the moment."""
    started = time.perf_counter()
    process = fit(folder, seed)
    process.join()
    if process.exitcode:
        raise RuntimeError("a run failed; its error is above")
    return time.perf_counter() - started


def all_kills(folder: Path, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Kills all over a run, half of them in its last part, where files are written and take their places."""
    lines = []
    for place in range(count):
        if place % 10 == 0:  # a machine that does other things meanwhile is not always as fast
            usual = min(run_time(folder, 1000 + 3 * place + again) for again in range(3))
        share = rng.uniform(0, 1) if place % 2 else rng.uniform(0.6, 1.1)
        lines.append({"usual": round(usual, 4), **killed(folder, place, usual * share)})
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory(prefix="powerkmeans-kills-") as name:
        folder = Path(name)
        np.save(folder / "rows.npy", rng.normal(size=(3000, 8)) + 4 * rng.integers(0, 5, (3000, 1)))
        with suppress(SystemExit), chdir(folder):
            _command(folder, fit_words(9999))  # the results that are there before; it imports what forks need
        lines = all_kills(folder, given.count, rng)
        run_time(folder, 9998)
        last = state(folder / "out")
    write_lines("kills", lines)
    counts = Counter(line["results"] for line in lines)
    usual = np.median([line["usual"] for line in lines])
    print(f"{len(lines)} kills over runs of about {usual:.2f} s: {dict(counts)}")
    hit = {what: sum(line[what] > 0 for line in lines) for what in ("between", "hidden", "ended before")}
    print(f"killed between renames, with files hidden, after its end: {hit}")
    print(f"after one more run: whole {last['whole']}, hidden {last['hidden']}")
    failed = counts["MIXED"] or not all(line["read"] for line in lines) or last["hidden"] or not last["whole"]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
