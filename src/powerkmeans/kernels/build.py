"""Compile the kernels: ``python -m powerkmeans.kernels.build``, and what installation calls.

The libraries are plain C to Python's eyes (ctypes loads them), so they serve every Python version. Only the
standard library is used here: nothing is installed yet when this runs first.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "native"
FLAGS = [
    "-O3",
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
]
# one library each: code that the linker could share between targets would run on processors that lack them
TARGETS: dict[str, list[str]] = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    TARGETS["avx2"] = ["-mavx2", "-mfma"]


def compile_libraries(native: Path) -> str | None:
    """Compile every target of this family of processors into ``native``; return why it failed, or None.

    Libraries that are there go first: none is better than one of other sources.
    """
    for old in native.glob("*.so"):
        old.unlink()
    compiler = find_compiler()
    if compiler is None:
        return "no C++ compiler was found (CXX, c++, g++, clang++)"
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in TARGETS.items():
            reason = _compile_target([*compiler, *FLAGS], native, name, flags, Path(folder))
            if reason is not None:
                return reason
        for name in TARGETS:
            shutil.move(Path(folder) / f"{name}.so", native / f"{name}.so")
    return None


def _compile_target(compiler: list[str], native: Path, name: str, flags: list[str], folder: Path) -> str | None:
    needs = ["-DNEEDS_AVX2"] if name == "avx2" else []
    objects = [str(folder / f"{name}_{part}.o") for part in ("pass", "select")]
    commands = [
        [*compiler, *flags, "-c", str(native / "pass.cpp"), "-o", objects[0]],
        [*compiler, *needs, "-c", str(native / "select.cpp"), "-o", objects[1]],
        [*compiler, "-shared", *objects, "-o", str(folder / f"{name}.so")],
    ]
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return str(error)
        if done.returncode != 0:
            return f"{shlex.join(command)} failed: {done.stderr.strip()[-500:]}"
    return None


def find_compiler() -> list[str] | None:
    """The command of the first C++ compiler that exists; CXX goes first."""
    given = os.environ.get("CXX")
    candidates = [given] if given else ["c++", "g++", "clang++"]
    found = [shlex.split(candidate) for candidate in candidates if shutil.which(shlex.split(candidate)[0])]
    return found[0] if found else None


if __name__ == "__main__":
    failure = compile_libraries(FOLDER)
    print(failure or f"compiled {', '.join(TARGETS)} into {FOLDER}", file=sys.stderr)
    sys.exit(1 if failure else 0)
