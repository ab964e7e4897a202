"""Scores of a clustering against known classes: accuracy, normalised mutual information, purity."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from powerkmeans.support.values import naming, word

__all__ = ["clustering_accuracy", "normalized_mutual_info", "purity"]


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples labelled right under the best one-to-one matching of clusters to classes (ACC).

    The matching is the optimal one (Hungarian method); numbers of clusters and classes may differ.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Labels of clusters.

    Returns
    -------
    float
        In [0, 1]; 1 is best.

    Examples
    --------
    >>> from powerkmeans.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 2])
    0.75

    """
    table = _contingency(y_true, y_pred)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def normalized_mutual_info(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    average_method: Literal["geometric", "arithmetic", "min", "max"] = "geometric",
) -> float:
    """Mutual information of clusters and classes over a mean of their entropies (NMI).

    The mean is geometric by default, the convention of the multi-view clustering literature;
    scikit-learn's default is arithmetic. Reports should say which one they use.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Labels of clusters.
    average_method : {"geometric", "arithmetic", "min", "max"}, default="geometric"
        The mean of the two entropies.

    Returns
    -------
    float
        In [0, 1]; 1 is best.

    Examples
    --------
    >>> from powerkmeans.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0]), 6)
    1.0

    """
    chosen = word("geometric", "arithmetic", "min", "max")("average_method", average_method)
    true, pred = _groups("y_true", y_true), _groups("y_pred", y_pred)
    _contingency(true, pred)
    return float(normalized_mutual_info_score(true, pred, average_method=chosen))


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that belong to the majority class of their cluster.

    Never below the accuracy, and 1 for one cluster per sample: read it together with the others.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Labels of clusters.

    Returns
    -------
    float
        In [0, 1]; 1 is best.

    Examples
    --------
    >>> from powerkmeans.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75

    """
    table = _contingency(y_true, y_pred)
    return float(table.max(axis=0).sum() / table.sum())


def _contingency(y_true: ArrayLike, y_pred: ArrayLike) -> Any:
    true, pred = _groups("y_true", y_true), _groups("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(f"y_true has {len(true)} labels and y_pred has {len(pred)}; they must be of one length.")
    return contingency_matrix(true, pred)


def _groups(name: str, labels: ArrayLike) -> NDArray[np.intp]:
    """Labels of any kind as numbers from 0 on."""
    with naming(name):
        given = np.asarray(labels)
        if given.ndim != 1 or len(given) == 0:
            raise ValueError(f"{name} must be a non-empty 1-D array of labels, got shape {given.shape}.")
        if given.dtype.kind in "fc" and not np.all(np.isfinite(given)):
            raise ValueError(f"{name} contains NaN or infinity; every sample needs a label.")
        return np.unique(given, return_inverse=True)[1]
