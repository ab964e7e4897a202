"""How many random features: the size rule of the paper's Theorem 3 and what ``"auto"`` makes of it."""

from __future__ import annotations

import math
from numbers import Integral, Real


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
    if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool) or n_clusters < 1:
        raise ValueError(f"n_clusters must be an int >= 1, got {n_clusters!r}.")
    for name, value in (("eps", eps), ("delta", delta)):
        if not isinstance(value, Real) or not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return max(1, math.ceil(math.log(n_clusters / delta) ** 3 / eps**2))
