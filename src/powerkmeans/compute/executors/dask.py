"""Workers of a Dask cluster, or Dask's threads in this process: tasks run there, and results come back in order.

Nothing is scattered, no task knows of another, and nobody waits for all: whatever a worker that dies has held is
made again by Dask from the tasks that made it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Any

from powerkmeans.compute.progress import tell_share
from powerkmeans.exceptions import ClusterError
from powerkmeans.support.install import needed

# seconds between looks at a cluster whose answers are waited for, and without a worker before it is given up
LOOK_SECONDS, PATIENCE_SECONDS = 5.0, 60.0
# share of the memory of all workers that rows and features may take: these are not spread evenly, and tasks need
# some
KEPT_SHARE = 0.4
# bytes that a worker without a limit is reckoned to have
UNLIMITED = 2**32


class Workers:
    """Runs Dask's tasks on a cluster if there is a client, else by threads of this process."""

    def __init__(self, client: Any = None) -> None:
        self._dask = needed("dask", "dask")
        inside = _in_task()  # whose slot nobody else gets while it waits
        self._scheduler = "threads" if inside else None
        self._client = _default_client() if client is None and not inside else client
        if self._client is not None:
            _check_client(self._client)

    def current(self) -> AbstractContextManager[Any]:
        """Let whatever Dask computes meanwhile be computed here."""
        return nullcontext() if self._client is None else self._client.as_current()

    def memory(self) -> int | None:
        """Bytes that may be kept on all workers together; None where tasks run in this process."""
        if self._client is None:
            return None
        found = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return int(KEPT_SHARE * sum(worker["memory_limit"] or UNLIMITED for worker in found))

    def persist(self, collections: Sequence[Any]) -> list[Any]:
        """The same collections, made and kept where they were made for as long as they are referred to."""
        if self._client is None:
            return list(self._dask.persist(*collections, scheduler=self._scheduler))
        _check_client(self._client)
        return list(self._client.persist(list(collections)))

    def made(self, collections: Sequence[Any]) -> list[Any]:
        """The same, once all of them are there."""
        kept = self.persist(collections)
        if self._client is not None:
            with self._explaining(futures := needed("distributed", "dask").futures_of(kept)):
                self._wait(futures)
                for future in futures:
                    if future.status == "error":
                        future.result()
        return kept

    def beside(self, kept: Sequence[Any]) -> Iterator[AbstractContextManager[Any]]:
        """Yield, for each that is kept, what lets a task go where it is: a wish, which no death can break."""
        if self._client is None:
            yield from (nullcontext() for _ in kept)
            return
        _check_client(self._client)
        found = self._client.who_has(needed("distributed", "dask").futures_of(list(kept)))
        for one in kept:
            places = list(found.get(one.key, ()))
            yield self._dask.annotate(workers=places, allow_other_workers=True) if places else nullcontext()

    def results(self, tasks: Sequence[Any], n_rows: int = 0) -> list[Any]:
        """What tasks give, in their order; the error of one ends them all. They go over so many rows."""
        if self._client is None:
            tell_share(0, 1, n_rows)
            return list(self._dask.compute(*tasks, scheduler=self._scheduler))
        _check_client(self._client)
        with self._explaining(futures := self._client.compute(list(tasks), optimize_graph=False)):
            self._wait(futures, n_rows)
            return list(self._client.gather(futures))

    @contextmanager
    def _explaining(self, futures: list[Any]) -> Iterator[None]:
        """Leave nothing running behind an error, which is told in the words of who has a cluster."""
        try:
            yield
        except BaseException as error:
            with suppress(Exception):
                self._client.cancel(futures)
            raise _explained(error) from error

    def _wait(self, futures: list[Any], n_rows: int = 0) -> None:
        """Wait for all, unless an error comes first or nobody is left who could go on."""
        ended: SimpleQueue[Any] = SimpleQueue()
        for future in futures:
            future.add_done_callback(ended.put)
        alone_since, count = None, 0
        tell_share(0, len(futures), n_rows)
        while count < len(futures):
            try:
                future = ended.get(timeout=LOOK_SECONDS)
            except Empty:
                alone_since = self._alone_since(alone_since)
                continue
            alone_since, count = None, count + 1
            tell_share(count, len(futures), n_rows)
            if future.status in ("error", "cancelled", "lost"):
                return  # gathering raises it

    def _alone_since(self, before: float | None) -> float | None:
        """Since when there is no worker; an error if that is too long."""
        _check_client(self._client)
        if self._client.scheduler_info(n_workers=-1)["workers"]:
            return None
        now = time.monotonic()
        if before is not None and now - before > PATIENCE_SECONDS:
            raise ClusterError(
                f"The Dask cluster has had no worker for {PATIENCE_SECONDS:.0f} seconds; start some and fit again."
            )
        return now if before is None else before


def _in_task() -> bool:
    """Whether this is run by a worker."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def _default_client() -> Any:
    """The client that whoever made it goes by, if there is one."""
    distributed = sys.modules.get("distributed")  # who has a client has imported it
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _check_client(client: Any) -> None:
    if client.asynchronous:
        raise TypeError("The Dask client is asynchronous; fit with one that is not: Client(address).")
    if client.status != "running":
        raise ClusterError(f"The Dask client is {client.status}, so nothing can be computed; open another one.")


def _explained(error: BaseException) -> BaseException:
    """Errors of Dask in the words of who has a cluster; those of tasks as they are."""
    name = type(error).__name__
    if name == "KilledWorker":
        return ClusterError(
            "Workers died time and again over the same task, mostly because they run out of memory. Use smaller "
            "chunks, DaskOptions(rows_per_task=...), a smaller memory_budget, or workers with more memory. Dask "
            f"says: {error}"
        )
    if name in ("FutureCancelledError", "CancelledError", "CommClosedError"):
        return ClusterError(f"The Dask cluster has gone away in the middle of a pass: {error or name}.")
    return error
