"""Does it get stuck? Hard cost of the defaults against k-means on the same features, over seeds.

python -m benchmarks.starts
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.datasets import FAMILIES
from benchmarks.report import print_table, write_lines
from powerkmeans import KernelPowerKMeans


def features(model: KernelPowerKMeans, X: np.ndarray) -> np.ndarray:
    """The features that a fitted model clusters, so that k-means can be run on the same ones."""
    return model._fit.model.maps[0](X, np)


def run(family: str, seed: int, feature_map: str) -> dict[str, object]:
    X, k = FAMILIES[family](np.random.default_rng(seed))
    start = time.perf_counter()
    model = KernelPowerKMeans(k, feature_map=feature_map, random_state=seed).fit(X)
    seconds = time.perf_counter() - start
    phi = features(model, X)
    costs = {n: KMeans(k, n_init=n, random_state=seed).fit(phi).inertia_ for n in (1, 10)}
    kept = model.restarts_[model.best_restart_]
    return {
        "family": family,
        "feature_map": feature_map,
        "seed": seed,
        "ours": model.inertia_,
        "kmeans_1": costs[1],
        "kmeans_10": costs[10],
        "start": kept["init"],
        "moves": kept["n_moves"],
        "iterations": model.n_iter_,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    rows = [run(f, s, m) for m in ("rff", "identity") for f in FAMILIES for s in range(seeds)]
    table = []
    for feature_map in ("rff", "identity"):
        for family in FAMILIES:
            mine = [r for r in rows if r["family"] == family and r["feature_map"] == feature_map]
            mean = {key: float(np.mean([r[key] for r in mine])) for key in ("ours", "kmeans_1", "kmeans_10")}
            table.append(
                [
                    feature_map,
                    family,
                    f"{mean['ours'] / mean['kmeans_1']:.3f}",
                    f"{mean['ours'] / mean['kmeans_10']:.3f}",
                    f"{mean['kmeans_1'] / mean['kmeans_10']:.3f}",
                    f"{np.max([r['ours'] / r['kmeans_10'] for r in mine]):.3f}",
                    f"{np.mean([r['seconds'] for r in mine]):.2f}",
                ]
            )
    print(f"mean hard cost in feature space over {seeds} seeds, as ratios")
    print_table(
        ["features", "family", "ours/KMeans(1)", "ours/KMeans(10)", "KMeans(1)/(10)", "worst ours/(10)", "s"],
        table,
    )
    print(f"written to {write_lines('starts', rows)}")


if __name__ == "__main__":
    main()
