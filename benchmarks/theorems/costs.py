"""What a partition costs in the exact kernel and in random Fourier features.

The cost (paper: lemma:RFF for kmeans) is ``sum_j sum_{x in C_j} ||phi(x) - mean_j||^2``. With ``k(x, x) = 1`` that
is ``sum_j 1/|C_j| sum_{x, y in C_j} (1 - k(x, y))``, which is linear in the gaps ``1 - k``. In Fourier features it
is a mean over frequencies of ``n - sum_j |sum_{x in C_j} exp(i omega.x)|^2 / |C_j|``, so one draw of many
frequencies gives the cost for every smaller number of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array

from benchmarks.theorems.sets import Labels
from benchmarks.theorems.verdicts import Floats
from powerkmeans.features.kernels import KERNELS, Isotropic

MAPS = ("rff", "orf")


def kernel_gaps(X: Floats, bandwidth: float, kernel: str = "rbf") -> Floats:
    """``1 - k(x, y)`` for all pairs."""
    return np.asarray(1 - KERNELS[kernel].gram(X, X, bandwidth))


def partition_cost(gaps: Floats, labels: Labels) -> float:
    """The cost of a partition from the gaps of whichever kernel."""
    clusters = (np.flatnonzero(labels == label) for label in np.unique(labels))
    return float(sum(np.sum(gaps[np.ix_(rows, rows)]) / len(rows) for rows in clusters))


def frequencies(name: str, n_features: int, size: int, rng: np.random.Generator, kernel: str = "rbf") -> Floats:
    """The library's frequencies at unit bandwidth; the first D of a larger draw are a draw of D."""
    family = KERNELS[kernel]
    if name == "rff":
        return family.frequencies(n_features, size, rng)
    if not isinstance(family, Isotropic):
        raise ValueError(f"The kernel {kernel} has no orthogonal frequencies.")
    return family.orthogonal_frequencies(n_features, size, rng)


def cluster_rows(partitions: Sequence[Labels]) -> tuple[csr_array, list[int]]:
    """A row a cluster with ``|C|^{-1/2}`` at its members, over all partitions, and where each one's rows begin."""
    rows, values, starts, done = [], [], [], 0
    for labels in partitions:
        _, place, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        rows.append(place + done)
        values.append(1 / np.sqrt(sizes[place]))
        starts.append(done)
        done += len(sizes)
    n = len(partitions[0])
    columns = np.tile(np.arange(n), len(partitions))
    shape = (done, n)
    return csr_array((np.concatenate(values), (np.concatenate(rows), columns)), shape=shape), starts


def frequency_costs(X: Floats, omega: Floats, clusters: tuple[csr_array, list[int]]) -> Floats:
    """The cost of each partition in each frequency, (partitions, D)."""
    matrix, starts = clusters
    phase = X @ omega
    explained = (matrix @ np.sin(phase)) ** 2 + (matrix @ np.cos(phase)) ** 2
    return len(X) - np.add.reduceat(explained, starts, axis=0)


def cost_ratios(
    X: Floats, omegas: Iterator[Floats], partitions: Sequence[Labels], exact: Floats, sizes: Sequence[int]
) -> Floats:
    """Cost in features over the exact cost, (draws, sizes, partitions); ``omegas`` gives one draw at a time."""
    clusters, last = cluster_rows(partitions), np.asarray(sizes) - 1
    counts = np.asarray(sizes, dtype=float)[:, None]
    draws = (np.cumsum(frequency_costs(X, omega, clusters), axis=1) for omega in omegas)
    return np.stack([total[:, last].T / counts / exact for total in draws])


def main_term(k: int, eps: float, delta: float) -> float:
    """``log(k/delta)^3 / eps^2``, the recommended size before it is rounded up; see ``suggest_n_components``."""
    return math.log(k / delta) ** 3 / eps**2


def whole_size(k: int, eps: float, delta: float) -> int:
    """The size that Theorem 3 states with its constant at one: ``(log(k/d)^3 + log(1/e)^3 + 2^8) / e^2``."""
    return math.ceil((math.log(k / delta) ** 3 + math.log(1 / eps) ** 3 + 2**8) / eps**2)
