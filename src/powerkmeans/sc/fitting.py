"""The estimator for what was read, its fit, and what is told of both in values that HDF5 holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.estimators.explain import explain_views
from powerkmeans.estimators.labels import calling_columns
from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.sc.views import Cells
from powerkmeans.support.values import listed
from powerkmeans.types import Array


@dataclass(frozen=True)
class Found:
    """What a fit found: an entry for each observation that was clustered, and a summary."""

    labels: Array
    memberships: Array
    outlier_score: Array | None
    summary: dict[str, Any]


def check_parameters(function: str, parameters: dict[str, Any], *, several: bool) -> Any:
    """Tell which estimator is meant, and reject what it does not take."""
    kind: Any = MultiViewPowerKMeans if several else KernelPowerKMeans
    known = [name for name in kind().get_params() if name not in ("views", "n_clusters", "random_state")]
    for name in parameters:
        if name not in known:
            raise TypeError(
                f"{function} has no parameter {name!r} and neither has {kind.__name__}, which fits "
                f"{'several views' if several else 'one representation'}. It takes {listed(known)}."
            )
    kernels: Any = parameters.get("kernel")
    if PRECOMPUTED in (kernels.values() if isinstance(kernels, Mapping) else np.atleast_1d(kernels).tolist()):
        raise ValueError(
            "kernel='precomputed' is a matrix of all observations, which representations are not. Pass what is in "
            "obsp to the estimator itself."
        )
    return kind


def fit(model: Any, cells: Cells) -> Found:
    """Fit, and collect what is to be written."""
    X, given = cells.tables, cells.presence
    with calling_columns({name: view.columns for name, view in cells.views.items()}):
        model.fit(X, **given)
    views = cells.views.values()
    table: dict[str, Any] = {"representation": [view.representation for view in views]}
    table["n_columns"] = [view.table.shape[1] for view in views]
    table.update(explain_views(model, X, **given))
    table["view"] = list(cells.views)
    table["feature_map"] = np.atleast_1d(model.feature_map_).astype(str)
    table["bandwidth"] = np.array(np.atleast_1d(model.bandwidth_), dtype=np.float64)
    table["n_components"] = np.atleast_1d(model.n_components_)
    return Found(
        labels=model.labels_,
        memberships=model.predict_proba(X, **given),
        outlier_score=model.outlier_score(X, **given) if model._fit.model.scores_outliers else None,
        summary=_summary(model) | {"views": import_module("pandas").DataFrame(table).set_index("view")},
    )


def _summary(model: Any) -> dict[str, Any]:
    """What can be told of a fit in values that HDF5 holds."""
    given = {name: _plain(value) for name, value in model.get_params(deep=False).items() if value is not None}
    return {
        "estimator": type(model).__name__,
        "version": str(import_module("powerkmeans").__version__),
        "params": given,
        "n_iter": int(model.n_iter_),
        "objective": float(model.objective_),
        "inertia": float(model.inertia_),
        "status": str(model.status_.value),
    }


def _plain(value: Any) -> Any:
    """A parameter as a number, a string, an array, or a dict of them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key).replace("/", "_"): _plain(one) for key, one in value.items()}  # a slash opens a group
    if isinstance(value, (list, tuple)):
        return {str(index): _plain(one) for index, one in enumerate(value)}
    numeric = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return value if numeric or isinstance(value, (str, bool, int, float)) else repr(value)
