"""U-SPEC: spectral clustering by the bipartite graph of rows and representatives.

Huang, Wang, Wu, Lai and Kwoh, "Ultra-Scalable Spectral Clustering and Ensemble Clustering", IEEE TKDE 2020. The p
representatives are a hybrid selection: 10 p rows at random, then the centres of k-means on these. With the K
nearest representatives of each row the affinities are B_ij = exp(-d_ij^2 / (2 sigma^2)), sigma the mean of those
distances. The transfer cut solves the normalised cut of the bipartite graph on the side of the representatives,

    E = Bᵀ Dx^(-1) B,   E = De^(1/2) V mu Vᵀ De^(1/2),   rows:  Dx^(-1) B De^(-1/2) V,

with Dx and De the sums of the rows of B and of E and V the top k eigenvectors; labels are k-means on the rows, of
unit length.

Defaults of the authors: p = 1000 (here half of the rows where there are fewer than 2000), K = 5, ten steps of one
k-means for the representatives, the cheapest of 3 k-means of 100 steps for the labels. Here the nearest
representatives are exact, where the paper looks for them among those of the nearest groups of representatives,
which is faster and nearly the same. Equal representatives are one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from benchmarks.methods.interface import Views
from benchmarks.methods.landmarks import affordable, centres, distinct, gaussian, nearest, random_rows

REPRESENTATIVES, NEIGHBOURS = 1000, 5
_CANDIDATES = 10  # a representative
_SELECTION_STEPS, _LABEL_STEPS, _LABEL_STARTS = 10, 100, 3


def hybrid_selection(X: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Centres of k-means on rows drawn at random."""
    return distinct(centres(random_rows(X, _CANDIDATES * count, seed), count, _SELECTION_STEPS, seed))


def affinities(X: np.ndarray, representatives: np.ndarray, count: int) -> csr_array:
    """B: Gaussian affinities of the rows to their nearest representatives, none of them quite 0."""
    found = nearest(X, representatives, count)
    values = gaussian(found.distances, float(found.distances.mean()))
    return found.matrix(np.maximum(values, np.finfo(np.float64).eps), len(representatives))


def transfer_cut(B: csr_array, k: int) -> np.ndarray:
    """Coordinates of the rows by the normalised cut of the representatives."""
    used = B[:, np.flatnonzero(B.sum(axis=0) > 0)]
    of_rows = diags_array(1 / used.sum(axis=1)) @ used
    small = (used.T @ of_rows).toarray()
    scale, m = 1 / np.sqrt(small.sum(axis=1)), len(small)
    normalised = scale[:, None] * small * scale
    vectors = eigh((normalised + normalised.T) / 2, subset_by_index=[max(m - k, 0), m - 1])[1]
    return of_rows @ (scale[:, None] * vectors)


def run(
    views: Views, k: int, seed: int, *, n_representatives: int = REPRESENTATIVES, n_neighbors: int = NEIGHBOURS
) -> np.ndarray:
    """Labels of the rows of one view."""
    (X,) = views
    representatives = hybrid_selection(X, affordable(n_representatives, len(X), k), seed)
    coordinates = transfer_cut(affinities(X, representatives, n_neighbors), k)
    model = KMeans(k, n_init=_LABEL_STARTS, max_iter=_LABEL_STEPS, random_state=seed)
    return model.fit_predict(normalize(coordinates))
