from __future__ import annotations

import pytest
from plotting_helpers import VIEWS, X

from helpers import quick, quick_views
from powerkmeans import choose_k

collect_ignore = ["conftest.py"]  # two modules of one name cannot both be searched for examples


@pytest.fixture(autouse=True)
def no_open_figures():
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fuzzy():
    return quick(3, feature_map="nystroem", random_state=0).fit(X)


@pytest.fixture(scope="module")
def possibilistic():
    return quick(3, feature_map="nystroem", membership="possibilistic", random_state=0).fit(X)


@pytest.fixture(scope="module")
def several():
    return quick_views(3, random_state=0).fit(VIEWS)


@pytest.fixture(scope="module")
def choice():
    return choose_k(X, k_max=5, random_state=0)
