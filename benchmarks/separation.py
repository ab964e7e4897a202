"""How often clusters count as more separated than noise: of clouds without any, and of sets that have them.

python -m benchmarks.separation [--seeds 6]

Each set is fitted with the right number of clusters, or with some where there are none, by default and by plain
centroids; times are those of the comparison and of the fit before it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.preprocessing import StandardScaler

from benchmarks.report import print_table, write_lines
from powerkmeans import KernelPowerKMeans
from powerkmeans.choose.separation import find_separation

Make = Callable[[np.random.Generator], Any]


class Case(NamedTuple):
    """A set, the number of clusters that are asked for, and whether it has clusters."""

    name: str
    make: Make
    k: int
    real: bool


def disc(rng: np.random.Generator) -> Any:
    rows = rng.normal(size=(600, 2))
    return rows / np.linalg.norm(rows, axis=1)[:, None] * np.sqrt(rng.uniform(size=600))[:, None]


def pair(apart: float) -> Make:
    """Two normal clouds, so many standard deviations apart."""
    return lambda rng: np.concatenate([rng.normal(size=(300, 2)), rng.normal((apart, 0), 1, (300, 2))])


def seeded(make: Callable[[int], Any]) -> Make:
    return lambda rng: make(int(rng.integers(1000)))


NOISE = [
    Case("uniform square", lambda rng: rng.uniform(size=(500, 2)), 2, False),
    Case("uniform square", lambda rng: rng.uniform(size=(500, 2)), 4, False),
    Case("uniform square", lambda rng: rng.uniform(size=(500, 2)), 6, False),
    Case("uniform, 1 column", lambda rng: rng.uniform(size=(300, 1)), 3, False),
    Case("uniform, 5 columns", lambda rng: rng.uniform(size=(600, 5)), 5, False),
    Case("normal, 1 column", lambda rng: rng.normal(size=(400, 1)), 2, False),
    Case("normal, 2 columns", lambda rng: rng.normal(size=(400, 2)) * [3, 1], 5, False),
    Case("normal, 10 columns", lambda rng: rng.normal(size=(300, 10)), 3, False),
    Case("heavy tails, 5 columns", lambda rng: rng.standard_t(3, size=(600, 5)), 3, False),
    Case("exponential, 3 columns", lambda rng: rng.exponential(size=(500, 3)), 3, False),
    Case("lognormal, 2 columns", lambda rng: rng.lognormal(size=(500, 2)), 2, False),
    Case("uniform disc", disc, 3, False),
    Case("uniform triangle", lambda rng: rng.dirichlet([1, 1, 1], size=500)[:, :2], 3, False),
]
REAL = [
    Case("iris", lambda rng: load_iris().data, 3, True),
    Case("wine, scaled", lambda rng: StandardScaler().fit_transform(load_wine().data), 3, True),
    Case("breast cancer, scaled", lambda rng: StandardScaler().fit_transform(load_breast_cancer().data), 2, True),
    Case("digits", lambda rng: load_digits().data, 10, True),
    Case("3 blobs, 2 columns", seeded(lambda seed: make_blobs(300, centers=3, random_state=seed)[0]), 3, True),
    Case("5 blobs, 5 columns", seeded(lambda seed: make_blobs(300, 5, centers=5, random_state=seed)[0]), 5, True),
    Case("2 normal clouds, 3 sd apart", pair(3), 2, True),
    Case("2 normal clouds, 4 sd apart", pair(4), 2, True),
    Case("2 normal clouds, 5 sd apart", pair(5), 2, True),
    Case("moons", seeded(lambda seed: make_moons(400, noise=0.08, random_state=seed)[0]), 2, True),
    Case("rings", seeded(lambda seed: make_circles(400, noise=0.05, factor=0.5, random_state=seed)[0]), 2, True),
]


def measure(case: Case, seeds: int, feature_map: str) -> dict[str, Any]:
    """How often the clusters of a set count as separated, and the median times."""
    verdicts, times = [], []
    for seed in range(seeds):
        X, begun = case.make(np.random.default_rng(seed)), time.perf_counter()
        model = KernelPowerKMeans(case.k, feature_map=feature_map, random_state=seed, advice=False).fit(X)
        fitted = time.perf_counter()
        found = find_separation(model, X)
        times.append([fitted - begun, time.perf_counter() - fitted])
        verdicts.append(found is not None and found.separated)
    fit, compare = np.median(times, axis=0)
    return {"separated": int(sum(verdicts)), "of": seeds, "fit_seconds": fit, "seconds": compare}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for case in [*NOISE, *REAL]:
        for feature_map in ("auto", "identity"):
            found = measure(case, arguments.seeds, feature_map)
            lines.append({"set": case.name, "k": case.k, "real": case.real, "feature_map": feature_map} | found)
    heads = ["set", "k", "clusters", "feature map", "more than noise", "fit, s", "comparison, s"]
    rows = [
        [
            line["set"],
            line["k"],
            "yes" if line["real"] else "no",
            line["feature_map"],
            f"{line['separated']} of {line['of']}",
            f"{line['fit_seconds']:.2f}",
            f"{line['seconds']:.2f}",
        ]
        for line in lines
    ]
    print_table(heads, rows)
    print(f"written to {write_lines('separation', lines)}")


if __name__ == "__main__":
    main()
