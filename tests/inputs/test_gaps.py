"""Missing cells and words in a single table: where they are, and the way out."""

from __future__ import annotations

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans

pandas = pytest.importorskip("pandas")
ROWS = np.arange(12.0).reshape(4, 3)
ROWS[2:, 1] = np.nan


@pytest.mark.parametrize(
    ("table", "where"),
    [
        (ROWS, "row 2 (column 1)"),
        (ROWS.tolist(), "row 2 (column 1)"),
        (np.ma.masked_invalid(ROWS), "row 2 (column 1)"),
        (pandas.DataFrame(ROWS, columns=list("abc")), "row 2 (column 'b')"),
        (pandas.DataFrame({"a": [1.0, 2, 3, 4], "b": pandas.array([1, 2, None, None])}), "row 2 (column 'b')"),
    ],
)
def test_missing_cells(table, where):
    with pytest.raises(ValueError, match="Input X contains NaN") as caught:
        KernelPowerKMeans(2).fit(table)
    assert f"2 of 4 rows have missing cells, the first is {where}. Fill them in a pipeline" in str(caught.value)


def test_words():
    frame = pandas.DataFrame({"a": [1.0, 2], "kind": ["x", "y"], "other": pandas.Categorical(["u", "v"])})
    with pytest.raises(ValueError, match=r"Columns of words: 'kind', 'other'\. Make numbers of categories with"):
        KernelPowerKMeans(2).fit(frame)
    with pytest.raises(ValueError, match=r"could not convert string to float.*OneHotEncoder"):
        KernelPowerKMeans(2).fit(np.array([["a", "b"], ["c", "d"]]))
