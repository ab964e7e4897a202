"""A model as the command line keeps it: the estimator's own file, and what its input was like.

The file is that of ``estimator.save``, with one more entry in its header: the columns of each view, their centres
and scales, the column of ids, and what was found out about the clusters. It holds no pickle.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.bundle_checks import check_extra
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.samples import Samples
from powerkmeans.cli.scaling import Scaling, scaled
from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.exceptions import ModelFileError
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.saving import load_with_extra, save_estimator

FORMAT, VERSION = "powerkmeans-input", 1
CLASSES = {cls.__name__: cls for cls in (KernelPowerKMeans, MultiViewPowerKMeans)}


@dataclass(frozen=True)
class ViewInput:
    """A view as it came from files: the names of its columns, and how they are scaled."""

    name: str
    columns: tuple[str, ...]
    scaling: Scaling


@dataclass(frozen=True)
class Bundle:
    """A fitted estimator and what it takes to feed it from files.

    scale : how columns were scaled, "none" for a model that was not fitted here
    named : whether columns go by name; by position otherwise
    threshold : outlier scores above it are labelled -1; None for none
    found : what was found out in the fit, for ``explain``
    """

    estimator: Any
    views: tuple[ViewInput, ...]
    scale: str = "none"
    named: bool = False
    id_column: str | None = None
    threshold: float | None = None
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        return isinstance(self.estimator, MultiViewPowerKMeans)

    def inputs(self, samples: Samples) -> Any:
        """Samples as the estimator takes them: scaled, one array or one per view."""
        arrays = {view.name: _scaled(samples.views.get(view.name), view.scaling) for view in self.views}
        return arrays if self.several else next(iter(arrays.values()))


def _scaled(values: NDArray[Any] | None, scaling: Scaling) -> NDArray[Any] | None:
    return None if values is None else scaled(values, scaling)


def rows_of(X: Any, rows: Any) -> Any:
    """Some rows of what an estimator takes."""
    if isinstance(X, dict):
        return {name: None if values is None else values[rows] for name, values in X.items()}
    return X[rows]


def save_bundle(bundle: Bundle, path: str | os.PathLike[str]) -> None:
    """Write the model."""
    views = [
        {
            "name": view.name,
            "columns": list(view.columns),
            "centre": view.scaling.centre,
            "scale": view.scaling.scale,
            "deviation": view.scaling.deviation,
            "constant": view.scaling.constant,
        }
        for view in bundle.views
    ]
    extra = {
        "format": FORMAT,
        "version": VERSION,
        "views": views,
        "scale": bundle.scale,
        "named": bundle.named,
        "id_column": bundle.id_column,
        "threshold": bundle.threshold,
        "found": bundle.found,
    }
    save_estimator(bundle.estimator, path, extra)


def load_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read a model; one that was saved from Python takes columns as they are."""
    if not os.path.exists(path):
        raise UserError(f"There is no model file {os.fspath(path)!r}.")
    try:
        estimator, extra = load_with_extra(path, CLASSES)
        return _from_python(estimator) if extra is None else _restored(estimator, extra)
    except Flaw as flaw:
        raise UserError(f"{os.fspath(path)!r} is a damaged powerkmeans model: {flaw}.") from flaw
    except (ModelFileError, FileNotFoundError) as error:
        raise UserError(str(error)) from error


def _restored(estimator: Any, extra: Any) -> Bundle:
    version = extra.get("version") if isinstance(extra, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise UserError("The model was written by a newer powerkmeans; upgrade to read it.")
    check_extra(extra, estimator._fit.model)
    views = tuple(
        ViewInput(
            view["name"], tuple(view["columns"]), Scaling(*(np.asarray(view[name]) for name in Scaling._fields))
        )
        for view in extra["views"]
    )
    return Bundle(
        estimator,
        views,
        scale=extra["scale"],
        named=extra["named"],
        id_column=extra["id_column"],
        threshold=extra["threshold"],
        found=extra["found"],
    )


def _from_python(estimator: Any) -> Bundle:
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
        unscaled = Scaling(np.zeros(width), np.ones(width), np.ones(width), np.zeros(width, dtype=bool))
        views.append(ViewInput(name, columns, unscaled))
    return Bundle(estimator, tuple(views), named=named)
