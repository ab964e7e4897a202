"""Pipelines of scikit-learn as operations, so that they can be kept in a file without pickle.

Only what a fitted step does to rows is taken, and written as an operation of ours: files then do not hang on
scikit-learn's version. A step that is not known is an error that names it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from powerkmeans.estimators import KernelPowerKMeans
from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.preparing.cells import number_text
from powerkmeans.preparing.files import save_prepared
from powerkmeans.preparing.operations import (
    FUNCTIONS,
    Affine,
    Beside,
    Chain,
    Columns,
    Fill,
    FillByNeighbours,
    Function,
    Project,
    Take,
    UnitRows,
)
from powerkmeans.preparing.prepared import PreparedModel
from powerkmeans.preparing.views import PreparedView
from powerkmeans.preparing.words import ERROR, IGNORE, FillWords, Indicators, Ordinals
from powerkmeans.support.values import path as check_path
from powerkmeans.support.values import shown

_PASSED_ON = ("passthrough", None)
_ALONE = "Write the estimator alone with pipeline[-1].save(...), and keep the other steps as you keep your code."


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model to one file, with what is done to rows before they reach it.

    Parameters
    ----------
    model : estimator of powerkmeans, Pipeline that ends in one, or PreparedModel
        A fitted model. The steps of a :class:`sklearn.pipeline.Pipeline` may be scalers (``StandardScaler``,
        ``RobustScaler``, ``MinMaxScaler``, ``MaxAbsScaler``), ``Normalizer``, ``SimpleImputer``, ``KNNImputer``,
        ``OneHotEncoder``, ``OrdinalEncoder``, ``FunctionTransformer`` of a function of NumPy (``np.log1p``),
        ``PCA``, ``TruncatedSVD``, selectors of columns, ``ColumnTransformer`` and other pipelines of these.
    path : str or path
        The ``.npz`` file. It holds arrays and a JSON header, and no pickle.
    overwrite : bool, default=False
        Whether a file that exists may be replaced.

    Raises
    ------
    TypeError
        If the model is none of these, or has a step that cannot be written; the message names it.

    See Also
    --------
    powerkmeans.load : reads the file; of a pipeline it gives a :class:`powerkmeans.PreparedModel`, whose methods
        take the tables that the pipeline took.

    """
    path = check_path("path", path)
    if isinstance(model, (PowerKMeansBase, PreparedModel)):
        model.save(path, overwrite=overwrite)
        return
    save_prepared(prepared_pipeline(model), path, overwrite=overwrite)


def prepared_pipeline(pipeline: Any) -> PreparedModel:
    """A fitted pipeline that ends in one of our estimators, as such an estimator with its preparation."""
    if not isinstance(pipeline, Pipeline) or not isinstance(pipeline.steps[-1][1], PowerKMeansBase):
        raise TypeError(
            "model must be a fitted estimator of powerkmeans, or a Pipeline that ends in one. Got "
            f"{shown(pipeline)} instead."
        )
    estimator = pipeline.steps[-1][1]
    check_is_fitted(estimator)
    names, width = _columns_in(pipeline)
    columns = Columns(tuple(map(str, range(width) if names is None else names)))
    chain = (columns, *_steps(pipeline.steps[:-1]))
    view = PreparedView("X", _columns_out(pipeline), chain if names is None else _without_unused(chain))
    return PreparedModel(_of_arrays(estimator), (view,), named=names is not None)


def _without_unused(chain: Chain) -> Chain:
    """The same without the columns of the table that the first step leaves out."""
    columns, first = chain[0], chain[1] if len(chain) > 1 else None
    assert isinstance(columns, Columns)
    parts = [chain[0] for chain in first.chains] if isinstance(first, Beside) else [first]
    used = sorted({place for part in parts if isinstance(part, Take) for place in part.places})
    if not used or len(used) == len(columns.columns):
        return chain
    kept = Columns(tuple(columns.columns[place] for place in used), tuple(used), len(columns.columns))
    return (kept, _moved(first, {old: new for new, old in enumerate(used)}), *chain[2:])


def _moved(operation: Any, places: dict[int, int]) -> Any:
    """Columns taken from where they stand now."""
    if isinstance(operation, Beside):
        return Beside(tuple((_moved(take, places), *others) for take, *others in operation.chains))
    return Take(tuple(places[place] for place in operation.places))


def _of_arrays(estimator: Any) -> Any:
    """The estimator, which is to be asked about arrays, whatever its columns were called in the fit."""
    unnamed = copy.copy(estimator)
    if isinstance(estimator, KernelPowerKMeans):
        vars(unnamed).pop("feature_names_in_", None)
    return unnamed


def _columns_out(pipeline: Any) -> tuple[str, ...]:
    """What columns are called where they reach the estimator."""
    try:
        names = pipeline[:-1].get_feature_names_out()
    except (AttributeError, ValueError):  # a step that does not tell
        names = None
    if names is None:
        names = range(sum(pipeline[-1]._fit.model.view_widths))
    return tuple(map(str, names))


def _columns_in(pipeline: Any) -> tuple[Any, int]:
    """Names of the columns of the pipeline's tables, None for those without, and how many there are."""
    for name, step in pipeline.steps:
        if step in _PASSED_ON:
            continue
        if isinstance(step, Pipeline):
            names, width = _columns_in(step)
        elif not hasattr(step, "n_features_in_"):  # one that takes no table, such as a vectorizer of texts
            raise _unknown(name, type(step).__name__)
        else:
            names, width = getattr(step, "feature_names_in_", None), step.n_features_in_
        if width:
            return names, width
    return None, 0


def _steps(steps: Any) -> Chain:
    return tuple(operation for name, step in steps for operation in _operations(name, step))


def _operations(name: str, step: Any) -> Chain:
    """What a fitted step does to rows; that of a class derived from one that is known may be anything."""
    if step in _PASSED_ON:
        return ()
    if type(step) is Pipeline:
        return _steps(step.steps)
    kind = type(step).__name__
    if getattr(type(step), "transform", None) is SelectorMixin.transform:
        return (Take(tuple(int(place) for place in step.get_support(indices=True))),)
    if kind not in _TRANSLATIONS or not type(step).__module__.startswith("sklearn."):
        raise _unknown(name, kind)
    found = _TRANSLATIONS[kind](step)
    if found is None:
        raise TypeError(f"Step {name!r}, {shown(step)}, has settings that cannot be written to a file. {_ALONE}")
    return found


def _unknown(name: str, kind: str) -> TypeError:
    return TypeError(
        f"Step {name!r} is of the kind {kind}, which cannot be written to a file without pickle; those that "
        f"can are {', '.join(_TRANSLATIONS)}, selectors of columns and pipelines of these. {_ALONE}"
    )


def _beside(step: Any) -> Chain:
    columns = list(getattr(step, "feature_names_in_", range(step.n_features_in_)))
    chains = []
    for name, inner, chosen in step.transformers_:
        places = _places(chosen, columns)
        if (isinstance(inner, str) and inner == "drop") or not places:
            continue
        chains.append((Take(places), *_operations(name, inner), *_weighed(step, name)))
    return (Beside(tuple(chains)),)


def _weighed(step: Any, name: str) -> Chain:
    """What a part of a ColumnTransformer is multiplied by."""
    weight = (step.transformer_weights or {}).get(name)
    if weight is None:
        return ()
    if not weight:
        raise TypeError(f"Part {name!r} has a weight of 0, which cannot be written to a file: drop it instead.")
    columns = step.output_indices_[name]
    width = columns.stop - columns.start
    return (Affine(np.zeros(width), np.full(width, 1 / weight)),)


def _places(chosen: Any, columns: list[Any]) -> tuple[int, ...]:
    """Positions of the columns that a part of a ColumnTransformer takes."""
    if isinstance(chosen, slice):
        bounds = [columns.index(b) if isinstance(b, str) else b for b in (chosen.start, chosen.stop)]
        last = bounds[1] + 1 if isinstance(chosen.stop, str) else bounds[1]  # by name the last one is included
        return tuple(range(len(columns)))[slice(bounds[0], last, chosen.step)]
    if isinstance(chosen, (str, int)):
        chosen = [chosen]
    taken = list(chosen)
    if taken and all(isinstance(one, (bool, np.bool_)) for one in taken):
        return tuple(int(place) for place in np.flatnonzero(taken))
    return tuple(columns.index(one) if isinstance(one, str) else int(one) % len(columns) for one in taken)


def _floats(values: Any) -> Any:
    return np.asarray(values, dtype=np.float64)


def _affine(step: Any, centre: Any, scale: Any) -> Chain:
    width = step.n_features_in_
    return (
        Affine(
            np.zeros(width) if centre is None else _floats(centre),
            np.ones(width) if scale is None else _floats(scale),
        ),
    )


def _min_max(step: Any) -> Chain | None:
    # x * scale_ + min_
    return None if step.clip else _affine(step, -_floats(step.min_) / step.scale_, 1 / _floats(step.scale_))


def _simple_imputer(step: Any) -> Chain | None:
    values = np.asarray(step.statistics_)
    if step.add_indicator or not _is_nan(step.missing_values):
        return None
    if values.dtype.kind in "fiu":
        return (Fill(_floats(values)),) if np.all(np.isfinite(values)) else None
    return (FillWords(tuple(map(_level, values.tolist()))),)


def _knn_imputer(step: Any) -> Chain | None:
    plain = step.weights == "uniform" and step.metric == "nan_euclidean" and not step.add_indicator
    if not plain or not _is_nan(step.missing_values) or np.any(np.all(np.isnan(step._fit_X), axis=0)):
        return None
    donors = _floats(step._fit_X)
    return (FillByNeighbours(donors, np.ones(donors.shape[1]), step.n_neighbors),)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and np.isnan(value)


def _one_hot(step: Any) -> Chain | None:
    found = _levels(step)
    if step.drop is not None or found is None:
        return None
    return (Indicators(found, ERROR if step.handle_unknown == "error" else IGNORE),)


def _ordinal(step: Any) -> Chain | None:
    found = _levels(step)
    if found is None:
        return None
    if step.handle_unknown == "error":
        return (Ordinals(found, ERROR, missing=float(step.encoded_missing_value)),)
    return (Ordinals(found, IGNORE, float(step.unknown_value), float(step.encoded_missing_value)),)


def _levels(step: Any) -> tuple[tuple[str, ...], ...] | None:
    """The categories of an encoder as texts; None where some are put together, or cannot be told apart."""
    infrequent = step.min_frequency is not None or step.max_categories is not None
    found = tuple(tuple(_level(one) for one in levels) for levels in step.categories_)
    alike = any(len(set(levels)) < len(levels) for levels in found)  # with and without white space, None and NaN
    return None if infrequent or alike else found


def _level(category: Any) -> str:
    if category is None or category != category:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(category, (float, np.floating, int, np.integer)) and not isinstance(category, (bool, np.bool_)):
        return number_text(float(category))
    return str(category).strip()


def _function(step: Any) -> Chain | None:
    if step.func is None:
        return ()
    known = {id(getattr(np, one)): one for one in FUNCTIONS}
    plain = id(step.func) in known and not step.kw_args
    return (Function(known[id(step.func)]),) if plain else None


def _components(step: Any) -> Chain:
    directions = _floats(step.components_)
    if getattr(step, "whiten", False):
        scale = np.sqrt(_floats(step.explained_variance_))
        directions = directions / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]  # as scikit-learn does
    centre = getattr(step, "mean_", None)
    return (Project(np.zeros(directions.shape[1]) if centre is None else _floats(centre), directions),)


_TRANSLATIONS: dict[str, Callable[[Any], Chain | None]] = {
    "StandardScaler": lambda step: _affine(step, step.mean_ if step.with_mean else None, step.scale_),
    "RobustScaler": lambda step: _affine(step, step.center_, step.scale_),
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": lambda step: _affine(step, None, step.scale_),
    "Normalizer": lambda step: (UnitRows(step.norm),),
    "SimpleImputer": _simple_imputer,
    "KNNImputer": _knn_imputer,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "FunctionTransformer": _function,
    "PCA": _components,
    "TruncatedSVD": _components,
    "ColumnTransformer": _beside,
}
