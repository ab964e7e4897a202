"""Arrays of other libraries where nobody has PyTorch: those in memory work, and what needs it is named."""

from __future__ import annotations

import sys

import array_api_strict
import numpy as np
import pytest

from helpers import blobs, quick
from powerkmeans.engines import TorchOptions

X, _ = blobs(3, 4, 20, 0.5)


@pytest.fixture(autouse=True)
def nobody_has_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


def test_arrays_in_memory_come_and_go():
    expected = quick(3, feature_map="identity", random_state=0).fit(X)
    model = quick(3, feature_map="identity", random_state=0)
    labels = model.fit_predict(array_api_strict.asarray(X))
    assert type(labels) is type(array_api_strict.asarray(0))
    assert np.array_equal(np.from_dlpack(labels), expected.labels_)
    assert type(model.labels_) is np.ndarray


class OnCard:
    """As an array of CuPy is: it is no use here."""

    shape = (60, 4)

    def __dlpack__(self, **asked):
        raise AssertionError

    def __dlpack_device__(self):
        return 2, 0


@pytest.mark.parametrize(("engine", "rows"), [(TorchOptions(), X), ("auto", OnCard())])
def test_what_needs_it_says_how_to_install_it(engine, rows):
    with pytest.raises(ImportError, match=r"torch is needed for tensors.*Install it: .*install"):
        quick(3, engine=engine).fit(rows)
