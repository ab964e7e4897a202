"""What to choose before a fit: the number of clusters, the exponent to start from."""

from powerkmeans.choose.number import AnnealingPath, KChoice, choose_k

__all__ = ["AnnealingPath", "KChoice", "choose_k"]
