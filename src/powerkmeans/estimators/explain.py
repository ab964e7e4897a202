"""What each view contributes to a fit."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from powerkmeans.compute.lazy import at_cluster
from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.models.explain import ViewTable, view_table


def explain_views(model: PowerKMeansBase, X: Any, *, sample_weight: Any = None, present: Any = None) -> ViewTable:
    """Tell what each view contributes to a fitted model, on the training data or on new samples.

    Parameters
    ----------
    model : fitted MultiViewPowerKMeans or KernelPowerKMeans
        The model.
    X : as in the model's ``fit``
        Samples.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0.
    present : as in :meth:`MultiViewPowerKMeans.fit`, optional
        Which samples have which views.

    Returns
    -------
    ViewTable
        A dict of columns with one entry per view; ``print`` shows it as text.

        - ``view``, ``n_features``: name and number of columns.
        - ``coverage``: share of the samples that have the view.
        - ``weight``: its learned weight.
        - ``distance_share``: its share of the squared distances between samples and their centroids.
        - ``explained``: how much of the view's own scatter the clusters explain, 1 - within / total.
        - ``agreement``: share of the samples that this view alone would put into their cluster.
        - ``silhouette``: mean of ``(b - a) / max(a, b)`` in this view alone, with ``a`` the distance to the own
          centroid and ``b`` to the nearest other; 0 means that the view does not tell clusters apart.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import MultiViewPowerKMeans, explain_views
    >>> shape, _ = make_blobs(200, centers=3, n_features=10, random_state=0)
    >>> X = {"shape": shape, "noise": np.random.default_rng(0).normal(size=(200, 10))}
    >>> table = explain_views(MultiViewPowerKMeans(3, random_state=0).fit(X), X)
    >>> (table["agreement"] > 0.9).tolist()
    [True, False]

    """
    if not isinstance(model, PowerKMeansBase):
        raise TypeError(f"model must be a fitted estimator of powerkmeans, got a {type(model).__name__}.")
    check_is_fitted(model)
    with at_cluster(model.engine):
        return view_table(model._fit.model, model._check_new(X, present, sample_weight), model.engine)
