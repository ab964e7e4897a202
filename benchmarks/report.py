"""Where benchmarks put what they measured: JSON lines, with the machine and versions in the first line."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import powerkmeans

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """The machine and the versions a result depends on."""
    flags = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        flags = lines[0].split(":", 1)[1].strip() if lines else ""
    return {
        "machine": flags or platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "powerkmeans": powerkmeans.__version__,
    }


def write_lines(name: str, rows: Iterable[dict[str, Any]]) -> Path:
    """Write results as JSON lines, whole or not at all."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.jsonl"
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in [machine(), *rows]))
    part.replace(path)
    return path


def read_lines(name: str) -> list[dict[str, Any]]:
    """Rows of an earlier run, without the line about the machine; none if there was no run."""
    path = RESULTS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()[1:]] if path.exists() else []


def table_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    text = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *text]) for i in range(len(header))]
    lines = [list(header), ["-" * w for w in widths], *text]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in lines
    )


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A Markdown table on stdout."""
    print(table_text(header, rows), flush=True)


def table_place(name: str) -> str:
    """Where a page has a table that a command writes."""
    return f"<!-- table: {name} -->\n<!-- end of table -->"


def with_table(page: str, name: str, table: str) -> str:
    """A page with one of its tables written anew; if it lacks the table's place, an error names it."""
    begin, end = table_place(name).splitlines()
    found = re.findall(f"{re.escape(begin)}\n.*?{re.escape(end)}", page, re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"the page needs one place for the table {name!r}: {begin} and {end}")
    return page.replace(found[0], f"{begin}\n\n{table}\n\n{end}")


def mean_std(values: Sequence[float], digits: int = 3) -> str:
    """``mean +- standard deviation``."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"
