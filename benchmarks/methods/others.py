"""Published methods and libraries that are not k-means: their modules are imported when they are run.

Methods of this folder run in this process. Libraries run in one of their own, under the interpreter that the
environment variable ``POWERKMEANS_PEERS`` names, because their dependencies may not fit together.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.methods.interface import Answer, Method, Run, Views, square

_FOLDER = "benchmarks.methods"
_RUNNER = f"{_FOLDER}.runner"
_LIMITS: dict[str, Any] = {}


def set_limits(timeout: float | None, threads: int | None) -> None:
    """The seconds that a library's process may take from now on, and its threads."""
    _LIMITS.update(timeout=timeout, threads=threads)


def written_here(module: str, **fixed: Any) -> Run:
    """A module of this folder with a function ``run`` that gives labels, or an answer; ``fixed`` goes to it."""

    def run(views: Views, k: int, seed: int, **setting: Any) -> Answer:
        answer = importlib.import_module(f"{_FOLDER}.{module}").run(views, k, seed, **(fixed | setting))
        return answer if isinstance(answer, Answer) else Answer(answer)

    return run


def in_its_own_process(peer: str) -> Run:
    """A library that the runner starts, with its own account of time and memory."""

    def run(views: Views, k: int, seed: int, **setting: Any) -> Answer:
        told = importlib.import_module(_RUNNER).run_peer(None, peer, views, k, seed, **_LIMITS, **setting)
        note = ", ".join(part for part in (f"version {told.version}", told.note) if part)
        return Answer(told.labels, None, told.seconds, told.peak_bytes, note)

    return run


@lru_cache(maxsize=1)
def _listed() -> dict[str, dict[str, str]]:
    """What the runner finds in the environment of the libraries: for each its version or an error."""
    return importlib.import_module(_RUNNER).list_peers()


@dataclass(frozen=True)
class Library(Method):
    """A method that the runner knows as ``peer``."""

    peer: str = ""

    def why_missing(self) -> str:
        """Why it cannot be run in the environment of the libraries."""
        missing = super().why_missing()
        if missing:
            return missing
        try:
            found = _listed().get(self.peer, {"error": "the runner does not know it"})
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return f"pip install {self.install} ({found['error']})" if "error" in found else ""

    def version(self) -> str:
        return ""  # that of its own environment, which the answer's note tells


def _library(peer: str, install: str, matrices: int | None = 0, **more: Any) -> Library:
    """A library; ``matrices`` is the number of matrices of rows by rows that it holds, None: one per view."""
    needed = None if matrices == 0 else square(matrices)
    run = in_its_own_process(peer)
    return Library(run, module=_RUNNER, install=install, bytes_needed=needed, peer=peer, **more)


def _written_here(module: str, fixed: dict[str, Any] | None = None, **more: Any) -> Method:
    return Method(written_here(module, **(fixed or {})), module=f"{_FOLDER}.{module}", install="", **more)


PUBLISHED: dict[str, Method] = {
    "LSC-R": _written_here("lsc", {"how": "random"}),
    "LSC-K": _written_here("lsc", {"how": "k-means"}),
    "U-SPEC": _written_here("uspec"),
    "SimpleMKKM": _written_here("simple_mkkm", several=True, bytes_needed=square()),
    "SVD-SMKKM": _written_here("svd_smkkm", several=True),
}
LIBRARIES: dict[str, Method] = {
    "kkmeans": _library("kkmeans", "kkmeans", matrices=1),
    "tslearn": _library("tslearn", "tslearn", matrices=1),
    "scikit-fuzzy": _library("scikit-fuzzy", "scikit-fuzzy"),
    "soft-clustering": _library("soft-clustering-PCM", "soft-clustering"),
    "faiss": _library("faiss", "faiss-cpu"),
    "mvlearn spectral": _library("mvlearn-spectral", "mvlearn", None, several=True, most_rows=2000),
    "mvlearn k-means": _library("mvlearn-kmeans", "mvlearn", several=True, most_views=2),
    "imml EEIMVC": _library("imml-EEIMVC", "imml", None, several=True),
    "imml LFIMVC": _library("imml-LFIMVC", "imml", None, several=True),
}
