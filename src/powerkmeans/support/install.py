"""Packages that not everyone needs: imported when they are, or named with the line that installs them here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

_NAME = "powerkmeans"


def needed(module: str, extra: str | None, purpose: str = "to read such data", package: str = "") -> Any:
    """Import an optional module, or say how to install it: by an extra, or else the package that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        line = pip_line(package) if extra is None else install_line(extra)
        raise ImportError(
            f"{module.partition('.')[0]} is needed {purpose} and cannot be imported ({error}). Install it: {line}"
        ) from error


def install_line(extra: str) -> str:
    """The command that installs what an extra of powerkmeans brings.

    From an index that is the extra itself. Beside a clone or a file, which may be gone or would be installed anew,
    it is the packages of the extra, by their names.
    """
    try:
        installed = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:  # a folder on the path
        return pip_line(f"{_NAME}[{extra}]")
    packages = [] if installed.read_text("direct_url.json") is None else _packages(installed, extra)
    return pip_line(*packages or [f"{_NAME}[{extra}]"])


def pip_line(*requirements: str) -> str:
    """The command that installs requirements for this Python, with its path if ``pip`` is that of another."""
    found = shutil.which("pip")
    own = found is not None and Path(found).parent == Path(sys.executable).parent
    pip = "pip" if own else f"{_quoted_path(sys.executable)} -m pip"
    return f"{pip} install {' '.join(map(_quoted, requirements))}"


def _packages(installed: metadata.Distribution, extra: str) -> list[str]:
    split = [requirement.partition(";") for requirement in installed.requires or ()]
    marker = f"extra == '{extra}'"
    return [package.strip() for package, _, condition in split if condition.strip().replace('"', "'") == marker]


def _quoted(requirement: str) -> str:
    """In double quotes, which the shells of all systems know, if a shell would make something else of it."""
    return requirement if re.fullmatch(r"[\w.-]+", requirement) else f'"{requirement}"'


def _quoted_path(path: str) -> str:
    return shlex.quote(path) if os.name == "posix" else _quoted(path) if " " in path else path
