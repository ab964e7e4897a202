"""The graph of landmarks that rows tie together, and the directions in which it falls apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from powerkmeans.features.graph.neighbours import Neighbours
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Float64Array

# tau: what the mean degree adds to every landmark's; without it a few far rows take whole directions
DEGREE_FLOOR = 1.0
# landmarks up to which the matrix is brought to three diagonals, which is as fast and knows no restarts
DENSE_LANDMARKS = 150
# how far an eigenvalue may be off, as a share of itself: eigenvectors then have digits to spare
TOLERANCE = 1e-12
# distances of eigenvalues from one that are none
NONE = 1e-7
# a gap that is more than length: that of a line cut in the middle is four, as its modes have 1, 4, 9, ... times
# the same distance from one
WIDE = 5.0


class Ties(NamedTuple):
    """Landmarks tied by rows: ``W^{1/2} B``, raised degrees, and the pieces without any tie between them.

    ``C = B^T W B`` is never written where it is only multiplied with: it has up to ``r`` numbers for one of ``B``.
    """

    tied: csr_array
    raised: Float64Array
    n_pieces: int
    piece: NDArray[np.integer]

    @property
    def smallest_piece(self) -> int:
        """Landmarks of the smallest piece.

        Fewer than a row has neighbours make a splinter: landmarks as far as the first one beyond have no share,
        and where distances are few numbers, of categories say, two rows may have nobody but each other.
        """
        return int(np.min(np.bincount(self.piece)))


class Spectrum(NamedTuple):
    """Leading eigenvalues, the largest first, and what the shares of landmarks are multiplied by, (m, q)."""

    values: Float64Array
    loading: Float64Array


def shares_matrix(found: Neighbours, n_landmarks: int) -> csr_array:
    """``Z``, (n, m): rows by landmarks, sparse."""
    n_rows, count = found.index.shape
    bounds = np.arange(0, n_rows * count + 1, count)
    shares = csr_array((found.share.ravel(), found.index.ravel(), bounds), shape=(n_rows, n_landmarks))
    shares.sum_duplicates()
    shares.eliminate_zeros()
    return shares


def degrees(shares: csr_array, weight: Float64Array) -> Float64Array:
    """``lambda_j = sum_i w_i z_ij``."""
    return np.asarray(shares.T @ weight)


def raised_degrees(degree: Float64Array) -> Float64Array:
    """``Lambda~``: those of landmarks, and a part of their mean."""
    return degree + DEGREE_FLOOR * float(np.mean(degree))


def row_degrees(shares: csr_array, degree: Float64Array, raised: Float64Array) -> Float64Array:
    """``g_i = sum_j z_ij lambda_j / lambda~_j``."""
    return np.asarray(shares @ (degree / raised))


def ties_of(shares: csr_array, weight: Float64Array) -> Ties:
    """``W^{1/2} B`` with ``B = G^{-1/2} Z Lambda~^{-1/2}``, and ``Lambda~``."""
    degree = degrees(shares, weight)
    raised = raised_degrees(degree)
    row_degree = row_degrees(shares, degree, raised)
    row_degree = np.where(row_degree > 0, row_degree, 1.0)  # of a row without neighbours, which ties nothing
    by_row, by_landmark = np.sqrt(weight / row_degree), 1 / np.sqrt(raised)
    values = shares.data * np.repeat(by_row, np.diff(shares.indptr)) * by_landmark[shares.indices]
    tied = csr_array((values, shares.indices, shares.indptr), shape=shares.shape)
    return Ties(tied, raised, *_pieces(tied))


def _pieces(tied: csr_array) -> tuple[int, NDArray[np.integer]]:
    """How many pieces there are, and that of each landmark, in the order of the first landmarks of pieces."""
    n_rows, n_landmarks = tied.shape
    bounds = np.concatenate([np.zeros(n_landmarks, dtype=tied.indptr.dtype), tied.indptr])
    size = n_landmarks + n_rows  # landmarks, then rows, which point to theirs
    links = csr_array((np.ones(tied.nnz), tied.indices, bounds), shape=(size, size))
    piece = connected_components(links, directed=False)[1][:n_landmarks]
    return int(np.max(piece)) + 1, piece


def spectrum(ties: Ties, n_directions: int) -> Spectrum:
    """``Lambda~^{-1/2} V mu^{-1/2}`` of the leading eigenpairs of the graph.

    Pieces are solved one by one: an eigenvalue that they have in common would be found once for all of them.
    """
    if ties.n_pieces == 1:
        return _largest(*_leading(ties.tied, n_directions), ties.raised, n_directions)
    values, vectors = [], []
    for number in range(ties.n_pieces):
        members = np.flatnonzero(ties.piece == number)
        some, directions = _leading(ties.tied[:, members], n_directions)
        values.append(some)
        vectors.append(_placed(directions, members, len(ties.raised)))
    return _largest(np.concatenate(values), np.concatenate(vectors, axis=1), ties.raised, n_directions)


def _placed(directions: Float64Array, members: NDArray[np.intp], size: int) -> Float64Array:
    result = np.zeros((size, directions.shape[1]))
    result[members] = directions
    return result


def _largest(values: Float64Array, vectors: Float64Array, raised: Float64Array, count: int) -> Spectrum:
    """The largest eigenpairs of all pieces; what is rounding is dropped.

    Every piece has the eigenvalue one: those that are equal to rounding stay in the order of the pieces, so that
    the order of coordinates, and with it where runs begin, does not hang on rounding.
    """
    level = np.round(values / (ROUNDING * np.max(values)))
    order = np.argsort(-level, kind="stable")[:count]
    order = order[values[order] > len(raised) * np.finfo(np.float64).eps * values[order[0]]]
    signs = np.where(np.sum(vectors[:, order] ** 3, axis=0) < 0, -1.0, 1.0)
    loading = vectors[:, order] * signs / np.sqrt(raised)[:, None] / np.sqrt(values[order])
    return Spectrum(values[order], loading)


def gaps(values: Float64Array, numbers: Sequence[int]) -> Float64Array:
    """How many times as far from one the eigenvalue behind so many is as the last of them.

    Those that are not there are zero. Where a graph falls into as many pieces the gap is as wide as can be.
    """
    known = np.zeros(max(numbers) + 1)
    known[: len(values)] = values[: len(known)]
    rest = np.maximum(1 - known, NONE)
    at = np.asarray(numbers)
    return rest[at] / rest[at - 1]


def _leading(tied: csr_array, count: int) -> tuple[Float64Array, Float64Array]:
    """Leading eigenpairs of ``C``, as many as there are, from a fixed start."""
    size = tied.shape[1]
    if size <= DENSE_LANDMARKS or count >= size // 2:
        values, vectors = _dense((tied.T @ tied).toarray(), max(0, size - count))
    else:
        start, back = np.random.default_rng(0).standard_normal(size), tied.T.tocsr()
        graph = LinearOperator((size, size), matvec=lambda vector: back @ (tied @ vector), dtype=np.float64)
        values, vectors = eigsh(graph, k=count, which="LA", v0=start, tol=TOLERANCE)
    order = np.argsort(-values, kind="stable")[:count]
    return values[order], vectors[:, order]


def _dense(matrix: Float64Array, first: int) -> tuple[Float64Array, Float64Array]:
    """The eigenpairs from so many on, by rising eigenvalues.

    The way to some of them may fail where many are equal, as between rows that are all equally far from each
    other; the way to all does not.
    """
    try:
        return eigh(matrix, subset_by_index=(first, len(matrix) - 1), driver="evr")
    except LinAlgError:
        values, vectors = eigh(matrix, driver="evd")
        return values[first:], vectors[:, first:]
