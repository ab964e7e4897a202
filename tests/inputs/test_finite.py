"""Many numbers are known to be finite before scikit-learn looks at them; what is wrong is told as ever."""

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans
from powerkmeans.inputs import finite


@pytest.fixture
def looked_at(monkeypatch):
    """Whether scikit-learn was asked to look for what is not finite, each time."""
    asked, check = [], finite.validate_data
    monkeypatch.setattr(finite, "NUMBERS_AT_ONCE", 64)
    monkeypatch.setattr(
        finite, "validate_data", lambda *a, **k: asked.append(k["ensure_all_finite"]) or check(*a, **k)
    )
    return asked


def rows(kind=np.float64):
    return np.random.default_rng(0).standard_normal((60, 5)).astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_finite_numbers_are_looked_at_once(looked_at, kind):
    model = KernelPowerKMeans(2, random_state=0).fit(rows(kind))
    model.predict(rows(kind))
    assert looked_at == [False, False]


@pytest.mark.parametrize("table", [rows().tolist(), rows()[:, ::-1], np.asfortranarray(rows()), rows()[:9]])
def test_others_are_left_to_scikit_learn(looked_at, table):
    KernelPowerKMeans(2, random_state=0).fit(table)
    assert looked_at == [True]


def test_rows_that_are_cast_are_looked_at_as_they_become(looked_at):
    """What is finite in double precision may be none in single."""
    model = KernelPowerKMeans(2, random_state=0).fit(rows(np.float32))
    with pytest.raises(ValueError, match="infinity"), np.errstate(over="ignore", invalid="ignore"):
        model.predict(rows() * 1e300)
    assert looked_at == [False, True]


@pytest.mark.parametrize(("value", "message"), [(np.nan, "row 59 .column 4"), (np.inf, "contains infinity")])
def test_what_is_not_finite_is_told(looked_at, value, message):
    X = rows()
    X[-1, -1] = value
    with pytest.raises(ValueError, match=message):
        KernelPowerKMeans(2).fit(X)
    assert looked_at == [True]


def test_a_sum_beyond_the_range_is_no_infinity():
    X = np.full((3, 100), 1e308)
    assert not finite.all_finite(X)  # not for sure
    assert finite.all_finite(X / 1e3)
    assert not finite.all_finite(np.append(np.ones(10), [np.inf, -np.inf]))
