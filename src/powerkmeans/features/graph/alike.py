"""How much two ways to group the same rows have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from powerkmeans.types import Float64Array

# from which groups are the same, but for rows at their borders
ALIKE = 0.8


def agreement(first: NDArray[np.integer], second: NDArray[np.integer], weight: Float64Array) -> float:
    """The adjusted Rand index of two labellings of weighted rows: 1 for the same, 0 on average for unrelated ones.

    A row makes pairs with itself too, so that weights equal repetition and their scale does not matter.
    """
    table = np.zeros((int(np.max(first)) + 1, int(np.max(second)) + 1))
    np.add.at(table, (first, second), weight / np.sum(weight))
    both = float(np.sum(table**2))
    rows, columns = float(np.sum(np.sum(table, axis=1) ** 2)), float(np.sum(np.sum(table, axis=0) ** 2))
    chance, most = rows * columns, (rows + columns) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)
