"""Break model files and load them: each must be refused by ``ModelFileError``, or give a model that answers.

``python -m benchmarks.fuzz.models --count 7500 --seed 0`` works in child processes with limits on memory and time,
so that a crash counts as one outcome among others. It prints how many files came to which outcome and, of every
miss, what it takes to see it again; the exit code is 1 if there were any.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import powerkmeans
from benchmarks.fuzz.mutations import mutated
from benchmarks.fuzz.subjects import Subject, subjects
from benchmarks.fuzz.workers import Judge, Tried, tried
from powerkmeans.cli.app import app
from powerkmeans.cli.errors import Exit
from powerkmeans.exceptions import ModelFileError

REFUSED, ANSWERS, OTHER = "refused", "loads and answers", "loads, and asks for a table of another width"
BEYOND = "loads, and refuses rows that its scales make too large"
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
        if _asks_for_others(estimator, subject):
            return f"{OTHER} ({kind})"
        try:
            odd = not_finite(model, subject, folder) or told_by_the_command(path, subject)
        except Exception as error:
            if estimator is not model and "overflow float64" in str(error):  # scales may be any, and rows are told
                return f"{BEYOND} ({kind})"
            return f"MISS {type(error).__name__} after load ({kind}, {subject.name}): {_line(error)}"
    return f"MISS not finite: {odd} ({kind}, {subject.name})" if odd else f"{ANSWERS} ({kind})"


def _asks_for_others(estimator: Any, subject: Subject) -> bool:
    """Whether a model has columns that are in no view, or views of other names."""
    names = list(estimator._fit.model.view_names) if hasattr(estimator, "_fit") else subject.header["view_names"]
    return estimator.n_features_in_ != subject.header["n_features_in"] or names != subject.header["view_names"]


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


def judge(seed: int) -> Judge:
    """What becomes of files by their numbers, each in the folder of the process."""
    subjects()  # made once, for all children
    return lambda number: outcome(seed, number, Path())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=7500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, misses = Counter[str](), list[Tried]()
    for case in tried(judge(given.seed), range(given.count)):
        counts[re.split(r": ", case.outcome)[0]] += 1
        misses += [case] if case.missed else []
    for what, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:7d}  {what}")
    for case in misses:
        print(f"seed {given.seed}, file {case.number}: {case.outcome}")
    print(f"{counts.total()} files, {len(misses)} misses")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
