"""Cases tried in forked child processes with limits on memory and time: a crash or a hang is one outcome of many.

A judge tells what became of a case, given its number; what it says begins with ``MISS`` if the library failed.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

Judge = Callable[[int], str]
MISS = "MISS"
SECONDS, GIGABYTES = 60.0, 6.0
# cases of one child, so that what one leaves behind does not reach all others
BATCH = 1000


class Tried(NamedTuple):
    """A case by its number, and what became of it."""

    number: int
    outcome: str

    @property
    def missed(self) -> bool:
        return self.outcome.startswith(MISS)


def tried(judge: Judge, numbers: range, until: float = float("inf")) -> Iterator[Tried]:
    """Try cases by their numbers until a time on the monotonic clock; a child that dies or hangs is replaced."""
    context, place = multiprocessing.get_context("fork"), 0
    while place < len(numbers) and time.monotonic() < until:
        batch = numbers[place : place + BATCH]
        for number, outcome in _of_a_child(context, judge, batch):
            place += 1
            yield Tried(number, outcome)
            if time.monotonic() >= until:
                break


def _of_a_child(context: Any, judge: Judge, numbers: range) -> Iterator[tuple[int, str]]:
    """What one child says of its cases, up to the one that ends it."""
    here, there = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="powerkmeans-fuzz-", ignore_cleanup_errors=True) as folder:
        child = context.Process(target=_work, args=(judge, numbers, there, folder))
        child.start()
        there.close()
        try:
            for number in numbers:
                outcome = _received(here, child)
                yield number, outcome or f"{MISS} {_end_of(child)}"
                if outcome is None:
                    return
        finally:
            child.kill()
            child.join()
            here.close()


def _work(judge: Judge, numbers: range, pipe: Connection, folder: str) -> None:
    """Try cases one after the other, in an empty folder, without a word."""
    if "ASAN_OPTIONS" not in os.environ:  # its shadow of the memory is terabytes of addresses
        limit = int(GIGABYTES * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    with open(os.devnull, "w") as nothing, chdir(folder):
        sys.stdout = sys.stderr = nothing
        for number in numbers:
            pipe.send(_told(judge, number))


def _told(judge: Judge, number: int) -> str:
    """What a judge says of a case; an error of its own is a miss too, until somebody has looked at it."""
    try:
        return judge(number)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{MISS} in the judge: {type(error).__name__} at {where.name}:{where.lineno}: {str(error)[:160]}"


def _received(pipe: Connection, child: multiprocessing.process.BaseProcess) -> str | None:
    """What a child says of its next case; None if it says nothing more."""
    try:
        return str(pipe.recv()) if pipe.poll(SECONDS) else None
    except (EOFError, ConnectionResetError):
        child.join()
        return None


def _end_of(child: multiprocessing.process.BaseProcess) -> str:
    if child.exitcode is None:
        return f"the process hangs for {SECONDS:.0f} s"
    reason = signal.Signals(-child.exitcode).name if child.exitcode < 0 else f"exit {child.exitcode}"
    return f"the process ended ({reason})"
