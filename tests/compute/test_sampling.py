from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from helpers import make_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute import blocks, sampling
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.sampling import multipliers, row_hashes, uniforms


def hashes(X):
    return row_hashes((X,), [multipliers(X.shape[1], "X", 7)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashes_depend_on_content_alone(dtype):
    X = np.random.default_rng(0).integers(-2, 3, size=(500, 4)).astype(dtype)
    h = hashes(X)
    order = np.random.default_rng(1).permutation(500)
    assert np.array_equal(hashes(X[order]), h[order])
    assert np.array_equal(hashes(sparse.csr_array(X)), h)
    assert np.array_equal(hashes(np.where(X == 0, -0.0, X).astype(dtype)), h)
    _, group = np.unique(X, axis=0, return_inverse=True)
    _, hashed_group = np.unique(h, return_inverse=True)
    assert len(set(zip(group.ravel(), hashed_group, strict=True))) == len(set(group.ravel())) == len(set(h))


def test_hashes_go_by_value_not_by_type():
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    assert np.array_equal(hashes(X), hashes(X.astype(np.float64)))
    assert np.array_equal(hashes(sparse.csr_array(X)), hashes(X.astype(np.float64)))


def test_equal_numbers_of_any_type_draw_the_same_landmarks():
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    single, double = (KernelPowerKMeans(3, random_state=0).fit(rows) for rows in (X, X.astype(np.float64)))
    first, second = (model._fit.model.maps[0].base for model in (single, double))
    assert np.array_equal(first.landmarks + first.origin, second.landmarks + second.origin)


def test_hashes_look_uniform():
    u = uniforms(hashes(np.arange(20_000, dtype=np.float64)[:, None]))
    counts, _ = np.histogram(u, bins=20, range=(0, 1))
    assert np.all(np.abs(counts - 1000) < 160)


def engine(X, weight=None):
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    return open_engine("auto", make_views([X], weight))


@pytest.mark.parametrize("size", [20, 1000])
def test_sample_does_not_depend_on_order_and_weights_equal_repetition(size):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(100, 3)), rng.integers(0, 4, 100)
    a = engine(X, weight).sample(size, 5)
    order = rng.permutation(int(weight.sum()))
    b = engine(np.repeat(X, weight, axis=0)[order]).sample(size, 5)
    assert np.array_equal(a.views[0], b.views[0])
    assert a.weight == pytest.approx(b.weight)
    assert len(a.weight) == min(size, np.count_nonzero(weight))
    assert len(engine(X).sample(size, 6).weight) == min(size, 100)


def test_sample_draws_by_weight_and_stands_for_the_whole():
    X = np.arange(2000.0)[:, None]
    weight = np.where(X[:, 0] < 1000, 1.0, 9.0)
    heavy, totals = [], []
    for seed in range(40):
        drawn = engine(X, weight).sample(200, seed)
        heavy.append(np.mean(drawn.views[0][:, 0] >= 1000))
        totals.append(drawn.weight.sum())
    assert np.mean(heavy) == pytest.approx(0.9, abs=0.02)
    assert np.mean(totals) == pytest.approx(weight.sum(), rel=0.03)


@pytest.fixture
def few_held(monkeypatch):
    monkeypatch.setattr(sampling, "HELD", 500)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8000)


def test_samples_of_more_rows_than_hashes_are_held_of_are_fair_in_any_order(few_held):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40_000, 2)).astype(np.float32)
    weight = np.where(np.arange(40_000) < 20_000, 1.0, 3.0)
    weight[7] = 60_000.0
    rows = np.concatenate([rows, np.repeat(rows[11:12], 20_000, axis=0)])
    weight = np.concatenate([weight, np.ones(20_000)])
    sample = engine(rows, weight).sample(1000, seed=3)
    assert len(sample.weight) == 1000
    assert sample.n_distinct == pytest.approx(40_000, rel=0.05)
    assert np.sum(sample.weight) == pytest.approx(np.sum(weight), rel=0.1)
    place = {row.tobytes(): index for index, row in enumerate(rows[:40_000])}
    found = np.array([place[row.tobytes()] for row in sample.views[0]])
    assert {7, 11} <= set(found.tolist())
    light = (found < 20_000) & (found != 7) & (found != 11)
    assert np.sum(sample.weight[light]) / 20_000 == pytest.approx(1, abs=0.25)
    rank = np.argsort(np.argsort(weight, kind="stable"))
    for order in (rng.permutation(len(rows)), np.arange(len(rows))[::-1], np.argsort(rank)):
        again = engine(rows[order], weight[order]).sample(1000, seed=3)
        assert np.array_equal(again.views[0], sample.views[0])
        assert again.weight == pytest.approx(sample.weight, rel=1e-12)


def test_what_is_let_go_of_a_heavy_row_is_counted_by_another_look(few_held):
    """A copy in each of the first blocks is nothing and is forgotten, before there are many in the last."""
    rows = np.arange(40_000.0)[:, None]
    for row in (20_001, 20_777, 20_888):  # some may have a hash that is held anyway
        parts = np.split(rows[:20_000], 20)
        early = [np.insert(part, 0, rows[row], axis=0) for part in parts]
        given = np.concatenate([*early, np.delete(rows[20_000:], row - 20_000, axis=0), np.full((800, 1), row)])
        drawn = engine(given).sample(100, seed=1)
        again = engine(given[::-1]).sample(100, seed=1)
        assert row in drawn.views[0]
        assert np.array_equal(again.views[0], drawn.views[0])
        assert again.weight == pytest.approx(drawn.weight, rel=1e-12)


def test_where_no_row_is_heavy_there_is_no_other_look(few_held, monkeypatch):
    monkeypatch.setattr(sampling, "Collector", None)
    drawn = engine(np.arange(40_000.0)[:, None]).sample(100, seed=1)
    assert drawn.n_distinct == pytest.approx(40_000, rel=4 / np.sqrt(500))
    assert np.sum(drawn.weight) == pytest.approx(40_000, rel=4 / np.sqrt(100))


def test_an_absent_row_is_not_a_row_of_zeros():
    views = make_views(
        [np.zeros((4, 2)), np.arange(4.0)[:, None] // 2], present=np.array([[1, 1], [0, 1]] * 2) > 0
    )
    sample = open_engine("auto", views).sample(10, 0)
    assert len(sample.weight) == 4
    assert sorted(map(tuple, sample.present.tolist())) == [(False, True)] * 2 + [(True, True)] * 2


def test_hashes_do_not_depend_on_the_order_of_views():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    columns = [multipliers(3, "a", 7), multipliers(2, "b", 7)]
    assert np.array_equal(row_hashes((a, b), columns), row_hashes((b, a), columns[::-1]))


@pytest.mark.parametrize("distinct", [3000, 400, 130])
def test_the_smallest_hashes_are_those_that_are_first_in_order(distinct):
    """However many are equal: 3,000 hashes that are others, each about 8 times, and each about 23 times."""
    rng = np.random.default_rng(distinct)
    names = rng.integers(2**64, size=distinct, dtype=np.uint64)
    hashes = names if distinct == 3000 else rng.choice(names, 3000)
    weight, smallest = rng.uniform(size=3000), sampling.Smallest(100)
    for start in range(0, 3000, 70):
        part = slice(start, start + 70)
        smallest.add(sampling.Held(hashes[part], np.arange(3000)[part], weight[part]))
    found = smallest.held()
    values, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    assert np.array_equal(found.hashes, values[:100])
    assert np.array_equal(found.rows, first[:100])
    assert found.weight == pytest.approx(np.bincount(group, weights=weight)[:100], rel=1e-12)
    assert smallest.largest == values[99]
