"""Rows of unit length: the same bits however they are stored and cut, and a source that scales what it reads."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize
from source_helpers import KINDS, NAMES, PATHS, X, npy, parquet

from powerkmeans.sources import Source, SourceChangedError, open_source, unit, unit_rows, unit_table

ROWS = X * (np.abs(X) > 0.3) * np.exp(np.linspace(-30, 30, len(X)))[:, None]
ROWS[[4, 50]] = 0


def lengths(rows):
    return np.sqrt(np.sum(np.square(rows, dtype=np.float64), axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_have_unit_length_and_their_directions(dtype):
    rows = ROWS.astype(dtype)
    found = unit_rows(rows)
    assert found.dtype == dtype
    assert found == pytest.approx(normalize(ROWS), abs=4 * float(np.finfo(dtype).eps))
    assert np.flatnonzero(lengths(found) == 0).tolist() == [4, 50]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", ["max", "tiny", "smallest_subnormal"])
def test_no_square_leaves_the_range_of_its_type(dtype, size):
    row = getattr(np.finfo(dtype), size) * np.array(
        [[1, 0, -1, 0.5 if size != "smallest_subnormal" else 0]], dtype
    )
    with np.errstate(all="raise"):
        found = unit_rows(row.astype(dtype))
    assert lengths(found) == pytest.approx(1, rel=4 * float(np.finfo(dtype).eps))
    assert np.array_equal(found, -unit_rows(-row.astype(dtype)))


def test_exact_multiples_are_equal_to_the_last_bit():
    counts = np.random.default_rng(0).poisson(3, (40, 30)).astype(float)
    for factor in (2.0, 3.0, 7.0, 2.0**-40, 1e15):
        assert np.array_equal(unit_rows(factor * counts), unit_rows(counts))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neither_storage_nor_blocks_change_a_bit(monkeypatch, dtype):
    rows = ROWS.astype(dtype)
    expected = unit_rows(rows)
    assert np.array_equal(unit_rows(np.asfortranarray(rows)), expected)
    assert np.array_equal(unit_rows(np.hstack([rows, np.zeros((len(rows), 90), dtype)]))[:, :5], expected)
    for numbers in (1, 7, 2**20):
        monkeypatch.setattr(unit, "NUMBERS_AT_ONCE", numbers)
        assert np.array_equal(unit_rows(rows), expected)
        for kind in (sparse.csr_matrix, sparse.csr_array):
            found = unit_rows(kind(rows))
            assert type(found) is kind
            assert found.dtype == dtype
            assert np.array_equal(found.toarray(), expected)


def test_only_the_numbers_of_sparse_rows_are_copied():
    rows = sparse.csr_array(ROWS)
    before, found = rows.copy(), unit_rows(rows)
    assert np.array_equal(rows.toarray(), before.toarray())
    assert np.shares_memory(found.indices, rows.indices)
    assert np.shares_memory(found.indptr, rows.indptr)
    assert found.has_canonical_format
    # room that a matrix has beyond what it stores is not looked at
    roomy = rows.copy()
    roomy.data, roomy.indices = np.append(rows.data, np.nan), np.append(rows.indices, 0)
    assert np.array_equal(unit_rows(roomy).toarray(), found.toarray())
    assert len(unit_rows(roomy).data) == rows.nnz
    assert unit_rows(sparse.csr_array((3, 4))).nnz == 0


def test_odd_rows_spoil_no_others_and_warn_of_nothing():
    odd = ROWS.copy()
    odd[3], odd[7, 2], odd[9, 1] = np.nan, np.inf, -np.inf
    kept = np.delete(np.arange(len(odd)), [3, 7, 9])
    for rows in (odd, sparse.csr_array(odd)):
        found = unit_rows(rows)[kept]
        assert np.array_equal(found.toarray() if sparse.issparse(found) else found, unit_rows(ROWS)[kept])


# --- as they are read


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_scales_what_it_reads(tmp_path, kind):
    plain = open_source(KINDS[kind](tmp_path, ROWS))
    source, expected = unit_table(plain), unit_rows(ROWS)
    assert isinstance(source, Source)
    for name in ("name", "shape", "dtype", "column_names", "paths"):
        assert getattr(source, name) == getattr(plain, name)
    for n_rows in (7, 200):
        blocks = list(source.blocks(n_rows))
        assert all(block.flags.c_contiguous and block.flags.writeable for block in blocks)
        assert np.array_equal(np.concatenate(blocks), expected)
    assert np.array_equal(source.take(np.array([0, 4, 99])), expected[[0, 4, 99]])
    shares = []
    assert np.array_equal(source.read(shares.append), expected)
    assert shares[-1] == 1
    assert np.array_equal(np.concatenate(list(plain.blocks(50))), ROWS)  # which nobody wrote to


@pytest.mark.parametrize("kind", PATHS)
def test_such_a_source_is_pickled_and_its_columns_chosen(tmp_path, kind):
    source = unit_table(open_source(KINDS[kind](tmp_path, ROWS)))
    again = pickle.loads(pickle.dumps(source))
    assert type(again) is type(source)
    assert np.array_equal(np.concatenate(list(again.blocks(40))), unit_rows(ROWS))
    chosen = source.choose([3, 1])
    assert np.array_equal(chosen.take(np.arange(20)), unit_rows(ROWS[:20, [3, 1]]))


def test_what_is_wrong_with_a_file_is_told_of_the_file(tmp_path):
    odd = ROWS.copy()
    odd[8, 2] = np.nan
    source, present = unit_table(open_source(parquet(tmp_path, odd))), np.arange(len(odd)) != 8
    for ask in (lambda: list(source.blocks(20)), lambda: source.take(np.arange(30))):
        with pytest.raises(ValueError, match=f"NaN in row 8, column '{NAMES[2]}'"):
            ask()
    kept = np.flatnonzero(present)
    assert np.array_equal(np.concatenate(list(source.blocks(20, present)))[kept], unit_rows(ROWS)[kept])
    assert np.array_equal(source.take(kept, present[kept]), unit_rows(ROWS)[kept])
    path = npy(tmp_path, ROWS)
    source = unit_table(open_source(path))
    np.save(path, ROWS[:50])
    for ask in (lambda: source.blocks(20), lambda: source.take(np.arange(3)), source.read, source.check_unchanged):
        with pytest.raises(SourceChangedError, match="changed while it was being read"):
            ask()


def test_a_memory_map_is_not_read_at_once(tmp_path):
    for rows in (np.load(npy(tmp_path, ROWS), mmap_mode="r"), np.asarray(np.load(npy(tmp_path, ROWS), "r"))[2:]):
        source = unit_table(rows)
        assert isinstance(source, Source)
        assert np.array_equal(source.read(), unit_rows(np.array(rows)))
    assert isinstance(unit_table(ROWS), np.ndarray)
