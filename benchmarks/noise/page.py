"""The page: tables between markers are written anew, the words around them stay.

The words were written after the numbers were seen. Read them again whenever the tables have changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.noise.contenders import CONTENDERS, DISTANCES, EXPLAINED, SHARES, SHOWN, contender
from benchmarks.noise.corruptions import BACKGROUND, HEAVY, NOISE_VIEW, NONE, OF_SAMPLES, PERMUTED
from benchmarks.noise.curves import Results
from benchmarks.noise.plan import corruptions_of
from benchmarks.noise.sets import KINDS, SETS
from benchmarks.report import table_place, table_text, with_table

MISSING = "-"
TITLES = {
    BACKGROUND: "Background noise",
    PERMUTED: "Permuted views",
    HEAVY: "Heavy tails",
    NOISE_VIEW: "One view of noise",
}
_AUC_SHARE = SHOWN[0]


def percent(value: float | None) -> str:
    return MISSING if value is None else f"{100 * value:.1f}"


def spread(values: list[float] | None, scale: float = 100, digits: int = 1) -> str:
    """Mean and deviation over seeds; of one seed, the value."""
    if not values:
        return MISSING
    mean, deviation = scale * np.mean(values), scale * np.std(values)
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if len(values) > 1 else "")


def share_text(share: float | None) -> str:
    if share is None:
        return MISSING
    return f"> {100 * max(SHARES):.0f} %" if np.isinf(share) else f"{100 * share:.0f} %"


def name_of(method: str) -> str:
    return f"{method} ({EXPLAINED[method]})" if method in EXPLAINED else method


def _table(results: Results, sets: list[str], cell: Callable[[str, str], str], scores: bool = False) -> str:
    """Methods by sets, of those that cluster or those that score; a cell without numbers says what went wrong."""
    lines = []
    for method in results.methods(CONTENDERS):
        who = contender(method)
        if not (who.scores if scores else who.labels):
            continue
        cells = [cell(data, method) for data in sets]
        for place, data in enumerate(sets):
            error = results.error(data, method) if cells[place] == MISSING else ""
            cells[place] = f"not run: {error}" if error else cells[place]
        if set(cells) != {MISSING}:
            lines.append([scorer(method) if scores else name_of(method), *cells])
    return table_text(["outlier score" if scores else "method", *sets], lines)


def _with(results: Results, corruption: str) -> list[str]:
    """The sets that can be spoilt so."""
    return [data for data in results.sets(SETS) if corruption in corruptions_of(data)]


def lost_table(results: Results, corruption: str) -> str:
    """Methods by sets: where ten points of ACC are gone, and in brackets the clean ACC that they are gone from."""

    def cell(data: str, method: str) -> str:
        curve = results.curve(data, method, corruption)
        share = curve.lost_at()
        return MISSING if share is None else f"{share_text(share)} ({percent(curve.mean(0.0))})"

    return _table(results, _with(results, corruption), cell)


def auc_table(results: Results, corruption: str, share: float = _AUC_SHARE) -> str:
    """Methods by sets: the AUC of their outlier scores at one share."""

    def cell(data: str, method: str) -> str:
        return spread(results.curve(data, method, corruption, "AUC").values.get(share), 1, 3)

    return _table(results, _with(results, corruption), cell, scores=True)


def lost_clusters_table(results: Results, corruption: str, share: float = SHOWN[-1]) -> str:
    """Methods by sets: how many clusters hold more spoilt than clean samples at one share."""

    def cell(data: str, method: str) -> str:
        return spread(results.curve(data, method, corruption, "spoilt_clusters").values.get(share), 1)

    return _table(results, _with(results, corruption), cell)


def scorer(method: str) -> str:
    """The name of a score; where a method has none, that it is a distance."""
    return f"{method}: distance to the centroid" if method in DISTANCES else method


def accuracy_table(results: Results, data: str) -> str:
    """ACC of the clean samples of one set, by corruption and share."""
    columns = [(NONE, 0.0), *[(name, share) for name in corruptions_of(data) for share in SHOWN]]
    header = ["method", *["clean" if name == NONE else f"{name}, {100 * share:.0f} %" for name, share in columns]]
    lines = []
    for method in results.methods(CONTENDERS):
        cells = [spread(results.curve(data, method, name).values.get(share)) for name, share in columns]
        if set(cells) != {MISSING}:
            lines.append([name_of(method), *cells])
    return table_text(header, lines) if lines else "No rows of this set."


def view_table(results: Results) -> str:
    """Methods by sets: ACC without and with a view of noise, and the weight that ours leave it."""

    def cell(data: str, method: str) -> str:
        curve = results.curve(data, method, NOISE_VIEW)
        if 1.0 not in curve.values:
            return MISSING
        weights = [row["view_weights"] for row in results.of(data, method, NOISE_VIEW) if row.get("view_weights")]
        kept = f" (weight {np.mean([w[-1] for w in weights]):.2f} of {1 / len(weights[0]):.2f})" if weights else ""
        return f"{percent(curve.mean(0.0))} → {percent(curve.mean(1.0))}{kept}"

    return _table(results, results.sets(SETS), cell)


def cost_table(results: Results) -> str:
    """Processor seconds of a fit over all corruptions, and the number of seeds."""
    sets = results.sets(SETS)
    lines = []
    for method in results.methods(CONTENDERS):
        rows = [results.of(data, method) for data in sets]
        times = [f"{np.mean([row['cpu_seconds'] for row in mine]):.2f}" if mine else MISSING for mine in rows]
        seeds = max(len({row["seed"] for row in mine}) for mine in rows)
        if seeds:
            lines.append([name_of(method), seeds, *times])
    return table_text(["method", "seeds", *sets], lines)


def failures(results: Results) -> str:
    """A line for every method and error, with the sets where it happened."""
    lines = [f"- {method}, {', '.join(sets)}: {error}" for (method, error), sets in results.errors().items()]
    return "\n".join(sorted(lines)) or "Nothing failed, and nothing was missing."


def _tables() -> dict[str, tuple[str, Callable[[Results], str]]]:
    """Every table of the page by the name of its marker, with its heading."""
    made: dict[str, tuple[str, Callable[[Results], str]]] = {}
    for name in OF_SAMPLES:
        heading = f"{TITLES[name]}: the share at which ten points are lost"
        made[f"lost, {name}"] = (heading, partial(lost_table, corruption=name))
    for name in (BACKGROUND, HEAVY):
        heading = f"{TITLES[name]}: clusters of spoilt samples at {100 * SHOWN[-1]:.0f} %"
        made[f"clusters, {name}"] = (heading, partial(lost_clusters_table, corruption=name))
    for name in OF_SAMPLES:
        heading = f"{TITLES[name]}: AUC of outlier scores at {100 * _AUC_SHARE:.0f} %"
        made[f"AUC, {name}"] = (heading, partial(auc_table, corruption=name))
    made[NOISE_VIEW] = (f"{TITLES[NOISE_VIEW]}: ACC without → with it", view_table)
    for data, kind in KINDS.items():
        heading = f"ACC of clean samples: {data} ({kind})"
        made[f"ACC, {data}"] = (heading, partial(accuracy_table, data=data))
    made["cost"] = ("Processor seconds of a fit", cost_table)
    made["failures"] = ("What was not run, or failed", failures)
    return made


TABLES = _tables()


def skeleton() -> str:
    """A page with headings and empty tables, for a folder that has none."""
    parts = ["# Noise", "`python -m benchmarks.noise`"]
    for name, (heading, _) in TABLES.items():
        parts += [f"## {heading}", table_place(name)]
    return "\n\n".join(parts) + "\n"


def refreshed(text: str, results: Results) -> str:
    """A page with its tables written anew; one that lacks a table's place is an error that names it."""
    for name, (_, make) in TABLES.items():
        text = with_table(text, name, make(results))
    return text


def write(path: Path, results: Results) -> str:
    """Write the tables into a page, which is made if there is none."""
    text = refreshed(path.read_text() if path.exists() else skeleton(), results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return text
