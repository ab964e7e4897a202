"""``powerkmeans info``: what is installed and what does the work."""

from __future__ import annotations

import os
import platform
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from threadpoolctl import threadpool_info

import powerkmeans
from powerkmeans.cli.memory import size
from powerkmeans.cli.terminal import Terminal, facts, heading
from powerkmeans.compute.native.library import TARGETS, find_target, open_library
from powerkmeans.support.install import install_line
from powerkmeans.support.memory import available_memory

_PACKAGES = ("numpy", "scipy", "scikit-learn", "click", "rich", "pyarrow", "zarr", "h5py", "matplotlib")
# formats, the package that reads them, and the extra that installs it
_FORMATS = (
    ("csv, tsv, npy, npz, mat", "numpy", ""),
    ("parquet, feather, arrow", "pyarrow", "arrow"),
    ("zarr", "zarr", "zarr"),
    ("h5ad, h5mu, mat 7.3", "h5py", "h5ad"),
)


def run(options: dict[str, Any]) -> None:
    """Tell what is installed."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    found = collected()
    if terminal.as_json:
        terminal.give(found)
        return
    system = f"Python {found['python']} on {found['system']}"
    terminal.show(heading(f"powerkmeans {found['powerkmeans']}", system), facts(_lines(found)), "")


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    packages, engine, formats = found["packages"], found["engine"], found["formats"]
    missing = ", ".join(name for name, version in packages.items() if not version)
    blas = (f"{b['name']} {b['version']}, {b['threads']} threads" for b in found["blas"])
    return [
        ("packages", " · ".join(f"{name} {version}" for name, version in packages.items() if version)),
        *([("not installed", missing)] if missing else []),
        ("engine", engine["default"] + (f" ({engine['target']})" if engine["target"] else "")),
        ("", engine["advice"]),
        ("threads", f"{found['threads']} of {found['cpus']} processors"),
        ("BLAS", " · ".join(blas) or "none found"),
        ("memory", "unknown" if found["free_bytes"] is None else f"{size(found['free_bytes'])} free"),
        ("reads", " · ".join(one["formats"] for one in formats if one["readable"])),
        *[("does not read", one["formats"] + one["install"]) for one in formats if not one["readable"]],
    ]


def collected() -> dict[str, Any]:
    """Everything as plain values."""
    import_module("scipy.linalg")  # SciPy may bring a BLAS of its own, which is told only once it is loaded
    blas = [lib for lib in threadpool_info() if lib.get("user_api") == "blas"]
    formats = [
        {
            "formats": kinds,
            "readable": find_spec(package) is not None,
            "install": f" (needs {package}: {install_line(extra)})",
        }
        for kinds, package, extra in _FORMATS
    ]
    return {
        "powerkmeans": powerkmeans.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "engine": _engine(),
        "cpus": os.cpu_count(),
        "threads": max((lib["num_threads"] for lib in blas), default=1),
        "blas": [
            {"name": lib["internal_api"], "version": lib.get("version"), "threads": lib["num_threads"]}
            for lib in blas
        ],
        "free_bytes": available_memory(),
        "formats": formats,
    }


def _engine() -> dict[str, Any]:
    target = find_target()
    advice = (
        "NumPy is there too: --engine numpy"
        if target
        else "a C++ compiler and `python -m powerkmeans.compute.native` make it several times faster"
    )
    return {
        "default": "numpy" if target is None else "compiled",
        "target": target,
        "targets": [name for name in TARGETS if open_library(name) is not None],
        "advice": advice,
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
