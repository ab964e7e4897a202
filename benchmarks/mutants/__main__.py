"""Break the source in small ways, and see whether the tests notice.

python -m benchmarks.mutants [--count 230] [--room objective] [--seed 0] [--jobs 1] [--again] [--only NAME [--try]]

A mutant is one change in a copy of the tree: a sign, an index, a comparison, a factor, a term, swapped arguments.
It is put before the tests of its module until one fails. Those that survive are listed at the end, and the command
fails, unless explained.toml says why they may. Results go to benchmarks/results/mutants.jsonl; what was killed
there is not tried again while its file is the same, unless --again says so. --only shows one mutant as a diff.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys

from benchmarks.harness.pool import Pool
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Row, Store
from benchmarks.mutants.explained import explanations, flaws
from benchmarks.mutants.mutant import Mutant
from benchmarks.mutants.rooms import ROOMS, all_mutants, chosen_tests, drawn, sources
from benchmarks.mutants.summary import print_summary
from benchmarks.mutants.trial import SURVIVED, Job, copied_tree, get_ready, row_of

LIMIT = 300.0


def main() -> int:
    chosen = _arguments()
    everything = [mutant for room in ROOMS for mutant in all_mutants(room)]
    if chosen.only:
        found = next((mutant for mutant in everything if mutant.name == chosen.only), None)
        return _show(found, chosen.tried) if found else _fail(f"There is no mutant {chosen.only!r}.")
    wrong = flaws(explanations(), everything, sources())
    if wrong:
        return _fail("\n".join(wrong))
    mutants = _drawn(chosen.room, chosen.count, chosen.seed)
    store = Store("mutants", ("mutant",))
    _try_all([mutant for mutant in mutants if chosen.again or _unknown(mutant, store)], store, chosen)
    return int(print_summary(mutants, store) > 0)


def _drawn(room: str | None, count: int, seed: int) -> list[Mutant]:
    """So many mutants of a room, or of all by their shares."""
    rooms = [room] if room else list(ROOMS)
    shares = sum(ROOMS[room].share for room in rooms)
    return [mutant for room in rooms for mutant in drawn(room, round(count * ROOMS[room].share / shares), seed)]


def _unknown(mutant: Mutant, store: Store) -> bool:
    """Whether it has to be tried: neither explained nor killed before in the same file."""
    row = store.rows.get((mutant.name,))
    same = row is not None and row["text"] == mutant.digest(sources()[mutant.path])
    return mutant.name not in explanations() and not (row is not None and same and row["outcome"] != SURVIVED)


def _try_all(mutants: list[Mutant], store: Store, chosen: argparse.Namespace) -> None:
    """Each in a copy of the tree that is free, as many at once as there are jobs."""
    progress = Progress(len(mutants))
    needed = [] if chosen.trust else dict.fromkeys(file for mutant in mutants for file in chosen_tests(mutant))
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(copied_tree()) for _ in range(chosen.jobs)]
        pool = stack.enter_context(Pool(row_of, get_ready, chosen.jobs))
        unbroken = (Job(free.pop(), None, (file,), chosen.limit) for file in needed)
        jobs = (Job(free.pop(), mutant, chosen_tests(mutant), chosen.limit) for mutant in mutants)
        for job, result in pool.run(itertools.chain(unbroken, jobs)):
            free.append(job.tree)
            _check(job, result)
            if job.mutant is not None:
                row = {"mutant": job.mutant.name, "room": job.mutant.room, "seed": chosen.seed, **result}
                store.add({**row, "text": job.mutant.digest(sources()[job.mutant.path])})
                progress.step(job.mutant.name)
    progress.close()


def _check(job: Job, result: Row) -> None:
    """A trial has to come to an end, and the source as it is has to pass: else no verdict means anything."""
    if "error" in result:
        raise RuntimeError(f"{job.mutant.name if job.mutant else 'no mutant'}: {result['error']}")
    if job.mutant is None and result["outcome"] != SURVIVED:
        raise RuntimeError(f"the source as it is does not pass {result['test'] or job.tests}")


def _show(mutant: Mutant, tried: bool) -> int:
    """One mutant as a diff, and what becomes of it if that is asked."""
    print(mutant.diff(sources()[mutant.path]))
    known = explanations().get(mutant.name)
    if known:
        print(f"{known.kind}: {known.reason}")
    if tried:
        with copied_tree() as tree:
            row = row_of(Job(tree, mutant, chosen_tests(mutant), LIMIT))
        print(f"{row['outcome']} {row['test']} in {row['seconds']} s")
    return 0


def _fail(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=230, help="mutants, over all rooms or of one")
    parser.add_argument("--room", choices=list(ROOMS))
    parser.add_argument("--seed", type=int, default=0, help="which of all mutants are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at once, each in its own copy")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that the tests may take")
    parser.add_argument("--trust", action="store_true", help="do not run the tests on the source as it is first")
    parser.add_argument("--again", action="store_true", help="also those that were killed before")
    parser.add_argument("--only", metavar="NAME", help="show one mutant as a diff")
    parser.add_argument("--try", action="store_true", dest="tried", help="with --only: put it before the tests")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
