"""Warnings of this package, to filter by."""

from __future__ import annotations

__all__ = ["DataGuidanceWarning"]


class DataGuidanceWarning(UserWarning):
    """The data make a setting unwise: what was measured, and what to do about it.

    A fit raises at most one. Where the fit itself went wrong (clusters collapsed, iterations ran out) it is
    scikit-learn's ``ConvergenceWarning`` instead, with these findings beside.
    """
