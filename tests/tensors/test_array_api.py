"""scikit-learn's checks of estimators that take other arrays: all that it has for what is installed."""

from __future__ import annotations

import os
from unittest import SkipTest

import numpy as np
import pytest
import sklearn
import torch
from sklearn.utils import estimator_checks

from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

pytestmark = pytest.mark.skipif(
    not os.environ.get("SCIPY_ARRAY_API"), reason="SCIPY_ARRAY_API is not set, as make test-torch does"
)
QUICK = {"anneal_factor": 2.0}
ESTIMATORS = [
    KernelPowerKMeans(4, feature_map="nystroem", **QUICK),
    MultiViewPowerKMeans(4, feature_map="rff", view_scaling=None, **QUICK),
]
X, _ = blobs(3, 4, 20, 0.5)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")
def test_all_checks(estimator):
    names = set()
    for check in estimator_checks._yield_array_api_checks(estimator):
        try:
            check(type(estimator).__name__, estimator)
        except SkipTest:  # a library or a device that is not here
            continue
        names.add(str(check.keywords.get("array_namespace")))
    assert {"numpy", "array_api_strict", "torch"} <= names


def test_values_agree():
    for estimator in ESTIMATORS:
        estimator_checks.check_array_api_input_and_values(
            type(estimator).__name__, sklearn.clone(estimator).set_params(advice=False), "array_api_strict"
        )


def test_dispatch_keeps_to_scikit_learns_rules_and_its_absence_to_ours():
    rows = torch.from_numpy(X)
    model = KernelPowerKMeans(3, feature_map="rff", random_state=0, advice=False, **QUICK)
    with sklearn.config_context(array_api_dispatch=True):
        model.fit(rows)
        assert type(model.labels_) is type(model.cluster_centers_) is torch.Tensor
        with pytest.raises(ValueError, match=r"KernelPowerKMeans.predict\(\) must use the same namespace"):
            model.predict(X)
    assert np.array_equal(model.predict(X), model.labels_.numpy())
    assert type(model.fit(rows).labels_) is np.ndarray
