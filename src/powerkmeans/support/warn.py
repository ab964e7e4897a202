"""Warnings that point at the user's line, however many calls lie between."""

from __future__ import annotations

import sys
import warnings


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside this package and scikit-learn's wrappers."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("powerkmeans.", "sklearn.")
    ):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, category, stacklevel=depth)
