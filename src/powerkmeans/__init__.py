"""Clustering that does not get stuck: kernel power k-means on random features, over one view or several."""

from __future__ import annotations

import os
from typing import Any

from powerkmeans import metrics, report
from powerkmeans.critical import critical_exponent
from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.explain import explain_views
from powerkmeans.features.dimension import suggest_n_components
from powerkmeans.model_io import load_estimator as _load_estimator
from powerkmeans.sources import open_source

__all__ = [
    "KernelPowerKMeans",
    "MultiViewPowerKMeans",
    "__version__",
    "critical_exponent",
    "explain_views",
    "load",
    "metrics",
    "open_source",
    "report",
    "suggest_n_components",
]

__version__ = "0.1.0"


def load(path: str | os.PathLike[str]) -> Any:
    """Read any model that an estimator's ``save`` wrote."""
    return _load_estimator(path, {cls.__name__: cls for cls in (KernelPowerKMeans, MultiViewPowerKMeans)})
