"""A fit that can be gone on with: where every run of the solver ended, and where the last one has got to.

A fit is a function of its rows, its settings and one seed, and runs of the solver are what takes its time. They
come in the same order each time, so whoever knows the first of them needs not make them again: the fit is begun
anew, and what is known is handed to it as if it had been computed.
"""

from __future__ import annotations

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
from powerkmeans.types import Array, Iteration, Parameters, SolverResult, Status, Views

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


class Known(NamedTuple):
    """A run: where it began, as one number, and where it ended or has got to."""

    start: float
    end: SolverResult | Position


class Journal:
    """The runs of one fit, known from a file or made since, and the file that they are written to."""

    def __init__(
        self, path: AnyPath, seed: int, facts: dict[str, str], known: list[Known], costs: list[float]
    ) -> None:
        self.seed, self._path, self._facts, self._known, self._costs = seed, path, facts, known, costs
        self._next, self._next_cost, self._waiting, self._written = 0, 0, 0, time.monotonic()

    def run(self, start: Parameters, solve: Solver) -> SolverResult:
        """The next run: as it is known, gone on with, or made."""
        number, self._next = self._next, self._next + 1
        mark, known = _mark(start), self._known[number] if number < len(self._known) else None
        if known is not None and abs(known.start - mark) > HALF_THE_DIGITS * (1 + abs(mark)):
            raise CheckpointError(
                f"{os.fspath(self._path)!r} is of a fit to other rows: run {number + 1} began elsewhere. Fit "
                "without resume_from."
            )
        if known is not None and isinstance(known.end, SolverResult):
            return known.end
        self._known[number:] = [Known(mark, known.end)] if known is not None else []
        try:
            found = solve(
                begun=None if known is None else known.end,  # type: ignore[arg-type]
                on_position=lambda position: self._note(number, Known(mark, position)),
            )
        except BaseException:
            with suppress(OSError):
                self.write()
            raise
        if found.status is not Status.INTERRUPTED:  # who stops a fit may go on with it
            self._known[number:] = [Known(mark, found._replace(sums=None))]
        return found

    def cost(self, compute: Callable[[], float]) -> float:
        """The next cost of a run's end, as it is known or computed."""
        number, self._next_cost = self._next_cost, self._next_cost + 1
        if number == len(self._costs):
            self._costs.append(compute())
        return self._costs[number]

    def _note(self, number: int, known: Known) -> None:
        self._known[number:] = [known]
        self._waiting += 1
        if self._waiting >= ITERATIONS and time.monotonic() - self._written >= SECONDS:
            self.write()

    def write(self) -> None:
        """Put what is known into the file, whole or not at all."""
        arrays = {f"run{i}.{name}": value for i, one in enumerate(self._known) for name, value in _packed(one)}
        arrays["costs"] = np.array(self._costs)
        ends = [one.end.status.value if isinstance(one.end, SolverResult) else "" for one in self._known]
        header = {"kind": KIND, "version": VERSION, "seed": self.seed, "fit": self._facts, "ends": ends}
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
        if journal is not None:
            journal.write()
    finally:
        _JOURNAL.reset(token)


def carried_out(start: Parameters, solve: Solver) -> SolverResult:
    """One run of the solver, kept if somebody keeps them."""
    journal = _JOURNAL.get()
    return solve(begun=None, on_position=None) if journal is None else journal.run(start, solve)


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
        return Journal(path, draw_seed(random_state), facts, [], [])
    header, known, costs = _read(resume_from)
    other = [name for name, value in facts.items() if header["fit"].get(name) != value]
    if isinstance(random_state, (int, np.integer)) and draw_seed(random_state) != header["seed"]:
        other.append("random_state")
    if other:
        raise CheckpointError(
            f"{os.fspath(resume_from)!r} is of another fit, which differs in {', '.join(other)}. Give what it was "
            "given, or fit without resume_from."
        )
    return Journal(path, header["seed"], facts, known, costs)


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


def _mark(start: Parameters) -> float:
    """One number that tells starts apart, and not how they were rounded."""
    return float(np.sum(np.abs(start.centers)) + start.view_weights @ np.arange(1, len(start.view_weights) + 1))


def _packed(known: Known) -> Iterator[tuple[str, Array]]:
    end = known.end
    yield "numbers", np.array([known.start, end.s])
    yield "centers", end.parameters.centers
    yield "view_weights", end.parameters.view_weights
    yield "lines", np.array([[*line[:4], line.n_distinct, *line.view_weights] for line in end.history])
    yield "groups", np.array([line.groups for line in end.history], dtype=np.int64)
    if isinstance(end, Position):
        yield "sizes", np.array([step.sizes for step in end.recent])
        yield "steps", np.array([[step.moved, step.spread] for step in end.recent])


def _unpacked(end: str, arrays: dict[str, Array]) -> Known:
    start, exponent = arrays["numbers"].tolist()
    parameters = Parameters(arrays["centers"], arrays["view_weights"])
    lines = zip(arrays["lines"].tolist(), arrays["groups"].tolist(), strict=True)
    history = tuple(
        Iteration(s, objective, cost, shift, int(n_distinct), tuple(weights), tuple(groups))
        for (s, objective, cost, shift, n_distinct, *weights), groups in lines
    )
    if end:
        return Known(start, SolverResult(parameters, exponent, Status(end), history))
    steps = zip(arrays["sizes"], arrays["steps"].tolist(), strict=True)
    return Known(
        start, Position(parameters, exponent, history, tuple(Step(sizes, *step) for sizes, step in steps))
    )


def _of_run(number: int, arrays: dict[str, Array]) -> dict[str, Array]:
    prefix = f"run{number}."
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _read(path: AnyPath) -> tuple[dict[str, Any], list[Known], list[float]]:
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
        known = [_unpacked(end, _of_run(number, arrays)) for number, end in enumerate(header["ends"])]
        return header, known, arrays["costs"].tolist()
    except (Flaw, KeyError, TypeError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{name!r} is not a checkpoint of powerkmeans, or is damaged: {error}.") from error
