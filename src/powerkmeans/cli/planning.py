"""Which files a fit writes, known before anything is read and before the library is imported."""

from __future__ import annotations

from typing import Any

from powerkmeans.cli.given import named_files
from powerkmeans.cli.outputs import Outputs, check_table_name

MODEL, REPORT = "model.npz", "report.html"


def planned_outputs(options: dict[str, Any]) -> Outputs:
    """Which files will be written."""
    kind = options["table_format"]
    check_table_name(f"labels.{kind}")
    names = [f"labels.{kind}", *([f"memberships.{kind}"] if options["memberships"] else []), MODEL]
    if options["report"]:
        names.append(REPORT)
    inputs = [file.path for file in named_files(options["data"])]
    return Outputs(options["output"], names, overwrite=options["overwrite"], inputs=inputs)
