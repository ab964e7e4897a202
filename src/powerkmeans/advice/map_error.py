"""How much of a kernel's structure a map keeps, measured on examined rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.advice.thresholds import FEWEST_ROWS
from powerkmeans.types import Float64Array


class _Half(NamedTuple):
    """Half of the rows, whose directions are taken, and the other half, on which these are tried."""

    rows: NDArray[np.intp]
    others: NDArray[np.intp]


def kernel_error(
    gram: Float64Array, features: Float64Array, share: Float64Array, n_clusters: int
) -> tuple[float, float]:
    r"""How much a map loses of the structure that clusters can show, and how much of that recurs on other rows.

    With ``K`` the centred kernel matrix of half of the rows, ``V`` its ``k - 1`` leading eigenvectors and ``U``
    those of the features, relaxed kernel k-means explains ``tr(V^T K V)``, and ``tr(U^T K U)`` by the map: the
    error is the share that is lost. On the other half the same directions explain less, of noise hardly anything.
    """
    even, odd = np.arange(0, len(gram), 2), np.arange(1, len(gram), 2)
    sums = np.zeros(3)
    for half in (_Half(even, odd), _Half(odd, even)):
        sums += _explained(gram, features, share, half, n_clusters)
    best, by_map, elsewhere = sums.tolist()
    return (max(1 - by_map / best, 0.0), elsewhere / best) if best > 0 else (0.0, 0.0)


def _explained(
    gram: Float64Array, features: Float64Array, share: Float64Array, half: _Half, n_clusters: int
) -> Float64Array:
    """What the kernel's directions and the map's explain of the half, and the kernel's of the other."""
    rows, others = half
    weight = share[rows] / np.sum(share[rows])
    root = np.sqrt(weight)
    mean = gram[:, rows] @ weight
    centred = gram - mean - mean[:, None] + weight @ mean[rows]
    of_half = centred[np.ix_(rows, rows)] * root * root[:, None]
    offset = (features[rows] - weight @ features[rows]) * root[:, None]
    rank = max(1, min(n_clusters - 1, 8 * len(rows) // FEWEST_ROWS))
    values, directions = (part[..., -rank:] for part in np.linalg.eigh(of_half))
    of_map = np.linalg.eigh(offset @ offset.T)[1][:, -rank:]
    real = values > len(rows) * np.finfo(np.float64).eps * values[-1]  # the others are rounding
    scores = (centred[np.ix_(others, rows)] * root) @ (directions[:, real] / np.sqrt(values[real]))
    elsewhere = share[others] @ np.sum(scores**2, axis=1) / np.sum(share[others])
    return np.array([np.sum(values), np.sum(of_map * (of_half @ of_map)), elsewhere])
