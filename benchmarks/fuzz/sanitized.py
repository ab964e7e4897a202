"""The compiled kernel under AddressSanitizer and UndefinedBehaviorSanitizer: its tests, then random shapes.

python -m benchmarks.fuzz.sanitized [--count 2000] [--tests tests/compute/test_kernels.py ...]

Libraries go to build/sanitized. Where the compiler lacks the sanitizers one line says so, and that is no failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from powerkmeans.compute.native.build import find_compilers

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "sanitized"
TESTS = [f"tests/compute/test_{name}.py" for name in ("kernels", "nearest", "landmarks", "arguments")] + [
    "tests/engines"
]
# whole fits for the sake of threads take minutes here and show nothing more
CHOSEN = "not (same_bits or overlapping or eight_fits or forked)"
# in order: the sanitizers must come first, and they look for exceptions in the library that is loaded with them
RUNTIMES = ("libasan.so", "libubsan.so", "libstdc++.so.6")
# reads beyond the rows that it was given; if nothing notices, neither would it notice a mistake
CANARY = """
import numpy as np
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.fourier import make_fourier
from powerkmeans.compute.native.arguments import MapCall
from powerkmeans.compute.native.library import find_target, open_library
feature_map = make_centred(make_fourier(np.zeros(40), np.ones((40, 3)), 1.0, np.float64), np.zeros(6), np.float64)
call = MapCall(feature_map, np.ones((64, 40)))
print("opened", find_target(), flush=True)
call.n_rows += 64
open_library(find_target()).map_rows(call)
"""


def runtime_libraries() -> list[str] | None:
    """The sanitizers' own libraries, None if this compiler has none that can be loaded first."""
    compilers = find_compilers()
    if not compilers or not sys.platform.startswith("linux"):
        return None
    found = [_output([*compilers[0], f"-print-file-name={name}"]) for name in RUNTIMES]
    return found if all(map(os.path.isabs, found)) and _links(compilers[0]) else None


def sanitized_environment(runtimes: list[str]) -> dict[str, str]:
    """The environment in which Python opens sanitized libraries; what Python keeps is not a leak of ours."""
    return {
        **os.environ,
        "LD_PRELOAD": ":".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONMALLOC": "malloc",
        "POWERKMEANS_NATIVE": str(FOLDER),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }


def canary_sings(environment: dict[str, str]) -> bool:
    """Whether the libraries are opened, and a read beyond an array ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", CANARY], capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )
    opened = done.stdout.startswith("opened") and "None" not in done.stdout
    return opened and done.returncode != 0 and "heap-buffer-overflow" in done.stderr


class SanitizedError(Exception):
    """Sanitized libraries that cannot be made, or notice nothing."""


def build_sanitized() -> dict[str, str] | None:
    """Make sanitized libraries; the environment that opens them, or None where there are no sanitizers."""
    runtimes = runtime_libraries()
    if runtimes is None:
        print(
            "not run: this compiler has no sanitizers of memory and undefined behaviour to load (g++ on Linux has)"
        )
        return None
    command = [sys.executable, "-m", "powerkmeans.compute.native", "--sanitized", "--into", str(FOLDER)]
    if _failed(command, dict(os.environ)):
        raise SanitizedError("The sanitized libraries were not made.")
    environment = sanitized_environment(runtimes)
    if not canary_sings(environment):
        raise SanitizedError(
            "The sanitized libraries did not notice a read beyond an array, so they would notice nothing else."
        )
    return environment


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="random shapes")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    chosen = parser.parse_args()
    try:
        environment = build_sanitized()
    except SanitizedError as error:
        print(error)
        return 1
    if environment is None:
        return 0
    python = [sys.executable, "-m"]
    suites = ["-p", "no:cacheprovider", "-p", "no:doctest", "--quiet", "-k", CHOSEN, *chosen.tests]
    shapes = [*python, "benchmarks.fuzz.shapes", "--count", str(chosen.count)]
    return int(
        _failed([*python, "pytest", "-o", "addopts=", *suites], environment) or _failed(shapes, environment)
    )


def _failed(command: list[str], environment: dict[str, str]) -> bool:
    return subprocess.run(command, check=False, env=environment, cwd=ROOT).returncode != 0


def _links(compiler: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text("int nothing() { return 0; }\n")
        flags = [
            "-fsanitize=address,undefined",
            "-shared",
            "-fPIC",
            str(source),
            "-o",
            str(source.with_suffix(".so")),
        ]
        return subprocess.run([*compiler, *flags], capture_output=True, check=False).returncode == 0


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
