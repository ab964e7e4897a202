"""Files of the first version of the format, as the second has them, and what may be left out of both."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from powerkmeans.inputs.metric import EUCLIDEAN
from powerkmeans.models.files.contents import FORMAT
from powerkmeans.models.files.flaws import Flaw, NotAModel
from powerkmeans.models.files.values import number
from powerkmeans.types import Array


def check_version(header: Any, *, compressed: bool) -> int:
    """The version of the format, if this powerkmeans knows it."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise NotAModel("its header is not that of one")
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Flaw("header.version must be an integer >= 1")
    if compressed and version > 1:
        raise Flaw("its arrays are compressed, which only those of version 1 are")
    return version


def upgraded(header: dict[str, Any], members: Collection[str]) -> dict[str, Any]:
    """A checked header with what the first version left out, and metrics, which files have if one is a cosine."""
    header = {"metrics": [EUCLIDEAN] * len(header["view_names"])} | header
    if header["version"] > 1:
        return header
    defaults = {
        "used_views": [0],
        "view_widths": [header["n_features_in"]],
        "dual": [],
        "troubles": [],
        "advice": [],
    }
    restarts = [{"hard_loss": run["hard_objective"], "n_moves": 0} | run for run in header["restarts"]]
    # infinities were bare words once, and given centroids had a name of their own
    parameters = {name: _tagged(value) for name, value in header["parameters"].items()}
    if "init" in members:
        parameters["init"] = {"array": "init"}
    header = defaults | header | {"restarts": restarts, "parameters": parameters}
    if "stream" in header:
        stream = header["stream"]
        header["stream"] = {"n_learnt": max(round(stream["n_seen"]) - stream["n_fitted"], 0)} | stream
    return header


def _tagged(value: Any) -> Any:
    return {"float": value} if isinstance(number(value), float) and isinstance(value, str) else value


def with_groups(arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays with a history that tells of no groups, if they have none."""
    return {"history.groups": np.zeros((len(arrays["history.s"]), 0), dtype=np.int32)} | arrays
