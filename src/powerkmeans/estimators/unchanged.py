"""A fit that fails, or is interrupted, leaves the estimator as it was; a cluster that was named does its work."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from powerkmeans.compute.lazy import at_cluster

M = TypeVar("M", bound=Callable[..., Any])


def unchanged_on_failure(method: M) -> M:
    """Give the estimator its attributes back if the method does not come to its end.

    scikit-learn's checks set attributes on their way: without this an estimator could have the columns of one fit
    and the model of another.
    """

    @wraps(method)
    def guarded(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            with at_cluster(estimator.engine):
                return method(estimator, *args, **kwargs)
        except BaseException:
            estimator.__dict__ = before  # at once: an interrupt finds all of it or nothing
            raise

    return cast(M, guarded)
