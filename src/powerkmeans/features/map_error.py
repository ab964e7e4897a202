"""How much of a kernel's structure a map keeps, measured on some of the rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.types import Float64Array

# rows of a view that are examined: their 20,000 pairs give every number that is taken of them to a few percent
EXAMINED_ROWS = 200
# fewer rows say nothing of columns and maps, and an eighth of them nothing of a kernel; wide rows are no fewer
FEWEST_ROWS = 64
# multiplications that one kernel matrix may take, which are some ten milliseconds
WORK = 2**25
# maps whose size goes by their error aim at this one; docs/advice.md has what was measured
GOOD_ERROR = 0.02


class _Half(NamedTuple):
    """Half of the rows, whose directions are taken, and the other half, on which these are tried."""

    rows: NDArray[np.intp]
    others: NDArray[np.intp]


def examined_size(n_columns: int) -> int:
    """How many rows to examine."""
    return int(np.clip((WORK / n_columns) ** 0.5, FEWEST_ROWS, EXAMINED_ROWS))


def size_for(error: float, size: int) -> float:
    """The size at which a map's error is good, by that of another size: it falls as one over the size."""
    return size * error / GOOD_ERROR


def kernel_error(
    gram: Float64Array, features: Float64Array, share: Float64Array, n_clusters: int
) -> tuple[float, float]:
    r"""How much a map loses of what clusters can show, and how many times as much of that as of the rest recurs.

    With ``K`` the centred kernel matrix of half of the rows, ``V`` its ``k - 1`` leading eigenvectors and ``U``
    those of the features, relaxed kernel k-means explains ``tr(V^T K V)``, and ``tr(U^T K U)`` by the map: the
    error is the share that is lost. On the other half the same directions explain less, but many times as much as
    the further ones do on the mean, where there is any structure; of noise hardly more.
    """
    even, odd = np.arange(0, len(gram), 2), np.arange(1, len(gram), 2)
    if not (np.any(share[even] > 0) and np.any(share[odd] > 0)):  # one row has all the weight
        return 0.0, 0.0
    sums = np.zeros(4)
    for half in (_Half(even, odd), _Half(odd, even)):
        sums += _explained(gram, features, share, half, n_clusters)
    best, by_map, elsewhere, chance = sums.tolist()
    if best <= 0:
        return 0.0, 0.0
    return max(1 - by_map / best, 0.0), elsewhere / chance if chance > 0 else math.inf


def _explained(
    gram: Float64Array, features: Float64Array, share: Float64Array, half: _Half, n_clusters: int
) -> Float64Array:
    """What leading directions of kernel and map explain of the half; of the other the kernel's, and its others."""
    rows, others = half
    weight = share[rows] / np.sum(share[rows])
    root = np.sqrt(weight)
    mean = gram[:, rows] @ weight
    centred = gram - mean - mean[:, None] + weight @ mean[rows]
    of_half = centred[np.ix_(rows, rows)] * root * root[:, None]
    offset = (features[rows] - weight @ features[rows]) * root[:, None]
    rank = max(1, min(n_clusters - 1, 8 * len(rows) // FEWEST_ROWS))
    values, directions = np.linalg.eigh(of_half)
    of_map = np.linalg.eigh(offset @ offset.T)[1][:, -rank:]
    real = values > len(rows) * np.finfo(np.float64).eps * values[-1]  # the others are rounding
    scores = (centred[np.ix_(others, rows)] * root) @ (directions[:, real] / np.sqrt(values[real]))
    elsewhere = share[others] @ scores**2 / np.sum(share[others])
    leading, further = elsewhere[-rank:], elsewhere[:-rank]
    chance = len(leading) * np.mean(further) if len(further) else 0.0
    return np.array([np.sum(values[-rank:]), np.sum(of_map * (of_half @ of_map)), np.sum(leading), chance])
