"""Models as files: one .npz of arrays with a JSON header. No pickle is written or read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from powerkmeans.exceptions import ModelFileError
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.features.maps.registry import classes_by_file_name
from powerkmeans.inputs.metric import COSINE
from powerkmeans.models.files.answers import check_answers, check_stream
from powerkmeans.models.files.archive import Archive, announced, write_archive
from powerkmeans.models.files.checks import check_announced, check_arrays, restored_rows
from powerkmeans.models.files.contents import FORMAT, VERSION
from powerkmeans.models.files.flaws import Flaw, NotAModel
from powerkmeans.models.files.parameters import kept_parameters, restored_estimator, restored_layout
from powerkmeans.models.files.schema import largest, smallest
from powerkmeans.models.files.text import dump, parse
from powerkmeans.models.files.values import number, packed, plain, unpacked
from powerkmeans.models.files.versions import check_version, with_groups
from powerkmeans.models.model import FitResult, Model, Restart, Stream, StreamLines, history_table
from powerkmeans.objective.membership import make_membership
from powerkmeans.support.absent import zero_where_absent
from powerkmeans.support.files import explained, free_target, replacing
from powerkmeans.types import Iteration, Parameters, PassStatistics, Problem, Status, Views

_CSR = ("data", "indices", "indptr")
# the format of what is kept beside a model that prepares its rows; others keep what they like
PREPARATION = "powerkmeans-input"


def write(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Any], *, overwrite: bool = False
) -> None:
    """Write a file whole or not at all: a failed write leaves an older file as it was."""
    header = {"format": FORMAT, "version": VERSION, **header}
    with replacing(path, overwrite=overwrite) as stream, explained(path):
        write_archive(stream, header, arrays)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the header and the arrays of a model file, and check both."""
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no model file at {os.fspath(path)!r}.")
    if not Path(path).is_file():
        raise ModelFileError(f"{os.fspath(path)!r} is not a regular file, and no powerkmeans model.")
    with _naming(path), open(path, "rb") as stream:
        archive = Archive(stream)
        version = check_version(archive.header, compressed=archive.compressed)
        if version > VERSION:
            raise ModelFileError(
                f"{os.fspath(path)!r} has format version {version}, this powerkmeans reads up to {VERSION}; "
                "upgrade powerkmeans to read it."
            )
        header, scope = check_announced(archive.header, archive.members, version)
        arrays = with_groups(archive.arrays())
        check_arrays(header, arrays, scope)
    return header, arrays


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Tell whatever is wrong with a file by one kind of error, which names it."""
    try:
        yield
    except NotAModel as flaw:
        raise ModelFileError(f"{os.fspath(path)!r} is not a powerkmeans model, or is damaged: {flaw}.") from flaw
    except Flaw as flaw:
        raise ModelFileError(f"{os.fspath(path)!r} is a damaged powerkmeans model: {flaw}.") from flaw


def save_estimator(
    estimator: Any,
    path: str | os.PathLike[str],
    extra: Any = None,
    *,
    overwrite: bool = False,
    labels: bool = True,
) -> None:
    """Write a fitted estimator: its parameters, its fit, and the columns it knows.

    ``extra`` is kept beside it for whoever wrote it: numbers, texts, arrays, in lists and dicts. Without
    ``labels`` the file has none, as that of a fit on a cluster, and does not tell which rows are medoids.
    """
    free_target(path, overwrite=overwrite)  # told before any work is done
    header, arrays = pack_estimator(estimator, extra)
    if not labels:
        arrays["labels"] = arrays["labels"][:0]
        arrays.pop("medoids", None)
    try:
        members = {name: announced(array) for name, array in arrays.items()}
        full, scope = check_announced(parse(dump(header)), members, VERSION)
        check_arrays(full, arrays, scope)
        _restore(full, arrays, type(estimator))
    except Flaw as flaw:
        raise ValueError(_unloadable(flaw, header["bandwidths"])) from flaw
    write(path, header, arrays, overwrite=overwrite)


def _unloadable(flaw: Flaw, bandwidths: list[float | None]) -> str:
    """Why a model cannot be saved, and the way out if it is the scale of the data."""
    for bandwidth in bandwidths:
        if bandwidth is not None and not smallest(np.float64) <= bandwidth <= largest(np.float64):
            return (
                f"This model cannot be saved: its bandwidth is {bandwidth:.3g}, and in a file squares have to be "
                "in the range of float64. Rescale the data, and fit again."
            )
    return f"This model cannot be saved, as it could not be loaded again: {flaw}."


def pack_estimator(estimator: Any, extra: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a fitted estimator, before they are checked."""
    header, arrays = _pack_result(estimator._fit)
    names = getattr(estimator, "feature_names_in_", None)
    header |= {
        "estimator": type(estimator).__name__,
        "parameters": {name: packed(value, arrays) for name, value in kept_parameters(estimator).items()},
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else list(names),
    }
    if estimator._layout is not None:
        layout = estimator._layout._asdict()
        header["layout"] = {name: packed(value, arrays) for name, value in layout.items()}
    if estimator._collected is not None:
        _pack_collected(estimator._collected.joined(), header, arrays)
    if extra is not None:
        header["extra"] = packed(extra, arrays)
    return header, {name: np.asarray(array) for name, array in arrays.items()}


def load_estimator(path: str | os.PathLike[str], classes: dict[str, Any]) -> Any:
    """Read an estimator that is an instance of one of ``classes``, and that takes rows as they are."""
    estimator, extra = load_with_extra(path, classes)
    if is_preparation(extra):
        raise ModelFileError(
            f"{os.fspath(path)!r} holds a model with what was done to its columns; read it with powerkmeans.load, "
            "whose `estimator` is the model alone."
        )
    return estimator


def is_preparation(extra: Any) -> bool:
    """Whether what was kept beside a model is what is done to its rows before it sees them."""
    return isinstance(extra, dict) and extra.get("format") == PREPARATION


def load_with_extra(path: str | os.PathLike[str], classes: dict[str, Any]) -> tuple[Any, Any]:
    """Read an estimator and what was kept beside it, None if nothing was."""
    header, arrays = read(path)
    if header["estimator"] not in classes:
        raise ModelFileError(
            f"{os.fspath(path)!r} holds a {header['estimator']:.40}, not a {' or '.join(classes)}."
        )
    with _naming(path):
        estimator = _restore(header, arrays, classes[header["estimator"]])
    return estimator, unpacked(header.get("extra"), arrays)


def _restore(header: dict[str, Any], arrays: dict[str, Any], cls: Any) -> Any:
    estimator = restored_estimator(header, arrays, cls)
    result = _unpack_result(header, arrays)
    check_answers(result.model)
    if result.stream is not None:
        check_stream(result.model, result.stream)
    estimator._keep(result)
    estimator.n_features_in_ = header["n_features_in"]
    estimator._layout = restored_layout(header, arrays)
    if header["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    if "collected" in header:
        views = _unpack_collected(header, arrays)
        estimator._resume(views, header["collected"]["n_fitted"])
    return estimator


def _pack_result(result: FitResult) -> tuple[dict[str, Any], dict[str, Any]]:
    header = {"format": FORMAT, "version": VERSION, **_model_entries(result.model), **_story_entries(result)}
    if COSINE in result.model.metrics:  # files without are as they were before there were metrics
        header["metrics"] = list(result.model.metrics)
    arrays = _model_arrays(result.model) | {"labels": result.labels}
    if result.medoids is not None:
        arrays["medoids"] = result.medoids
    if result.stream is not None:
        _pack_stream(result.stream, header, arrays)
    arrays |= {f"history.{name}": column for name, column in history_table(result).items()}
    arrays["history.view_weights"] = np.array([line.view_weights for line in result.history])
    return header, arrays


def _model_entries(model: Model) -> dict[str, Any]:
    problem = model.problem
    return {
        "view_names": list(model.view_names),
        "used_views": list(model.used_views),
        "view_widths": list(model.view_widths),
        "s": plain(model.s),
        "dtype": model.dtype.name,
        "membership": problem.membership.name,
        "fuzziness": problem.membership.fuzziness,
        "entropy": plain(problem.entropy),
        "splits": list(problem.splits),
        "dual": list(problem.dual),
        "maps": [_map_header(m) for m in model.maps],
    }


def _story_entries(result: FitResult) -> dict[str, Any]:
    return {
        "objective": result.objective,
        "inertia": result.inertia,
        "bandwidths": list(result.bandwidths),
        "critical": result.critical,
        "n_used": result.n_used,
        "n_apart": result.n_apart,
        "best": result.best,
        "troubles": list(result.shortfalls),
        "advice": list(result.advice),
        "restarts": [{k: plain(v) for k, v in vars(r).items()} for r in result.restarts],
    }


def _model_arrays(model: Model) -> dict[str, Any]:
    problem = model.problem
    arrays = {
        "centers": model.parameters.centers,
        "view_weights": model.parameters.view_weights,
        "reference_distance": problem.reference_distance,
        "scatter": problem.scatter,
    }
    if problem.baseline is not None:
        arrays["baseline"] = problem.baseline
    for index, feature_map in enumerate(model.maps):
        arrays |= {f"map{index}.{name}": array for name, array in _map_arrays(feature_map).items()}
    return arrays


def _unpack_model(header: dict[str, Any], arrays: dict[str, Any]) -> Model:
    problem = Problem(
        membership=make_membership(header["membership"], header["fuzziness"]),
        splits=tuple(header["splits"]),
        reference_distance=arrays["reference_distance"],
        scatter=arrays["scatter"],
        entropy=number(header["entropy"]),
        baseline=arrays.get("baseline"),
        dual=tuple(header["dual"]),
    )
    return Model(
        view_names=tuple(header["view_names"]),
        used_views=tuple(header["used_views"]),
        view_widths=tuple(header["view_widths"]),
        metrics=tuple(header["metrics"]),
        maps=tuple(_unpack_map(entry, arrays, f"map{i}.") for i, entry in enumerate(header["maps"])),
        parameters=Parameters(arrays["centers"], arrays["view_weights"]),
        problem=problem,
        s=number(header["s"]),
        dtype=np.dtype(header["dtype"]),
    )


def _unpack_result(header: dict[str, Any], arrays: dict[str, Any]) -> FitResult:
    return FitResult(
        model=_unpack_model(header, arrays),
        labels=arrays["labels"],
        objective=header["objective"],
        inertia=header["inertia"],
        bandwidths=tuple(header["bandwidths"]),
        critical=header["critical"],
        n_used=header["n_used"],
        n_apart=header["n_apart"],
        restarts=tuple(_unpack_restart(entry) for entry in header["restarts"]),
        best=header["best"],
        shortfalls=tuple(header["troubles"]),
        advice=tuple(header["advice"]),
        history=_unpack_history(arrays),
        stream=_unpack_stream(header, arrays) if "stream" in header else None,
        medoids=arrays.get("medoids"),
    )


def _pack_stream(stream: Stream, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["stream"] = {name: getattr(stream, name) for name in ("weight", "n_fitted", "n_seen", "n_learnt")}
    arrays |= {f"stream.{name}": np.asarray(value) for name, value in vars(stream.sums).items()}
    arrays["stream.lines"] = stream.lines.table


def _unpack_stream(header: dict[str, Any], arrays: dict[str, Any]) -> Stream:
    sums = PassStatistics(**{f.name: arrays[f"stream.{f.name}"] for f in fields(PassStatistics)})
    lines = StreamLines(arrays["stream.lines"], len(arrays["stream.lines"]))
    return Stream(sums, **header["stream"], lines=lines)


def _pack_collected(collected: Any, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Rows that a stream has collected since it began; what absent ones hold does not matter."""
    (views,) = collected.chunks
    sparse = [issparse(rows) for rows in views.arrays]
    header["collected"] = {"n_fitted": collected.n_fitted, "sparse": sparse, "masked": views.present is not None}
    arrays["collected.weight"] = views.weight
    if views.present is not None:
        arrays["collected.present"] = views.present
    for index, given in enumerate(views.arrays):
        rows = given if views.present is None else zero_where_absent(given, views.present[:, index])
        parts = {name: getattr(rows, name) for name in _CSR} if sparse[index] else {"rows": rows}
        arrays |= {f"collected{index}.{name}": part for name, part in parts.items()}


def _unpack_collected(header: dict[str, Any], arrays: dict[str, Any]) -> Views:
    rows = []
    for index, (sparse, width) in enumerate(
        zip(header["collected"]["sparse"], header["view_widths"], strict=True)
    ):
        parts = {name: arrays.get(f"collected{index}.{name}") for name in (*_CSR, "rows")}
        rows.append(restored_rows(f"collected{index}", parts, width) if sparse else parts["rows"])
    names, weight = tuple(header["view_names"]), arrays["collected.weight"]
    return Views(names, tuple(rows), weight, arrays.get("collected.present"))


def _unpack_restart(entry: dict[str, Any]) -> Restart:
    values = {name: number(entry[name]) for name in ("s_init", "s")}
    return Restart(**{**entry, **values, "status": Status(entry["status"])})


def _unpack_history(arrays: dict[str, Any]) -> tuple[Iteration, ...]:
    names = ("s", "objective", "inertia", "shift", "n_distinct", "view_weights", "groups")
    columns = [arrays[f"history.{name}"].tolist() for name in names]
    rows = (Iteration(*line) for line in zip(*columns, strict=True))
    return tuple(line._replace(view_weights=tuple(line.view_weights), groups=tuple(line.groups)) for line in rows)


def _map_header(feature_map: CentredMap) -> dict[str, Any]:
    packing = feature_map.base.packing
    plain = {name: getattr(feature_map.base, name) for name in packing.entries}
    return {"kind": packing.name, "scale": feature_map.scale, "dtype": feature_map.dtype, "plain": plain}


def _map_arrays(feature_map: CentredMap) -> dict[str, Any]:
    base = feature_map.base
    table = base.packing.arrays({name: getattr(base, name) for name in base.packing.entries})
    return {name: feature_map.mean if name == "mean" else getattr(base, name) for name in table}


def _unpack_map(entry: dict[str, Any], arrays: dict[str, Any], prefix: str) -> CentredMap:
    parts = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    mean = parts.pop("mean")
    base = classes_by_file_name()[entry["kind"]](**parts, **entry["plain"])
    flaw = base.flaw()
    if flaw is not None:
        raise Flaw(f"{prefix[:-1]}: {flaw}")
    return base.centred(mean, entry["dtype"], entry["scale"])
