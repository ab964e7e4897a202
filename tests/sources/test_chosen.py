"""Rows of an array that are chosen as they are read."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from powerkmeans import MultiViewPowerKMeans
from powerkmeans.sources import choose_rows, in_memory, is_source
from powerkmeans.sources import chosen as module
from powerkmeans.sources.joined import JoinedSource

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
    assert np.array_equal(rows[np.array([4, 1])], ARRAY[NUMBERS[[4, 1]]])
    assert np.array_equal(rows[:2], ARRAY[NUMBERS[:2]])
    assert np.array_equal(in_memory(rows), ARRAY[NUMBERS])
    assert in_memory(ARRAY) is ARRAY


@pytest.mark.parametrize("feature_map", ["auto", "graph", "nystroem", "rff", "identity"])
def test_fits_do_not_depend_on_what_is_copied(monkeypatch, feature_map):
    """The same bits: they are the same numbers, in the same order."""
    rng = np.random.default_rng(0)
    views = [3 * rng.normal(size=(3, width))[np.arange(90) % 3] + rng.normal(size=(90, width)) for width in (2, 4)]
    views[1][:20] = np.nan  # rows that lack a view
    views.append(np.arange(180.0).reshape(90, 2) % 4)  # fewer values than twice as many as clusters
    fits = []
    for least in (2**25, 0):
        monkeypatch.setattr(module, "MANY_BYTES", least)
        fits.append(MultiViewPowerKMeans(3, feature_map=feature_map, random_state=0).fit(views))
    assert np.array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_ == fits[1].objective_


@pytest.mark.parametrize("at_once", [2**24, 1])
def test_rows_of_views_in_memory_are_taken_in_any_order(monkeypatch, at_once):
    monkeypatch.setattr("powerkmeans.sources.joined.READ_BYTES", at_once)
    present = np.ones((20, 2), dtype=bool)
    present[3, 0] = present[7, 1] = False
    for parts in ((ARRAY, 2 * ARRAY[:, :2]), (choose_rows(ARRAY, np.arange(20)), sparse.csr_array(ARRAY))):
        joined = JoinedSource(parts, present)
        (block,) = joined.blocks(20)
        taken = joined.take(NUMBERS)
        assert joined.any_order
        assert np.array_equal(
            *(rows.toarray() if sparse.issparse(rows) else rows for rows in (taken, block[NUMBERS]))
        )
