"""The numbers that the paper prints, in percent: a reference, not ground truth."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).parent / "printed.json"
_TABLES = {"multi": "multi_view", "single": "single_view"}
SAME = {  # the paper's name of a method that is run here: its name here
    "kernel power k-means": "KPKM",
    "spectral clustering": "SpectralClustering",
}


@lru_cache(maxsize=1)
def _all() -> dict:
    return json.loads(FILE.read_text())


def columns(table: str) -> list[str]:
    """The methods of one of the paper's tables (multi, single, ablation), by their names here."""
    block = _all()["ablation_ACC" if table == "ablation" else _TABLES[table]]
    return [SAME.get(name, name) for name in block["columns"]]


def value(table: str, data: str, metric: str, method: str) -> float | None:
    """One printed number; None if the paper has none, for lack of memory or otherwise."""
    names = columns(table)
    if method not in names:
        return None
    if table == "ablation":
        numbers = _all()["ablation_ACC"].get(data, []) if metric == "ACC" else []
    else:
        numbers = _all()[_TABLES[table]].get(data, {}).get(metric, [])
    return numbers[names.index(method)] if numbers else None
