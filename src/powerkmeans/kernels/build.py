"""Compile the kernels: what installation calls, and ``python -m powerkmeans.kernels``.

The libraries are plain C to Python's eyes (ctypes loads them), so they serve every Python version. Only the
standard library is used here: nothing is installed yet when this runs first.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import zlib
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

    Libraries that are there are replaced only by new ones; those of other sources are not called anyway.
    """
    reason: str | None = "no C++ compiler was found (CXX, c++, g++, clang++)"
    for compiler in find_compilers():
        reason = _compile_with(compiler, native)
        if reason is None:
            break
    return reason


def source_hash(native: Path) -> int:
    """A number that stands for everything that is compiled."""
    files = sorted([*native.glob("*.h"), *native.glob("*.cpp")])
    content = b"".join(file.name.encode() + file.read_bytes() for file in files)
    return zlib.crc32(content)


def _compile_with(compiler: list[str], native: Path) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in TARGETS.items():
            reason = _compile_target([*compiler, *FLAGS], native, name, flags, Path(folder))
            if reason is not None:
                return reason
        for name in TARGETS:
            shutil.move(Path(folder) / f"{name}.so", native / f"{name}.so")
    return None


def _compile_target(compiler: list[str], native: Path, name: str, flags: list[str], folder: Path) -> str | None:
    needs = [f"-DSOURCES={source_hash(native)}", *(["-DNEEDS_AVX2"] if name == "avx2" else [])]
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


def find_compilers() -> list[list[str]]:
    """Commands of the C++ compilers that exist: CXX alone if it is set."""
    given = os.environ.get("CXX")
    candidates = [given] if given else ["c++", "g++", "clang++"]
    return [shlex.split(candidate) for candidate in candidates if shutil.which(shlex.split(candidate)[0])]
