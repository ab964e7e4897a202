"""What users hand to ``engine=``."""

from __future__ import annotations

from powerkmeans.compute.options import DaskOptions, NumpyOptions

__all__ = ["DaskOptions", "NumpyOptions"]
