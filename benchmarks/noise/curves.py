"""What the rows amount to: means over seeds along the shares, and where a method has lost ten points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.harness.store import Row
from benchmarks.noise.corruptions import NONE

LOST_POINTS = 0.10


@dataclass(frozen=True)
class Curve:
    """Values of one method along the shares, each a list over seeds; the clean ones, if any, at share 0."""

    values: dict[float, list[float]]

    @cached_property
    def shares(self) -> list[float]:
        return sorted(self.values)

    @cached_property
    def means(self) -> list[float]:
        return [float(np.mean(self.values[share])) for share in self.shares]

    def mean(self, share: float) -> float | None:
        return float(np.mean(self.values[share])) if share in self.values else None

    def lost_at(self) -> float | None:
        """The share at which ten points are lost; infinite if never, None without a clean value or spoilt ones."""
        if self.shares[:1] != [0.0] or len(self.shares) < 2:
            return None
        return lost_at(self.shares, self.means)


def lost_at(shares: Sequence[float], values: Sequence[float], points: float = LOST_POINTS) -> float:
    """The first share at which a value is ``points`` below the first, linear between shares; infinite if never."""
    threshold = values[0] - points
    for left, right, before, after in zip(shares, shares[1:], values, values[1:], strict=False):
        if after <= threshold:
            return left + (right - left) * (before - threshold) / (before - after)
    return float("inf")


class Results:
    """Rows of the study, asked for by set, corruption, method and what was measured."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self.good = [row for row in self.rows if "error" not in row]

    def of(self, data: str, method: str, corruption: str | None = None) -> list[Row]:
        """The good rows of a method on a set, of one corruption if it is named."""
        return [
            row
            for row in self.good
            if row["data"] == data and row["method"] == method and corruption in (None, row["corruption"])
        ]

    def curve(self, data: str, method: str, corruption: str, metric: str = "ACC") -> Curve:
        """The values of a metric by share; the clean fits are where every corruption begins."""
        values: dict[float, list[float]] = {}
        for row in sorted(self.of(data, method), key=lambda row: row["seed"]):
            if row["corruption"] in (corruption, NONE) and metric in row:
                values.setdefault(row["share"], []).append(row[metric])
        return Curve(values)

    def sets(self, order: Iterable[str]) -> list[str]:
        """Those of the sets that have rows."""
        found = {row["data"] for row in self.rows}
        return [name for name in order if name in found]

    def methods(self, order: Iterable[str]) -> list[str]:
        """The methods that have rows, failed ones among them: those of the order first, then any others."""
        found = sorted({row["method"] for row in self.rows})
        listed = [name for name in order if name in found]
        return listed + [name for name in found if name not in listed]

    def error(self, data: str, method: str) -> str:
        """The first error of a method on a set, without what stands in brackets; empty if there was none."""
        failed = (r for r in self.rows if "error" in r and r["data"] == data and r["method"] == method)
        return next((row["error"].split(" (")[0] for row in failed), "")

    def errors(self) -> dict[tuple[str, str], list[str]]:
        """Methods and errors, with the sets where they happened."""
        found: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            if "error" in row:
                sets = found.setdefault((row["method"], row["error"]), [])
                if row["data"] not in sets:
                    sets.append(row["data"])
        return found
