"""Whether clusters above the noise edge say which columns matter, on families that had no part in that rule.

python -m benchmarks.telling_columns [--seeds 3]

Clouds of unit variance in some columns, and columns of noise beside them: other numbers of columns and of clusters
than those that the rule was written on, clusters of uneven sizes, and noise that columns have in common. Mean
accuracy of feature_map="graph" as it is and without the rule, and of the default.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.contender import Contender, timed_fit
from benchmarks.report import print_table
from benchmarks.study.factors import set_constants
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.types import Float64Array

ROUNDS = "powerkmeans.features.graph.choice.TELLING_ROUNDS"


class Family(NamedTuple):
    """Clouds in some of many columns; ``shared`` is the part of noise that ten common factors have."""

    n: int = 800
    columns: int = 500
    telling: int = 20
    k: int = 5
    apart: float = 1.5
    uneven: bool = False
    shared: float = 0.0

    def draw(self, seed: int) -> tuple[Float64Array, NDArray[Any]]:
        rng = np.random.default_rng(seed)
        share = np.geomspace(1, 8, self.k) if self.uneven else np.ones(self.k)
        y = rng.choice(self.k, self.n, p=share / np.sum(share))
        noise = rng.normal(size=(self.n, self.columns))
        common = rng.normal(size=(self.n, 10)) @ rng.normal(size=(10, self.columns)) / np.sqrt(10)
        X = np.sqrt(1 - self.shared) * noise + np.sqrt(self.shared) * common
        X[:, : self.telling] = noise[:, : self.telling]
        X[:, : self.telling] += self.apart * rng.normal(size=(self.k, self.telling))[y]
        return (X - np.mean(X, axis=0)) / np.std(X, axis=0), y


FAMILIES = {
    "150 columns": Family(columns=150, telling=8),
    "1,500 columns": Family(columns=1500, telling=30),
    "5 of 500 tell": Family(telling=5, k=3),
    "60 of 500 tell, weakly": Family(telling=60, apart=0.7),
    "k = 2": Family(k=2),
    "k = 12": Family(n=1200, k=12),
    "sizes 1 to 8": Family(uneven=True),
    "a fifth of noise in common": Family(shared=0.2),
    "half of noise in common": Family(shared=0.5),
}


def accuracy(family: Family, feature_map: str, seed: int) -> float:
    X, y = family.draw(seed)
    model = timed_fit(Contender(feature_map), [X.astype(np.float32)], family.k, seed).model
    return clustering_accuracy(y, model.labels_)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args(given).seeds)
    lines = []
    for name, family in FAMILIES.items():
        ruled = [accuracy(family, "graph", seed) for seed in seeds]
        with set_constants({ROUNDS: 0}):
            plain = [accuracy(family, "graph", seed) for seed in seeds]
        default = [accuracy(family, "auto", seed) for seed in seeds]
        lines.append([name, *(f"{np.mean(one):.3f}" for one in (ruled, plain, default))])
    print_table(["family", "graph", "without the rule", "default"], lines)


if __name__ == "__main__":
    main()
