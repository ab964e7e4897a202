"""A fit that fails, or is interrupted, leaves the estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
E = TypeVar("E")


def unchanged_on_failure(method: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """Give the estimator its attributes back if the method does not come to its end.

    Checks of scikit-learn set attributes on their way, so a half-way estimator would have the columns of one fit and
    the model of another.
    """

    @wraps(method)
    def guarded(estimator: E, *args: P.args, **kwargs: P.kwargs) -> E:
        before: dict[str, Any] = dict(vars(estimator))
        try:
            return method(estimator, *args, **kwargs)
        except BaseException:
            estimator.__dict__ = before  # at once: an interrupt finds all of it or nothing
            raise

    return guarded
