"""Whatever is passed as a model, and the samples with it, as the estimator and the rows that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.inputs.tables import column_names, is_several, named_tables
from powerkmeans.preparing.prepared import PreparedModel, complete_rows, rows_of, scaling_words
from powerkmeans.report.original import holds_numbers, len_of
from powerkmeans.report.telling import Beside


@dataclass(frozen=True)
class Given:
    """What users tell about the samples and their columns, as they passed it; see ``write_report``.

    ``steps`` names what made the columns of the ones that were passed, where they are no longer the same columns.
    ``wording`` says what is said in words of Python in those that readers know. ``beside`` are columns that
    clusters are described by in place of those that they were looked for in.
    """

    ids: Any = None
    feature_names: Any = None
    original: Any = None
    scaling: Any = None
    steps: str = ""
    wording: Callable[[str], str] = str
    beside: tuple[Beside, ...] = ()


@dataclass(frozen=True)
class Opened:
    """A fitted estimator, the samples as it takes them, and what is told about them."""

    estimator: PowerKMeansBase
    X: Any
    given: Given


def open_model(model: Any, X: Any, given: Given) -> Opened:
    """An estimator as it is, or what prepares rows for one: then they go through that first."""
    if isinstance(model, Pipeline):
        return _through_steps(model, X, given)
    if isinstance(model, PreparedModel):
        return _prepared(model, X, given)
    if not isinstance(model, PowerKMeansBase):
        raise TypeError(
            f"write_report takes a fitted estimator of powerkmeans, got a {type(model).__name__}. A Pipeline that "
            "ends in one is taken too, and what powerkmeans.load gives."
        )
    check_is_fitted(model)
    return Opened(model, X, given)


def _through_steps(pipeline: Pipeline, X: Any, given: Given) -> Opened:
    last_name, last = pipeline.steps[-1]
    if not isinstance(last, PowerKMeansBase):
        raise TypeError(
            "write_report takes a Pipeline that ends in an estimator of powerkmeans; this one ends in "
            f"{last_name!r}, a {type(last).__name__}."
        )
    check_is_fitted(last)
    steps = [step for _, step in pipeline.steps[:-1] if step is not None and step != "passthrough"]
    given = replace(given, ids=index_of(X) if given.ids is None else given.ids)
    if not steps:
        return Opened(last, X, given)
    before, after = pipeline[:-1], ", ".join(type(step).__name__ for step in steps)
    rows, names = before.transform(X), _names_in(before, X)
    made = _names_out(before, names)
    if made == names and rows.shape == (len_of(X), len(names)) and holds_numbers(X):
        original = X if given.original is None else given.original
        return Opened(last, rows, replace(given, original=original, scaling=given.scaling or after))
    if given.original is not None:
        return Opened(last, rows, given)
    known = made if given.feature_names is None else given.feature_names
    return Opened(last, rows, replace(given, feature_names=known, steps=after))


def _prepared(model: PreparedModel, X: Any, given: Given) -> Opened:
    """A model with its preparation: rows with gaps that nothing fills are left out."""
    rows, original = model.prepare(X), model.in_units(X)
    kept = complete_rows(rows)
    ids = index_of(X) if given.ids is None else given.ids
    if ids is not None:
        ids = [one for one, whole in zip(ids, kept, strict=True) if whole]
    names, known = {view.name: list(view.columns) for view in model.views}, given.feature_names
    given = replace(
        given,
        ids=ids,
        feature_names=(names if model.several else next(iter(names.values()))) if known is None else known,
        original=given.original if original is None else rows_of(original, kept),
        scaling=given.scaling or scaling_words(model),
    )
    return Opened(model.estimator, rows_of(rows, kept), given)


def _names_in(before: Pipeline, X: Any) -> list[str]:
    """Names of the columns that were passed, or numbers; none of a list of texts."""
    names = column_names(X)
    if names is None:
        names = getattr(before, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(np.shape(X)[1] if np.ndim(X) > 1 else 0)]
    return [str(name) for name in names]


def _names_out(before: Pipeline, names: list[str]) -> list[str] | None:
    """Names of the columns that the steps make; None where a step does not tell."""
    try:
        return [str(name) for name in before.get_feature_names_out(names)]
    except (AttributeError, ValueError):
        return None


def index_of(X: Any) -> Any:
    """The index of a data frame, if it names the samples; None if it only counts them."""
    tables = [t for t in named_tables(X).values() if t is not None] if is_several(X) else [X]
    index = next((table.index for table in tables if hasattr(table, "iloc")), None)
    counts = index is None or (hasattr(index, "start") and (index.start, index.step) == (0, 1))
    return None if counts else index
