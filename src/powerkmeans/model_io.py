"""Models as files: one .npz of arrays with a JSON header. No pickle is written or read."""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from powerkmeans.features.exact import CentredKernel, ExactMap
from powerkmeans.features.maps import CentredMap, FourierMap, IdentityMap, NystroemMap
from powerkmeans.files import explained, free_target, replacing
from powerkmeans.model import FitResult, Model, Restart, Stream, StreamLine, history_table
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Iteration, Parameters, PassStatistics, Problem, Status
from powerkmeans.views import Layout

FORMAT = "powerkmeans-model"
VERSION = 1
_HEADER = "header.json"
_BASES: dict[str, Any] = {
    "fourier": FourierMap,
    "identity": IdentityMap,
    "nystroem": NystroemMap,
    "exact": ExactMap,
}


def write(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Any], *, overwrite: bool = False
) -> None:
    """Write a file whole or not at all: a failed write leaves an older file as it was."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False)
    arrays = {_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with replacing(path, overwrite=overwrite) as stream, explained(path):
        np.savez_compressed(stream, **arrays)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the header and the arrays of a model file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file at {os.fspath(path)!r}.")
    try:
        header, content = _read_archive(path)
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a powerkmeans model, or is damaged.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{os.fspath(path)!r} is not a powerkmeans model.")
    if not header.get("version", 0) <= VERSION:
        raise ValueError(
            f"{os.fspath(path)!r} has format version {header['version']}, this powerkmeans reads up to "
            f"{VERSION}; upgrade powerkmeans to read it."
        )
    return header, content


def _read_archive(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    if not zipfile.is_zipfile(path):
        raise ValueError("not an archive of arrays")
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
        content = {name: file[name] for name in file.files}
    return json.loads(content.pop(_HEADER).tobytes()), content


def save_estimator(
    estimator: Any, path: str | os.PathLike[str], extra: Any = None, *, overwrite: bool = False
) -> None:
    """Write a fitted estimator: its parameters, its fit, and the columns it knows.

    ``extra`` is kept beside it for whoever wrote it: numbers, texts, arrays, in lists and dicts.
    """
    free_target(path, overwrite=overwrite)  # told before any work is done
    header, arrays = _pack_result(estimator._fit)
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["engine"], str):
        del parameters["engine"]  # belongs to the machine, not to the model
    if not isinstance(parameters["random_state"], (Integral, type(None))):
        del parameters["random_state"]  # a generator's state is not a parameter of the model
    names = getattr(estimator, "feature_names_in_", None)
    header |= {
        "estimator": type(estimator).__name__,
        "parameters": {name: _packed(value, arrays) for name, value in parameters.items()},
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else list(names),
    }
    if estimator._layout is not None:
        layout = estimator._layout._asdict()
        header["layout"] = {name: _packed(value, arrays) for name, value in layout.items()}
    if extra is not None:
        header["extra"] = _packed(extra, arrays)
    write(path, header, arrays, overwrite=overwrite)


def load_estimator(path: str | os.PathLike[str], classes: dict[str, Any]) -> Any:
    """Read an estimator that is an instance of one of ``classes``."""
    return load_with_extra(path, classes)[0]


def load_with_extra(path: str | os.PathLike[str], classes: dict[str, Any]) -> tuple[Any, Any]:
    """Read an estimator and what was kept beside it, None if nothing was."""
    header, arrays = read(path)
    if header.get("estimator") not in classes:
        raise ValueError(f"{os.fspath(path)!r} holds a {header.get('estimator')}, not a {' or '.join(classes)}.")
    try:
        extra = _unpacked(header.get("extra"), arrays)
        return _restore(header, arrays, classes[header["estimator"]]), extra
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{os.fspath(path)!r} is a damaged powerkmeans model: {error} is missing.") from error


def _restore(header: dict[str, Any], arrays: dict[str, Any], cls: Any) -> Any:
    parameters = {name: _unpacked(_number(value), arrays) for name, value in header["parameters"].items()}
    if "init" in arrays:  # as the first version of the format has it
        parameters["init"] = arrays["init"]
    estimator = cls(**parameters)
    estimator._keep(_unpack_result(header, arrays))
    estimator.n_features_in_ = header["n_features_in"]
    estimator._layout = None
    if "layout" in header:
        layout = {name: _unpacked(value, arrays) for name, value in header["layout"].items()}
        estimator._layout = Layout(**layout)
    if header["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    return estimator


def _pack_result(result: FitResult) -> tuple[dict[str, Any], dict[str, Any]]:
    model, problem = result.model, result.model.problem
    header: dict[str, Any] = {
        "view_names": list(model.view_names),
        "used_views": list(model.used_views),
        "view_widths": list(model.view_widths),
        "s": _plain(model.s),
        "dtype": model.dtype.name,
        "membership": problem.membership.name,
        "fuzziness": problem.membership.fuzziness,
        "entropy": _plain(problem.entropy),
        "splits": list(problem.splits),
        "dual": list(problem.dual),
        "maps": [_map_header(m) for m in model.maps],
        "objective": result.objective,
        "inertia": result.inertia,
        "bandwidths": list(result.bandwidths),
        "critical": result.critical,
        "n_used": result.n_used,
        "n_apart": result.n_apart,
        "best": result.best,
        "troubles": list(result.troubles),
        "advice": list(result.advice),
        "restarts": [{k: _plain(v) for k, v in vars(r).items()} for r in result.restarts],
    }
    arrays = {
        "labels": result.labels,
        "centers": model.parameters.centers,
        "view_weights": model.parameters.view_weights,
        "reference_distance": problem.reference_distance,
        "scatter": problem.scatter,
    }
    if problem.baseline is not None:
        arrays["baseline"] = problem.baseline
    if result.stream is not None:
        _pack_stream(result.stream, header, arrays)
    arrays |= {f"history.{name}": column for name, column in history_table(result).items()}
    arrays["history.view_weights"] = np.array([line.view_weights for line in result.history])
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
        entropy=_number(header["entropy"]),
        baseline=arrays.get("baseline"),
        dual=tuple(header.get("dual", ())),
    )
    model = Model(
        view_names=tuple(header["view_names"]),
        used_views=tuple(header.get("used_views", [0])),
        view_widths=tuple(header.get("view_widths", [header["n_features_in"]])),
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
        n_used=header["n_used"],
        n_apart=header["n_apart"],
        restarts=tuple(_unpack_restart(entry) for entry in header["restarts"]),
        best=header["best"],
        troubles=tuple(header.get("troubles", ())),
        advice=tuple(header.get("advice", ())),
        history=_unpack_history(arrays),
        stream=_unpack_stream(header, arrays) if "stream" in header else None,
    )


def _pack_stream(stream: Stream, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["stream"] = {"weight": stream.weight, "n_fitted": stream.n_fitted, "n_seen": stream.n_seen}
    arrays |= {f"stream.{name}": np.asarray(value) for name, value in vars(stream.sums).items()}
    arrays["stream.lines"] = np.array(stream.lines).reshape(-1, len(StreamLine._fields))


def _unpack_stream(header: dict[str, Any], arrays: dict[str, Any]) -> Stream:
    sums = PassStatistics(**{f.name: arrays[f"stream.{f.name}"] for f in fields(PassStatistics)})
    lines = tuple(StreamLine(*line) for line in arrays["stream.lines"].tolist())
    return Stream(sums, **header["stream"], lines=lines)


def _unpack_restart(entry: dict[str, Any]) -> Restart:
    values = {name: _number(value) for name, value in entry.items()}
    values.setdefault("hard_loss", values["hard_objective"])  # one and the same with a single view
    return Restart(**{**values, "status": Status(entry["status"])})


def _unpack_history(arrays: dict[str, Any]) -> tuple[Iteration, ...]:
    names = ("s", "objective", "inertia", "shift", "n_distinct", "view_weights", "groups")
    arrays = {"history.groups": np.zeros((len(arrays["history.s"]), 0), dtype=np.int32)} | arrays  # older files
    columns = [arrays[f"history.{name}"].tolist() for name in names]
    rows = (Iteration(*line) for line in zip(*columns, strict=True))
    return tuple(line._replace(view_weights=tuple(line.view_weights), groups=tuple(line.groups)) for line in rows)


def _map_header(feature_map: CentredMap) -> dict[str, Any]:
    kind = next(name for name, cls in _BASES.items() if type(feature_map.base) is cls)
    plain = {k: v for k, v in vars(feature_map.base).items() if not isinstance(v, np.ndarray)}
    return {"kind": kind, "scale": feature_map.scale, "dtype": feature_map.dtype, "plain": plain}


def _unpack_map(entry: dict[str, Any], arrays: dict[str, Any], prefix: str) -> CentredMap:
    own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    mean = own.pop("mean")
    centred = CentredKernel if entry["kind"] == "exact" else CentredMap
    return centred(_BASES[entry["kind"]](**own, **entry["plain"]), mean, entry["dtype"], entry["scale"])


def _packed(value: Any, arrays: dict[str, Any]) -> Any:
    """A parameter as JSON has it; numeric arrays inside go to ``arrays``, under a number."""
    if isinstance(value, Mapping):
        return {"dict": {key: _packed(item, arrays) for key, item in value.items()}}
    if isinstance(value, slice):
        return {"slice": [_plain(bound) for bound in (value.start, value.stop, value.step)]}
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            return _packed(array.tolist(), arrays)
        name = f"parameter{len(arrays)}"
        arrays[name] = array
        return {"array": name}
    if isinstance(value, Iterable) and not isinstance(value, str):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_packed(item, arrays) for item in value]}
    plain = _plain(value)
    return {"float": plain} if isinstance(value, (float, np.floating)) and isinstance(plain, str) else plain


def _unpacked(value: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "dict":
        return {key: _unpacked(item, arrays) for key, item in content.items()}
    if kind == "slice":
        return slice(*content)
    if kind == "array":
        return arrays[content]
    items = [_unpacked(item, arrays) for item in content]
    return tuple(items) if kind == "tuple" else items


def _plain(value: Any) -> Any:
    """A value as JSON has it: numpy scalars unpacked, infinities as words."""
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) and value in ("inf", "-inf", "nan") else value
