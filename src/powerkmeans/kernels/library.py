"""The compiled library: found, checked and called through ctypes, which lets other threads run meanwhile."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_double, c_int64, c_void_p
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.kernels.build import FOLDER, source_hash
from powerkmeans.types import Array

# in order of preference
TARGETS = ("avx2", "baseline")
_OUT_OF_MEMORY = -2


class Map(Structure):
    """As ``Map`` in native/arguments.h."""

    _fields_ = (
        ("n_columns", c_int64),
        ("n_frequencies", c_int64),
        ("scale", c_double),
        ("origin", c_void_p),
        ("frequencies", c_void_p),
        ("mean", c_void_p),
    )


class View(Structure):
    """As ``View`` in native/arguments.h."""

    _fields_ = (
        ("width", c_int64),
        ("weight", c_double),
        ("reference", c_double),
        ("rows", c_void_p),
        ("norms", c_void_p),
        ("map", POINTER(Map)),
        ("projection", c_void_p),
        ("center_norms", c_void_p),
        ("present", c_void_p),
    )


class Pass(Structure):
    """As ``Pass`` in native/arguments.h."""

    _fields_ = (
        ("n_rows", c_int64),
        ("n_clusters", c_int64),
        ("n_views", c_int64),
        ("hard", c_int64),
        ("possibilistic", c_int64),
        ("resolution", c_double),
        ("s", c_double),
        ("fuzziness", c_double),
        ("views", POINTER(View)),
        ("weight", c_void_p),
        ("moment", c_void_p),
        ("mass", c_void_p),
        ("scatter", c_void_p),
        ("residual", c_void_p),
        ("sizes", c_void_p),
        ("totals", c_void_p),
    )


class Library(NamedTuple):
    """The functions of one target."""

    functions: Any

    def run_pass(self, arguments: Pass, dtype: np.dtype[Any]) -> int:
        """Fill the sums of a block; the first row whose features are not finite, or -1."""
        return self._call(f"pass_{dtype.name}", ctypes.byref(arguments))

    def map_rows(self, arguments: Map, rows: Array, out: Array) -> None:
        """Fill ``out`` with the features of ``rows``."""
        pointers = c_void_p(rows.ctypes.data), c_void_p(out.ctypes.data)
        self._call(f"map_{rows.dtype.name}", ctypes.byref(arguments), c_int64(len(rows)), *pointers)

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(self.functions, name)
        result = int(function(*arguments))
        if result == _OUT_OF_MEMORY:
            raise MemoryError("Out of memory in the compiled kernel.")
        return result


def find_target() -> str | None:
    """The best target that this installation has and this processor runs; None if there is none."""
    return next((target for target in TARGETS if open_library(target) is not None), None)


@cache
def open_library(target: str) -> Library | None:
    """The library of one target, if it was built from these sources and this processor runs it."""
    path = FOLDER / f"{target}.so"
    if not path.is_file():
        return None
    try:
        functions = ctypes.CDLL(str(path))
    except OSError:  # built for another system
        return None
    for name in ("supported", "sources", "pass_float32", "pass_float64", "map_float32", "map_float64"):
        if not hasattr(functions, name):
            return None
        getattr(functions, name).restype = c_int64
    fits = functions.supported() and functions.sources() == source_hash(FOLDER)
    return Library(functions) if fits else None
