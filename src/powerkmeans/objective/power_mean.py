"""The power mean M_s and its gradient, for any s < 0 and any scale of its arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from powerkmeans.types import Array, device_of


def power_mean(y: Array, s: float, xp: Any) -> tuple[Array, Array]:
    r"""Power mean over the first axis of ``y >= 0`` and its gradient.

    .. math::
        M_s(y) = \left(\tfrac1k \sum_j y_j^s\right)^{1/s}, \qquad
        w_j = \frac{\partial M_s}{\partial y_j}
            = \frac{\tfrac1k\, y_j^{s-1}}{(\tfrac1k \sum_l y_l^s)^{1-1/s}}

    (paper: eq:membership function). With ``r_j = y_min / y_j`` and ``S = sum_j r_j^{-s}`` this is
    ``M_s = y_min (S/k)^{1/s}`` and ``w_j = (S/k)^{1/s} r_j^{1-s} / S``, which does not overflow at any
    scale. Where ``|s| < 1``, ``S/k - 1`` is summed instead of ``S``: the root would multiply its rounding by
    ``1/|s|``; as ``s`` vanishes the limit is the geometric mean. Zeros take the limit: the ``t`` zero entries
    share ``(t/k)^{1/s} / t``, the rest get 0. ``s = -inf`` is the minimum, its gradient shared by the ties.

    Parameters
    ----------
    y : array of shape (k, b)
    s : negative float, may be ``-inf``

    Returns
    -------
    mean : array of shape (b,)
    gradient : array of shape (k, b)

    """
    smallest = xp.min(y, axis=0)
    if s == -math.inf:
        tied = xp.astype(y == smallest, y.dtype)
        return smallest, tied / xp.sum(tied, axis=0)
    ratio = _ratio(smallest, y, xp)
    powers = ratio**-s
    total = xp.sum(powers, axis=0)
    logarithm = xp.log(total / y.shape[0]) if s <= -1 else _log_mean(ratio, total, s, xp)
    factor = _root(logarithm, s, xp)
    powers *= ratio
    powers *= factor / total
    return smallest * factor, powers


def _ratio(smallest: Array, y: Array, xp: Any) -> Array:
    """``smallest / y`` in (0, 1], and 1 where both are zero."""
    if xp is np and not np.any(smallest == 0):  # elsewhere the answer would have to be waited for
        return smallest / y
    zero = y == 0
    return xp.where(zero, xp.ones_like(y), smallest / xp.where(zero, xp.ones_like(y), y))


def _log_mean(ratio: Array, total: Array, s: float, xp: Any) -> Array:
    """``log(S/k)``, from the sum of ``r_j^{-s} - 1`` where that is small."""
    zero = ratio == 0
    logarithms = xp.log(xp.where(zero, xp.ones_like(ratio), ratio))
    excess = xp.mean(xp.where(zero, -xp.ones_like(ratio), xp.expm1(-s * logarithms)), axis=0)
    small = excess > -0.5
    return xp.where(
        small, xp.log1p(xp.where(small, excess, xp.zeros_like(excess))), xp.log(total / ratio.shape[0])
    )


def _root(log_mean: Array, s: float, xp: Any) -> Array:
    """``exp(log_mean / s)``, at least 1, held inside half the range of the type for the smallest ``|s|``."""
    largest = 0.5 * math.log(float(xp.finfo(log_mean.dtype).max))
    limit = xp.asarray(largest, dtype=log_mean.dtype, device=device_of(log_mean))
    return xp.exp(xp.minimum(log_mean / s, limit))
