"""Models as files: one .npz of arrays with a JSON header. No pickle is written or read."""

from __future__ import annotations

import json
import math
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from powerkmeans.features.maps import CentredMap, FourierMap, IdentityMap, NystroemMap
from powerkmeans.model import FitResult, Model, Restart, history_table
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Iteration, Parameters, Problem, Status

FORMAT = "powerkmeans-model"
VERSION = 1
_HEADER = "header.json"
_BASES: dict[str, Any] = {"fourier": FourierMap, "identity": IdentityMap, "nystroem": NystroemMap}


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a file whole or not at all: a failed write leaves an older file as it was."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False)
    arrays = {_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the header and the arrays of a model file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file at {os.fspath(path)!r}.")
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
        header = json.loads(content.pop(_HEADER).tobytes())
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a powerkmeans model, or is damaged ({error}).") from error
    if header.get("format") != FORMAT:
        raise ValueError(f"{os.fspath(path)!r} is not a powerkmeans model.")
    if header["version"] > VERSION:
        raise ValueError(
            f"{os.fspath(path)!r} has format version {header['version']}, this powerkmeans reads up to "
            f"{VERSION}; upgrade powerkmeans to read it."
        )
    return header, content


def save_estimator(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator: its parameters, its fit, and the columns it knows."""
    header, arrays = _pack_result(estimator._fit)
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["init"], str):
        arrays["init"] = np.asarray(parameters.pop("init"), dtype=np.float64)
    for machine_bound in ("engine", "random_state"):
        if not isinstance(parameters[machine_bound], (str, int, type(None))):
            del parameters[machine_bound]
    names = getattr(estimator, "feature_names_in_", None)
    header |= {
        "estimator": type(estimator).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else list(names),
    }
    write(path, header, arrays)


def load_estimator(path: str | os.PathLike[str], classes: dict[str, Any]) -> Any:
    """Read an estimator that is an instance of one of ``classes``."""
    header, arrays = read(path)
    if header["estimator"] not in classes:
        raise ValueError(f"{os.fspath(path)!r} holds a {header['estimator']}, not a {' or '.join(classes)}.")
    parameters = {name: _number(value) for name, value in header["parameters"].items()}
    if "init" in arrays:
        parameters["init"] = arrays["init"]
    estimator = classes[header["estimator"]](**parameters)
    estimator._keep(_unpack_result(header, arrays))
    estimator.n_features_in_ = header["n_features_in"]
    if header["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    return estimator


def _pack_result(result: FitResult) -> tuple[dict[str, Any], dict[str, Any]]:
    model, problem = result.model, result.model.problem
    header: dict[str, Any] = {
        "view_names": list(model.view_names),
        "s": _plain(model.s),
        "dtype": model.dtype.name,
        "membership": problem.membership.name,
        "fuzziness": problem.membership.fuzziness,
        "entropy": problem.entropy,
        "splits": list(problem.splits),
        "maps": [_map_header(m) for m in model.maps],
        "objective": result.objective,
        "inertia": result.inertia,
        "bandwidths": list(result.bandwidths),
        "critical": result.critical,
        "n_distinct": result.n_distinct,
        "best": result.best,
        "restarts": [{k: _plain(v) for k, v in vars(r).items()} for r in result.restarts],
    }
    arrays = {
        "labels": result.labels,
        "centers": model.parameters.centers,
        "view_weights": model.parameters.view_weights,
        "reference_distance": problem.reference_distance,
        "scatter": problem.scatter,
    }
    arrays |= {f"history.{name}": column for name, column in history_table(result).items()}
    for index, feature_map in enumerate(model.maps):
        arrays[f"map{index}.mean"] = feature_map.mean
        arrays |= {f"map{index}.{k}": v for k, v in vars(feature_map.base).items() if isinstance(v, np.ndarray)}
    return header, arrays


def _unpack_result(header: dict[str, Any], arrays: dict[str, Any]) -> FitResult:
    problem = Problem(
        membership=make_membership(header["membership"], header["fuzziness"]),
        splits=tuple(header["splits"]),
        reference_distance=arrays["reference_distance"],
        scatter=arrays["scatter"],
        entropy=header["entropy"],
    )
    model = Model(
        view_names=tuple(header["view_names"]),
        maps=tuple(_unpack_map(entry, arrays, f"map{i}.") for i, entry in enumerate(header["maps"])),
        parameters=Parameters(arrays["centers"], arrays["view_weights"]),
        problem=problem,
        s=_number(header["s"]),
        dtype=np.dtype(header["dtype"]),
    )
    return FitResult(
        model=model,
        labels=arrays["labels"],
        objective=header["objective"],
        inertia=header["inertia"],
        bandwidths=tuple(header["bandwidths"]),
        critical=header["critical"],
        n_distinct=header["n_distinct"],
        restarts=tuple(_unpack_restart(entry) for entry in header["restarts"]),
        best=header["best"],
        history=_unpack_history(arrays),
    )


def _unpack_restart(entry: dict[str, Any]) -> Restart:
    values = {name: _number(value) for name, value in entry.items()}
    return Restart(**{**values, "status": Status(entry["status"])})


def _unpack_history(arrays: dict[str, Any]) -> tuple[Iteration, ...]:
    names = ("s", "objective", "inertia", "shift", "n_distinct", "view_weights")
    columns = [arrays[f"history.{name}"].tolist() for name in names]
    rows = zip(*columns, strict=True)
    return tuple(Iteration(*line)._replace(view_weights=tuple(line[-1])) for line in rows)


def _map_header(feature_map: CentredMap) -> dict[str, Any]:
    kind = next(name for name, cls in _BASES.items() if type(feature_map.base) is cls)
    plain = {k: v for k, v in vars(feature_map.base).items() if not isinstance(v, np.ndarray)}
    return {"kind": kind, "scale": feature_map.scale, "plain": plain}


def _unpack_map(entry: dict[str, Any], arrays: dict[str, Any], prefix: str) -> CentredMap:
    own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    mean = own.pop("mean")
    return CentredMap(_BASES[entry["kind"]](**own, **entry["plain"]), mean, entry["scale"])


def _plain(value: Any) -> Any:
    """A value as JSON has it: numpy scalars unpacked, infinities as words."""
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf", "nan") else value
