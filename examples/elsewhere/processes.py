"""Rows in many files, a pool of processes: a sample is fitted here, all rows are gone over there."""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np

from powerkmeans import KernelPowerKMeans
from powerkmeans.protocol import block_sums, update


def sums_of_file(model, path):
    return block_sums(model, np.load(path))


def main(folder, n_clusters=5, tol=1e-4, max_iter=100):
    paths = sorted(Path(folder).glob("*.npy"))
    sample = np.concatenate([np.load(path)[::20] for path in paths])
    model = KernelPowerKMeans(n_clusters, feature_map="rff", random_state=0).fit(sample)
    with ProcessPoolExecutor(2) as pool:
        for _ in range(max_iter):
            sums = reduce(add, pool.map(partial(sums_of_file, model), paths))
            model, shift = update(model, sums)
            if shift <= tol:
                break
    return model


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(8):
            centers = 4 * np.eye(5, 6)[rng.integers(5, size=20_000)]
            np.save(Path(folder) / f"part{number}.npy", centers + rng.normal(size=centers.shape))
        print(f"mean squared distance to the nearest centroid: {main(folder).inertia_ / 160_000:.5f}")
