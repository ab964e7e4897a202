"""Data to draw, and the words of a picture."""

from __future__ import annotations

import numpy as np

from helpers import blobs

X, y = blobs(3, 5, 40)
RNG = np.random.default_rng(0)
VIEWS = {"shape": X, "noise": RNG.normal(size=(120, 4))}
INF = float("inf")


def texts(ax):
    return [text.get_text() for text in ax.texts]
