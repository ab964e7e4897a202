"""Models for the command, whoever wrote them."""

from __future__ import annotations

import os
from typing import Any

from powerkmeans.cli.errors import UserError
from powerkmeans.exceptions import ModelFileError
from powerkmeans.preparing.files import load_model
from powerkmeans.preparing.operations import Columns
from powerkmeans.preparing.prepared import PreparedModel
from powerkmeans.preparing.views import PreparedView


def load_prepared(path: str | os.PathLike[str]) -> PreparedModel:
    """Read a model; one that was saved from Python takes columns as they are."""
    if not os.path.exists(path):
        raise UserError(f"There is no model file {os.fspath(path)!r}.")
    try:
        model = load_model(path)
    except (ModelFileError, FileNotFoundError) as error:
        raise UserError(str(error)) from error
    return model if isinstance(model, PreparedModel) else _from_python(model)


def _from_python(estimator: Any) -> PreparedModel:
    """What is known of the input of a model that was fitted in Python: names of columns, if it had any."""
    model, layout = estimator._fit.model, estimator._layout
    labels: Any = [None] * len(model.view_names) if layout is None else layout.labels
    names = getattr(estimator, "feature_names_in_", None)
    if len(model.view_names) == 1 and names is not None:
        labels = [tuple(names)]
    named = all(label is not None for label in labels)
    views = []
    for name, width, label in zip(model.view_names, model.view_widths, labels, strict=True):
        columns = tuple(map(str, label if named else range(width)))
        views.append(PreparedView(name, columns, (Columns(columns),)))
    return PreparedModel(estimator, tuple(views), named=named)
