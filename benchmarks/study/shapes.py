"""More synthetic families: shapes, uneven densities and columns that say nothing. A seed is a new draw."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_circles, make_moons

from benchmarks.study.families import Drawn, Family


def fifteen_blobs(rng: np.random.Generator) -> Drawn:
    """Fifteen round Gaussians of a hundred rows in five dimensions."""
    y = np.repeat(np.arange(15), 100)
    return [rng.normal(0, 4, (15, 5))[y] + rng.normal(size=(len(y), 5))], y


def uneven_topics(rng: np.random.Generator) -> Drawn:
    """Word counts of texts of 30 to 150 words, 400 about the first of five topics and 25 about the last."""
    words, common = rng.dirichlet(np.full(1000, 0.05), 5), rng.dirichlet(np.full(1000, 0.3))
    y = np.repeat(np.arange(5), np.geomspace(400, 25, 5).round().astype(int))
    counts = [rng.multinomial(rng.integers(30, 150), 0.5 * words[topic] + 0.5 * common) for topic in y]
    return [np.array(counts, dtype=float)], y


def spirals(rng: np.random.Generator) -> Drawn:
    """Three arms of a spiral, a turn and a half each."""
    y = np.repeat(np.arange(3), 300)
    turned = rng.uniform(0.2, 1.0, len(y))
    angle = 3 * np.pi * turned + 2 * np.pi * y / 3
    X = turned[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return [X + rng.normal(0, 0.015, X.shape)], y


def uneven_widths(rng: np.random.Generator) -> Drawn:
    """Five Gaussians of 150 rows in five dimensions, the widest sixteen times as wide as the narrowest."""
    y = np.repeat(np.arange(5), 150)
    widths = np.geomspace(0.25, 4, 5)
    return [rng.normal(0, 5, (5, 5))[y] + widths[y, None] * rng.normal(size=(len(y), 5))], y


def few_columns(rng: np.random.Generator) -> Drawn:
    """Six Gaussians in 300 dimensions, of which 15 tell them apart."""
    y = np.repeat(np.arange(6), 120)
    X = rng.normal(size=(len(y), 300))
    X[:, :15] += rng.normal(0, 2, (6, 15))[y]
    return [X], y


def shapes_in_views(rng: np.random.Generator) -> Drawn:
    """Four clusters by two views: half moons in one, rings in the other, only both tell all."""
    first, second = (int(seed) for seed in rng.integers(2**31, size=2))
    moons, by_moon = make_moons(1200, noise=0.06, random_state=first)
    rings, by_ring = make_circles(1200, factor=0.4, noise=0.05, random_state=second)
    return [moons, rings], 2 * by_moon + by_ring


SHAPES: dict[str, Family] = {
    "15 blobs": fifteen_blobs,
    "uneven topics": uneven_topics,
    "spirals": spirals,
    "uneven widths": uneven_widths,
    "15 of 300 columns": few_columns,
    "shapes in two views": shapes_in_views,
}
