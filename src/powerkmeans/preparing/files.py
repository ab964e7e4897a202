"""Models with their preparation as files: the estimator's own file, with one more entry in its header.

Version 1 of that entry had a centre and a scale for each column; version 2 has the operations. Neither holds a
pickle, and both are checked before they are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np

from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.exceptions import ModelFileError
from powerkmeans.inputs.metric import COSINE
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.saving import PREPARATION, is_preparation, load_with_extra, save_estimator
from powerkmeans.preparing.cells import Cells
from powerkmeans.preparing.contents import OPERATION_CHECKS, check_extra, check_found
from powerkmeans.preparing.operations import (
    OPERATIONS,
    Affine,
    Beside,
    Chain,
    Columns,
    Function,
    Operation,
    Take,
    applied,
)
from powerkmeans.preparing.prepared import PreparedModel
from powerkmeans.preparing.scaling import ROWS, scales_columns
from powerkmeans.preparing.spelling import Kind, Spelling
from powerkmeans.preparing.views import PreparedView
from powerkmeans.preparing.words import IGNORE, Indicators, Ordinals, Read
from powerkmeans.support.values import path as check_path

VERSION = 2
CLASSES = {cls.__name__: cls for cls in (KernelPowerKMeans, MultiViewPowerKMeans)}
Path = str | os.PathLike[str]


def save_prepared(model: PreparedModel, path: Path, *, overwrite: bool = False) -> None:
    """Write a model and its preparation."""
    views = [
        {"name": view.name, "columns": list(view.columns), "chain": [_packed(one) for one in view.chain]}
        for view in model.views
    ]
    extra = {
        "format": PREPARATION,
        "version": VERSION,
        "views": views,
        "scale": model.scale,
        "named": model.named,
        "id_column": model.id_column,
        "threshold": model.threshold,
        "found": model.found,
    }
    save_estimator(model.estimator, check_path("path", path), extra, overwrite=overwrite)


def load_model(path: Path) -> Any:
    """Read an estimator, or one with its preparation, whichever was saved."""
    estimator, extra = load_with_extra(path, CLASSES)
    if not is_preparation(extra):
        return estimator
    with _naming(path):
        return restored(estimator, extra)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except Flaw as flaw:
        raise ModelFileError(f"{os.fspath(path)!r} is a damaged powerkmeans model: {flaw}.") from flaw


def restored(estimator: Any, extra: Any) -> PreparedModel:
    """A model with the preparation that was kept beside it."""
    version = extra.get("version") if isinstance(extra, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise ModelFileError("The model was written by a newer powerkmeans; upgrade to read it.")
    check_extra(extra, version)
    if version == 1:
        extra = _upgraded(extra)
    model = estimator._fit.model
    views = tuple(_view(entry, f"extra.views[{place}]") for place, entry in enumerate(extra["views"]))
    _check_views(views, model)
    check_found(extra["found"], views, len(model.parameters.centers))
    if extra["scale"] == ROWS and set(model.metrics) != {COSINE}:
        raise Flaw("extra.scale tells of rows that the model does not scale")
    kept = {name: extra[name] for name in ("scale", "named", "id_column", "threshold", "found")}
    return PreparedModel(estimator, views, **kept)


def _packed(operation: Any) -> dict[str, Any]:
    """An operation as its name and fields."""
    entry: dict[str, Any] = {"operation": operation.name}
    for field in fields(operation):
        value = getattr(operation, field.name)
        if isinstance(value, Spelling):
            value = {one.name: getattr(value, one.name) for one in fields(Spelling)}
        elif isinstance(operation, Beside):
            value = [[_packed(one) for one in chain] for chain in value]
        entry[field.name] = value
    return entry


def _unpacked(entry: Any, where: str) -> Operation:
    """An operation of its name and fields, which are checked."""
    name = entry.get("operation") if isinstance(entry, dict) else None
    if not isinstance(name, str) or name not in OPERATIONS:
        raise Flaw(f"{where} is no operation that is known: {name!r:.40}")
    OPERATION_CHECKS[name](entry, where)
    values = {key: value for key, value in entry.items() if key != "operation"}
    if name == Read.name:
        values["kinds"] = tuple(Kind(kind) for kind in values["kinds"])
        values["spelling"] = Spelling(**values["spelling"])
    if name == Columns.name:
        _check_places(Columns(**values), where)
    if name == Beside.name:
        chains = values["chains"]
        values["chains"] = tuple(_chain(chain, f"{where}[{place}]") for place, chain in enumerate(chains))
        # or few bytes would make any number of columns
        if not all(chain and isinstance(chain[0], Take) for chain in values["chains"]):
            raise Flaw(f"{where}: every chain must say which columns it takes")
    operation: Operation = OPERATIONS[name](**values)
    return operation


def _check_places(found: Columns, where: str) -> None:
    """Hold the positions of columns in the table of a fit to their number."""
    some = len(found.places) == len(found.columns) == len(set(found.places)) and max(found.places) < found.among
    if found.places and not some:
        raise Flaw(f"{where}.places must be those of its columns")


def _chain(entries: Any, where: str) -> Chain:
    return tuple(_unpacked(entry, f"{where}.chain[{place}]") for place, entry in enumerate(entries))


def _view(entry: Mapping[str, Any], where: str) -> PreparedView:
    chain = _chain(entry["chain"], where)
    if not chain or not isinstance(chain[0], Columns):
        raise Flaw(f"{where}.chain must begin with the columns of a table")
    view = PreparedView(entry["name"], tuple(entry["columns"]), chain)
    _check_widths(view, where)
    return view


def _check_widths(view: PreparedView, where: str) -> None:
    """Hold the operations of a chain to each other, by a row of zeros and one of gaps."""
    rows = Cells(view.given, np.array([[0.0], [np.nan]]).repeat(len(view.given), axis=1))
    try:
        found = applied([_lenient(one) for one in view.chain], rows).as_numbers().numbers
    except (ValueError, IndexError, TypeError) as error:
        raise Flaw(f"{where}.chain does not fit together: {str(error).rstrip('.'):.120}") from error
    if found.shape != (2, len(view.columns)):
        raise Flaw(f"{where}.chain gives {found.shape[-1]} columns, but {len(view.columns)} have names")


def _lenient(operation: Operation) -> Operation:
    """The same operation, which takes any category and any number."""
    if isinstance(operation, Beside):
        return Beside(tuple(tuple(map(_lenient, chain)) for chain in operation.chains))
    if isinstance(operation, Function):
        return replace(operation, counts=False)
    if isinstance(operation, Read):
        return replace(operation, kinds=tuple(k if k is Kind.CATEGORY else Kind.NUMBER for k in operation.kinds))
    return replace(operation, unseen=IGNORE) if isinstance(operation, (Indicators, Ordinals)) else operation


def _check_views(views: tuple[PreparedView, ...], model: Any) -> None:
    """Hold views to those of the model; a single one may have any name, and one table may be cut into several."""
    names, given = list(model.view_names), [view.name for view in views]
    widths = [len(view.columns) for view in views]
    if len(given) == 1 and widths == [sum(model.view_widths)]:
        return
    if given != names or widths != list(model.view_widths):
        raise Flaw("extra.views are not those of the model")


def _upgraded(extra: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of version 1, where columns had centres and scales and nothing else was done to them."""
    views, units = [], {}
    for view in extra["views"]:
        columns = tuple(view["columns"])
        chain: list[Any] = [Columns(columns), Read((Kind.NUMBER,) * len(columns), Spelling())]
        if scales_columns(extra["scale"]):
            chain.append(Affine(view["centre"], view["scale"]))
        units[view["name"]] = np.where(view["constant"], 0.0, view["deviation"] / view["scale"])
        packed = [_packed(one) for one in chain]
        views.append({"name": view["name"], "columns": list(columns), "chain": packed})
    found = dict(extra["found"])
    if "profiles" in found:
        found["units"] = units
    return {**extra, "version": VERSION, "views": views, "found": found}


def without_ids(model: PreparedModel) -> PreparedModel:
    """The same model without the names of samples."""
    found = {key: value for key, value in model.found.items() if key != "highest"}
    return replace(model, found=found)
