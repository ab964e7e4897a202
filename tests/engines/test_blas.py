"""The hold on BLAS threads: for limits of the process and of threads, reserved for one thread or not."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from helpers import blobs, make_engine, make_problem
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute import blas
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.types import Parameters


class OfProcess:
    """A library with one limit, which every thread may set (threadpoolctl up to 3.7)."""

    def __init__(self, n_threads=4):
        self.num_threads = n_threads

    def set_num_threads(self, n_threads):
        self.num_threads = n_threads


class Reserved(OfProcess):
    """The same, with the right to set it reserved for the thread that did so first (threadpoolctl 3.8)."""

    controlling = None

    def set_num_threads(self, n_threads):
        if self.controlling is None or not self.controlling.is_alive():
            self.controlling = threading.current_thread()
        if self.controlling is threading.current_thread():
            self.num_threads = n_threads

    def clear_controlling_thread(self, force=False):
        if force or self.controlling is threading.current_thread():
            self.controlling = None


class OfThread(threading.local):
    """A library whose limit every thread has for itself (OpenMP, MKL)."""

    num_threads = 4

    def set_num_threads(self, n_threads):
        self.num_threads = n_threads


@pytest.fixture(params=[OfProcess, Reserved, OfThread])
def library(request, monkeypatch):
    made = request.param()
    monkeypatch.setattr(blas, "_known", [blas._Library(made)])
    return made


@contextmanager
def limited(library, n_threads):
    """What ``threadpool_limits`` does."""
    found = library.num_threads
    library.set_num_threads(n_threads)
    yield
    library.set_num_threads(found)
    getattr(library, "clear_controlling_thread", lambda: None)()


class Elsewhere:
    """A context that another thread enters and leaves, step by step; the thread lives on."""

    def __init__(self, context):
        self._steps = [threading.Event(), threading.Event(), threading.Event()]
        self._done = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(context,), daemon=True)
        self._thread.start()

    def _run(self, context):
        enter, leave, end = self._steps
        enter.wait()
        with context:
            self._done.release()
            leave.wait()
        self._done.release()
        end.wait()

    def _step(self, index):
        self._steps[index].set()
        assert self._done.acquire(timeout=60)

    def enter(self):
        self._step(0)

    def leave(self):
        self._step(1)

    def end(self):
        self._steps[2].set()
        self._thread.join()


def blas_threads():
    return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    """Limits that are not 1 anywhere, set by a thread that has ended, so that none has the right to itself."""
    with ThreadPoolExecutor(1) as thread:
        limiter = thread.submit(threadpool_limits, 3).result()
    yield blas_threads()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(limiter.restore_original_limits).result()


def test_holds_that_end_in_the_order_they_began_restore(library):
    first, second = Elsewhere(single_threaded_blas()), Elsewhere(single_threaded_blas())
    for step in (first.enter, second.enter, first.leave, second.leave):
        step()
    assert library.num_threads == 4
    first.end()
    second.end()


def test_holds_of_real_libraries_that_end_in_the_order_they_began_restore(three_threads):
    first, second = Elsewhere(single_threaded_blas()), Elsewhere(single_threaded_blas())
    for step in (first.enter, second.enter, first.leave, second.leave):
        step()
    assert blas_threads() == three_threads
    first.end()
    second.end()


def test_nested_holds_know_what_was_allowed(library):
    with single_threaded_blas() as outer, single_threaded_blas() as inner:
        assert (outer, inner, library.num_threads) == (4, 4, 1)
    assert library.num_threads == 4


def test_every_thread_that_enters_is_held(library):
    seen = []

    def work():
        with single_threaded_blas():
            seen.append(library.num_threads)
        seen.append(library.num_threads)

    with single_threaded_blas():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen[0] == 1
    assert seen[1] == (4 if isinstance(library, OfThread) else 1)  # the process is still held


@pytest.mark.parametrize("make", [OfProcess, Reserved])
@pytest.mark.parametrize("order", ["before to after", "before to within", "within"])
def test_limits_of_others_are_overruled_and_restored(monkeypatch, make, order):
    library = make()
    monkeypatch.setattr(blas, "_known", [blas._Library(library)])
    other = Elsewhere(limited(library, 2))
    if order != "within":
        other.enter()
    with single_threaded_blas():
        if order == "within":
            other.enter()
        with single_threaded_blas():
            assert library.num_threads == 1
        if order != "before to after":
            other.leave()
        with single_threaded_blas():
            assert library.num_threads == 1
    if order == "before to after":
        assert library.num_threads == 2
        other.leave()
    assert library.num_threads == 4
    other.end()


def test_a_limit_that_another_thread_holds_does_not_reach_the_products(three_threads):
    X = np.random.default_rng(0).normal(size=(1234, 77))
    inputs = prepare(Parameters(X[:13], np.ones(1)), -2.0, make_problem([X]), X.dtype)
    alone = make_engine([X]).fold(block_statistics, inputs)
    seen, other = set(), Elsewhere(threadpool_limits.wrap(limits=2, user_api="blas"))
    other.enter()

    def statistics(block, inputs):
        seen.update(blas_threads().values())
        return block_statistics(block, inputs)

    beside = make_engine([X]).fold(statistics, inputs)
    assert seen == {1}
    assert np.array_equal(beside.moment, alone.moment)
    other.leave()
    other.end()


def test_centroids_have_the_same_bits_while_another_thread_holds_a_limit(three_threads):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1.0, size=(95, 77)) for c in rng.normal(size=(13, 77))])

    def bits():
        return KernelPowerKMeans(13, random_state=0, engine="numpy").fit(X).cluster_centers_.tobytes()

    alone = bits()
    other = Elsewhere(threadpool_limits.wrap(limits=2, user_api="blas"))
    other.enter()
    assert bits() == alone
    other.leave()
    other.end()


def test_eight_fits_in_threads_leave_the_limits_as_they_were(three_threads):
    X, _ = blobs(size=60)
    fits = [KernelPowerKMeans(3, random_state=seed).fit for seed in range(8)]
    threads = [threading.Thread(target=fit, args=(X,)) for fit in fits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == three_threads


def test_an_interrupt_on_the_way_in_restores(library, monkeypatch):
    def interrupted(self, own):
        real(self, own)
        raise KeyboardInterrupt

    real = blas._Library.hold
    monkeypatch.setattr(blas._Library, "hold", interrupted)
    with pytest.raises(KeyboardInterrupt), single_threaded_blas():
        pass
    assert library.num_threads == 4


def test_a_hold_may_be_collected_while_another_begins(library, monkeypatch):
    def generator():
        with single_threaded_blas():
            yield

    def hold(self, own):
        left.clear()
        real(self, own)

    def work():
        with single_threaded_blas():
            seen.append(library.num_threads)
        seen.append(library.num_threads)

    real, seen, left = blas._Library.hold, [], [generator()]
    next(left[0])
    monkeypatch.setattr(blas._Library, "hold", hold)
    thread = threading.Thread(target=work, daemon=True)  # a lock that does not let it in would wait for ever
    thread.start()
    thread.join(60)
    assert seen == [1, 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("held", [False, True])
def test_a_forked_child_has_the_limits_from_before(library, held):
    def limit_of_child():
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            with single_threaded_blas():
                os.write(write, str(library.num_threads).encode())
            os.write(write, str(library.num_threads).encode())
            os._exit(0)
        os.waitpid(child, 0)
        return os.read(read, 100).decode()

    if held:
        with single_threaded_blas():
            found = limit_of_child()
    else:
        found = limit_of_child()
    assert found == "14"
    assert library.num_threads == 4
