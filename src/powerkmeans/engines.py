"""What users hand to ``engine=``."""

from __future__ import annotations

from powerkmeans.compute.options import NumpyOptions

__all__ = ["NumpyOptions"]
