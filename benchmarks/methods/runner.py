"""Peers in an environment of their own: one fit is one process, and every failure is one clear line.

The process is ``peers_child.py``, run by the interpreter of that environment: the argument ``python``, else the
environment variable POWERKMEANS_PEERS, else the interpreter that runs this. A request and its answer are files in
a temporary folder, which is also where the process works, so that nothing a peer writes stays behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

CHILD = Path(__file__).with_name("peers_child.py")
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
_TAIL = 4096  # bytes at the end of stderr in which the last line is sought
_LIST_SECONDS = 300


class PeerError(RuntimeError):
    """Why a peer gave no labels, in one line."""


class PeerAnswer(NamedTuple):
    """Labels of all rows, seconds of the fit alone, and the peak memory of its process in bytes."""

    labels: np.ndarray
    seconds: float
    peak_bytes: int
    version: str
    note: str | None = None


def interpreter(python: str | None = None) -> str:
    """The path of the interpreter that runs the peers; links are kept, because they are what makes a venv one."""
    wanted = python or os.environ.get("POWERKMEANS_PEERS") or sys.executable
    found = shutil.which(os.path.expanduser(wanted))
    if found is None:
        raise PeerError(
            f"no interpreter for the peers at {wanted}; make one with benchmarks/methods/make_peers_env.sh"
        )
    return os.path.abspath(found)


def run_peer(
    python: str | None,
    method: str,
    views: Sequence[np.ndarray],
    k: int,
    seed: int,
    *,
    timeout: float | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    **setting: Any,
) -> PeerAnswer:
    """Cluster the rows of ``views`` by ``method`` in a process of its own.

    ``timeout`` is in seconds and counts the start of the process and its imports. A fit that needs more data than
    ``memory_limit``, in bytes, fails. ``setting`` is passed to the method and must be what JSON can hold. A row
    that a view lacks is NaN throughout in that view; only methods for incomplete views take such rows.
    """
    program = interpreter(python)
    request = {"method": method, "k": int(k), "seed": int(seed), "memory_limit": memory_limit, "setting": setting}
    with tempfile.TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        np.savez(folder / "request.npz", **{f"view_{i}": np.asarray(view) for i, view in enumerate(views)})
        (folder / "request.json").write_text(json.dumps(request))
        try:
            _call([program, str(CHILD), name], folder, method, timeout, threads)
            return _answer(folder, method, len(views[0]))
        except PeerError as error:
            limit = "" if memory_limit is None else f" (with at most {memory_limit / 1e6:,.0f} MB of data)"
            raise PeerError(f"{error}{limit}") from None


def list_peers(python: str | None = None) -> dict[str, dict[str, str]]:
    """For every peer either its ``version`` or the ``error`` that its import gives."""
    with tempfile.TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _call([interpreter(python), str(CHILD), "--list"], folder, "the list of peers", _LIST_SECONDS, None)
        return json.loads((folder / "stdout").read_text())


def _environment(threads: int | None) -> dict[str, str]:
    """The environment of this process, without what would lead the peers to modules of ours."""
    environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    if threads is not None:
        environment |= dict.fromkeys(_THREAD_VARIABLES, str(threads))
    return environment | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def _call(command: Sequence[str], folder: Path, method: str, timeout: float | None, threads: int | None) -> None:
    """Run a command to its end or kill it, with all processes that it started, and raise if it failed."""
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=_environment(threads),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise PeerError(f"{method}: {command[0]} cannot be run: {error.strerror or error}") from None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise PeerError(f"{method}: stopped after {timeout:g} seconds") from None
        finally:
            _kill(process)
    if status != 0:
        raise PeerError(f"{method}: {_ending(status)}{_last_line(folder / 'stderr')}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started and left behind."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _ending(status: int) -> str:
    """How a process ended, in words."""
    if status > 0:
        return f"its process ended with status {status}"
    with contextlib.suppress(ValueError):
        killer = signal.Signals(-status)
        hint = ", as when memory runs out" if killer == signal.SIGKILL else ""
        return f"its process was killed by {killer.name}{hint}"
    return f"its process was killed by signal {-status}"


def _last_line(path: Path) -> str:
    """``: `` and the last line of a file that says something, or nothing."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return f": {lines[-1]}" if lines else ""


def _answer(folder: Path, method: str, n_rows: int) -> PeerAnswer:
    """The answer in a folder, checked; an answer that is an error is raised."""
    try:
        answer = json.loads((folder / "answer.json").read_text())
        if "error" in answer:
            raise PeerError(f"{method}: {answer['error']}")
        with np.load(folder / "answer.npz") as arrays:
            labels = arrays["labels"]
    except (OSError, ValueError, KeyError) as error:
        raise PeerError(f"{method}: its process left no answer ({type(error).__name__})") from None
    if labels.shape != (n_rows,):
        raise PeerError(f"{method}: gave labels of shape {labels.shape} for {n_rows} rows")
    if labels.dtype.kind not in "iu":
        raise PeerError(f"{method}: gave labels of type {labels.dtype}, not whole numbers")
    return PeerAnswer(labels, answer["seconds"], answer["peak_bytes"], answer["version"], answer.get("note"))
