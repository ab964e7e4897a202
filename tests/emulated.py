"""The compiled kernels on processors that are not here: compiled for them, run by an emulator, and compared.

python tests/emulated.py

Debian's packages ``g++-aarch64-linux-gnu`` and ``qemu-user`` bring what it takes. tests/emulated.cpp calls every
compiled function on fixed numbers; what each processor prints must be what this one prints, to the tolerance of
tests/compute. What could not be run is said and is no failure.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
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


def printed(processor: Processor, folder: Path) -> dict[str, np.ndarray]:
    """What the kernels give on a processor, by the name of each array."""
    program = folder / "program"
    source = ROOT / "tests" / "emulated.cpp"
    compiler, *flags = processor.compiler
    command = [compiler, *FLAGS, *flags, f"-I{FOLDER}", str(source), "-o", str(program)]
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


def main() -> int:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        expected = printed(HERE, Path(folder))
        for processor in OTHERS:
            if processor.lacks is not None:
                print(f"{processor.name}: not run, there is no {processor.lacks}")
                continue
            share = worst(printed(processor, Path(folder)), expected)
            failures += not share <= 1
            print(f"{processor.name}: {share:.2f} of what is allowed, {len(expected)} arrays")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
