"""A population whose risks can be computed without error, and minimisers of the empirical risk on samples of it.

The theorems hold for every distribution, so also for the uniform one on some thousand points. There the expected
objective is a finite sum, samples are drawn with replacement, and no held-out sample adds noise of its own.
Centroids are ``sum_i W_ij phi(x_i)`` with a column of W per centroid, as in the paper (def:kernel power kmeans).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from benchmarks.theorems.costs import frequencies
from benchmarks.theorems.sets import ENGINE
from benchmarks.theorems.verdicts import Floats
from powerkmeans import KernelPowerKMeans
from powerkmeans.features.kernels import KERNELS
from powerkmeans.objective.power_mean import power_mean

Index = NDArray[np.intp]
_MEDIAN_ROWS = 1000
_FREQUENCIES_AT_ONCE = 1024


@dataclass(frozen=True)
class Population:
    """Points of equal probability, a number of clusters, and the Gaussian kernel at the median distance."""

    name: str
    X: Floats
    k: int

    @cached_property
    def bandwidth(self) -> float:
        return float(np.median(pdist(self.X[:_MEDIAN_ROWS])))

    @cached_property
    def gram(self) -> Floats:
        return np.asarray(KERNELS["rbf"].gram(self.X, self.X, self.bandwidth))

    def distances(self, rows: Index, W: Floats) -> Floats:
        """``||phi(x) - sum_i W_ij phi(x_i)||^2`` of all points to the centroids made of ``rows``, (k, points)."""
        between = self.gram[rows]
        own = np.einsum("ij,ij->j", W, between[:, rows] @ W)
        return np.asarray(np.maximum(1 - 2 * (W.T @ between) + own[:, None], 0))

    def risk(self, rows: Index, W: Floats, s: float) -> float:
        """``L_s(W, rho)``, or Psi for ``s = -inf``."""
        return float(np.mean(power_mean(self.distances(rows, W), s, np)[0]))

    def optimum(self, s: float, seeds: Sequence[int] = (0, 1, 2)) -> tuple[Floats, float]:
        """The best known W on all points, and its risk: the infimum that excess risks are taken over."""
        W = minimiser(self.gram, self.k, s, ["k-means++"] * len(seeds), seeds)
        everyone = np.arange(len(self.X))
        return W, self.risk(everyone, W, s)


def blobs(n_points: int) -> Population:
    """Three overlapping blobs of unequal sizes in the plane."""
    rng = np.random.default_rng(1)
    y = rng.choice(3, n_points, p=[0.5, 0.3, 0.2])
    centers = np.array([[0, 0], [3, 0.5], [1, 3.2]])
    return Population("3 blobs", centers[y] + rng.normal(0, 0.8, (n_points, 2)), 3)


def rectangle(n_points: int) -> Population:
    """Four blobs at the corners of what is almost a square, for three clusters: answers nearly tie."""
    rng = np.random.default_rng(1)
    centers = np.array([[0, 0], [2.0, 0], [0, 2.05], [2.0, 2.05]])
    return Population("4 blobs, k = 3", centers[rng.choice(4, n_points)] + rng.normal(0, 0.3, (n_points, 2)), 3)


def features_gram(X: Floats, bandwidth: float, n_frequencies: int, rng: np.random.Generator) -> Floats:
    """Inner products of random Fourier features; sums over frequencies, so that few are held at a time."""
    total = np.zeros((len(X), len(X)))
    for done in range(0, n_frequencies, _FREQUENCIES_AT_ONCE):
        count = min(_FREQUENCIES_AT_ONCE, n_frequencies - done)
        phase = X @ frequencies("rff", X.shape[1], count, rng) / bandwidth
        for part in (np.sin(phase), np.cos(phase)):
            total += part @ part.T
    return total / n_frequencies


def minimiser(gram: Floats, k: int, s: float, starts: Sequence[Any], seeds: Sequence[int]) -> Floats:
    """The W of the lowest objective at fixed s, from several starts, for the kernel matrix of a sample, (n, k)."""
    models = [
        fixed_exponent(k, s, start, seed, kernel="precomputed", feature_map="exact")
        for start, seed in zip(starts, seeds, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a start may lose a cluster; another will not
        best = min((model.fit(gram) for model in models), key=lambda model: model.objective_)
    W = np.asarray(best.cluster_centers_, dtype=np.float64).T
    return np.asarray(W / np.sum(W, axis=0))


def fixed_exponent(k: int, s: float, start: Any, seed: int, **parameters: Any) -> KernelPowerKMeans:
    """The library's descent of f_s at one s, carried far."""
    return KernelPowerKMeans(
        k,
        s_init=s,
        anneal_factor=1.0,
        init=start,
        max_iter=1000,
        tol=1e-8,
        random_state=seed,
        engine=ENGINE,
        **parameters,
    )


def shares(distances: Floats, s: float) -> Floats:
    """The W that distances of samples to centroids give (eq:membership function), (n, k); columns add up to 1."""
    weights = np.asarray(power_mean(distances, s, np)[1])
    return np.asarray((weights / np.sum(weights, axis=1, keepdims=True)).T)
