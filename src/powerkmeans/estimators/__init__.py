"""Estimators in scikit-learn's manner: parameters in, attributes out, nothing else."""

from powerkmeans.estimators.kernel import KernelPowerKMeans
from powerkmeans.estimators.multiview import MultiViewPowerKMeans

__all__ = ["KernelPowerKMeans", "MultiViewPowerKMeans"]
