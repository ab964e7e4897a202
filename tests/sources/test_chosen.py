"""Rows of an array that are chosen as they are read."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from powerkmeans.sources import choose_rows, in_memory, is_source
from powerkmeans.sources import chosen as module

ARRAY = np.arange(60.0).reshape(20, 3)
NUMBERS = np.array([7, 3, 19, 0, 4])


def test_few_rows_and_rows_that_are_not_dense_are_copied(monkeypatch):
    assert np.array_equal(choose_rows(ARRAY, NUMBERS), ARRAY[NUMBERS])
    monkeypatch.setattr(module, "MANY_BYTES", 0)
    assert not is_source(choose_rows(sparse.csr_array(ARRAY), NUMBERS))


def test_many_rows_are_a_source_of_the_same_rows(monkeypatch):
    size = len(NUMBERS) * 3 * 8
    monkeypatch.setattr(module, "MANY_BYTES", size + 1)
    assert not is_source(choose_rows(ARRAY, NUMBERS))
    monkeypatch.setattr(module, "MANY_BYTES", size)
    rows = choose_rows(ARRAY, NUMBERS)
    assert is_source(rows)
    assert rows.held
    assert (rows.shape, rows.dtype) == ((5, 3), ARRAY.dtype)
    assert [len(block) for block in rows.blocks(2)] == [2, 2, 1]
    assert np.array_equal(np.concatenate(list(rows.blocks(2))), ARRAY[NUMBERS])
    assert np.array_equal(rows.take(np.array([1, 4])), ARRAY[NUMBERS[[1, 4]]])
    assert np.array_equal(in_memory(rows), ARRAY[NUMBERS])
    assert in_memory(ARRAY) is ARRAY
