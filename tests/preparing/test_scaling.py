"""Centres and scales of columns, by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from powerkmeans.preparing.cells import Cells
from powerkmeans.preparing.operations import Affine
from powerkmeans.preparing.scaling import find_scaling


def scaled(values, scaling):
    columns = tuple(map(str, range(values.shape[1])))
    return Affine(scaling.centre, scaling.scale)(Cells(columns, values)).numbers


@pytest.mark.parametrize("kind", ["standard", "robust"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_does_not_see_rows_that_are_missing(kind, dtype):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(200, 3)) * [1, 50, 1e-3] + [1e3, 0, -1]).astype(dtype)
    holes = np.vstack([values, np.full((30, 3), np.nan, dtype=dtype)])
    with_holes, without = find_scaling(holes, kind), find_scaling(values, kind)
    assert np.allclose(with_holes.centre, without.centre)
    result = scaled(holes, with_holes)
    assert result.dtype == dtype
    assert np.allclose(np.nanstd(result.astype(float), axis=0), 1, atol=0.2)
    assert np.allclose(np.nanmedian(result.astype(float), axis=0), 0, atol=0.2)
    assert np.all(np.isnan(result[200:]))


def test_constant_and_mostly_constant_columns_are_not_blown_up():
    values = np.zeros((100, 3))
    values[:, 0] = 0.1 + 0.2
    values[:3, 1] = 1000
    values[:, 2] = np.arange(100)
    found = find_scaling(values, "robust")
    assert found.constant.tolist() == [True, False, False]
    assert np.max(np.abs(scaled(values, found))) < 7  # not 1000: where quartiles say nothing, the deviation does


def test_categories_weigh_as_one_number():
    rng = np.random.default_rng(0)
    which = rng.choice(3, 500, p=[0.7, 0.2, 0.1])
    values = np.column_stack([rng.normal(size=500) * 40, which == 0, which == 1, which == 2]).astype(float)
    moved = scaled(values, find_scaling(values, "standard", [slice(1, 4)]))
    assert np.var(moved[:, 0]) == pytest.approx(1)
    assert np.sum(np.var(moved[:, 1:], axis=0)) == pytest.approx(1)
    alone = scaled(values, find_scaling(values, "standard"))
    assert np.sum(np.var(alone[:, 1:], axis=0)) == pytest.approx(3)  # as three numbers, without being told
