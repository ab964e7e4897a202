"""Rows that Ray has (pip install ray): a sample is fitted here, all blocks are gone over where they are."""

from functools import reduce
from operator import add

import numpy as np
import ray

from powerkmeans import KernelPowerKMeans
from powerkmeans.protocol import block_sums, update


@ray.remote
def rows_of(number):
    rng = np.random.default_rng(number)
    return 4 * np.eye(5, 6)[rng.integers(5, size=20_000)] + rng.normal(size=(20_000, 6))


sums_of = ray.remote(block_sums)
some_of = ray.remote(lambda rows: rows[::20])


def main(blocks, n_clusters=5, tol=1e-4, max_iter=100):
    sample = np.concatenate(ray.get([some_of.remote(rows) for rows in blocks]))
    model = KernelPowerKMeans(n_clusters, feature_map="rff", random_state=0).fit(sample)
    for _ in range(max_iter):
        sent = ray.put(model)
        sums = reduce(add, ray.get([sums_of.remote(sent, rows) for rows in blocks]))
        model, shift = update(model, sums)
        if shift <= tol:
            break
    return model


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    found = main([rows_of.remote(number) for number in range(8)])
    print(f"mean squared distance to the nearest centroid: {found.inertia_ / 160_000:.5f}")
