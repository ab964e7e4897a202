"""Principal components above the noise edge, as a step before a fit: the library's own, which a graph may take."""

from __future__ import annotations

import numpy as np

from powerkmeans.features.graph.edge import above_edge


def above_noise_edge(view: np.ndarray, least: int) -> np.ndarray:
    """The rows' coordinates along the principal components above the edge, and along the first ``least``."""
    rows = view.astype(np.float64)
    centred = rows - rows.mean(axis=0)
    if not centred.any():  # a constant view: left as it is for the fit to say so
        return view
    return (centred @ above_edge(rows, np.ones(len(rows)), least)).astype(view.dtype)
