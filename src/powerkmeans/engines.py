"""What users hand to ``engine=``."""

from __future__ import annotations

from powerkmeans.compute.options import DaskOptions, NumpyOptions, TorchOptions

__all__ = ["DaskOptions", "NumpyOptions", "TorchOptions"]
