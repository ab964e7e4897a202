"""The page of the study: a table a factor, all winners together, and both sides beside the peers."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from benchmarks.harness.store import Row
from benchmarks.report import table_text
from benchmarks.study.factors import ADVICE, FACTORS, FIRST, Choice, text_of
from benchmarks.study.rule import SCORES, Standing
from benchmarks.study.run import Settled
from benchmarks.study.sets import REAL, SYNTHETIC, StudySet

NAMES = {"before": "ours, defaults before", "after": "ours, defaults now"}


def factor_tables(settled: list[Settled]) -> str:
    """Scan and duel of every factor."""
    parts = []
    for found in settled:
        levels = FACTORS[found.factor]
        around = "the defaults before" if found.factor == FIRST else f"`{text_of(found.around)}`"
        parts += [
            f"### {found.factor}",
            f"Around {around}; " + ("not a default." if found.factor in ADVICE else f"won: **{found.winner}**."),
            standing_table(found.scan, found.duel),
            *[f"{name} cannot be chosen: {level.unfit}." for name, level in levels.items() if level.unfit],
        ]
    return "\n\n".join(parts)


def standing_table(scan: list[Standing], duel: list[Standing] | None = None) -> str:
    """Levels with mean rank, mean scores and time; the second figures are those of the duel."""
    again = {standing.level: standing for standing in duel or []}
    header = ["level", "mean rank", "ACC", "NMI", "most ACC lost on a set", "time"]
    header += ["rank of the two", "ACC", "NMI"] if duel else []
    lines = []
    for standing in scan:
        scores = [*_percent(standing), f"{100 * standing.harm:.1f}"]
        line = [standing.level, _rank(standing), *scores, f"{standing.seconds:.2f}"]
        if duel:
            second = again.get(standing.level)
            line += ["", "", ""] if second is None else [_rank(second), *_percent(second)]
        lines.append(line)
    return table_text(header, lines)


def _rank(standing: Standing) -> str:
    return f"{standing.rank:.2f}" if standing.complete else "not on all sets"


def _percent(standing: Standing) -> list[str]:
    return [f"{100 * standing.scores[name]:.1f}" for name in SCORES]


def side_tables(rows: dict[str, list[Row]], side: tuple[StudySet, ...]) -> str:
    """ACC and NMI of all methods on one side, with mean ranks and times, and the seeds of every cell."""
    parts = [_score_table(rows, side, score) for score in SCORES]
    return "\n\n".join([*parts, _time_table(rows, side)])


def _cell(rows: list[Row], data: StudySet) -> list[Row]:
    return [row for row in rows if row["data"] == data.name and "ACC" in row]


def _score_table(rows: dict[str, list[Row]], side: tuple[StudySet, ...], score: str) -> str:
    lines = []
    for data in side:
        cells = [[row[score] for row in _cell(mine, data)] for mine in rows.values()]
        texts = [
            f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}" if values else "-" for values in cells
        ]
        lines.append([data.name, *texts])
    ranks = mean_ranks(rows, side, score).values()
    lines.append(["mean rank (sets)", *[f"{rank:.2f} ({n_sets})" if n_sets else "-" for rank, n_sets in ranks]])
    return table_text([score, *_titles(rows)], lines)


def _titles(rows: dict[str, list[Row]]) -> list[str]:
    return [NAMES.get(name, name) for name in rows]


def mean_ranks(rows: dict[str, list[Row]], side: tuple[StudySet, ...], score: str) -> dict[str, tuple[float, int]]:
    """Mean rank of every method over the sets that it ran on, as a share of the methods there; and those sets.

    Where not all methods ran, ranks are stretched to the number of all, so that fewer rivals are no advantage.
    """
    found: dict[str, list[float]] = {name: [] for name in rows}
    for data in side:
        means = {name: [row[score] for row in _cell(mine, data)] for name, mine in rows.items()}
        there = {name: round(float(np.mean(values)), 3) for name, values in means.items() if values}
        ranks = rankdata([-value for value in there.values()])
        stretch = (len(rows) - 1) / max(len(there) - 1, 1)
        for name, rank in zip(there, ranks, strict=True):
            found[name].append(1 + (float(rank) - 1) * stretch)
    return {
        name: (float(np.mean(values)) if values else float("nan"), len(values)) for name, values in found.items()
    }


def _time_table(rows: dict[str, list[Row]], side: tuple[StudySet, ...]) -> str:
    lines = [[data.name, *[_seconds(_cell(mine, data)) for mine in rows.values()]] for data in side]
    return table_text(["processor seconds (seeds)", *_titles(rows)], lines)


def _seconds(cell: list[Row]) -> str:
    if not cell:
        return "-"
    mean = float(np.mean([row["cpu_seconds"] for row in cell]))
    return f"{mean:.2g} ({len(cell)})" if mean < 10 else f"{mean:.0f} ({len(cell)})"


def failures(rows: dict[str, list[Row]]) -> str:
    """A line for every method and set without numbers, and why."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for name, mine in rows.items():
        for row in mine:
            if "error" in row:
                reason = row["error"].removeprefix("RuntimeError: ")
                reasons.setdefault((NAMES.get(name, name), reason), {})[row["data"]] = None
    return "\n".join(f"- {name}, {', '.join(sets)}: {reason}" for (name, reason), sets in reasons.items())


def page(
    settled: list[Settled],
    final: list[Standing],
    choice: Choice,
    sides: dict[str, tuple[dict[str, list[Row]], tuple[StudySet, ...]]],
) -> str:
    """All tables, as Markdown."""
    parts = ["## Both sides"]
    for title, (rows, side) in sides.items():
        kinds = {SYNTHETIC: "synthetic families (a seed is a new draw)", REAL: "real sets, standardised"}
        there = " and ".join(text for kind, text in kinds.items() if any(data.kind == kind for data in side))
        parts += [f"### {title.capitalize()}: {there}", side_tables(rows, side), failures(rows)]
    parts += [
        "## All winners together",
        f"Chosen: `{text_of(choice)}`.",
        standing_table(final),
        "## Factor by factor",
        factor_tables(settled),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
