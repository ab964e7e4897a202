"""Reading ahead: no thread, error or memory is left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from source_helpers import KINDS, X, npy, settled

from powerkmeans.sources import open_source, read_ahead
from powerkmeans.sources.reblocking import reblocked


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr 3"])
def test_no_thread_is_left_behind(tmp_path, kind):
    source = open_source(KINDS[kind](tmp_path))
    list(source.blocks(50))  # zarr starts threads of its own, once
    before = settled()
    source.blocks(5)
    early = source.blocks(5)
    next(early)
    assert settled() == before + 1
    early.close()
    assert settled() == before
    for _ in source.blocks(5):
        break
    assert settled() == before
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        for _ in source.blocks(5):
            raise ZeroDivisionError
    assert settled() == before
    list(source.blocks(5))
    assert settled() == before


def test_errors_come_with_their_type_after_the_items_before_them():
    class OwnError(Exception):
        pass

    def items():
        yield 1
        yield 2
        raise OwnError("here")

    before = settled()
    ahead = read_ahead(items(), 2)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(OwnError, match="here"):
        next(ahead)
    assert next(ahead, None) is None
    assert settled() == before


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_more_than_depth_items_are_ahead(depth):
    made, closed = [], []

    def items():
        try:
            for index in range(20):
                made.append(index)
                yield index
        finally:
            closed.append(threading.current_thread())

    ahead = read_ahead(items(), depth)
    assert not made
    assert next(ahead) == 0
    deadline = time.monotonic() + 5
    while len(made) < depth + 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == depth + 1
    ahead.close()
    assert len(made) <= depth + 2
    assert closed[0] is not threading.current_thread()


def test_read_ahead_takes_any_iterator():
    assert list(read_ahead(iter([3, 1, 2]))) == [3, 1, 2]
    assert list(read_ahead(iter([]))) == []
    with pytest.raises(ValueError, match="depth must be at least 1"):
        read_ahead(iter([]), 0)


def test_an_iterator_that_fails_to_close_does_not_block():
    class Stubborn:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

        def close(self):
            raise ValueError("no")

    seen = []
    hook, threading.excepthook = threading.excepthook, seen.append
    try:
        assert list(read_ahead(Stubborn())) == []
    finally:
        threading.excepthook = hook


def test_reblocked_counts_its_rows():
    with pytest.raises(ValueError, match="more than the 5 rows"):
        list(reblocked([X[:3], X[:3]], 2, 5))
    with pytest.raises(ValueError, match="there are 3 rows instead of the 5"):
        list(reblocked([X[:3]], 2, 5))


def test_an_unfinished_run_does_not_keep_the_interpreter_from_ending(tmp_path):
    code = (
        "import sys; from powerkmeans.sources import open_source; b = open_source(sys.argv[1]).blocks(2); next(b)"
    )
    subprocess.run([sys.executable, "-c", code, str(npy(tmp_path))], check=True, timeout=60)
