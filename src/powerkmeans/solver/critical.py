"""The exponent at which clusters begin to separate."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Float64Array

# all that is left of the second moments where nearly all weight is on one sample
_TINY = float(np.finfo(np.float64).tiny)


def growth_rate(s: float, sharp: Float64Array, flat: Float64Array) -> float:
    """Factor by which one iteration multiplies a small displacement from the collapsed point.

    Twice the largest eigenvalue of ``(1 - s) sharp + flat`` (see ``objective.linearised``), where both matrices
    are already divided by the total pull.
    """
    return 2 * float(np.linalg.eigvalsh((1 - s) * sharp + flat)[-1])


def critical_value(sharp: Float64Array, flat: Float64Array) -> float:
    """The exponent at which the collapsed point loses stability: ``growth_rate = 1``.

    0.0 if the collapse is unstable at every ``s < 0``.
    """
    if growth_rate(0.0, sharp, flat) >= 1:
        return 0.0
    if not np.any(flat):
        return 1 - 1 / max(growth_rate(0.0, sharp, flat), _TINY)
    low = -1.0
    while growth_rate(low, sharp, flat) < 1:
        low *= 2
        if not math.isfinite(low) or low < -1 / ROUNDING:  # a collapse that stays stable
            return low
    return float(brentq(lambda s: growth_rate(s, sharp, flat) - 1, low, 0.0, xtol=1e-9))
