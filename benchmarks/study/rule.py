"""The rule that chooses, fixed before the first look at a result.

On every set the levels of a factor are ranked by mean ACC and by mean NMI over seeds; means that agree to three
digits share their ranks. A level's figure is its mean rank over both scores and all sets, synthetic and real sets
counting one half each. The lowest wins; of those within ``TIE`` of it the one with the least processor time, where
times count as equal up to a factor of ``SAME_TIME`` (added later: fits of one level, run at two times of the day,
differed by more than that between some levels). A level that could not be run on some set cannot win, nor (this
too was added later) one that loses more than ``HARM`` of ACC on some set to what stands: ranks do not see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

Row = dict[str, Any]
SCORES = ("ACC", "NMI")
TIE = 0.1
SAME_TIME = 1.25
HARM = 0.1


class Standing(NamedTuple):
    """How a level did: mean rank, mean of each score over sets, processor seconds relative to the least.

    ``harm`` is the most ACC that it loses on any set to the level that stands.
    """

    level: str
    rank: float
    scores: dict[str, float]
    seconds: float
    complete: bool
    harm: float = 0.0

    @property
    def eligible(self) -> bool:
        return self.complete and self.harm <= HARM


def _means(rows: Iterable[Row], name: str) -> float:
    values = [row[name] for row in rows if name in row]
    return float(np.mean(values)) if values else float("nan")


def standings(
    results: dict[str, dict[str, list[Row]]], kinds: dict[str, str], standing_level: str | None = None
) -> list[Standing]:
    """Levels with their figures, in their order; ``results[level][set]`` has a row per seed."""
    levels = list(results)
    complete = [level for level in levels if _is_complete(results[level], kinds)]
    ranks: dict[str, dict[str, list[float]]] = {level: {} for level in levels}
    for data, kind in kinds.items():
        for score in SCORES:
            means = np.array([round(_means(results[level][data], score), 3) for level in complete])
            for level, rank in zip(complete, rankdata(-means), strict=True):
                ranks[level].setdefault(kind, []).append(float(rank))
    least = [min(_seconds(results[level][data]) for level in complete) for data in kinds]
    found = []
    for level in levels:
        cells = {data: rows for data, rows in results[level].items() if any("ACC" in row for row in rows)}
        scores = {name: float(np.mean([_means(rows, name) for rows in cells.values()])) for name in SCORES}
        ratios = [
            _seconds(results[level][data]) / best for data, best in zip(kinds, least, strict=True) if data in cells
        ]
        halves = [float(np.mean(values)) for values in ranks[level].values()]
        rank = float(np.mean(halves)) if level in complete else float("nan")
        seconds = float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")
        harm = 0.0 if standing_level is None else _harm(cells, results[standing_level])
        found.append(Standing(level, rank, scores, seconds, level in complete, harm))
    return found


def _harm(cells: dict[str, list[Row]], before: dict[str, list[Row]]) -> float:
    losses = [_means(before[data], "ACC") - _means(rows, "ACC") for data, rows in cells.items() if data in before]
    return max([0.0, *losses])


def _is_complete(cells: dict[str, list[Row]], kinds: dict[str, str]) -> bool:
    return all(data in cells and cells[data] and all("ACC" in row for row in cells[data]) for data in kinds)


def _seconds(rows: Sequence[Row]) -> float:
    return max(_means(rows, "cpu_seconds"), 1e-3)


def best(found: Iterable[Standing], count: int = 1) -> list[str]:
    """The ``count`` best levels, in order: each the quickest of those within ``TIE`` of the lowest rank left."""
    left = [standing for standing in found if standing.eligible]
    chosen = []
    while left and len(chosen) < count:
        lowest = min(standing.rank for standing in left)
        tied = [standing for standing in left if standing.rank <= lowest + TIE]
        quickest = min(standing.seconds for standing in tied)
        winner = min((s for s in tied if s.seconds <= SAME_TIME * quickest), key=lambda s: (s.rank, s.seconds))
        chosen.append(winner.level)
        left.remove(winner)
    return chosen
