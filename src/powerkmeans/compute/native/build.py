"""Compile the kernels: what installation calls, and ``python -m powerkmeans.compute.native``.

As a script it compiles beside the sources, which is what ``make`` does while pip is busy with other packages.

The libraries are plain C to Python's eyes (ctypes loads them), so they serve every Python version. Only the
standard library is used here: nothing is installed yet when this runs first.

A library is called ``<target>-<hash of the sources>-<hash of its content>.so``. So one of other sources, or a
damaged one, is known without being opened; and a new one never takes the place of one that a process has in use.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "cpp"
FLAGS = (
    "-O3",
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
)
# what is compiled for: this machine, or the one that CXX compiles for, by the variable with which Python itself is
# cross-compiled ("linux-aarch64")
MACHINE = os.environ.get("_PYTHON_HOST_PLATFORM", platform.machine()).rpartition("-")[2].lower()
# one library each: code that the linker could share between targets would run on processors that lack them
TARGETS: dict[str, tuple[str, ...]] = {"baseline": ()}
if MACHINE in ("x86_64", "amd64"):
    TARGETS["avx2"] = ("-mavx2", "-mfma")
    TARGETS["avx512"] = (*TARGETS["avx2"], *(f"-mavx512{part}" for part in ("f", "dq", "bw", "vl")))
# what every processor of the family must run stands in the baseline alone
_FUNCTIONS = ("pass.cpp", "nearest.cpp", "landmarks.cpp")
SOURCES = {"baseline": (*_FUNCTIONS, "select.cpp"), "avx2": _FUNCTIONS, "avx512": _FUNCTIONS}
_DIGITS = 16


class BuildError(Exception):
    """Why there are no compiled kernels, in one sentence."""


def compile_libraries(folder: Path, extra_flags: Sequence[str] = ()) -> str | None:
    """Compile every target of this family of processors into ``folder``; return why it failed, or None.

    Libraries that are there are removed only after new ones are in place.
    """
    try:
        _compile_with_any(find_compilers(), folder, extra_flags)
    except BuildError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or folder} cannot be written: {error.strerror or error}"
    return None


@cache
def source_hash() -> str:
    """What stands for everything that is compiled, in the name of a library."""
    files = sorted([*FOLDER.glob("*.h"), *FOLDER.glob("*.cpp")])
    return _short_hash(b"".join(file.name.encode() + file.read_bytes() for file in files))


def content_hash(library: Path) -> str:
    """What stands for the bytes of a library, in its name."""
    return _short_hash(library.read_bytes())


def libraries_of(target: str, folder: Path) -> list[Path]:
    """The files in ``folder`` that are called libraries of a target and of these sources, the newest first."""
    found = folder.glob(f"{target}-{source_hash()}-*.so")
    return sorted(found, key=_age)


def is_intact(library: Path) -> bool:
    """Whether the content of a library is that which its name promises."""
    try:
        return library.stem.rpartition("-")[2] == content_hash(library)
    except OSError:  # removed by a newer build just now
        return False


def find_compilers() -> list[list[str]]:
    """Commands of the C++ compilers that exist: CXX alone if it is set."""
    given = os.environ.get("CXX", "").strip()
    try:
        candidates = [shlex.split(given)] if given else [["c++"], ["g++"], ["clang++"]]
    except ValueError:  # a quotation mark without its twin
        candidates = []
    return [command for command in candidates if shutil.which(command[0])]


def _compile_with_any(compilers: list[list[str]], folder: Path, extra_flags: Sequence[str]) -> None:
    given = os.environ.get("CXX", "").strip()
    tried = f"CXX is {given!r}, and there is no such command" if given else "neither c++, g++ nor clang++ is there"
    reason = BuildError(f"no C++ compiler was found: {tried}")
    for compiler in compilers:
        try:
            return _compile_with([*compiler, *FLAGS, *extra_flags], folder)
        except BuildError as error:
            reason = error
    raise reason


def _compile_with(compiler: list[str], folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as pool:
        beside = Path(temporary)
        jobs = {
            name: [pool.submit(_compile_source, compiler, name, source, beside) for source in SOURCES[name]]
            for name in TARGETS
        }
        made = {name: _link(compiler, name, [job.result() for job in jobs[name]], beside) for name in TARGETS}
        for name, library in made.items():
            _put(library, name, folder)


def _compile_source(compiler: list[str], name: str, source: str, folder: Path) -> str:
    made = str(folder / f"{name}_{source}.o")
    _run([*compiler, *TARGETS[name], "-c", str(FOLDER / source), "-o", made], source)
    return made


def _link(compiler: list[str], name: str, objects: list[str], folder: Path) -> Path:
    library = folder / f"{name}.so"
    _run([*compiler, "-shared", *objects, "-o", str(library)], "the library")
    return library


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error.strerror or error}") from None
    if done.returncode != 0:
        raise BuildError(
            f"{command[0]} failed on {what} (exit status {done.returncode}){_first_error(done.stderr)}"
        )
    if not Path(command[-1]).is_file():
        raise BuildError(f"{command[0]} said that it compiled {what}, but wrote nothing")


def _first_error(output: str) -> str:
    """What a compiler has to say, in one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f": {told[:200]}" if told else ""


def _put(library: Path, name: str, folder: Path) -> None:
    """Copy beside the place, then rename: whoever looks finds a whole library or none."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{name}-{source_hash()}-{content_hash(library)}.so"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as beside:
        copy = shutil.copy(library, beside)
        os.replace(copy, place)
    _remove_older(place, name)


def _remove_older(place: Path, name: str) -> None:
    """A process that uses one keeps it; the newest stays, whoever else builds meanwhile."""
    for other in place.parent.glob(f"{name}*.so"):
        if _age(other) > _age(place):
            other.unlink(missing_ok=True)


def _age(library: Path) -> float:
    try:
        return -library.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


if __name__ == "__main__":
    _failure = compile_libraries(FOLDER)
    if _failure is not None:  # no error: NumPy does the work then
        print(f"powerkmeans is installed without compiled kernels: {_failure}", file=sys.stderr)
