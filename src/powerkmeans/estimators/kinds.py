"""Answers in the kind of array that was asked with: of its library, on its device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn import get_config

from powerkmeans.support.tensors import alike, foreign_in, is_foreign

M = TypeVar("M", bound=Callable[..., Any])


def answers_alike(method: M) -> M:
    """Give back what a method tells of samples as an array of the library and on the device of these."""

    @wraps(method)
    def answering(estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        array = foreign_in(X)
        if not method.__name__.startswith("fit"):
            _check_same_kind(estimator, array, method.__name__)
        found = method(estimator, X, *args, **kwargs)
        framed = method.__name__.endswith("transform") and estimator._wants_frames()
        return found if framed else alike(array)(found)

    return cast(M, answering)


def attributes_alike(method: M) -> M:
    """Where scikit-learn's dispatch is on, keep to its rule: fitted arrays are of the library that ``X`` is of."""

    @wraps(method)
    def fitting(estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        fitted = method(estimator, X, *args, **kwargs)
        array = foreign_in(X)
        if array is not None and get_config()["array_api_dispatch"]:
            public = [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
            for name in public:
                setattr(estimator, name, alike(array)(getattr(estimator, name)))
        return fitted

    return cast(M, fitting)


def _check_same_kind(estimator: Any, array: Any, method: str) -> None:
    """Reject samples of another library than the fit's, which is scikit-learn's rule where its dispatch is on."""
    fitted = getattr(estimator, "labels_", None)
    if not get_config()["array_api_dispatch"] or fitted is None:
        return
    kinds = [_kind(fitted), _kind(array)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and the same "
            f"device as those passed to fit(), with scikit-learn's array_api_dispatch: {kinds[1]} here, "
            f"{kinds[0]} there. Without it, sklearn.set_config(array_api_dispatch=False), a model answers arrays "
            "of any kind."
        )


def _kind(array: Any) -> str:
    """The library of an array and its device; NumPy's for tables of any other sort."""
    if not is_foreign(array):
        return np.__name__
    return f"{type(array).__module__.partition('.')[0]} on {getattr(array, 'device', None)}"
