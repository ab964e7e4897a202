"""Fit, predict, save, load and report in a loop for some minutes: memory, descriptors, threads and files stay.

python -m benchmarks.soak [--minutes 20] [--picture docs/images/soak.png]

One process goes through rounds in two threads at a time, another by itself and with the command. Both are watched
from outside (/proc, so on Linux): memory, open files, threads, and files in a folder of temporary ones that is
theirs. The first quarter is for warming up. Samples go to benchmarks/results/soak.jsonl; the exit code is 1 if
anything grows.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import print_table, write_lines

WARM_UP = 0.25
# growth over the time after warming up: a share of the memory, and of what is counted so many
MOST_MEMORY, MOST_COUNT = 0.05, 3
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"feature_map": "nystroem", "membership": "possibilistic"},
    {"feature_map": "rff", "kernel": "laplacian"},
    {"feature_map": "identity"},
    {"feature_map": "exact"},
    {"feature_map": "graph"},
)
UNITS = {"memory": "MB", "descriptors": "", "threads": "", "files": ""}


def one_round(number: int, folder: Path) -> None:
    """Everything that a model goes through, a fit that fails included."""
    import powerkmeans  # noqa: PLC0415 - in the child, after its environment is set
    from powerkmeans.report import write_report  # noqa: PLC0415

    rng = np.random.default_rng(number % 50)
    X = rng.normal(size=(300, 5)) + 6 * rng.integers(0, 3, (300, 1))
    model = powerkmeans.KernelPowerKMeans(3, random_state=0, anneal_factor=1.5, **SETTINGS[number % len(SETTINGS)])
    model.fit(X)
    path, table = folder / f"{number}.npz", folder / f"{number}.npy"
    model.save(path)
    loaded = powerkmeans.load(path)
    np.save(table, X)
    assert np.array_equal(loaded.predict(X), model.predict(powerkmeans.open_source(table)))
    loaded.predict_proba(X)
    write_report(folder / f"{number}.html", loaded, X)
    with suppress(ValueError):
        powerkmeans.KernelPowerKMeans(3).fit(np.full((9, 2), np.nan))
    views = {"a": X[:, :2], "b": X[:, 2:]}
    powerkmeans.MultiViewPowerKMeans(3, feature_map="rff", max_iter=20, random_state=0).fit(views).transform(views)
    for left in folder.glob(f"{number}.*"):
        left.unlink()


def commanded(number: int, folder: Path) -> None:
    """A fit of the command over the results of the one before."""
    from click.testing import CliRunner  # noqa: PLC0415

    from powerkmeans.cli.app import app  # noqa: PLC0415

    rows = np.random.default_rng(number % 50).normal(size=(120, 4))
    np.savetxt(folder / "rows.csv", rows, delimiter=",")
    words = [
        "fit",
        str(folder / "rows.csv"),
        "-k",
        "3",
        "-o",
        str(folder / "out"),
        "--overwrite",
        "-q",
        "--no-header",
    ]
    done = CliRunner().invoke(app, words)
    if done.exit_code:
        raise RuntimeError(done.output)


def work(folder: str, n_threads: int, rounds: Synchronized[int]) -> None:
    """Go on until killed."""
    warnings.simplefilter("ignore")
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    numbers = itertools.count()

    def loop(own: Path) -> None:
        own.mkdir()
        while True:
            number = next(numbers)
            one_round(number, own)
            if n_threads == 1 and number % 3 == 0:  # the command's test runner is for one thread
                commanded(number, own)
            with rounds.get_lock():
                rounds.value += 1

    threads = [threading.Thread(target=loop, args=(Path(folder) / f"t{t}",)) for t in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def sample(pid: int, folder: str) -> dict[str, float]:
    """What a process holds."""
    told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return {
        "memory": int(told["VmRSS"].split()[0]) / 1000,
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(told["Threads"]),
        "files": sum(len(files) + len(folders) for _, folders, files in os.walk(folder)),
    }


def watched(minutes: float, every: float) -> list[dict[str, Any]]:
    """Samples of both processes over the minutes."""
    context = multiprocessing.get_context("spawn")
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="powerkmeans-soak-") as whole:
        children = {}
        for name, n_threads in (("two threads", 2), ("one process", 1)):
            folder, rounds = os.path.join(whole, name), context.Value("q", 0)
            os.mkdir(folder)
            child = context.Process(target=work, args=(folder, n_threads, rounds), daemon=True)
            child.start()
            children[name] = (child, folder, rounds)
        begun = time.monotonic()
        try:
            while (now := time.monotonic() - begun) < 60 * minutes:
                time.sleep(every)
                for name, (child, folder, rounds) in children.items():
                    if not child.is_alive():
                        raise RuntimeError(f"{name}: a round failed; its error is above")
                    held = sample(int(child.pid or 0), folder)
                    lines.append({"who": name, "minute": now / 60, "rounds": rounds.value, **held})
        finally:
            for child, _, _ in children.values():
                child.kill()
                child.join()
    return lines


def growth(lines: Sequence[dict[str, Any]], what: str, minutes: float) -> tuple[float, float, float]:
    """At the end of warming up and at the end of all, medians of a tenth of the time, and the slope a minute."""
    warm = [line for line in lines if line["minute"] >= WARM_UP * minutes]
    values, times = np.array([line[what] for line in warm]), np.array([line["minute"] for line in warm])
    tenth = max(1, len(values) // 10)
    slope = float(np.polyfit(times, values, 1)[0]) if len(values) > 1 else 0.0
    return float(np.median(values[:tenth])), float(np.median(values[-tenth:])), slope


def is_flat(what: str, start: float, end: float) -> bool:
    return end - start <= (MOST_MEMORY * start if what == "memory" else MOST_COUNT)


def draw(lines: Sequence[dict[str, Any]], path: Path) -> None:
    """A picture of all samples."""
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.switch_backend("agg")
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
    for axis, (what, unit) in zip(axes.ravel(), UNITS.items(), strict=True):
        for who in dict.fromkeys(line["who"] for line in lines):
            own = [line for line in lines if line["who"] == who]
            axis.plot([line["minute"] for line in own], [line[what] for line in own], label=who, linewidth=1)
        axis.set_title(f"{what} ({unit})" if unit else what, fontsize=10, loc="left")
        axis.set_ylim(bottom=0)
    for axis in axes[1]:
        axis.set_xlabel("minutes")
    axes[0, 0].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between samples")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    lines = watched(given.minutes, given.every)
    rows, flat = [], True
    for who in dict.fromkeys(line["who"] for line in lines):
        own = [line for line in lines if line["who"] == who]
        for what, unit in UNITS.items():
            start, end, slope = growth(own, what, given.minutes)
            flat &= is_flat(what, start, end)
            rows.append(
                [who, own[-1]["rounds"], f"{what} {unit}".strip(), f"{start:.0f}", f"{end:.0f}", f"{slope:+.3f}"]
            )
    print_table(["who", "rounds", "what", "after warming up", "at the end", "a minute"], rows)
    print("flat" if flat else "NOT FLAT")
    write_lines(
        "soak", [{key: round(v, 3) if isinstance(v, float) else v for key, v in line.items()} for line in lines]
    )
    if given.picture:
        draw(lines, given.picture)
    return int(not flat)


if __name__ == "__main__":
    sys.exit(main())
