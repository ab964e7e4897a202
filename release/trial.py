"""Install each wheel that this machine takes in a clean environment, without a compiler, and try it there.

python release/trial.py dist/*.whl

A fit by the kernels that the wheel has, and tests that need nothing but pytest and hypothesis. What is for other
machines is left to tests/emulated.py.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE

ROOT = Path(__file__).parents[1]
TESTS = ("tests/test_against_oracle.py", "tests/compute/test_kernels.py", "tests/compute/test_libraries.py")
FIT = """
import sys, numpy as np, powerkmeans
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.native.library import find_target
assert sys.prefix in powerkmeans.__file__, powerkmeans.__file__
X = np.random.default_rng(0).normal(size=(300, 4)) + np.repeat(np.eye(4)[:3] * 9, 100, axis=0)
labels = KernelPowerKMeans(3, random_state=0).fit(X).labels_
assert all(len(set(labels[i : i + 100])) == 1 for i in (0, 100, 200)) and len(set(labels)) == 3
print(find_target())
"""


def takes(wheel: Path) -> bool:
    """Whether this machine can install a wheel."""
    return wheel.stem.endswith(("-any", platform.machine()))


def tried(wheel: Path, folder: Path) -> str:
    """Install a wheel, fit and test; the kernels that did the work."""
    venv.create(folder, with_pip=True)
    packages = (str(wheel.resolve()), "pytest", "hypothesis", "pandas")
    run(folder, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages, CXX="/bin/false")
    kernels = run(folder, "-c", FIT)
    tests = [str(ROOT / test) for test in TESTS]
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT))
    run(folder, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *settings, *tests)
    return kernels


def run(folder: Path, *arguments: str, **variables: str) -> str:
    """Run the Python of an environment there, and return what it prints; an error shows it."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(folder / "bin" / "python"), *arguments]
    done = subprocess.run(command, cwd=folder, env=inherited | variables, stdout=PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\n{' '.join(command[:4])} ... failed")
    return done.stdout.strip()


def main(wheels: Sequence[str]) -> int:
    """Try what can be tried; whether each wheel has the kernels that its name promises."""
    wrong = 0
    for wheel in map(Path, wheels):
        if not takes(wheel):
            print(f"{wheel.name}: for another machine; python tests/emulated.py {wheel}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            kernels = tried(wheel, Path(folder))
        print(f"{wheel.name}: installed, fits and passes its tests; kernels: {kernels}")
        wrong += (kernels == "None") != wheel.stem.endswith("-any")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
