"""What a fitted model says about samples: rows to write, and what sums them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.outputs import Columns, id_column
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.samples import Samples
from powerkmeans.estimators.explain import explain_views
from powerkmeans.preparing.prepared import PreparedModel, rows_of

ROWS_AT_ONCE = 2**15
NOISE = -1
# columns that are written beside the ids
ANSWERS = ("cluster", "typicality", "outlier_score")
_WORST = 5


def blocks_of(n_samples: int) -> list[slice]:
    """All rows, some at a time: nothing of the size samples x clusters is ever held."""
    return [slice(start, min(start + ROWS_AT_ONCE, n_samples)) for start in range(0, n_samples, ROWS_AT_ONCE)]


def row_names(samples: Samples, rows: slice) -> Columns:
    """The ids of some of the rows that were read, or their numbers."""
    ids = samples.ids if samples.kept is None else samples.everyone
    if ids is None:
        return {"row": np.arange(rows.start, rows.stop)}
    taken = ids.column in ANSWERS or ids.column.startswith("membership_")
    return {"id" if taken else ids.column: id_column(ids.values[rows], ids.integers)}


def answered(samples: Samples, answer: Callable[[slice], Columns], bar: Bar) -> Iterator[Columns]:
    """What is said of every row that was read, some at a time; nothing of those that are no samples."""
    kept = samples.kept
    empty = {} if kept is None else answer(slice(0, 1))
    for rows in blocks_of(samples.n_rows):
        if kept is None:
            block = answer(rows)
        else:
            inside = slice(*np.searchsorted(kept, (rows.start, rows.stop)).tolist())
            found = (
                answer(inside) if inside.stop > inside.start else {name: one[:0] for name, one in empty.items()}
            )
            places = kept[inside] - rows.start
            block = {name: _with_blanks(one, places, rows.stop - rows.start) for name, one in found.items()}
        yield row_names(samples, rows) | block
        bar.update(rows.stop / samples.n_rows, f"{rows.stop:,} of {samples.n_rows:,} rows")


def _with_blanks(values: NDArray[Any], places: NDArray[np.intp], n_rows: int) -> NDArray[Any]:
    spread, blank = np.zeros(n_rows, dtype=values.dtype), np.ones(n_rows, dtype=bool)
    spread[places], blank[places] = values, False
    return np.ma.MaskedArray(spread, blank)


def label_blocks(
    model: PreparedModel, X: Any, samples: Samples, bar: Bar, labels: NDArray[Any] | None = None
) -> Iterator[Columns]:
    """Cluster, typicality and outlier score of each row; -1 for scores above the threshold."""
    return answered(samples, lambda rows: labelled(model, X, rows, labels), bar)


def labelled(model: PreparedModel, X: Any, rows: slice, labels: NDArray[Any] | None = None) -> Columns:
    """Labels of some samples, and their scores where the model has any."""
    part = rows_of(X, rows)
    found = model.estimator.predict(part) if labels is None else labels[rows]
    if not model.estimator._fit.model.scores_outliers:
        return {"cluster": found}
    scores = model.estimator.outlier_score(part)
    return {
        "cluster": without_noise(found, scores, model.threshold),
        "typicality": 1 - scores,
        "outlier_score": scores,
    }


def membership_blocks(model: PreparedModel, X: Any, samples: Samples, bar: Bar) -> Iterator[Columns]:
    """Each row's membership of each cluster."""
    return answered(samples, lambda rows: memberships(model.estimator, rows_of(X, rows)), bar)


def memberships(estimator: Any, X: Any) -> Columns:
    """A column per cluster; rows add up to one."""
    degrees = estimator.predict_proba(X)
    return {f"membership_{cluster}": degrees[:, cluster] for cluster in range(degrees.shape[1])}


def without_noise(labels: NDArray[Any], scores: NDArray[Any], threshold: float | None) -> NDArray[Any]:
    """Labels, -1 where the score is above the threshold."""
    return labels if threshold is None else np.where(scores > threshold, NOISE, labels)


def all_scores(estimator: Any, X: Any, n_samples: int) -> NDArray[Any]:
    """The outlier score of every sample; zeros for a model without scores."""
    if not estimator._fit.model.scores_outliers:
        return np.zeros(n_samples)
    return np.concatenate([estimator.outlier_score(rows_of(X, rows)) for rows in blocks_of(n_samples)])


def share_threshold(scores: NDArray[Any], share: float) -> float | None:
    """The score above which that share of the samples is; None for a share of 0."""
    return float(np.quantile(scores, 1 - share)) if share > 0 else None


def highest(samples: Samples, scores: NDArray[Any]) -> list[dict[str, Any]]:
    """The samples with the highest scores, by their ids or rows."""
    order = np.argsort(-scores, kind="stable")[:_WORST]
    return [{"sample": samples.name_of(int(row)), "score": float(scores[row])} for row in order]


def cluster_profiles(X: Any, labels: NDArray[Any], n_clusters: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The mean of each cluster in each column, a view, in scaled units; NaN where a cluster lacks the view."""
    views = X if isinstance(X, dict) else {names[0]: X}
    profiles: dict[str, Any] = {}
    for name, values in views.items():
        present = ~np.all(np.isnan(values), axis=1)
        counts = np.bincount(labels[present], minlength=n_clusters)
        sums = np.zeros((n_clusters, values.shape[1]))
        for rows in blocks_of(len(values)):
            part, whose = values[rows][present[rows]], labels[rows][present[rows]]
            for cluster in np.unique(whose):
                sums[cluster] += np.sum(part[whose == cluster], axis=0, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            profiles[name] = (sums / counts[:, None]).astype(np.float32)
    return profiles


def view_table(estimator: Any, X: Any, names: tuple[str, ...], weight: Any = None) -> dict[str, Any]:
    """What each view contributes, as lists."""
    table = dict(explain_views(estimator, X, sample_weight=weight))
    table["view"] = np.array(names, dtype=object)
    return {name: column.tolist() for name, column in table.items()}
