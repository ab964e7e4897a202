"""The compiled kernels on processors that are not here: compiled for them, run by an emulator, and compared.

python tests/emulated.py [WHEEL ...]

Of a wheel it is the library itself that is run, the one for all processors of a kind. Debian's packages
``g++-aarch64-linux-gnu`` and ``qemu-user`` bring what it takes. tests/emulated.cpp calls every compiled function
on fixed numbers; what each processor prints must be what this one prints, to the tolerance of tests/compute. What
could not be run is said and is no failure.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from powerkmeans.compute.native.build import FLAGS, FOLDER  # noqa: E402

# shares of the largest number of a line: as tests/compute/test_kernels.py has them
TOLERANCE = {"float32": 1e-5, "float64": 1e-11}


class Processor(NamedTuple):
    """How to compile for a processor, and what runs the result."""

    name: str
    compiler: tuple[str, ...]
    runner: tuple[str, ...] = ()

    @property
    def lacks(self) -> str | None:
        """The first command that is not here."""
        commands = (self.compiler[0], *self.runner[:1])
        return next((command for command in commands if shutil.which(command) is None), None)


HERE = Processor("this one", ("g++", "-march=native"))
OTHERS = (
    Processor("x86-64 without AVX (Nehalem)", ("g++", "-static"), ("qemu-x86_64", "-cpu", "Nehalem")),
    Processor("x86-64, the oldest", ("g++", "-static"), ("qemu-x86_64", "-cpu", "qemu64")),
    Processor("x86-64 with AVX2", ("g++", "-static", "-mavx2", "-mfma"), ("qemu-x86_64", "-cpu", "max")),
    Processor("arm64", ("aarch64-linux-gnu-g++", "-static"), ("qemu-aarch64",)),
)
# what runs the library of a wheel, by the end of its name
OF_WHEELS = {
    "x86_64.whl": Processor("x86-64, the oldest", ("x86_64-linux-gnu-g++",), ("qemu-x86_64", "-cpu", "qemu64")),
    "aarch64.whl": Processor(
        "arm64", ("aarch64-linux-gnu-g++",), ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
    ),
}


def printed(processor: Processor, folder: Path, library: Path | None = None) -> dict[str, np.ndarray]:
    """What the kernels, or those of a library, give on a processor, by the name of each array."""
    program = folder / "program"
    source = ROOT / "tests" / "emulated.cpp"
    compiler, *flags = processor.compiler
    linked = [] if library is None else ["-DLIBRARY", str(library), f"-Wl,-rpath,{library.parent}"]
    command = [compiler, *FLAGS, *flags, f"-I{FOLDER}", str(source), *linked, "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run([*processor.runner, str(program)], check=True, capture_output=True, text=True)
    parts = [line.partition(":") for line in done.stdout.splitlines()]
    return {name: np.array(values.split(), dtype=float) for name, _, values in parts}


def worst(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """The largest difference in what is allowed."""
    assert found.keys() == expected.keys()
    shares = [0.0]
    for name, values in expected.items():
        allowed = TOLERANCE[name.split()[0]] * np.max(np.abs(values))
        shares.append(float(np.max(np.abs(found[name] - values))) / allowed)
    return max(shares)


def library_of(wheel: Path, folder: Path) -> Path:
    """The library in a wheel that every processor of its kind runs, unpacked."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if Path(name).name.startswith("baseline-")]
        return Path(packed.extract(name, folder))


def compare(processor: Processor, wheel: Path | None, expected: dict[str, np.ndarray], folder: Path) -> bool:
    """Say what a processor gives, and whether it is allowed."""
    if processor.lacks is not None:
        print(f"{processor.name}: not run, there is no {processor.lacks}")
        return True
    library = None if wheel is None else library_of(wheel, folder)
    share = worst(printed(processor, folder, library), expected)
    print(f"{processor.name}: {share:.2f} of what is allowed, {len(expected)} arrays")
    return share <= 1


def main(wheels: Sequence[str]) -> int:
    """Compare all processors, or those of wheels."""
    kinds = [(OF_WHEELS[end], Path(wheel)) for wheel in wheels for end in OF_WHEELS if wheel.endswith(end)]
    if len(kinds) < len(wheels):
        print(f"Wheels for {' and '.join(OF_WHEELS)} can be run, and no others.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        expected = printed(HERE, Path(folder))
        asked = kinds or [(processor, None) for processor in OTHERS]
        allowed = [compare(processor, wheel, expected, Path(folder)) for processor, wheel in asked]
    return int(not all(allowed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
