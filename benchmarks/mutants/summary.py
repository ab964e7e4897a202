"""What became of the mutants, room by room, and which of them survived."""

from __future__ import annotations

from collections import Counter

from benchmarks.harness.store import Store
from benchmarks.mutants.explained import explanations
from benchmarks.mutants.mutant import Mutant
from benchmarks.mutants.rooms import sources
from benchmarks.mutants.trial import KILLED, NOT_COMPILED, OVER_TIME, SURVIVED
from benchmarks.report import print_table

EXPLAINED = "explained"
_OUTCOMES = (KILLED, OVER_TIME, NOT_COMPILED, EXPLAINED, SURVIVED)


def print_summary(mutants: list[Mutant], store: Store) -> int:
    """A table and the survivors with what they change; how many these are."""
    known = explanations()
    outcomes = {m: EXPLAINED if m.name in known else store.rows[m.name,]["outcome"] for m in mutants}
    counts = Counter((mutant.room, outcome) for mutant, outcome in outcomes.items())
    rooms = list(dict.fromkeys(mutant.room for mutant in mutants))
    rows = [[room, *(counts[room, outcome] for outcome in _OUTCOMES)] for room in rooms]
    rows.append(["all", *(sum(counts[room, outcome] for room in rooms) for outcome in _OUTCOMES)])
    print_table(["room", "made", *_OUTCOMES], [[name, sum(numbers), *numbers] for name, *numbers in rows])
    survivors = [mutant for mutant, outcome in outcomes.items() if outcome == SURVIVED]
    for mutant in survivors:
        print(f"{mutant.name}\n    {mutant.change(sources()[mutant.path])}")
    return len(survivors)
