"""What the machine can do at best, measured in the same run as what is compared with it."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from powerkmeans.compute.native import build

_MATRIX = 3000
_SINE_COSINE = """
#include "simd.h"
extern "C" void run(int64_t n, const float* x, float* s, float* c) {
  for (int64_t i = 0; i + lanes<float> <= n; i += lanes<float>) {
    Vec<float> a, b;
    sine_cosine<float>(load(x + i), a, b);
    store(s + i, a), store(c + i, b);
  }
}
"""


_clock = time.perf_counter


def use_processor_time() -> None:
    """Let times be those of processors, which stand still while others run: for one thread on a busy machine."""
    global _clock
    _clock = time.process_time


def now() -> float:
    return _clock()


def seconds(function: Callable[[], object]) -> float:
    start = now()
    function()
    return now() - start


def n_threads() -> int:
    """How many threads BLAS may use, which is how many everything here uses."""
    return max((lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"), default=1)


def flops_per_second(dtype: str = "float32") -> float:
    """Of a large matrix product on all cores."""
    a = np.random.default_rng(0).random((_MATRIX, _MATRIX)).astype(dtype)
    return 2 * _MATRIX**3 / seconds(lambda: a @ a)


def bytes_per_second(X: np.ndarray) -> float:
    """Of reading an array once on all cores."""
    parts = np.array_split(X.reshape(-1).view(np.float64), n_threads())
    with ThreadPoolExecutor(n_threads()) as pool:
        return X.nbytes / seconds(lambda: list(pool.map(np.sum, parts)))


def pair_seconds(repeats: int = 5) -> float:
    """Of one sine and cosine in float32 on one of the cores, times 1 / cores; from cache, nothing else done.

    The compiled kernel's own function, which is the fastest at hand; NumPy's where there is no compiler.
    """
    x = np.random.default_rng(0).uniform(-9, 9, 4096).astype(np.float32)
    sine, cosine = np.empty_like(x), np.empty_like(x)
    with tempfile.TemporaryDirectory() as folder:
        run = _compiled(Path(folder))
        if run is None:
            best = min(seconds(lambda: (np.sin(x, out=sine), np.cos(x, out=cosine))) for _ in range(repeats * 100))
        else:
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, sine, cosine)]
            best = min(seconds(lambda: run(ctypes.c_int64(len(x)), *pointers)) for _ in range(repeats * 100))
    return best / len(x) / n_threads()


def _compiled(folder: Path) -> Callable[..., object] | None:
    compilers = build.find_compilers()
    if not compilers:
        return None
    (folder / "pair.cpp").write_text(_SINE_COSINE)
    flags = [*build.FLAGS, "-fvisibility=default", *build.TARGETS.get("avx2", [])]
    command = [*compilers[0], *flags, f"-I{build.FOLDER}", "-shared", str(folder / "pair.cpp"), "-o"]
    if subprocess.run([*command, str(folder / "pair.so")], capture_output=True, check=False).returncode != 0:
        return None
    return ctypes.CDLL(str(folder / "pair.so")).run
