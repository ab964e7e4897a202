"""Warnings and errors of this package, to filter by and to catch."""

from __future__ import annotations

__all__ = ["CheckpointError", "ClusterError", "DataGuidanceWarning", "ModelFileError"]


class CheckpointError(ValueError):
    """A file to go on from is no checkpoint, is damaged, or is of another fit; the message says which."""


class ClusterError(RuntimeError):
    """A cluster of machines does not answer: its client is closed, its workers are gone or die time and again."""


class DataGuidanceWarning(UserWarning):
    """The data make a setting unwise: what was measured, and what to do about it.

    A fit raises at most one. Where the fit itself went wrong (clusters collapsed, iterations ran out) it is
    scikit-learn's ``ConvergenceWarning`` instead, with these findings beside.
    """


class ModelFileError(ValueError):
    """A file is not a model of this package, is damaged, or is of a later version; the message says which.

    It is the only error that the content of a file gives rise to: nothing is unpacked before its size has been
    checked, and a model that has been loaded answers with finite numbers.
    """
