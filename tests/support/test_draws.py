"""How many rows a statistic is taken on."""

from __future__ import annotations

import pytest

from powerkmeans.features.bandwidth import median_rows
from powerkmeans.features.kernels import KERNELS
from powerkmeans.support.draws import STATISTIC_ROWS, affordable_rows
from powerkmeans.support.memory import ENTRIES, FEW_ENTRIES


def test_wide_rows_are_fewer_but_never_none():
    assert affordable_rows(1) == affordable_rows(ENTRIES // STATISTIC_ROWS) == STATISTIC_ROWS
    assert affordable_rows(ENTRIES // 500) == 500
    assert affordable_rows(10 * ENTRIES) == 100


@pytest.mark.parametrize(("n_columns", "laplacian"), [(3, 2000), (2100, FEW_ENTRIES // 2100), (10**6, 100)])
def test_a_median_takes_fewer_rows_only_where_distances_are_dear(n_columns, laplacian):
    assert median_rows(KERNELS["rbf"], n_columns) == STATISTIC_ROWS
    assert median_rows(KERNELS["laplacian"], n_columns) == laplacian
