"""Kill the command at random moments of a run; its folder must hold whole old results, or whole new ones.

python -m benchmarks.kills [--count 100] [--seed 0]

Each run fits another seed over the results of the run before, and is killed (SIGKILL) after a share of the time
that such a run takes; then a reader looks at the folder (``powerkmeans explain``), which finishes what was begun,
and the next run clears away what was hidden. A line for each run goes to benchmarks/results/kills.jsonl.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import write_lines
from powerkmeans.cli.manifest import NAME, entry_of, read_manifest

COMMAND = [sys.executable, "-m", "powerkmeans"]
RESULTS = {"labels.csv", "memberships.csv", "model.npz", "report.html"}


def fit(folder: Path, seed: int) -> subprocess.Popen[bytes]:
    """Begin a run over the results in a folder; seeds give other results."""
    words = [
        "fit",
        "rows.npy",
        "-k",
        "5",
        "-o",
        "out",
        "--overwrite",
        "-q",
        "--feature-map",
        "rff",
        "--seed",
        str(seed),
    ]
    return subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


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
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    ended = process.wait() != -signal.SIGKILL
    at_once = state(out)
    look = subprocess.run([*COMMAND, "explain", "out/model.npz"], cwd=folder, capture_output=True, check=False)
    after = state(out)
    what = "the old ones" if after["files"] == before else "the new ones"
    return {
        "delay": round(delay, 4),
        "ended before": ended,
        "between": not at_once["finished"],
        "hidden": len(at_once["hidden"]),
        "read": look.returncode == 0,
        "results": what if after["whole"] else "MIXED",
    }


def run_time(folder: Path) -> float:
    """How long a run takes, the median of three."""
    times = []
    for seed in range(3):
        begun = time.perf_counter()
        process = fit(folder, seed)
        _, said = process.communicate()
        if process.returncode:
            raise RuntimeError(said.decode())
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory(prefix="powerkmeans-kills-") as name:
        folder = Path(name)
        np.save(folder / "rows.npy", rng.normal(size=(3000, 8)) + 4 * rng.integers(0, 5, (3000, 1)))
        usual = run_time(folder)
        # half of them in the last fifth, where files are written and take their places
        shares = np.where(
            np.arange(given.count) % 2, rng.uniform(0, 1, given.count), rng.uniform(0.8, 1.05, given.count)
        )
        lines = [killed(folder, 10 + place, usual * share) for place, share in enumerate(shares)]
        fit(folder, 9).communicate()
        last = state(folder / "out")
    write_lines(
        "kills", [{"seconds": round(usual, 3), "left at the end": last["hidden"], **line} for line in lines]
    )
    counts = Counter(line["results"] for line in lines)
    print(f"{len(lines)} kills over runs of {usual:.2f} s: {dict(counts)}")
    hit = {what: sum(line[what] > 0 for line in lines) for what in ("between", "hidden", "ended before")}
    print(f"killed between renames, with files hidden, after its end: {hit}")
    print(f"after one more run: whole {last['whole']}, hidden {last['hidden']}")
    failed = counts["MIXED"] or not all(line["read"] for line in lines) or last["hidden"] or not last["whole"]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
