"""How many random features: the size rule of the paper's Theorem 3 and what ``"auto"`` makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from powerkmeans.features.map_error import FEWEST_ROWS, size_for
from powerkmeans.support.memory import ENTRIES, GIB, SMALLEST_BLOCK, SPARE_BYTES, available_memory
from powerkmeans.support.values import LARGEST, integer, real

# arrays of the size of the centroids, and of a block of rows, that a fit holds at once
_COPIES = 4
# rows times squared landmarks: as many landmarks take no time that shows, and more than the second a fit too much
FREE_WORK, MOST_WORK = 2**24, 2**31
# more landmarks, or numbers of them where rows are wide, are for users to ask for; every block in work copies them
MOST_LANDMARKS, LANDMARK_NUMBERS = 500, ENTRIES // 2
_INSIDE = real(lambda x: 0 < x < 1, "a number strictly between 0 and 1")


def suggest_n_components(n_clusters: int, eps: float = 0.5, delta: float = 0.5) -> int:
    r"""Number of random Fourier frequencies that the theory asks for.

    The main term of the paper's relative error bound (theorem:approx consistency),

    .. math:: D(k, \varepsilon, \delta) = \lceil \log(k/\delta)^3 / \varepsilon^2 \rceil .

    With the defaults this is :math:`\lceil 4 \log^3(2k) \rceil`, the paper's recommendation; it grows
    with the logarithm of the number of clusters and with neither the rows nor the columns of the data.
    The bound covers kernels that are analytic at the origin (``rbf``, ``rational_quadratic``).

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    eps : float, default=0.5
        Relative error of the clustering cost, in (0, 1).
    delta : float, default=0.5
        Probability that the draw misses that error, in (0, 1).

    Returns
    -------
    int
        The number of frequencies; a map with ``D`` frequencies has ``2 D`` outputs.

    Examples
    --------
    >>> from powerkmeans import suggest_n_components
    >>> [suggest_n_components(k) for k in (3, 10, 20, 100)]
    [24, 108, 201, 595]

    """
    n_clusters = integer(1)("n_clusters", n_clusters)
    eps, delta = _INSIDE("eps", eps), _INSIDE("delta", delta)
    ratio = n_clusters / delta
    logarithm = math.log(ratio) if ratio < math.inf else math.log(n_clusters) - math.log(delta)
    wanted = logarithm**3 / eps / eps
    if wanted > LARGEST:
        raise ValueError(f"eps={eps:g} and delta={delta:g} ask for more features than can be counted.")
    return max(1, math.ceil(wanted))


def size_rule(n_clusters: int) -> str:
    """Where the automatic size comes from, in words."""
    size = suggest_n_components(n_clusters)
    return f"ceil(4 log(2k)^3) = {size} for k={n_clusters} (Theorem 3, eps = delta = 1/2)"


def first_landmarks(n_clusters: int, n_rows: int, n_columns: int) -> int:
    """Landmarks that are tried first: as many as frequencies would have outputs, or as few rows have for nothing.

    ``n_rows`` are distinct: how repetition is written does not matter.
    """
    return max(2 * suggest_n_components(n_clusters), _affordable(FREE_WORK, n_rows, n_columns))


def most_landmarks(n_clusters: int, n_rows: int, n_columns: int) -> int:
    """The most that :func:`grown` comes to; the first where there is no room for more than the examined rows."""
    first = first_landmarks(n_clusters, n_rows, n_columns)
    most = min(MOST_LANDMARKS, _affordable(MOST_WORK, n_rows, n_columns))
    return most if most > max(first, FEWEST_ROWS) else first


def grown(size: int, error: float, most: int) -> int:
    """The size to have instead of one with that error, at most so large."""
    return max(size, min(most, round(size_for(error, size))))


def _affordable(work: int, n_rows: int, n_columns: int) -> int:
    """Landmarks that take no more work, and no more numbers, however wide rows are."""
    return min(math.isqrt(work // n_rows), LANDMARK_NUMBERS // n_columns)


def map_bytes(n_outputs: int, n_numbers: int, n_clusters: int, n_samples: int) -> int:
    """Bytes that a map and the least work with it take: its arrays, centroids, and one small block of features."""
    return 8 * (n_numbers + _COPIES * n_outputs * (n_clusters + min(n_samples, SMALLEST_BLOCK)))


def check_map_memory(needed: Mapping[str, int]) -> None:
    """Reject maps that would not fit in memory before they are drawn; ``needed`` has the bytes of each view's."""
    total = sum(needed.values())
    available = available_memory() if total > SPARE_BYTES else None
    if available is not None and total > available:
        widest = max(needed, key=lambda name: needed[name])
        raise ValueError(
            f"n_components is too large: the feature map of view {widest!r} needs {needed[widest] / GIB:.1f} GiB "
            f"({total / GIB:.1f} GiB for all views), and {available / GIB:.1f} GiB are available."
        )
