"""What pictures ask of an estimator, with messages that say what is missing."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from powerkmeans.estimators.base import PowerKMeansBase


def check_model(estimator: Any, display: str) -> None:
    """Reject what is not a fitted estimator of this package."""
    if not isinstance(estimator, PowerKMeansBase):
        raise TypeError(f"{display} takes an estimator of powerkmeans, got a {type(estimator).__name__}.")
    check_is_fitted(estimator)


def has_typicality(estimator: PowerKMeansBase) -> bool:
    """Whether samples can be untypical of all clusters."""
    return estimator._fit.model.scores_outliers
