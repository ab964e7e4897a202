from __future__ import annotations

import numpy as np
import pytest
from report_helpers import blobs

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

collect_ignore = ["conftest.py"]  # two modules of one name cannot both be searched for examples


@pytest.fixture(scope="module")
def scored():
    X = blobs()
    return KernelPowerKMeans(3, feature_map="nystroem", membership="possibilistic", random_state=0).fit(X), X


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(1)
    X = blobs(n=300, k=3, p=6)
    views = {"left": X[:, :3].copy(), "right": X[:, 3:].copy(), "noise": rng.normal(size=(300, 4))}
    views["right"][::6] = np.nan
    return MultiViewPowerKMeans(3, random_state=0).fit(views), views
