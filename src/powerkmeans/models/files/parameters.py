"""The estimator of a model file: its parameters, checked as for a fit, and the columns that it knows."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from powerkmeans.compute.options import NumpyOptions
from powerkmeans.inputs.settings import check_settings
from powerkmeans.inputs.views import Layout
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.values import unpacked
from powerkmeans.types import Array

# these belong to a machine or a moment, and are kept only where they are plain
_MAY_LACK = {"engine", "random_state"}
# these came after the first files of version 2, which are read with their defaults; defaults are not written, so
# that who wrote those files reads new ones too
_LATER = {"advice", "metric", "n_neighbors", "rows_per_landmark"}


def kept_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that go into the file."""
    parameters, defaults = estimator.get_params(deep=False), type(estimator)().get_params(deep=False)
    if not isinstance(parameters["engine"], str):
        del parameters["engine"]  # belongs to the machine, not to the model
    if not isinstance(parameters["random_state"], (Integral, type(None))):
        del parameters["random_state"]  # a generator's state is not a parameter of the model
    return {name: v for name, v in parameters.items() if name not in _LATER or not _equal(v, defaults[name])}


def _equal(value: Any, default: Any) -> bool:
    """Whether a value is the default; one of another kind, such as an array, is not."""
    return isinstance(value, type(default)) and bool(value == default)


def restored_estimator(header: Mapping[str, Any], arrays: Mapping[str, Array], cls: Any) -> Any:
    """The estimator before its fit."""
    known, given = set(cls().get_params(deep=False)), set(header["parameters"])
    lacking = known - given - _MAY_LACK - _LATER if header["version"] > 1 else set()
    for name in sorted(lacking | (given - known)):
        raise Flaw(f"header.parameters must be those of a {cls.__name__}, which does not agree in {name!r:.40}")
    estimator = cls(**{name: unpacked(value, arrays) for name, value in header["parameters"].items()})
    _check_parameters(estimator, tuple(header["view_names"]))
    several = "views" in known
    if not several and header["view_names"] != ["X"]:
        raise Flaw(f"a {cls.__name__} has one view, called 'X'")
    if several != ("layout" in header):
        raise Flaw("header.layout belongs to several views")
    return estimator


def _check_parameters(estimator: Any, names: tuple[str, ...]) -> None:
    parameters = estimator.get_params(deep=False)
    try:
        check_settings(parameters, several_views="views" in parameters).of_views(names)
        NumpyOptions(kernel=parameters["engine"])
    except (ValueError, TypeError) as error:
        raise Flaw(f"header.parameters are not those of a fit: {str(error).rstrip('.')}") from error


def restored_layout(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Layout | None:
    """How views were laid out in the fit, held to their widths."""
    names, widths, n_columns = (header[name] for name in ("view_names", "view_widths", "n_features_in"))
    if header["feature_names_in"] is not None and len(header["feature_names_in"]) != n_columns:
        raise Flaw("header.feature_names_in must have a name for each column")
    if "layout" not in header:
        _check_columns(n_columns == sum(widths))
        return None
    labels, columns = (unpacked(header["layout"][name], arrays) for name in ("labels", "columns"))
    if not isinstance(labels, tuple) or len(labels) != len(names):
        raise Flaw("header.layout.labels must have an entry for each view")
    for view, width in zip(labels, widths, strict=True):
        if view is not None and not (isinstance(view, tuple) and len(view) == width and all(map(_is_label, view))):
            raise Flaw("header.layout.labels must have a name for each column of a view")
    if columns is None:
        _check_columns(n_columns == sum(widths))
    else:
        _check_columns(isinstance(columns, dict) and list(columns) == list(names))
        _check_columns(all(map(_are_columns, columns.values(), widths, [n_columns] * len(names))))
    return Layout(labels, columns)


def _check_columns(agree: bool) -> None:
    if not agree:
        raise Flaw("header.layout.columns, header.view_widths and header.n_features_in do not agree")


def _is_label(label: Any) -> bool:
    if isinstance(label, tuple):
        return all(_is_label(part) for part in label)
    return isinstance(label, (str, int))


def _are_columns(positions: Any, width: int, n_columns: int) -> bool:
    plain = isinstance(positions, list) and all(type(position) is int for position in positions)
    return (
        plain
        and len(set(positions)) == len(positions) == width
        and 0 <= min(positions) <= max(positions) < n_columns
    )
