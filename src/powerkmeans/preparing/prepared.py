"""A fitted estimator that takes tables as people have them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.inputs.tables import is_several
from powerkmeans.preparing.cells import Cells, cells_of, is_sparse
from powerkmeans.preparing.operations import Function, Totals
from powerkmeans.preparing.views import PreparedView
from powerkmeans.support.values import naming, shown
from powerkmeans.support.warn import warn_caller

NOWHERE = -1
# names of columns that a notebook shows for each view
_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class PreparedModel:
    """A fitted estimator with what was done to its columns, which is done to new rows before they are asked about.

    :func:`powerkmeans.load` gives one for files that the command wrote and for pipelines. Methods take the tables
    of the fit as they are, before any scaling, filling or encoding: a data frame, whose columns are found by their
    names and may be more, or an array with the columns in their order; for several views a dict of tables, or one
    data frame with the columns of all.

    Rows with missing cells that nothing fills cannot be answered for: they get the label -1, and NaN for anything
    else, with a warning that counts them.

    Attributes
    ----------
    estimator : KernelPowerKMeans or MultiViewPowerKMeans
        The fitted estimator, which takes prepared rows.
    columns : dict of lists
        The names of the columns that each view is made of.
    threshold : float or None
        Outlier score above which ``predict`` labels rows -1, as in the fit.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import powerkmeans
    >>> frame = load_wine(as_frame=True).data
    >>> pipeline = make_pipeline(StandardScaler(), powerkmeans.KernelPowerKMeans(3, random_state=0)).fit(frame)
    >>> path = os.path.join(tempfile.mkdtemp(), "wine.npz")
    >>> powerkmeans.save(pipeline, path)
    >>> model = powerkmeans.load(path)
    >>> bool((model.predict(frame) == pipeline[-1].labels_).all())
    True

    """

    estimator: Any
    views: tuple[PreparedView, ...]
    scale: str = "none"
    named: bool = False
    id_column: str | None = None
    threshold: float | None = None
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether the estimator takes one array for each view."""
        return len(self.views) > 1

    @property
    def columns(self) -> dict[str, list[str]]:
        return {view.name: list(view.given) for view in self.views}

    @property
    def labels_(self) -> NDArray[Any]:
        """Labels of the rows of the fit."""
        return np.asarray(self.estimator.labels_)

    @property
    def medoid_indices_(self) -> NDArray[Any]:
        """Rows of the fit that stand for the clusters."""
        return np.asarray(self.estimator.medoid_indices_)

    def __repr__(self) -> str:
        columns = sum(len(view.given) for view in self.views)
        return f"PreparedModel({self.estimator!r}, of {columns} columns)"

    def prepare(self, X: Any) -> Any:
        """The rows as the estimator takes them, one array or a dict of one for each view.

        Rows of NaN are those with missing cells that nothing fills.
        """
        return self._of_views(X, lambda view, cells: view(cells))

    def in_units(self, X: Any) -> Any:
        """The model's columns in the units of the tables, gaps included.

        None where a step makes columns that are no longer those of the tables, principal components for example.
        """
        found = self._of_views(X, lambda view, cells: view.in_units(cells))
        parts = found.values() if isinstance(found, dict) else [found]
        return None if any(part is None for part in parts) else found

    def _of_views(self, X: Any, function: Callable[[PreparedView, Cells], Any]) -> Any:
        """What a function says of each view, for one view as it is."""
        with naming("X"):
            tables = self._tables(X)
        found = {
            view.name: function(view, tables[view.name]) if view.name in tables else None for view in self.views
        }
        return found if self.several else found[self.views[0].name]

    def predict(self, X: Any, *, noise_threshold: float | None = None) -> NDArray[Any]:
        """The cluster of each row, -1 for outlier scores above ``noise_threshold``, by default that of the fit."""
        threshold = self.threshold if noise_threshold is None else noise_threshold
        options = {} if threshold is None else {"noise_threshold": threshold}
        return self._answered("predict", X, NOWHERE, options)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Memberships, a column per cluster; rows add up to one."""
        return self._answered("predict_proba", X)

    def transform(self, X: Any) -> NDArray[Any]:
        """Distances to the centroids in feature space."""
        return self._answered("transform", X)

    def typicality(self, X: Any) -> NDArray[Any]:
        """How typical each row is of its cluster, from 0 to 1."""
        return self._answered("typicality", X)

    def outlier_score(self, X: Any) -> NDArray[Any]:
        """One less the typicality: the larger, the farther from every cluster."""
        return self._answered("outlier_score", X)

    def medoid_indices(self, X: Any) -> NDArray[Any]:
        """For each cluster the row of ``X`` that stands for it, the nearest to its centroid; -1 where it has none.

        Rows with missing cells that nothing fills stand for no cluster.
        """
        rows, prepared = self._answerable(X, "they stand for no cluster")
        found = np.asarray(self.estimator.medoid_indices(prepared))
        return np.where(found < 0, NOWHERE, np.flatnonzero(rows)[found])

    def cluster_means(self, X: Any) -> Any:
        """Means of the rows of each cluster, (n_clusters, n_columns), for several views by their names.

        In the units of the tables, missing cells left out, with the share of each category. Where a step makes
        columns that are no longer those of the tables, principal components for example, means of these.
        """
        rows, prepared = self._answerable(X, "they count for no cluster")
        tables = self.in_units(X)
        if tables is None:
            return self.estimator.cluster_means(prepared)
        labels, k = np.asarray(self.estimator.predict(prepared)), self.estimator.n_clusters
        if not self.several:
            return _means(tables[rows], labels, k)
        return {name: _means(table[rows], labels, k) for name, table in tables.items()}

    def _repr_html_(self) -> str:
        """What it takes, and the estimator as notebooks show it."""
        columns = "".join(f"<div>{escape(_listed(name, some))}</div>" for name, some in self.columns.items())
        shown: str = self.estimator._repr_html_inner()
        return f'<div style="font-family:sans-serif;font-size:.85em">PreparedModel{columns}</div>{shown}'

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model with its preparation to one file; see :func:`powerkmeans.load`."""
        from powerkmeans.preparing.files import save_prepared  # noqa: PLC0415 - which imports this module

        save_prepared(self, path, overwrite=overwrite)

    def _tables(self, X: Any) -> dict[str, Cells]:
        """The cells that each view is made of."""
        tables = self._by_view(X) if is_several(X) else self._by_columns(cells_of(X), X)
        lengths = sorted({len(cells) for cells in tables.values()})
        if not lengths:
            raise ValueError(f"X has no table; the model has the views {', '.join(map(repr, self.columns))}.")
        if len(lengths) > 1:
            raise ValueError(
                f"X has tables of {lengths[0]} and of {lengths[-1]} rows; a row is the same sample in all. Data "
                "frames are aligned by frame.reindex(ids): a sample that lacks a view is a row of NaN in it."
            )
        return tables

    def _by_view(self, X: Any) -> dict[str, Cells]:
        """A dict of tables by view, or a list of them in the order of the views."""
        if not isinstance(X, Mapping) and len(X) != len(self.views):
            raise ValueError(f"X is a list of {len(X)} tables; the model has {len(self.views)} views.")
        given = X if isinstance(X, Mapping) else dict(zip(self.columns, X, strict=True))
        unknown = [name for name in given if name not in self.columns]
        if unknown:
            raise ValueError(f"X has the view {unknown[0]!r}; the model has {', '.join(map(repr, self.columns))}.")
        return {name: cells_of(table) for name, table in given.items() if table is not None}

    def _by_columns(self, cells: Cells, X: Any) -> dict[str, Cells]:
        """One table for all views; those that it has no column of are missing."""
        if not self.several:
            return dict.fromkeys(self.columns, cells)
        if not (cells.named and self.named):
            raise TypeError(f"The model has several views; pass a dict of tables by view. Got {shown(X)} instead.")
        found = [name for name, columns in self.columns.items() if not set(columns).isdisjoint(cells.columns)]
        return dict.fromkeys(found, cells)

    def _answered(self, method: str, X: Any, blank: Any = np.nan, options: dict[str, Any] | None = None) -> Any:
        """What the estimator says of the rows that can be answered for."""
        complete, rows = self._answerable(X, f"they get {'no label (-1)' if blank == NOWHERE else 'NaN'}")
        answer = getattr(self.estimator, method)(rows, **(options or {}))
        if np.all(complete):
            return answer
        some = np.asarray(answer)
        result = np.full((len(complete), *some.shape[1:]), blank, dtype=some.dtype)
        result[complete] = some
        return result

    def _answerable(self, X: Any, otherwise: str) -> tuple[NDArray[np.bool_], Any]:
        """Which rows can be answered for, and these as the estimator takes them; a warning counts the others."""
        prepared = self.prepare(X)
        complete = complete_rows(prepared)
        if np.all(complete):
            return complete, prepared
        warn_caller(
            f"{int(np.sum(~complete))} of {len(complete)} rows have missing cells that nothing fills, the first "
            f"is row {int(np.argmin(complete))}: {otherwise}.",
            UserWarning,
        )
        if not np.any(complete):
            raise ValueError("Every row has missing cells that nothing fills; there is nothing to answer for.")
        return complete, rows_of(prepared, complete)


def _means(values: Any, labels: NDArray[Any], n_clusters: int) -> NDArray[np.float64]:
    """Means of the rows of each cluster, of what is there; NaN where nothing is."""
    means = np.full((n_clusters, values.shape[1]), np.nan)
    values = values.toarray() if is_sparse(values) else np.asarray(values)
    for cluster in range(n_clusters):
        there = ~np.isnan(own := values[labels == cluster])
        count = np.sum(there, axis=0)
        total = np.sum(own, axis=0, where=there, dtype=np.float64)
        np.divide(total, count, out=means[cluster], where=count > 0)
    return means


def _listed(view: str, columns: list[str]) -> str:
    """A view and its first columns."""
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return f"{view}: {', '.join(columns[:_SHOWN])}{more}"


def rows_of(X: Any, rows: Any) -> Any:
    """Some rows of what an estimator takes."""
    if isinstance(X, dict):
        return {name: None if values is None else values[rows] for name, values in X.items()}
    return X[rows]


def scaling_words(model: PreparedModel) -> str:
    """What was done to numbers before the fit: totals and logarithms of counts, then the scale."""
    chain = [operation for view in model.views for operation in view.chain]
    done = [f"rows add up to {one.total:g}" for one in chain if isinstance(one, Totals)]
    done += ["logarithms" for one in chain if isinstance(one, Function) and one.counts]
    return ", ".join(dict.fromkeys(done if done and model.scale == "none" else [*done, model.scale]))


def complete_rows(X: Any) -> NDArray[np.bool_]:
    """Which rows can be answered for: those without gaps, of several views with each whole or not at all."""
    if not isinstance(X, dict):
        return ~np.any(np.isnan(X), axis=1) if isinstance(X, np.ndarray) else np.ones(X.shape[0], dtype=bool)
    gaps = [np.isnan(values) for values in X.values() if values is not None]
    partly = [np.any(gap, axis=1) & ~np.all(gap, axis=1) for gap in gaps]
    nowhere = np.all([np.all(gap, axis=1) for gap in gaps], axis=0)
    return ~np.any(partly, axis=0) & ~nowhere
