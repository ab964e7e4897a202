"""The weight that a view of pure noise keeps, by its dimension, and what it does to the accuracy.

python -m benchmarks.noise_view [--seeds 5]

Data: five blobs in 3 and in 20 dimensions, and scikit-learn's digits; HW2 too if the data folder is given.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_views
from benchmarks.report import print_table, write_lines
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy

DIMENSIONS = (0, 1, 2, 8, 32)
VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "fuzzy": {"membership": "fuzzy"},
    "no baseline": {"view_baseline": None},
    "even weights": {"entropy": np.inf},
}


def data(name: str, seed: int, folder: str | None) -> tuple[list[np.ndarray], np.ndarray]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        views = [X]
    elif name == "HW2":
        assert folder is not None
        views, y = load_views(Path(folder), "HW2")
    else:
        width = int(name.split()[1].removesuffix("-D"))
        box = (-8, 8) if width < 6 else (-4, 4)
        X, y = make_blobs(600, centers=5, n_features=width, center_box=box, random_state=seed)
        views = [X]
    return [StandardScaler().fit_transform(view) for view in views], y


def run(name: str, dimension: int, variant: str, seed: int, folder: str | None) -> dict[str, Any]:
    views, y = data(name, seed, folder)
    if dimension:
        views.append(np.random.default_rng(seed).normal(size=(len(y), dimension)))
    model = MultiViewPowerKMeans(len(np.unique(y)), feature_map="rff", random_state=seed, **VARIANTS[variant]).fit(
        views
    )
    return {
        "data": name,
        "noise_dimension": dimension,
        "variant": variant,
        "seed": seed,
        "ACC": clustering_accuracy(y, model.labels_),
        "noise_weight": float(model.view_weights_[-1]) if dimension else 0.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    names = ["blobs 3-D", "blobs 20-D", "digits", *(["HW2"] if arguments.data else [])]
    rows = [
        run(name, dimension, variant, seed, arguments.data)
        for name in names
        for dimension in DIMENSIONS
        for variant in VARIANTS
        for seed in range(arguments.seeds)
    ]
    table = []
    for name in names:
        for dimension in DIMENSIONS:
            cells = []
            for variant in VARIANTS:
                mine = [
                    r
                    for r in rows
                    if (r["data"], r["noise_dimension"], r["variant"]) == (name, dimension, variant)
                ]
                accuracy, weight = (np.mean([r[key] for r in mine]) for key in ("ACC", "noise_weight"))
                cells.append(f"{accuracy:.3f}, {weight:.3f}" if dimension else f"{accuracy:.3f}")
            table.append([name, dimension or "none", *cells])
    print(f"accuracy, weight of the noise view; means of {arguments.seeds} seeds")
    print_table(["data", "noise columns", *VARIANTS], table)
    print(f"written to {write_lines('noise_view', rows)}")


if __name__ == "__main__":
    main()
