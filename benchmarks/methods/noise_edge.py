"""Principal components above the noise edge: what is left of a view once columns that say nothing are taken out.

The eigenvalues of the covariance of n rows of d columns of noise alone, of variance s^2, follow the law of
Marchenko and Pastur with the ratio g = d / n, which ends at s^2 (1 + sqrt(g))^2. s^2 is estimated by the median
eigenvalue over the median of the law, and components beyond the end are kept, at least so many.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import cumulative_trapezoid

_POINTS = 20_001
_NEGLIGIBLE = 1e-12  # of the largest eigenvalue: those of directions that the rows do not have


def law_median(ratio: float) -> float:
    """The median of the law's eigenvalues other than 0, for noise of unit variance."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    angle = np.linspace(0, np.pi / 2, _POINTS)
    x = low + (high - low) * np.sin(angle) ** 2
    # the density sqrt((high - x)(x - low)) / x times dx / d angle, up to a factor
    density = np.where(x > 0, (np.sin(angle) * np.cos(angle)) ** 2 / np.maximum(x, np.finfo(float).tiny), 0.0)
    share = cumulative_trapezoid(density, angle, initial=0)
    return float(np.interp(0.5, share / share[-1], x))


def above_noise_edge(view: np.ndarray, least: int) -> np.ndarray:
    """The rows' coordinates along the principal components above the edge, and along the first ``least``."""
    n, d = view.shape
    centred = view.astype(np.float64) - view.mean(axis=0, dtype=np.float64)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    values = singular**2 / n
    present = values > _NEGLIGIBLE * values[0]
    if not present.any():  # a constant view: left as it is for the fit to say so
        return view
    variance = float(np.median(values[present])) / law_median(d / n)
    above = int(np.sum(values > variance * (1 + np.sqrt(d / n)) ** 2))
    kept = min(max(above, least), int(np.sum(present)))
    return (left[:, :kept] * singular[:kept]).astype(view.dtype)
