"""For engines of your own, such as Spark or Ray: a pass is ``block -> sums -> add -> update``.

Fit a model to a sample of the rows on one machine, which is where the annealing belongs. Then go over all of them:
every worker turns its blocks of rows into :func:`block_sums`, a few hundred kilobytes however many rows there are,
these are added with ``+`` in any order, and :func:`update` moves the centroids, until they stand still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from powerkmeans.inputs.tables import is_several
from powerkmeans.models.answers import model_statistics
from powerkmeans.models.model import Model
from powerkmeans.objective.updates import objective_value, shift_norms, updated
from powerkmeans.solver.mm import spread_within
from powerkmeans.types import PassStatistics

__all__ = ["block_sums", "update"]


def block_sums(model: Any, X: Any, sample_weight: Any = None, present: Any = None) -> PassStatistics:
    """What a block of rows adds to a k-means step of a fitted model, in its feature space.

    Parameters
    ----------
    model : KernelPowerKMeans or MultiViewPowerKMeans
        Fitted, to a sample of the rows for example; it can be pickled and sent to whoever has the rows.
    X, sample_weight, present
        Rows as ``predict`` takes them, their weights, and which of them each view has.

    Returns
    -------
    sums : PassStatistics
        Sums over the rows, which can be pickled, and added with ``+``: those of two blocks together are the sums
        of both.

    Examples
    --------
    >>> import numpy as np
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.protocol import block_sums, update
    >>> X = np.random.default_rng(0).normal(size=(5000, 4))
    >>> model = KernelPowerKMeans(3, feature_map="rff", random_state=0).fit(X[:1000])
    >>> for _ in range(100):
    ...     sums = block_sums(model, X[:2000]) + block_sums(model, X[2000:])
    ...     model, shift = update(model, sums)
    ...     if shift <= 1e-4:
    ...         break
    >>> model.predict(X).shape
    (5000,)

    """
    check_is_fitted(model)
    fitted = model._fit.model
    if fitted.problem.dual:
        raise ValueError("feature_map='exact' has no centroids but its training rows; use 'nystroem' or 'rff'.")
    if _is_empty(X) or (sample_weight is not None and not np.any(sample_weight)):
        return _nothing(fitted)
    views = model._check_new(X, present, sample_weight)
    return model_statistics(replace(fitted, s=-math.inf), views, model.engine, precise=False)


def _is_empty(X: Any) -> bool:
    """Whether a block has no rows, as partitions may."""
    tables = (list(X.values()) if isinstance(X, Mapping) else list(X)) if is_several(X) else [X]
    first = next((table for table in tables if table is not None), None)
    return first is not None and hasattr(first, "shape") and first.shape[0] == 0


def _nothing(fitted: Model) -> PassStatistics:
    """The sums of no rows."""
    (k, width), n_views = fitted.parameters.centers.shape, len(fitted.problem.scatter)
    per_view = [np.zeros((k, n_views)) for _ in range(3)]
    return PassStatistics(
        mass=per_view[0],
        moment=np.zeros((k, width)),
        scatter=per_view[1],
        residual=per_view[2],
        sizes=np.zeros(k),
        loss=np.zeros(()),
        hard_cost=np.zeros(()),
    )


def update(model: Any, sums: PassStatistics) -> tuple[Any, float]:
    """The model after a k-means step, and how far it went.

    Parameters
    ----------
    model : KernelPowerKMeans or MultiViewPowerKMeans
        What the sums were taken under.
    sums : PassStatistics
        Those of all rows.

    Returns
    -------
    model : KernelPowerKMeans or MultiViewPowerKMeans
        Another one, with centroids, weights of views, ``inertia_`` and ``objective_`` of all rows as they were
        before the step; ``labels_`` is empty.
    shift : float
        The largest squared step of a centroid over the mean squared distance to the nearest one: a fit takes
        ``tol`` and less for none.

    """
    check_is_fitted(model)
    result = model._fit
    problem, old = result.model.problem, result.model.parameters
    if not isinstance(sums, PassStatistics) or sums.moment.shape != old.centers.shape:
        raise ValueError("sums are not those of block_sums under this model.")
    if not float(np.sum(sums.sizes)) > 0:
        raise ValueError("sums are those of no rows.")
    new = updated(old, sums, problem)
    spread = spread_within(sums, new, problem)
    moved = float(np.max(shift_norms(old, new, problem)))
    stepped = copy(model)
    stepped._keep(
        replace(
            result,
            model=replace(result.model, parameters=new),
            labels=np.empty(0, dtype=np.int32),
            objective=objective_value(float(sums.loss), old, problem),
            inertia=float(sums.hard_cost),
            stream=None,
        )
    )
    return stepped, moved / spread if spread > 0 else 0.0
