"""What several tests need: a solver's pass over plain arrays, small data sets, and how far rounding reaches."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import run_pass
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Problem, Views

# estimators for what does not depend on how fine the steps of the annealing are, which take most of the time
quick = functools.partial(KernelPowerKMeans, anneal_factor=1.4)
quick_views = functools.partial(MultiViewPowerKMeans, anneal_factor=1.4)


def make_views(arrays, weight=None, present=None):
    """Views as they come out of the checks."""
    arrays = tuple(np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arrays)
    weight = np.ones(arrays[0].shape[0], dtype=arrays[0].dtype) if weight is None else np.asarray(weight)
    return Views(tuple(f"view_{i}" for i in range(len(arrays))), arrays, weight, present)


def make_engine(views, weight=None, options=None, keep=True, present=None):
    """An engine on features that are given as they are."""
    views = make_views(views, weight, present)
    maps = tuple(IdentityMap(v.shape[1]) for v in views.arrays)
    return open_engine(options or NumpyOptions(), views).with_features(maps, keep)


def make_present(n_samples, n_views, rng, missing=0.3):
    """A random mask in which every sample has a view."""
    present = rng.random((n_samples, n_views)) > missing
    present[np.arange(n_samples), rng.integers(n_views, size=n_samples)] = True
    return present


def make_problem(views, membership="fuzzy", fuzziness=2.0, reference=None, entropy=1.0, baseline=None):
    scatter = np.array([np.mean(np.sum((v - v.mean(axis=0)) ** 2, axis=1)) for v in views])
    reference = scatter if reference is None else np.asarray(reference, dtype=float)
    splits = (0, *np.cumsum([v.shape[1] for v in views]).tolist())
    return Problem(make_membership(membership, fuzziness), splits, reference, scatter, entropy, baseline)


def pass_over(engine, problem):
    return lambda parameters, s: run_pass(engine, prepare(parameters, s, problem, engine.dtype), block_statistics)


def blobs(n_clusters=3, n_features=5, size=40, spread=0.5, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-5, 5, (n_clusters, n_features))
    y = np.repeat(np.arange(n_clusters), size)
    return centers[y] + rng.normal(0, spread, (len(y), n_features)), y


def rounding(n_samples, n_outputs, n_passes, dtype=np.float64):
    """How far two roads to one fit may lie apart, as a share of the total scatter.

    A sum over n samples of squared distances, each a sum of p products, is rounded by at most ``n + p`` units.
    Steps towards an optimum do not enlarge what the passes before them left, so the passes' rounding adds up.
    """
    return n_passes * (n_samples + n_outputs) * float(np.finfo(dtype).eps)


def objective_rounding(found, expected):
    """The same for the objectives of two possibilistic fits to several views."""
    n_samples, n_outputs = len(found.labels_), sum(c.shape[1] for c in found.cluster_centers_)
    passes, dtype = max(found.n_iter_, expected.n_iter_), found.cluster_centers_[0].dtype
    scatter = n_samples * found.view_weights_ @ found.reference_distance_
    return rounding(n_samples, n_outputs, passes, dtype) * scatter


def assert_same_fit(found, expected):
    """Two roads to one fit, which may differ in the memory layout of their rows: rounding and nothing else."""
    assert np.array_equal(found.labels_, expected.labels_)
    close = objective_rounding(found, expected)
    assert found.objective_ == pytest.approx(expected.objective_, rel=0, abs=close)
    # weights are a softmax of losses over the entropy, whose slope is at most one
    assert found.view_weights_ == pytest.approx(expected.view_weights_, rel=0, abs=close / found.entropy_)
