"""Break model files and load them: each must be refused by ``ModelFileError``, or give a model that answers.

``python -m benchmarks.fuzz.models --count 7500 --seed 0`` works in child processes with limits on memory and time,
so that a crash counts as one outcome among others. It prints how many files came to which outcome and, of every
miss, what it takes to see it again; the exit code is 1 if there were any.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import powerkmeans
from benchmarks.fuzz.mutations import mutated
from benchmarks.fuzz.subjects import Subject
from powerkmeans.cli.app import app
from powerkmeans.cli.errors import Exit
from powerkmeans.exceptions import ModelFileError

REFUSED, ANSWERS, OTHER = "refused", "loads and answers", "loads, and asks for a table of another width"
SECONDS, GIGABYTES, BATCH = 20, 6, 250
# what may be infinite or NaN by its definition
_OPEN = {"s_", "s_init_", "entropy_", "bandwidth_", "reference_distance_", "critical_exponent_", "restarts_"}


def outcome(seed: int, number: int, folder: Path) -> str:
    """What becomes of one broken file."""
    subject, kind, content = mutated(np.random.default_rng([seed, number]))
    path = folder / "model.npz"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = powerkmeans.load(path)
        except ModelFileError:
            return f"{REFUSED} ({kind})"
        except Exception as error:
            return f"MISS {type(error).__name__} in load ({kind}, {subject.name}): {_line(error)}"
        estimator = getattr(model, "estimator", model)  # of one with its preparation
        if estimator.n_features_in_ != subject.header["n_features_in"]:  # with columns that are in no view
            return f"{OTHER} ({kind})"
        try:
            odd = not_finite(model, subject, folder) or told_by_the_command(path, subject)
        except Exception as error:
            return f"MISS {type(error).__name__} after load ({kind}, {subject.name}): {_line(error)}"
    return f"MISS not finite: {odd} ({kind}, {subject.name})" if odd else f"{ANSWERS} ({kind})"


def not_finite(model: Any, subject: Subject, folder: Path) -> str | None:
    """Ask a loaded model everything; the first answer that holds NaN or an infinity."""
    asked = ["predict", "predict_proba", "transform"]
    if getattr(model, "estimator", model)._fit.model.scores_outliers:
        asked += ["typicality", "outlier_score"]
    answers = {name: getattr(model, name)(subject.rows) for name in asked}
    repr(model)
    estimator = getattr(model, "estimator", model)  # of one with its preparation
    rows, chunk = (model.prepare(one) if estimator is not model else one for one in (subject.rows, subject.chunk))
    answers |= {name: getattr(estimator, name)(rows) for name in ("score", "medoid_indices")}
    for name, value in vars(estimator).items():
        if name.endswith("_") and name not in _OPEN:
            answers |= {f"{name}.{key}": item for key, item in _parts(value) if key != "s"}
    model.save(folder / "again.npz", overwrite=True)
    powerkmeans.load(folder / "again.npz")
    if repr(estimator.get_params()) == subject.parameters and "exact" not in subject.parameters:
        estimator.partial_fit(chunk)
        answers |= {"partial_fit": estimator.transform(rows), "drift_": estimator.drift_}
    wrong = (name for name, answer in answers.items() if not _all_finite(answer))
    return next(wrong, None)


def told_by_the_command(path: Path, subject: Subject) -> str | None:
    """Let the command explain a model of its own; what it fails by, unless it refuses the file in a sentence."""
    if subject.name != "command":
        return None
    for words in (["--json"], []):
        done = CliRunner().invoke(app, ["explain", str(path), *words])
        if done.exit_code not in (Exit.DONE, Exit.DATA):
            return f"explain: {_line(done.exception)}"
    return None


def _parts(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else [("", value)]


def _all_finite(answer: Any) -> bool:
    numbers = np.asarray(answer)
    return numbers.dtype.kind not in "fc" or bool(np.all(np.isfinite(numbers)))


def _line(error: BaseException | None) -> str:
    return " ".join(str(error).split())[:160]


def _work(seed: int, first: int, last: int) -> None:
    """Go through some files, a line each, under limits that end the process."""
    limit = GIGABYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            signal.alarm(SECONDS)
            print(f"{number}\t{outcome(seed, number, Path(folder))}", flush=True)


def _results(seed: int, count: int) -> dict[int, str]:
    """Outcomes by number; where a child ends early, the file that it was at is the reason."""
    results: dict[int, str] = {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    while len(results) < count:
        first, last = len(results), min(len(results) + BATCH, count)
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz.models",
            "--child",
            str(first),
            str(last),
            "--seed",
            str(seed),
        ]
        child = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        for line in child.stdout.splitlines():
            number, _, what = line.partition("\t")
            results[int(number)] = what
        if len(results) < last:
            reason = signal.Signals(-child.returncode).name if child.returncode < 0 else f"exit {child.returncode}"
            results[len(results)] = f"MISS the process ended ({reason}): {child.stderr.strip()[-160:]}"
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=7500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _work(given.seed, *given.child)
        return 0
    results = _results(given.seed, given.count)
    counts = Counter(re.split(r": ", what)[0] for what in results.values())
    for what, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:7d}  {what}")
    misses = {number: what for number, what in results.items() if what.startswith("MISS")}
    for number, what in misses.items():
        print(f"seed {given.seed}, file {number}: {what}")
    print(f"{len(results)} files, {len(misses)} misses")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
