"""Small tables, and what a command answered."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

N, K = 60, 3
ANNEAL_FACTOR = 1.4  # for time alone
QUICK = ("--set", f"anneal_factor={ANNEAL_FACTOR}")
LANDMARKS = ("--feature-map", "nystroem")


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """What a failed command said: one line."""
        lines = [line for line in self.err.splitlines() if line.startswith("Error:")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0].removeprefix("Error: ")

    @property
    def error(self) -> str:
        """The same with the lines below it: a table of columns."""
        assert self.sentence
        return self.err[self.err.index("Error: ") :].removeprefix("Error: ").rstrip()


def ids(n: int = N) -> list[str]:
    return [f"s{i:03d}" for i in range(n)]


def rows(n: int = N) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0, 0, 0], [6, 6, 0, 6], [0, 6, 6, -6]])
    values = centers[np.arange(n) % K] + rng.normal(size=(n, 4))
    return ["a", "b", "c", "d"], values * [1, 10, 100, 1000] + [0, 5, 0, 7000]


def write_csv(path: Path, names: list[str] | None, header: list[str], values: np.ndarray, delimiter=",") -> Path:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(header if names is None else ["id", *header])
        for place, row in enumerate(values.tolist()):
            fields = ["" if np.isnan(value) else repr(value) for value in row]
            writer.writerow(fields if names is None else [names[place], *fields])
    return path


def read_csv(path: Path) -> dict[str, list[str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        header, *lines = csv.reader(stream)
    return {name: list(column) for name, column in zip(header, zip(*lines, strict=True), strict=True)}


def leftovers(folder: Path) -> list[str]:
    """Everything in a folder, hidden files too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
