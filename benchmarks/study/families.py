"""Synthetic families of the study: what makes clusters hard, one thing at a time. A seed is a new draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_circles, make_moons

Drawn = tuple[list[np.ndarray], np.ndarray]
Family = Callable[[np.random.Generator], Drawn]


def anisotropic(rng: np.random.Generator) -> Drawn:
    """Six Gaussians in ten dimensions, each stretched up to tenfold along directions of its own."""
    y = np.repeat(np.arange(6), 150)
    X = rng.normal(0, 4, (6, 10))[y]
    for j in range(6):
        rotation, _ = np.linalg.qr(rng.normal(size=(10, 10)))
        X[y == j] += rng.normal(size=(150, 10)) * np.geomspace(0.4, 4, 10) @ rotation
    return [X], y


def rings(rng: np.random.Generator) -> Drawn:
    """Two rings, one within the other."""
    X, y = make_circles(800, factor=0.4, noise=0.06, random_state=int(rng.integers(2**31)))
    return [X], y


def moons(rng: np.random.Generator) -> Drawn:
    """Two half moons that reach into each other."""
    X, y = make_moons(800, noise=0.08, random_state=int(rng.integers(2**31)))
    return [X], y


def imbalanced(rng: np.random.Generator) -> Drawn:
    """Five Gaussians in ten dimensions whose sizes fall from 1000 to 20."""
    y = np.repeat(np.arange(5), np.geomspace(1000, 20, 5).round().astype(int))
    return [rng.normal(0, 2, (5, 10))[y] + rng.normal(size=(len(y), 10))], y


def many_small(rng: np.random.Generator) -> Drawn:
    """Sixty Gaussians of fifteen rows in ten dimensions."""
    y = np.repeat(np.arange(60), 15)
    return [rng.normal(0, 3, (60, 10))[y] + rng.normal(size=(len(y), 10))], y


def high_dimension(rng: np.random.Generator) -> Drawn:
    """Eight Gaussians in 500 dimensions, of which 20 tell them apart."""
    y = np.repeat(np.arange(8), 100)
    X = rng.normal(size=(len(y), 500))
    X[:, :20] += rng.normal(0, 2, (8, 20))[y]
    return [X], y


def topics(rng: np.random.Generator) -> Drawn:
    """Word counts of 800 texts of 20 to 200 words, each about one of ten topics and a little about all."""
    words = rng.dirichlet(np.full(400, 0.05), 10)
    y, common = np.repeat(np.arange(10), 80), rng.dirichlet(np.full(400, 0.3))
    counts = [rng.multinomial(rng.integers(20, 200), 0.5 * words[topic] + 0.5 * common) for topic in y]
    return [np.array(counts, dtype=float)], y


def complementary(rng: np.random.Generator) -> Drawn:
    """Nine clusters by two views: each tells three groups of three, only both tell all."""
    y = np.repeat(np.arange(9), 100)
    centers = rng.normal(0, 1.2, (2, 3, 12))
    return [c[group] + rng.normal(size=(len(y), 12)) for c, group in zip(centers, (y // 3, y % 3), strict=True)], y


def noise_views(rng: np.random.Generator) -> Drawn:
    """Eight clusters seen in two views, beside a view of 40 columns and one of 2 that are noise."""
    y = np.repeat(np.arange(8), 100)
    telling = [rng.normal(0, 0.6, (8, width))[y] + rng.normal(size=(len(y), width)) for width in (15, 30)]
    return [*telling, rng.normal(size=(len(y), 40)), rng.normal(size=(len(y), 2))], y


def spoilt_views(rng: np.random.Generator) -> Drawn:
    """Six clusters in three views; for a fifth of the rows one view, a different one each time, is far off."""
    y = np.repeat(np.arange(6), 120)
    views = [rng.normal(0, 1, (6, 15))[y] + rng.normal(size=(len(y), 15)) for _ in range(3)]
    spoilt = rng.permutation(len(y))[: len(y) // 5]
    for view, rows in zip(views, np.array_split(spoilt, 3), strict=True):
        view[rows] = 4 * rng.standard_t(2, (len(rows), 15))
    return views, y


FAMILIES: dict[str, Family] = {
    "anisotropic": anisotropic,
    "rings": rings,
    "moons": moons,
    "imbalanced 1:50": imbalanced,
    "many small": many_small,
    "high dimension": high_dimension,
    "topics": topics,
    "complementary views": complementary,
    "noise views": noise_views,
    "spoilt views": spoilt_views,
}
