"""Two tables of four clusters, and what fits to their kernels need."""

from __future__ import annotations

from sklearn.metrics.pairwise import rbf_kernel

from helpers import blobs

X, Y = blobs(4, 5, 30, 1.2)
OTHER, _ = blobs(4, 3, 30, 2.0, seed=1)


def kernel_of(model, rows=X):
    return rbf_kernel(rows, gamma=0.5 / model.bandwidth_**2)
