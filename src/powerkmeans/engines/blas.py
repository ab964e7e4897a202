"""One process-wide hold on BLAS threads, counted, so that overlapping fits restore what they found."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_controller: ThreadpoolController | None = None
_holders = 0
_restore: Any = None
_threads_before = 1


def _forget() -> None:
    """In a forked child nobody holds anything: the threads that did are not there."""
    global _lock, _holders, _restore
    _lock, restore = threading.Lock(), _restore
    _holders, _restore = 0, None
    if restore is not None:
        restore.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def single_threaded_blas() -> Iterator[int]:
    """Hold BLAS to one thread while inside; yield how many threads it was allowed before.

    Thread limits belong to the process: the first to enter sets them and the last to leave restores
    them, whichever fit that is.
    """
    global _controller, _holders, _restore, _threads_before
    with _lock:
        if _holders == 0:
            if _controller is None:  # looking for libraries takes milliseconds; numpy and scipy are loaded by now
                _controller = ThreadpoolController().select(user_api="blas")
            _threads_before = max((lib["num_threads"] for lib in _controller.info()), default=os.cpu_count() or 1)
            _restore = _controller.limit(limits=1)
            _restore.__enter__()
        _holders += 1
        allowed = _threads_before
    try:
        yield allowed
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _restore.__exit__(None, None, None)
                _restore = None
