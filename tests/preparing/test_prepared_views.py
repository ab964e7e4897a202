"""Preparations as they are found in rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from powerkmeans.preparing.cells import Cells
from powerkmeans.preparing.spelling import Kind
from powerkmeans.preparing.views import Treatment, prepare_view
from powerkmeans.preparing.words import Indicators


def prepared(values, **treatment):
    columns = tuple("abcdef"[: values.shape[1]])
    return prepare_view(
        "X", Cells(columns, values), dict.fromkeys(columns, Kind.NUMBER), Treatment(**treatment), absent=False
    )


def test_donors_do_not_go_by_the_order_of_rows():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (2300, 3)).astype(float)
    values[rng.random(values.shape) < 0.3] = np.nan  # beside which there are zeros
    values[:, 0] = rng.permutation(np.repeat(np.arange(23.0), 100))
    shuffled = rng.permutation(values)
    first, second = (prepared(rows, impute="knn").view.chain[2].donors for rows in (values, shuffled))
    assert np.array_equal(first, second, equal_nan=True)


@pytest.mark.filterwarnings("error")
def test_columns_without_any_number_are_filled_silently():
    values = np.column_stack([np.arange(9.0), np.full(9, np.nan)])
    for fill in ("median", "knn"):
        assert np.all(prepared(values, impute=fill).values[:, 1] == 0)


def test_sparse_rows_are_prepared_like_others():
    values = np.where(np.arange(60).reshape(20, 3) % 4 == 1, 0.0, np.arange(60.0).reshape(20, 3))
    values[3, 1] = np.nan
    for fill in ("median", "knn"):
        found = prepared(values, impute=fill)
        assert np.array_equal(found.view(Cells(("a", "b", "c"), csr_array(values))), found.values)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("large", [1e200, 1.7e308])
def test_numbers_without_squares_are_refused(large):
    with pytest.raises(ValueError, match="Column 'b' has numbers that are too large"):
        prepared(np.array([[1, large], [2, -large], [3, large]]))


def test_codes_and_truth_values_are_known_as_numbers_too():
    levels = ("01", "02", "A3")
    one = Indicators((levels,))
    texts = Cells(("a",), np.full((3, 1), np.nan), {0: np.array(["02", "1.0", ""], dtype=object)})
    assert np.array_equal(one(texts).numbers, [[0, 1, 0], [1, 0, 0], [np.nan] * 3], equal_nan=True)
    numbers = Cells(("a",), np.array([[2.0], [1], [7]]))
    assert np.array_equal(one(numbers).numbers, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert one.unknown(numbers) == {"a": ["7"]}
    assert np.array_equal(
        Indicators((("FALSE", "TRUE"),))(Cells(("a",), np.array([[1.0], [0]]))).numbers, [[0, 1], [1, 0]]
    )
