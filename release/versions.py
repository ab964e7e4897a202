"""Try the oldest and the newest of each dependency that pyproject.toml admits, on every Python that is here.

python release/versions.py [--only lowest] [--python 3.12 ...]

Each gets an environment of its own in build/versions, with the project and some extras installed and the tests
below run; a line goes to benchmarks/results/versions.jsonl. The oldest of each are installed on the oldest Python
alone, the newest on all from there on that are found: of pyenv, or on the path. Kernels are those of this tree.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "versions"
RESULTS = ROOT / "benchmarks" / "results" / "versions.jsonl"
EXTRAS = ("cli", "plot", "arrow", "excel", "h5ad", "zarr")
# scikit-learn 1.6 has checks that pytest 9 warns of
TOOLS = ("pytest>=8,<9", "hypothesis", "pandas")
TESTS = (
    "tests/test_against_oracle.py", "tests/compute/test_kernels.py", "tests/engines/test_blas.py",
    "tests/api/test_estimator_checks.py", "tests/models/test_saving.py", "tests/cli/test_cli_fit.py",
    "tests/cli/test_cli_reading.py", "tests/plotting/test_plotting_displays.py",
)  # fmt: skip
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
LOWEST, NEWEST = "lowest", "newest"
_TOLD = """
import json, sys, importlib.metadata as m, powerkmeans
assert sys.prefix in powerkmeans.__file__, powerkmeans.__file__
print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))
"""


def requirements() -> list[str]:
    """What the project needs, and what the extras do that are tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        *project["dependencies"],
        *(one for extra in EXTRAS for one in project["optional-dependencies"][extra]),
    ]


def pinned(requirement: str) -> str:
    """A requirement at the oldest version that it admits; one of two numbers with its last patch."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+)(\[[^]]*\])?>=([0-9.]+)", requirement.replace(" ", ""))
    if found is None:
        raise ValueError(f"{requirement!r} does not say its oldest version as name>=version")
    name, extras, version = found.groups()
    numbers = [*version.split("."), "0"]
    return (
        f"{name}{extras or ''}=={'.'.join(numbers[:2])}.*"
        if len(numbers) < 4
        else f"{name}{extras or ''}=={version}"
    )


def interpreter(version: str) -> str | None:
    """The Python of a version: on the path, or of pyenv."""
    for path in sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
    ):
        return str(path)
    found = shutil.which(f"python{version}")
    return (
        found
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
        else None
    )


def environment(python: str, name: str, bound: str) -> Path:
    """A new environment with the project, its extras and their oldest or newest versions."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    wanted = [pinned(one) for one in requirements()] if bound == LOWEST else []
    run(
        folder,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *wanted,
        *TOOLS,
        f"{ROOT}[{','.join(EXTRAS)}]",
    )
    return folder


def run(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run the Python of an environment at the root of the project."""
    own = {"HATCH_BUILD_NO_HOOKS": "true", "POWERKMEANS_NATIVE": str(ROOT / "src/powerkmeans/compute/native/cpp")}
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(folder / "bin" / "python"), *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=inherited | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if check and done.returncode:
        raise RuntimeError(done.stdout[-2000:])
    return done.stdout


def tried(python: str, version: str, bound: str) -> dict[str, Any]:
    """Install and test; what came of it."""
    begun, name = time.monotonic(), f"{version}-{bound}"
    folder = environment(python, name, bound)
    installed = json.loads(run(folder, "-c", _TOLD).splitlines()[-1])
    said = run(
        folder,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--continue-on-collection-errors",
        *TESTS,
        check=False,
    )
    print(said[-3000:] if " failed" in said or " error" in said else said[-300:], flush=True)
    told = re.findall(r"(\d+) (passed|failed|errors?|skipped)", " ".join(said.splitlines()[-4:]))
    counts = {what: int(count) for count, what in told}
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    known = {re.split(r"[\[>]", one)[0] for one in requirements()}
    return {
        "python": version,
        "bound": bound,
        "versions": {one: installed[one] for one in sorted(known) if one in installed},
        "counts": counts,
        "failed": failed,
        "seconds": round(time.monotonic() - begun),
    }


def wanted(only: str | None, versions: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """What is to be tried: the oldest on the first Python, the newest on each."""
    found = [(path, version) for version in versions if (path := interpreter(version)) is not None]
    for place, (path, version) in enumerate(found):
        if place == 0 and only != NEWEST:
            yield path, version, LOWEST
        if only != LOWEST:
            yield path, version, NEWEST


def main() -> int:
    """Try what is wanted; whether all of it passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=(LOWEST, NEWEST))
    parser.add_argument("--python", action="append", help="a version such as 3.12; all that are here unless given")
    given = parser.parse_args()
    wrong = 0
    for path, version, bound in wanted(given.only, given.python or PYTHONS):
        print(f"Python {version}, {bound}: {path}", flush=True)
        line = tried(path, version, bound)
        with open(RESULTS, "a") as stream:
            stream.write(json.dumps(line) + "\n")
        wrong += bool(line["failed"]) or not line["counts"].get("passed")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
