"""What several tests need: a solver's pass over plain arrays, and small data sets."""

from __future__ import annotations

import numpy as np

from powerkmeans.engines import NumpyEngine, NumpyOptions
from powerkmeans.features.maps import IdentityMap
from powerkmeans.kernels import choose_kernel
from powerkmeans.objective.block import prepare
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Problem, Views


def make_views(arrays, weight=None, present=None):
    """Views as they come out of the checks."""
    arrays = tuple(np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arrays)
    weight = np.ones(arrays[0].shape[0], dtype=arrays[0].dtype) if weight is None else np.asarray(weight)
    return Views(tuple(f"view_{i}" for i in range(len(arrays))), arrays, weight, present)


def make_engine(views, weight=None, options=None, keep=True, present=None):
    """An engine on features that are given as they are."""
    views = make_views(views, weight, present)
    maps = tuple(IdentityMap(v.shape[1]) for v in views.arrays)
    return NumpyEngine(views, options or NumpyOptions()).with_features(maps, keep)


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


def pass_over(engine, problem, kernel="auto"):
    statistics = choose_kernel(kernel).statistics
    return lambda parameters, s: engine.fold(statistics, prepare(parameters, s, problem, engine.dtype))


def blobs(n_clusters=3, n_features=5, size=40, spread=0.5, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-5, 5, (n_clusters, n_features))
    y = np.repeat(np.arange(n_clusters), size)
    return centers[y] + rng.normal(0, spread, (len(y), n_features)), y
