"""What a fitted model says about samples: rows to write, and what sums them up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.bundle import Bundle, rows_of
from powerkmeans.cli.outputs import Columns, id_column
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.samples import Samples
from powerkmeans.estimators.explain import explain_views

ROWS_AT_ONCE = 2**15
NOISE = -1
# columns that are written beside the ids
ANSWERS = ("cluster", "typicality", "outlier_score")
_WORST = 5


def blocks_of(n_samples: int) -> list[slice]:
    """All rows, some at a time: nothing of the size samples x clusters is ever held."""
    return [slice(start, min(start + ROWS_AT_ONCE, n_samples)) for start in range(0, n_samples, ROWS_AT_ONCE)]


def row_names(samples: Samples, rows: slice) -> Columns:
    """The ids of some rows, or their numbers."""
    if samples.ids is None:
        return {"row": np.arange(rows.start, rows.stop)}
    name = samples.ids.column
    taken = name in ANSWERS or name.startswith("membership_")
    return {"id" if taken else name: id_column(samples.ids.values[rows], samples.ids.integers)}


def label_blocks(
    bundle: Bundle, X: Any, samples: Samples, bar: Bar, labels: NDArray[Any] | None = None
) -> Iterator[Columns]:
    """Cluster, typicality and outlier score of each sample; -1 for scores above the threshold.

    Of a membership without scores the cluster alone.
    """
    for rows in blocks_of(samples.n_samples):
        part = rows_of(X, rows)
        found = bundle.estimator.predict(part) if labels is None else labels[rows]
        block: Columns = {"cluster": found}
        if bundle.estimator._fit.model.scores_outliers:
            scores = bundle.estimator.outlier_score(part)
            block["cluster"] = without_noise(found, scores, bundle.threshold)
            block |= {"typicality": 1 - scores, "outlier_score": scores}
        yield row_names(samples, rows) | block
        bar.update(rows.stop / samples.n_samples, f"{rows.stop:,} of {samples.n_samples:,} rows")


def membership_blocks(bundle: Bundle, X: Any, samples: Samples, bar: Bar) -> Iterator[Columns]:
    """Each sample's membership of each cluster."""
    for rows in blocks_of(samples.n_samples):
        yield row_names(samples, rows) | memberships(bundle.estimator, rows_of(X, rows))
        bar.update(rows.stop / samples.n_samples, f"{rows.stop:,} of {samples.n_samples:,} rows")


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
    names = [int(row) if samples.ids is None else samples.ids.values[row] for row in order]
    return [{"sample": name, "score": float(scores[row])} for name, row in zip(names, order, strict=True)]


def cluster_profiles(X: Any, labels: NDArray[Any], n_clusters: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The mean of each cluster in each column, a view, in scaled units; NaN where a cluster lacks the view."""
    views = X if isinstance(X, dict) else {names[0]: X}
    profiles: dict[str, Any] = {}
    for name, values in views.items():
        present = ~np.isnan(values[:, 0])
        counts = np.bincount(labels[present], minlength=n_clusters)
        sums = np.zeros((n_clusters, values.shape[1]))
        for rows in blocks_of(len(values)):
            part, whose = values[rows][present[rows]], labels[rows][present[rows]]
            for cluster in np.unique(whose):
                sums[cluster] += np.sum(part[whose == cluster], axis=0, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            profiles[name] = (sums / counts[:, None]).astype(np.float32)
    return profiles


def view_table(estimator: Any, X: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What each view contributes, as lists."""
    table = dict(explain_views(estimator, X))
    table["view"] = np.array(names, dtype=object)
    return {name: column.tolist() for name, column in table.items()}
