"""A fit that can be gone on with: where every run of the solver ended, and where the last one has got to.

A fit is a function of its rows, its settings and one seed, and runs of the solver are what takes its time. They
come in the same order each time, so whoever knows the first of them needs not make them again: the fit is begun
anew, and what is known is handed to it as if it had been computed.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

import numpy as np

from powerkmeans.exceptions import CheckpointError
from powerkmeans.inputs.settings import Settings
from powerkmeans.models.files.archive import Archive, write_archive
from powerkmeans.models.files.flaws import Flaw, NotAModel
from powerkmeans.solver.mm import Position
from powerkmeans.solver.settling import Step
from powerkmeans.support.draws import draw_seed
from powerkmeans.support.files import occupied, regular_target, replacing
from powerkmeans.support.precision import HALF_THE_DIGITS
from powerkmeans.types import Array, Iteration, Parameters, RowSample, SolverResult, Status, Views

# iterations between two states that are written, and seconds: those of a small run are over before a file is
ITERATIONS, SECONDS = 5, 1.0
KIND, VERSION = "powerkmeans checkpoint", 1
# of settings that change nothing of a result
_WITHOUT = ("engine", "verbose", "advice")

AnyPath = str | os.PathLike[str]


class Solver(Protocol):
    """The solver, ready to be run from its start or from where a run had got to."""

    def __call__(
        self, *, begun: Position | None, on_position: Callable[[Position], None] | None
    ) -> SolverResult: ...


class Drawn(NamedTuple):
    """What rows a fit has drawn: a digest of what they hold, and one number that tells their weights."""

    digest: str
    weight: float


class Story(NamedTuple):
    """What is known of a fit: the rows that it drew, its runs, the last of which may be under way, and costs."""

    drawn: list[Drawn]
    runs: list[SolverResult | Position]
    costs: list[float]


class Journal:
    """The story of one fit, known from a file or made since, and the file that it is written to."""

    def __init__(self, path: AnyPath, seed: int, facts: dict[str, str], story: Story) -> None:
        self.seed, self._path, self._facts, self._story = seed, path, facts, story
        self._next = {"drawn": 0, "runs": 0, "costs": 0}
        self._waiting, self._written = 0, time.monotonic()

    def _number(self, what: str) -> int:
        number = self._next[what]
        self._next[what] += 1
        return number

    def draw(self, found: Drawn) -> None:
        """Hear of rows that were drawn, which must be those that are known."""
        number, known = self._number("drawn"), self._story.drawn
        if number == len(known):
            known.append(found)
        same = known[number].digest == found.digest
        if not same or not math.isclose(known[number].weight, found.weight, rel_tol=HALF_THE_DIGITS):
            raise CheckpointError(
                f"{os.fspath(self._path)!r} is of a fit to other rows or weights. Give what it was given, or fit "
                "without resume_from."
            )

    def run(self, start: Parameters, solve: Solver) -> SolverResult:
        """The next run: as it is known, gone on with, or made."""
        number, runs = self._number("runs"), self._story.runs
        known = runs[number] if number < len(runs) else None
        if known is not None and known.parameters.centers.shape != start.centers.shape:
            raise CheckpointError(f"{os.fspath(self._path)!r} is damaged: run {number + 1} has other centroids.")
        if isinstance(known, SolverResult):
            return known
        found = solve(begun=known, on_position=lambda position: self._note(number, position))
        if found.status is not Status.INTERRUPTED:  # who stops a fit may go on with it
            runs[number:] = [found._replace(sums=None)]
        return found

    def cost(self, compute: Callable[[], float]) -> float:
        """The next cost of a run's end, as it is known or computed."""
        number, costs = self._number("costs"), self._story.costs
        if number == len(costs):
            costs.append(compute())
        return costs[number]

    def _note(self, number: int, position: Position) -> None:
        self._story.runs[number:] = [position]
        self._waiting += 1
        if self._waiting >= ITERATIONS and time.monotonic() - self._written >= SECONDS:
            self.write()

    def write(self) -> None:
        """Put what is known into the file, whole or not at all."""
        drawn, runs, costs = self._story
        arrays = {f"run{i}.{name}": value for i, end in enumerate(runs) for name, value in _packed(end)}
        arrays["costs"], arrays["weights"] = np.array(costs), np.array([one.weight for one in drawn])
        header = {
            "kind": KIND,
            "version": VERSION,
            "seed": self.seed,
            "fit": self._facts,
            "drawn": [one.digest for one in drawn],
            "ends": [end.status.value if isinstance(end, SolverResult) else "" for end in runs],
        }
        with replacing(self._path, overwrite=True, about="the checkpoint") as stream:
            write_archive(stream, header, arrays)
        self._waiting, self._written = 0, time.monotonic()


_JOURNAL: ContextVar[Journal | None] = ContextVar("powerkmeans_journal", default=None)


@contextmanager
def kept_in(journal: Journal | None) -> Iterator[None]:
    """Let runs of the solver inside be kept, and those that are known not be made again."""
    token = _JOURNAL.set(journal)
    try:
        yield
    except CheckpointError:  # of another fit: it stays as it is
        raise
    except BaseException:
        with suppress(OSError):
            if journal is not None:
                journal.write()
        raise
    else:
        if journal is not None:
            journal.write()
    finally:
        _JOURNAL.reset(token)


def carried_out(start: Parameters, solve: Solver) -> SolverResult:
    """One run of the solver, kept if somebody keeps them."""
    journal = _JOURNAL.get()
    return solve(begun=None, on_position=None) if journal is None else journal.run(start, solve)


def check_same_rows_drawn(sample: RowSample) -> None:
    """Hold the rows that a fit has drawn to those of the checkpoint that it goes on from."""
    journal = _JOURNAL.get()
    if journal is not None:
        journal.draw(_drawn(sample))


def _drawn(sample: RowSample) -> Drawn:
    digest = sha256()
    for view in sample.views:
        parts = (view.data, view.indices, view.indptr) if hasattr(view, "indptr") else (view,)
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
    return Drawn(digest.hexdigest(), float(sample.weight @ np.arange(1.0, len(sample.weight) + 1)))


def carried_cost(compute: Callable[[], float]) -> float:
    """The cost where a run ended, which takes a pass over all rows; kept with the runs."""
    journal = _JOURNAL.get()
    return compute() if journal is None else journal.cost(compute)


def open_journal(
    checkpoint: AnyPath | None, resume_from: AnyPath | None, views: Views, settings: Settings, random_state: Any
) -> Journal | None:
    """The journal that a fit is to keep, with what is known from a file that it is to go on from."""
    path = checkpoint if checkpoint is not None else resume_from
    if path is None:
        return None
    facts = _facts(views, settings)
    target = regular_target(path)
    if occupied(target) and path != resume_from:
        _read(path)  # nothing but a checkpoint is replaced by one
    if resume_from is None:
        return Journal(path, draw_seed(random_state), facts, Story([], [], []))
    header, story = _read(resume_from)
    other = [name for name, value in facts.items() if header["fit"].get(name) != value]
    if isinstance(random_state, (int, np.integer)) and draw_seed(random_state) != header["seed"]:
        other.append("random_state")
    if other:
        raise CheckpointError(
            f"{os.fspath(resume_from)!r} is of another fit, which differs in {', '.join(other)}. Give what it was "
            "given, or fit without resume_from."
        )
    return Journal(path, header["seed"], facts, story)


def _facts(views: Views, settings: Settings) -> dict[str, str]:
    """What a fit is known by: the shape of its rows, and its settings."""
    shapes = [(name, int(array.shape[1])) for name, array in zip(views.names, views.arrays, strict=True)]
    chosen = {f.name: _told(getattr(settings, f.name)) for f in fields(settings) if f.name not in _WITHOUT}
    return {"rows": str(int(views.arrays[0].shape[0])), "views": str(shapes), "dtype": str(views.dtype), **chosen}


def _told(value: Any) -> str:
    """A setting in words; tables by what they hold."""
    if isinstance(value, dict):
        return str({name: _told(part) for name, part in value.items()})
    if hasattr(value, "__array__"):
        return sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return repr(value)


def _packed(end: SolverResult | Position) -> Iterator[tuple[str, Array]]:
    yield "s", np.array([end.s])
    yield "centers", end.parameters.centers
    yield "view_weights", end.parameters.view_weights
    yield "lines", np.array([[*line[:4], line.n_distinct, *line.view_weights] for line in end.history])
    yield "groups", np.array([line.groups for line in end.history], dtype=np.int64)
    if isinstance(end, Position):
        yield "sizes", np.array([step.sizes for step in end.recent])
        yield "steps", np.array([[step.moved, step.spread] for step in end.recent])


def _unpacked(end: str, arrays: dict[str, Array]) -> SolverResult | Position:
    (s,) = arrays["s"].tolist()
    parameters = Parameters(arrays["centers"], arrays["view_weights"])
    lines = zip(arrays["lines"].tolist(), arrays["groups"].tolist(), strict=True)
    history = tuple(
        Iteration(at, objective, cost, shift, int(n_distinct), tuple(weights), tuple(groups))
        for (at, objective, cost, shift, n_distinct, *weights), groups in lines
    )
    if end:
        return SolverResult(parameters, s, Status(end), history)
    steps = zip(arrays["sizes"], arrays["steps"].tolist(), strict=True)
    recent = tuple(Step(sizes, moved, spread) for sizes, (moved, spread) in steps)
    return Position(parameters, s, history, recent)


def _of_run(number: int, arrays: dict[str, Array]) -> dict[str, Array]:
    prefix = f"run{number}."
    found = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    shapes = {"s": 1, "centers": 2, "view_weights": 1, "lines": 2, "groups": 2, "sizes": 2, "steps": 2}
    for name, array in found.items():
        if array.ndim != shapes[name] or (name in ("centers", "view_weights") and not np.all(np.isfinite(array))):
            raise ValueError(f"{prefix}{name} is not what it should be")
    return found


def _read(path: AnyPath) -> tuple[dict[str, Any], Story]:
    """What a checkpoint holds."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as stream:
            archive = Archive(stream)
            header, arrays = archive.header, archive.arrays()
        if not isinstance(header, dict) or header.get("kind") != KIND:
            raise NotAModel("it has another header")
        if header["version"] > VERSION:
            raise CheckpointError(f"{name!r} is of a later version of powerkmeans; update it.")
        if not isinstance(header["fit"], dict) or arrays["costs"].ndim != 1 or not isinstance(header["seed"], int):
            raise ValueError("its header is not what it should be")
        drawn = [Drawn(*one) for one in zip(header["drawn"], arrays["weights"].tolist(), strict=True)]
        runs = [_unpacked(end, _of_run(number, arrays)) for number, end in enumerate(header["ends"])]
        return header, Story(drawn, runs, arrays["costs"].tolist())
    except CheckpointError:
        raise
    except (Flaw, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{name!r} is not a checkpoint of powerkmeans, or is damaged: {error}.") from error
