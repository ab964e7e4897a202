"""The compiled library: found, checked and called through ctypes, which lets other threads run meanwhile."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from powerkmeans.compute.native.arguments import LandmarkCall, MapCall, PassCall, SearchCall
from powerkmeans.compute.native.build import FOLDER, is_intact, libraries_of

# in order of preference
TARGETS = ("avx512", "avx2", "baseline")
# what the baseline tells of the processor: which targets it runs, and which of them gain
RUNS = {"avx2": "runs_avx2", "avx512": "runs_avx512"}
GAINS = {"avx512": "gains_by_avx512"}
FUNCTIONS = ("pass_float32", "pass_float64", "map_float32", "map_float64", "nearest", "landmarks")
_OUT_OF_MEMORY = -2


class Library(NamedTuple):
    """The functions of one target."""

    functions: Any

    def run_pass(self, call: PassCall) -> int:
        """Fill the sums of a block; the first row whose features are not finite, or -1."""
        return self._call(f"pass_{call.precision}", ctypes.byref(call.structure))

    def map_rows(self, call: MapCall) -> None:
        """Fill ``call.features``."""
        sizes = ctypes.byref(call.structure), c_int64(call.n_rows)
        self._call(f"map_{call.precision}", *sizes, c_void_p(call.rows), c_void_p(call.out))

    def find_nearest(self, call: SearchCall) -> bool:
        """Fill ``call.found`` and ``call.features``; whether all rows were in range."""
        return self._call("nearest", ctypes.byref(call.structure)) < 0

    def map_landmarks(self, call: LandmarkCall) -> bool:
        """Fill ``call.features``; whether all rows were in range."""
        return self._call("landmarks", ctypes.byref(call.structure)) < 0

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(self.functions, name)
        result = int(function(*arguments))
        if result == _OUT_OF_MEMORY:
            raise MemoryError("Out of memory in the compiled kernel.")
        return result


def find_target() -> str | None:
    """The best target that this installation has and this processor runs; None if there is none."""
    return next((target for target in TARGETS if _gains(target) and open_library(target) is not None), None)


@cache
def open_library(target: str) -> Library | None:
    """The library of one target, if it was built from these sources, is whole, and this processor runs it."""
    if not _runs(target):
        return None
    opened = _open(target)
    return Library(opened) if opened is not None else None


def why_missing() -> str:
    """Why there is no library to call, for people."""
    folder = library_folder()
    named = libraries_of("baseline", folder)
    if any(is_intact(library) for library in named):
        return f"{named[0]} cannot be opened on this system"
    if named:
        return f"{named[0]} is damaged: its content is not what its name says"
    if any(folder.glob("baseline*.so")):
        return f"the library in {folder} was compiled from other sources"
    return "powerkmeans was installed without a C++ compiler"


def library_folder() -> Path:
    """Where libraries are: the package, or the folder that POWERKMEANS_NATIVE names (CONTRIBUTING.md)."""
    return Path(os.environ.get("POWERKMEANS_NATIVE") or FOLDER)


def _runs(target: str) -> bool:
    """Whether this processor runs a target."""
    return _says(RUNS.get(target))


def _gains(target: str) -> bool:
    """Whether a target is worth its name on this processor."""
    return _says(GAINS.get(target))


def _says(question: str | None) -> bool:
    """What the baseline tells of the processor, so that no other library has to be opened to know."""
    if question is None:
        return True
    baseline = _open("baseline")
    return baseline is not None and bool(getattr(baseline, question)())


@cache
def _open(target: str) -> Any:
    functions = (*FUNCTIONS, *((*RUNS.values(), *GAINS.values()) if target == "baseline" else ()))
    for path in libraries_of(target, library_folder()):
        opened = _open_file(path, functions) if is_intact(path) else None
        if opened is not None:
            return opened
    return None


def _open_file(path: Path, functions: tuple[str, ...]) -> Any:
    try:
        opened = ctypes.CDLL(str(path))
    except OSError:  # built for another system
        return None
    for name in functions:
        if not hasattr(opened, name):
            return None
        getattr(opened, name).restype = c_int64
    return opened
