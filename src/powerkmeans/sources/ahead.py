"""Items of an iterator, prepared by a thread ahead of their use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

DEPTH = 2


class _End(NamedTuple):
    """What follows the last item: nothing, or the error that stopped the thread."""

    error: BaseException | None


def read_ahead(items: Iterator[T], depth: int = DEPTH) -> Iterator[T]:
    """Yield the same items, prepared by one background thread up to ``depth`` ahead of their use.

    Errors of ``items`` are raised here. Closing the generator stops the thread and waits for it, which is at most
    for the item it is working on; ``items`` is closed in that thread.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth!r}.")
    return _read_ahead(items, depth)


def _read_ahead(items: Iterator[T], depth: int) -> Iterator[T]:
    ready: SimpleQueue[T | _End] = SimpleQueue()
    room, stopped = threading.Semaphore(depth - 1), threading.Event()
    # a daemon, or a generator that is neither used up nor closed would keep the interpreter from ending
    thread = threading.Thread(
        target=_prepare, args=(items, ready, room, stopped), name="powerkmeans-read-ahead", daemon=True
    )
    thread.start()
    try:
        yield from _received(ready, room)
    finally:
        stopped.set()
        room.release()
        if thread is not threading.current_thread():  # garbage may be collected in any thread
            thread.join()


def _prepare(
    items: Iterator[T],
    ready: SimpleQueue[T | _End],
    room: threading.Semaphore,
    stopped: threading.Event,
) -> None:
    """Put items and then an end into the queue, waiting for room after each."""
    end = _End(None)
    try:
        for item in items:
            ready.put(item)
            del item  # held by the queue or its reader only
            room.acquire()
            if stopped.is_set():
                break
    except BaseException as error:  # raised again where the items are used
        end = _End(error)
    try:
        close(items)
    finally:  # whatever happens, or the reader would wait for ever
        ready.put(end)


def close(items: Iterator[Any]) -> None:
    """Tell an iterator that no more is wanted, if it can be told."""
    if hasattr(items, "close"):
        items.close()


def _received(ready: SimpleQueue[T | _End], room: threading.Semaphore) -> Iterator[T]:
    while True:
        item = ready.get()
        if isinstance(item, _End):
            break
        room.release()
        yield item
        del item
    error = item.error
    del item
    try:
        if error is not None:
            raise error
    finally:
        del error  # or the error and this frame would keep each other
