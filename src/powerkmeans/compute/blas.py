"""One process-wide hold on BLAS threads: overlapping fits run on one thread each and restore what they found."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

# the garbage collector may end a hold while another begins in the same thread, so the lock must let it in
_lock = threading.RLock()
_holds: set[_Hold] = set()
_known: list[_Library] | None = None
# how often a limit is set before whoever else sets it at the same moment has won
_TRIES = 10


@contextmanager
def single_threaded_blas() -> Iterator[int]:
    """Hold BLAS to one thread while inside; yield how many threads it was allowed before.

    Most limits belong to the process: the first to enter sets them and the last to leave restores them, whichever
    fit that is. What others set meanwhile is undone whenever anyone enters, so whoever computes enters for each
    piece of work, also inside another hold.
    """
    hold = _Hold()
    try:
        with _lock:
            allowed = hold.begin()
        yield allowed
    finally:
        with _lock:
            hold.end()


class _Library:
    """The limit of one library, and what it was before it was held."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self._process_wide = True if getattr(controller, "threading_layer", None) == "pthreads" else None
        self.before = 1

    def hold(self, to_restore: list[tuple[_Library, int]]) -> None:
        """Allow one thread; note in ``to_restore`` what this thread has to restore, if the limit is its own.

        Whoever sets a limit during a hold has found our 1 and will restore it, so the largest number that was ever
        seen is the one that was meant to last. A restore after the hold has ended cannot be told from a wish.
        """
        found = self._controller.num_threads or 1
        self.before = max(self.before, found)
        if found == 1:
            return
        to_restore.append((self, found))
        if self._process_wide is None:
            self._process_wide = self._reaches_other_threads(found)
        else:
            self.set(1)
        if self._process_wide:
            to_restore.pop()

    def release(self) -> None:
        """Restore a limit that belongs to the process."""
        if self._process_wide and self._controller.num_threads == 1:
            self.set(self.before)
        self.before = 1

    def set(self, n_threads: int) -> None:
        """Set the limit, also where another thread has reserved that right (threadpoolctl 3.8 and later)."""
        give_up_control = getattr(self._controller, "clear_controlling_thread", lambda force=False: None)
        for _ in range(_TRIES):
            give_up_control(force=True)
            self._controller.set_num_threads(n_threads)
            give_up_control()
            if self._controller.num_threads == n_threads:
                return

    def _reaches_other_threads(self, found: int) -> bool:
        """Whether another thread, which has the same limit, sees that it is set to 1 here."""
        before = self._limit_elsewhere()
        self.set(1)
        return before == found and self._limit_elsewhere() == 1

    def _limit_elsewhere(self) -> int:
        """The limit as a new thread finds it."""
        limits: list[int] = []
        thread = threading.Thread(target=lambda: limits.append(self._controller.num_threads))
        thread.start()
        thread.join()
        return limits[0]


class _Hold:
    """One entrance: what it changed for its own thread alone."""

    def __init__(self) -> None:
        self._to_restore: list[tuple[_Library, int]] = []
        self._thread = threading.get_ident()

    def begin(self) -> int:
        _holds.add(self)
        libraries = _libraries()
        for library in libraries:
            library.hold(self._to_restore)
        return max(library.before for library in libraries) if libraries else os.cpu_count() or 1

    def end(self) -> None:
        _holds.discard(self)
        if threading.get_ident() == self._thread:  # a generator may be closed by another thread
            while self._to_restore:
                library, n_threads = self._to_restore.pop()
                library.set(n_threads)
        if not _holds:
            for library in _libraries():
                library.release()


def _libraries() -> list[_Library]:
    """Everything that can be held: looking takes milliseconds, and numpy and scipy are loaded by now."""
    global _known
    if _known is None:
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        _known = [_Library(controller) for controller in found]
    return _known


def _forget() -> None:
    """In a forked child nobody holds anything: the threads that did are not there."""
    _holds.clear()
    for library in _known or ():
        if library.before > 1:
            library.set(library.before)
        library.before = 1
    _lock.release()


if hasattr(os, "register_at_fork"):  # the lock is taken so that no child is born in the middle of a change
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget)
