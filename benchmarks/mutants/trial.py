"""One mutant in a copy of the tree: written, compiled if it is C++, put before the tests, and taken back."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis  # noqa: F401  imported once here, so that every trial, a fork of this process, begins with it
import pytest
import scipy.optimize
import scipy.spatial
import scipy.stats  # noqa: F401
import sklearn.cluster
import sklearn.datasets  # noqa: F401

from benchmarks.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
KILLED, SURVIVED, OVER_TIME, NOT_COMPILED = "killed", "survived", "over time", "not compiled"
_COPIED = ("src", "tests", "benchmarks")
_UNCOPIED = shutil.ignore_patterns("results", "*.jsonl", "__pycache__", ".hypothesis")
# that a child may take of memory: a wrong size must not take the machine's
_ADDRESSES = 8 * 2**30
_COMPILING = 600.0  # seconds


# what is imported already cannot be rewritten by pytest, which it warns of
_OPTIONS = ["-x", "-q", "-o", "addopts=", "-W", "ignore::pytest.PytestWarning"]
_OPTIONS += ["-p", "no:cacheprovider", "-p", "no:doctest", "-p", "no:xdist"]


class Job(NamedTuple):
    """A mutant, or None for the source as it is, the copy that it is tried in, the tests and their seconds."""

    tree: Path
    mutant: Mutant | None
    tests: Sequence[str]
    limit: float


@contextlib.contextmanager
def copied_tree() -> Iterator[Path]:
    """The sources and tests in a folder of their own, which is removed."""
    with tempfile.TemporaryDirectory(prefix="powerkmeans-mutants-") as folder:
        for name in _COPIED:
            shutil.copytree(ROOT / name, Path(folder, name), ignore=_UNCOPIED)
        shutil.copy(ROOT / "pyproject.toml", folder)
        yield Path(folder)


def get_ready() -> None:
    """Nothing: what all trials share is imported with this module."""


def row_of(job: Job) -> dict[str, Any]:
    """Put a mutant before the tests until one fails: what became of it, by which test, in how many seconds."""
    begun = time.monotonic()
    with _changed(job.tree, job.mutant) as native:
        outcome, test = NOT_COMPILED, ""
        if not native or _forked(_compile, (job.tree, _needs_all(job.mutant)), _COMPILING) == 0:
            outcome, test = _tested(job)
    return {"outcome": outcome, "test": test, "seconds": round(time.monotonic() - begun, 1)}


def _tested(job: Job) -> tuple[str, str]:
    told = job.tree / "failed.txt"
    told.unlink(missing_ok=True)
    status = _forked(_run_tests, (job.tree, job.tests, told), job.limit)
    test = told.read_text() if told.exists() else ""
    if status is None:
        return OVER_TIME, test
    if status < 0:
        return KILLED, f"ended by signal {-status}"
    if status > 0 and not test:  # no verdict of any test
        raise RuntimeError(f"pytest ended with status {status}, and no test had failed")
    return (KILLED if status else SURVIVED), test


@contextlib.contextmanager
def _changed(tree: Path, mutant: Mutant | None) -> Iterator[bool]:
    """The mutant in its place, as long as it is tried; whether that has to be compiled."""
    if mutant is None:
        yield False
        return
    place = tree / mutant.path
    source = place.read_text()
    native = place.suffix != ".py"
    _rewrite(place, mutant.applied(source))
    try:
        yield native
    finally:
        _rewrite(place, source)


def _rewrite(place: Path, text: str) -> None:
    """Write a file, and forget what Python has compiled of the other, which may be as long and as old."""
    place.write_text(text)
    Path(importlib.util.cache_from_source(str(place))).unlink(missing_ok=True)


def _forked(function: Callable[..., int], arguments: tuple[Any, ...], limit: float) -> int | None:
    """The exit status of a function in a child, the negative signal that ended it, or None if it took too long."""
    child = os.fork()
    if child == 0:
        _be_child(function, arguments)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _be_child(function: Callable[..., int], arguments: tuple[Any, ...]) -> None:
    """Run the function and end the process, whatever happens; nothing is heard of it."""
    status = 1
    try:
        import resource  # noqa: PLC0415  there is none on Windows, nor is there fork

        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(quiet, stream)
        status = int(function(*arguments))
    finally:
        os._exit(status)


def _enter(tree: Path) -> None:
    """Forget the library that this process has, and go to the one of the tree."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("powerkmeans", "benchmarks")]:
        del sys.modules[name]
    os.chdir(tree)
    sys.path[:0] = [str(tree / "src"), str(tree)]
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.dont_write_bytecode = False  # the next trial reads what this one has compiled


def _needs_all(mutant: Mutant | None) -> bool:
    """Whether it may be in code that only some processors run."""
    return mutant is not None and mutant.path.endswith("simd.h")


def _compile(tree: Path, every: bool) -> int:
    """One library is mostly enough, and no time is spent on its speed, nor twice on the same text."""
    _enter(tree)
    from powerkmeans.compute.native import build  # noqa: PLC0415

    compile_anew, kept = build._compile_source, tree / "objects"
    kept.mkdir(exist_ok=True)

    def compile_source(compiler: list[str], name: str, source: str, folder: Path) -> str:
        command = [*compiler, *build.TARGETS[name], "-E", str(build.FOLDER / source)]
        text = subprocess.run(command, capture_output=True, check=True).stdout
        made = kept / f"{name}-{hashlib.sha256(text).hexdigest()}.o"
        if not made.exists():
            shutil.copy(compile_anew(compiler, name, source, folder), made)
        return str(made)

    build._compile_source = compile_source
    build.TARGETS = build.TARGETS if every else {"baseline": ()}
    return int(build.compile_libraries(build.FOLDER, ("-O1",)) is not None)


class _FirstFailure:
    """Writes down the test that fails, or the file that cannot be imported."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._place.write_text(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._place.write_text(report.nodeid)


def _run_tests(tree: Path, tests: Sequence[str], told: Path) -> int:
    """File by file, so that none is read in vain."""
    _enter(tree)
    for file in tests:
        status = int(pytest.main([*_OPTIONS, file], plugins=[_FirstFailure(told)]))
        if status:
            return status
    return 0
