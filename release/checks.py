"""Whether an archive has the project and nothing else, and a wheel the libraries that its name promises."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

# of ELF files, by the names that wheels have for them
PROCESSORS = {62: "x86_64", 183: "aarch64"}
TARGETS = {"x86_64": {"avx2", "avx512", "baseline"}, "aarch64": {"baseline"}}
_DIGITS = 16


def check_archive(archive: Path, root: Path) -> list[str]:
    """What is wrong with a source archive: files that git does not know of in the folder that it was made from."""
    with tarfile.open(archive) as packed:
        names = {str(PurePosixPath(*PurePosixPath(member.name).parts[1:])) for member in packed if member.isfile()}
    strange = names - known_files(root) - {"PKG-INFO"}
    return [f"{archive.name} has {name}, which git does not know of" for name in sorted(strange)]


def known_files(root: Path) -> set[str]:
    """The files of a clone: those of the repository, and new ones that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def check_wheel(wheel: Path) -> list[str]:
    """What is wrong with a wheel: libraries that lack, that are too many, damaged or for another processor."""
    platform = wheel.stem.rpartition("-")[2]
    expected = {target for machine, targets in TARGETS.items() if platform.endswith(machine) for target in targets}
    with zipfile.ZipFile(wheel) as packed:
        libraries = {name: packed.read(name) for name in packed.namelist() if name.endswith(".so")}
    faults = [fault for name, content in libraries.items() if (fault := _fault(name, content, platform))]
    found = sorted(PurePosixPath(name).name.partition("-")[0] for name in libraries)
    if found != sorted(expected):
        faults.append(f"its libraries are {_listed(found)} instead of {_listed(sorted(expected))}")
    return [f"{wheel.name}: {fault}" for fault in faults]


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _fault(name: str, content: bytes, platform: str) -> str | None:
    """What is wrong with a library: of what its name says (compute/native/build.py), or its processor."""
    if PurePosixPath(name).stem.rpartition("-")[2] != hashlib.sha256(content).hexdigest()[:_DIGITS]:
        return f"{name} is damaged: its content is not what its name says"
    processor = PROCESSORS.get(processor_of(content), "another processor")
    return None if platform.endswith(processor) else f"{name} is for {processor}"


def processor_of(content: bytes) -> int:
    """The number of the processor that an ELF file is for; -1 if it is none."""
    return struct.unpack_from("<H", content, 18)[0] if content[:4] == b"\x7fELF" and len(content) > 20 else -1
