"""The pass as a protocol for engines of anyone's own."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from helpers import blobs, make_present, quick, quick_views
from powerkmeans.protocol import block_sums, update

FOLDER = Path(__file__).parents[2] / "examples/elsewhere"
ROWS = blobs(4, 5, size=300, spread=2.0, seed=4)[0]


def gone_over(model, blocks, most=200):
    for _ in range(most):
        sums = sum_of(
            pickle.loads(pickle.dumps(block_sums(pickle.loads(pickle.dumps(model)), *b))) for b in blocks
        )
        model, shift = update(model, sums)
        if shift == 0:
            break
    return model


def sent(value):
    return pickle.loads(pickle.dumps(value))


def sum_of(parts):
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def test_blocks_add_up_to_k_means():
    start = quick(4, feature_map="identity", random_state=0).fit(ROWS[::7])
    before = start.cluster_centers_.copy()
    found = gone_over(start, [(ROWS[i : i + 250],) for i in range(0, 1200, 250)])
    exact = KMeans(4, init=before, n_init=1, tol=0, max_iter=300).fit(ROWS)
    assert np.allclose(found.cluster_centers_, exact.cluster_centers_, rtol=0, atol=1e-9)
    assert np.isclose(found.inertia_, exact.inertia_, rtol=1e-9)
    assert np.array_equal(found.predict(ROWS), exact.predict(ROWS))
    assert np.array_equal(start.cluster_centers_, before)  # each step makes another model
    assert len(found.labels_) == 0


@pytest.mark.parametrize("feature_map", ["graph", "nystroem", "rff"])
def test_how_rows_are_cut_does_not_matter(feature_map):
    start = quick(4, feature_map=feature_map, random_state=0).fit(ROWS[::5])
    whole, cut = gone_over(start, [(ROWS,)], 6), gone_over(start, [(ROWS[:100],), (ROWS[100:],)], 6)
    assert np.allclose(whole.cluster_centers_, cut.cluster_centers_, rtol=0, atol=1e-12)
    assert whole.inertia_ <= block_sums(start, ROWS).hard_cost


def test_several_views_with_weights_and_missing_ones():
    rng = np.random.default_rng(0)
    views, present, weight = [ROWS[:, :2], ROWS[:, 2:]], make_present(1200, 2, rng), rng.integers(1, 4, 1200)
    start = quick_views(4, feature_map="rff", random_state=0).fit([v[:400] for v in views])
    sums = block_sums(start, views, weight, present)
    half = np.repeat(np.arange(1200), weight)
    repeated = block_sums(start, [v[half] for v in views], None, present[half])
    for name in ("mass", "moment", "scatter", "loss", "hard_cost"):
        assert np.allclose(getattr(sums, name), getattr(repeated, name), rtol=1e-10), name
    model, shift = update(start, sums)
    assert shift > 0
    assert model.view_weights_.shape == (2,)


def test_what_is_wrong_is_told():
    with pytest.raises(ValueError, match="not fitted"):
        block_sums(quick(4), ROWS)
    with pytest.raises(ValueError, match="exact"):
        block_sums(quick(4, feature_map="exact").fit(ROWS[:50]), ROWS)
    with pytest.raises(ValueError, match="features"):
        block_sums(quick(4).fit(ROWS), ROWS[:, 1:])


def test_blocks_of_nothing_add_nothing():
    model = quick_views(4, feature_map="rff", random_state=0).fit([ROWS[:, :2], ROWS[:, 2:]])
    views = [ROWS[:, :2], ROWS[:, 2:]]
    empty = block_sums(model, [v[:0] for v in views])
    weightless = block_sums(model, views, np.zeros(1200))
    whole = block_sums(model, views)
    for name in ("mass", "moment", "scatter", "residual", "sizes", "loss", "hard_cost"):
        total = getattr(sum([empty, whole, weightless]), name)
        assert np.array_equal(total, getattr(whole, name)), name
    with pytest.raises(ValueError, match="no rows"):
        update(model, empty)
    with pytest.raises(ValueError, match="not those of block_sums"):
        update(quick(3).fit(ROWS), whole)
    stepped, _ = update(model, whole)
    with pytest.raises(ValueError, match="no running sums"):
        stepped.partial_fit(views)


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_for_ray():
    ray = pytest.importorskip("ray")
    module = example("on_ray")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        model = module.main([module.rows_of.remote(number) for number in range(4)])
    finally:
        ray.shutdown()
    assert model.inertia_ > 0


def test_the_example_for_processes(tmp_path, monkeypatch):
    """Stands for the others where these are not installed: the same loop, by a pool of this interpreter."""
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", ROWS[400 * number : 400 * number + 400])
    module = example("processes")
    monkeypatch.setattr(module, "ProcessPoolExecutor", Sequential)
    model = module.main(tmp_path, n_clusters=4)
    sample = np.concatenate([ROWS[start : start + 400 : 20] for start in (0, 400, 800)])
    sampled = quick(4, feature_map="rff", anneal_factor=1.04, random_state=0).fit(sample)
    assert model.inertia_ <= float(block_sums(sampled, ROWS).hard_cost)
    assert all(len(path.read_text().splitlines()) <= 40 for path in FOLDER.glob("*.py"))


class Sequential:
    """A pool without processes: what an example defines has no module that another process could import."""

    def __init__(self, size):
        self.map = map

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None
