"""Blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def overflow_error(dtype: Any, row: int) -> ValueError:
    """What to raise when the features of a row leave the range of their type."""
    return ValueError(
        f"Squared distances overflow {np.dtype(dtype)} (row {row}): its values are too large for this "
        "precision or bandwidth. Rescale the data, or use float64."
    )
