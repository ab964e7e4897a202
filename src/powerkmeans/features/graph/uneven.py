"""Coordinates for clusters of uneven sizes: over the direction in which all rows are alike, not at unit length.

At unit length rows are told apart by angles. A large cluster turns through a wide one, from one of its ends to the
other, and beside it a small cluster does not pay: its halves are found. Over the common direction coordinates are
those of the normalised cut itself, where a cluster is the farther from the others the smaller it is. That serves
outliers as well as clusters, so it has to be told from what is found: it cuts less, and halves of landmarks agree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from powerkmeans.features.graph.build import Graph
from powerkmeans.features.graph.spectrum import NONE, Spectrum, degrees, raised_degrees, row_degrees
from powerkmeans.types import Float64Array

# times its length that the common direction gets. A vector at unit length is then, to first order, what it has of
# the others over it: clusters of a thousandth are still as long, and single precision keeps four digits
LIFTED = 32.0


def over_common(graph: Graph, weight: Float64Array) -> Graph:
    """The graph with coordinates over the common direction, to first order; they stay at unit length.

    That direction is ``lambda / lambda~``. Pieces have a part of it each.
    """
    values, loading = graph.spectrum
    common = values * (loading.T @ degrees(graph.shares, weight))
    common /= np.linalg.norm(common)
    lifted = loading + (LIFTED - 1) * np.outer(loading @ common, common)
    return replace(graph, spectrum=Spectrum(values, lifted))


def cut_by(labels: NDArray[np.integer], shares: csr_array, weight: Float64Array) -> float:
    """The normalised cut: of every cluster the part of its ties that leads out of it, added up.

    ``sum_c 1 - sum_j M_cj^2 / lambda~_j / vol_c``, of ``M = H^T W Z`` and the degrees ``vol`` of clusters.
    """
    degree, n_rows = degrees(shares, weight), shares.shape[0]
    raised = raised_degrees(degree)
    members = csr_array((weight, (labels, np.arange(n_rows))), shape=(int(np.max(labels)) + 1, n_rows))
    tied = members @ shares  # sparse, as clusters may be thousands
    cluster = np.repeat(np.arange(tied.shape[0]), np.diff(tied.indptr))
    within = np.bincount(cluster, tied.data**2 / raised[tied.indices], tied.shape[0])
    volume = np.asarray(members @ row_degrees(shares, degree, raised))
    there = volume > 0
    return float(np.sum(1 - within[there] / volume[there]))


def least_cut(graph: Graph, n_clusters: int) -> float:
    """What no labels cut less than: how far eigenvalues are from one. What is rounding is no cut."""
    return max(NONE, float(np.sum(1 - graph.spectrum.values[:n_clusters])))
