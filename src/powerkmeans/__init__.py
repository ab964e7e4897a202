"""Clustering that does not get stuck: kernel power k-means on random features."""

from __future__ import annotations

import os
from typing import Any

from powerkmeans import metrics
from powerkmeans.critical import critical_exponent
from powerkmeans.estimators import KernelPowerKMeans
from powerkmeans.features.dimension import suggest_n_components
from powerkmeans.model_io import load_estimator as _load_estimator

__all__ = [
    "KernelPowerKMeans",
    "__version__",
    "critical_exponent",
    "load",
    "metrics",
    "suggest_n_components",
]

__version__ = "0.1.0"


def load(path: str | os.PathLike[str]) -> Any:
    """Read any model that an estimator's ``save`` wrote."""
    return _load_estimator(path, {"KernelPowerKMeans": KernelPowerKMeans})
