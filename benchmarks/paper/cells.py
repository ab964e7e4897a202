"""What the rows of a method on a set amount to: means, deviations, time, memory, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.harness.pool import OVER_TIME
from benchmarks.harness.store import Row, Store, setting_text
from benchmarks.methods.interface import OUT_OF_MEMORY
from benchmarks.paper import protocol
from benchmarks.paper.protocol import TUNED
from benchmarks.paper.sets import RAW, STANDARDISED, DataSet

SCORES = ("ACC", "NMI", "Purity")


@dataclass(frozen=True)
class Cell:
    """All good rows of a method on a set in one column, the seconds of choosing the setting, and the error."""

    rows: list[Row]
    setting: str = "defaults"
    scan_seconds: float = 0.0
    error: str = ""
    tried: bool = True

    @property
    def empty(self) -> bool:
        return not self.rows and not self.error

    def mean(self, name: str) -> float:
        return float(np.mean([row[name] for row in self.rows])) if self.rows else float("nan")

    def score(self, name: str) -> str:
        """Mean and deviation in percent, or that it failed."""
        if not self.rows:
            return self._failure() if self.error else "-"
        values = 100 * np.array([row[name] for row in self.rows])
        return f"{values.mean():.1f} ± {values.std():.1f}"

    def _failure(self) -> str:
        if not self.tried:
            return "not run"
        return next((short for short in (OUT_OF_MEMORY, OVER_TIME) if self.error.startswith(short)), "failed")

    def cost(self) -> str:
        """Time, memory and number of seeds of a fit."""
        if not self.rows:
            return self.score("ACC")
        return f"{self.seconds} s, {self.megabytes} MB, {len(self.rows)}"

    @property
    def quickest(self) -> float:
        """Seconds of the quickest fit: what else a machine does only ever adds to them."""
        return min(row["seconds"] for row in self.rows)

    @property
    def seconds(self) -> str:
        return f"{self.quickest:.3g}" if self.rows else "-"

    @property
    def megabytes(self) -> str:
        peaks = [row["peak_bytes"] for row in self.rows if row.get("peak_bytes") is not None]
        return f"{np.mean(peaks) / 1e6:.0f}" if peaks else "-"

    @property
    def total(self) -> str:
        """Seconds of all fits, the choice of the setting among them."""
        return f"{sum(row['seconds'] for row in self.rows) + self.scan_seconds:.0f}" if self.rows else "-"


def _cell(rows: Sequence[Row], setting: dict[str, Any], **more: Any) -> Cell:
    """A cell whose first row decides whether it failed, so that the order of the rows does not."""
    good = [row for row in rows if "error" not in row]
    bad = [row for row in rows if "error" in row]
    failed = bool(bad) and rows[0] is bad[0]
    why = {"error": bad[0]["error"], "tried": bad[0].get("tried", True)} if failed else {}
    return Cell([] if failed else good, setting_text(setting), **why, **more)


def default_cell(table: str, data: DataSet, method: str, store: Store, scaling: str = STANDARDISED) -> Cell:
    """The column "defaults"; without a fit, why there is none."""
    fits = [f for f in protocol.default_fits(table, data, method) if f.scaling == scaling]
    rows = store.of(f.key for f in fits)
    if not rows and scaling != RAW:
        rows = store.of([protocol.attempt(table, data, method).key])
    return _cell(rows, {})


def tuned_cell(table: str, data: DataSet, method: str, store: Store) -> Cell:
    """The column "tuned": the setting that the rows of the scan choose, run with fresh seeds."""
    settings = protocol.grid(protocol.find(table, method))
    scan = store.of(f.key for f in protocol.scan_fits(table, data, method))
    setting = protocol.winner(scan, settings)
    if setting is None:
        errors = [row["error"] for row in scan if "error" in row]
        return Cell([], error=errors[0]) if errors else replace(default_cell(table, data, method, store), rows=[])
    rows = store.of(f.key for f in protocol.tuned_fits(table, data, method, setting))
    tries = f" (best of {len(settings)} with {len(scan) / len(settings):.0f} seeds each)"
    found = _cell(rows, setting, scan_seconds=sum(row.get("seconds", 0.0) for row in scan))
    return replace(found, setting=found.setting + tries)


def cell(table: str, data: DataSet, method: str, store: Store, column: str) -> Cell:
    """The cell of a column; a method without settings has the same in both."""
    if column == TUNED and has_grid(table, method):
        return tuned_cell(table, data, method, store)
    return default_cell(table, data, method, store)


def has_grid(table: str, method: str) -> bool:
    """Whether a method has settings to choose."""
    try:
        return bool(protocol.find(table, method).grid)
    except (ImportError, AttributeError, TypeError):
        return False


def mean_ranks(cells: dict[str, list[Cell]], metric: str = "ACC") -> dict[str, tuple[float, int]]:
    """Mean rank of each method over the sets that have any number, and how many it was tried on.

    A method that failed on a set shares the last ranks there; one that was not tried has no rank.
    """
    ranks: dict[str, list[float]] = {method: [] for method in cells}
    for column in zip(*cells.values(), strict=True):
        tried = {method: c for method, c in zip(cells, column, strict=True) if c.rows or (c.error and c.tried)}
        if not any(c.rows for c in tried.values()):
            continue
        worth = [-c.mean(metric) if c.rows else np.inf for c in tried.values()]
        for method, rank in zip(tried, rankdata(worth), strict=True):
            ranks[method].append(float(rank))
    return {m: (float(np.mean(values)) if values else float("nan"), len(values)) for m, values in ranks.items()}
