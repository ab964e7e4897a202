"""Tables of every make as cells."""

from __future__ import annotations

import datetime
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

from powerkmeans.preparing.cells import cells_of

pandas = pytest.importorskip("pandas")
WHEN = np.array(["2024-01-01T06:00", "NaT"], dtype="datetime64[us]")


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (WHEN.astype("datetime64[ns]"), ["2024-01-01 06:00:00", ""]),
        (WHEN, ["2024-01-01 06:00:00", ""]),
        (pandas.array(["a ", None], dtype="string"), ["a", ""]),
        (np.array(["a", pandas.NA], dtype=object), ["a", ""]),
        (np.array([Decimal("1.50"), Decimal("NaN")], dtype=object), ["1.50", ""]),
        (np.array([np.float32(2), None], dtype=object), ["2", ""]),
        (np.array([True, None], dtype=object), ["True", ""]),
    ],
    ids=["ns", "us", "string", "NA", "decimal", "float32", "truth"],
)
def test_columns_that_are_no_numbers(column, texts):
    assert cells_of(pandas.DataFrame({"a": column})).words[0].tolist() == texts


def test_tables_of_arrow_and_polars():
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    columns = {"a": [1, None], "b": ["x", None], "c": [True, None], "d": [datetime.date(2024, 1, 1), None]}
    for table in (arrow.table(columns), arrow.record_batch(columns), polars.DataFrame(columns)):
        cells = cells_of(table)
        assert np.array_equal(cells.numbers[:, [0, 2]], [[1, 1], [np.nan, np.nan]], equal_nan=True)
        assert cells.words[1].tolist() == ["x", ""]
        assert cells.words[3][0][:10] == "2024-01-01"
        assert sorted(cells.words) == [1, 3]
    assert cells_of(arrow.table({"a": arrow.array([0.5], arrow.float32())})).numbers.dtype == np.float32
    assert cells_of(arrow.table({"a": [[1], [2]]})).words[0].tolist() == ["[1]", "[2]"]


def test_what_has_a_shape_and_nothing_else_is_no_table():
    with pytest.raises(ValueError, match="Expected a table of rows and columns, got"):
        cells_of(SimpleNamespace(shape=(24, 3)))
