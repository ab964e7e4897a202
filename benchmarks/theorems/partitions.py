"""Partitions to put to the test: blind, found, lopsided, all there are, and the worst that a search finds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.theorems.sets import ENGINE, DataSet, Labels
from benchmarks.theorems.verdicts import Floats
from powerkmeans import KernelPowerKMeans

EVEN, CLASSES, FOUND = "random, even", "its classes", "found by the method"


def found(data: DataSet, bandwidth: float, seed: int, **parameters: Any) -> KernelPowerKMeans:
    """A fitted model with our defaults, at the given bandwidth."""
    model = KernelPowerKMeans(data.k, bandwidth=bandwidth, random_state=seed, engine=ENGINE, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that fewer clusters were found is no matter here
        return model.fit(data.X)


def blind(data: DataSet, rng: np.random.Generator) -> dict[str, Labels]:
    """Partitions into k clusters that know nothing of the features."""
    n, k = len(data.X), data.k
    order = rng.permutation(n)
    shares = 0.6 ** np.arange(k) if k <= 20 else np.arange(1.0, k + 1)
    uneven = rng.choice(k, n, p=shares / shares.sum())
    uneven[order[:k]] = np.arange(k)  # none is empty
    pairs, alone = np.full(n, k - 1), np.full(n, k - 1)
    pairs[order[: 2 * (k - 1)]] = np.repeat(np.arange(k - 1), 2)
    alone[order[: k - 1]] = np.arange(k - 1)
    even = np.empty(n, dtype=np.intp)
    even[order] = np.arange(n) % k
    kinds = {EVEN: even, "random, uneven": uneven, "pairs and the rest": pairs}
    return kinds | {"single rows and the rest": alone, CLASSES: data.y}


def all_partitions(n: int, k: int) -> Iterator[Labels]:
    """Every partition of n rows into k clusters, none of them empty."""

    def grow(labels: list[int], used: int) -> Iterator[Labels]:
        if len(labels) == n:
            yield np.array(labels)
            return
        for label in range(min(used + 1, k)):
            now = max(used, label + 1)
            if k - now < n - len(labels):  # enough rows are left for the clusters that are missing
                yield from grow([*labels, label], now)

    return grow([], 0)


def pair_weights(partitions: list[Labels]) -> Floats:
    """``2/|C|`` for the pairs within a cluster, (partitions, pairs): times the pairs' gaps it gives the costs."""
    first, second = np.triu_indices(len(partitions[0]), 1)
    weights = []
    for labels in partitions:
        sizes = np.bincount(labels)
        weights.append(np.where(labels[first] == labels[second], 2 / sizes[labels[first]], 0.0))
    return np.array(weights)


@dataclass
class _Sums:
    """Of one matrix of gaps: rows summed over clusters, and clusters summed over their rows."""

    gaps: Floats
    rows: Floats
    own: Floats

    @classmethod
    def of(cls, gaps: Floats, labels: Labels, k: int) -> _Sums:
        member = np.eye(k)[labels]
        rows = gaps @ member
        return cls(gaps, rows, np.sum(member * rows, axis=0))

    def cost(self, sizes: Floats) -> float:
        return float(np.sum(self.own / sizes))

    def changes(self, i: int, a: int, sizes: Floats) -> Floats:
        """By how much the cost changes when row i leaves cluster a for each of the clusters; 0 for a itself."""
        joined = (self.own + 2 * self.rows[i]) / (sizes + 1) - self.own / sizes
        left = (self.own[a] - 2 * self.rows[i, a]) / (sizes[a] - 1) - self.own[a] / sizes[a]
        change = np.asarray(joined + left)
        change[a] = 0.0
        return change

    def move(self, i: int, a: int, b: int) -> None:
        self.own[a] -= 2 * self.rows[i, a]
        self.own[b] += 2 * self.rows[i, b]
        self.rows[:, a] -= self.gaps[:, i]
        self.rows[:, b] += self.gaps[:, i]


def extreme_ratio(exact: Floats, random: Floats, start: Labels, *, upwards: bool, sweeps: int = 12) -> float:
    """The most extreme ratio of costs, random over exact, that moves of single rows lead to from a partition.

    A row moves to the cluster that most raises (or lowers) ``cost_random - t cost_exact`` with t the present
    ratio; any gain there makes the ratio itself more extreme.
    """
    labels, k = start.copy(), int(start.max()) + 1
    sign, sizes = (1.0 if upwards else -1.0), np.bincount(start, minlength=k).astype(float)
    ours, theirs = _Sums.of(random, labels, k), _Sums.of(exact, labels, k)
    for _ in range(sweeps):
        moved = False
        ratio = ours.cost(sizes) / theirs.cost(sizes)
        for i in range(len(labels)):
            a = int(labels[i])
            if sizes[a] == 1:
                continue
            gain = sign * (ours.changes(i, a, sizes) - ratio * theirs.changes(i, a, sizes))
            b = int(np.argmax(gain))
            if gain[b] > 1e-12:
                ours.move(i, a, b)
                theirs.move(i, a, b)
                sizes[a], sizes[b], labels[i], moved = sizes[a] - 1, sizes[b] + 1, b, True
                ratio = ours.cost(sizes) / theirs.cost(sizes)
        if not moved:
            break
    return ours.cost(sizes) / theirs.cost(sizes)
