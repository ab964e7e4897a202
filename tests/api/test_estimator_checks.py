"""scikit-learn's own checks: all of them, none expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

QUICK = {"anneal_factor": 2.0}  # for time alone
# Four clusters: where an estimator takes sparse rows and has predict_proba, scikit-learn's check asks for as
# many columns as its four classes.
ESTIMATORS = [
    KernelPowerKMeans(4, **QUICK),
    KernelPowerKMeans(4, feature_map="identity", membership="possibilistic", **QUICK),
    KernelPowerKMeans(4, feature_map="exact", **QUICK),
    MultiViewPowerKMeans(
        4, feature_map="rff", view_scaling=None, **QUICK
    ),  # by default it does what the first does
]


# a few checks use data on which a short or degenerate fit rightly warns
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# checks that do not apply to an estimator say so with this warning
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: {})
def test_scikit_learn_checks(estimator, check):
    check(estimator)
