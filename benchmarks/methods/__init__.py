"""Ours and its peers behind one interface: views, number of clusters and seed in, labels out.

``METHODS`` are those of the paper's tables, for one view and for several; ``PEERS`` those of ``benchmarks.peers``,
for shared features and for raw columns. A method that is not installed is skipped, and the line that says so tells
how to install it. A method of one's own is named ``module:name`` of a :class:`Method`.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

from benchmarks.methods import fast, ours, scikit
from benchmarks.methods.interface import Answer, Method, Views, threads
from benchmarks.methods.literal import LITERAL
from benchmarks.methods.others import LIBRARIES, PUBLISHED

__all__ = ["METHODS", "OURS", "PEERS", "REFERENCE", "Answer", "Method", "Views", "find", "threads"]

REFERENCE, SINGLE = "KMeans(10)", "KMeans(1)"
OURS = "powerkmeans"

_SCIKIT: dict[str, Method] = {
    SINGLE: scikit.KMEANS_1,
    REFERENCE: scikit.KMEANS_10,
    "MiniBatchKMeans": scikit.MINI_BATCH,
    "KMeans(10), RBFSampler": scikit.RBF_SAMPLER,
    "KMeans(10), Nystroem": scikit.NYSTROEM,
    "SpectralClustering": scikit.SPECTRAL,
    "SpectralClustering, neighbours": scikit.SPECTRAL_NEIGHBOURS,
}
METHODS: dict[str, dict[str, Method]] = {
    "single": _SCIKIT
    | ours.SINGLE_VIEW
    | {name: method for name, method in (PUBLISHED | LIBRARIES).items() if not method.several},
    "multi": _SCIKIT
    | ours.MULTI_VIEW
    | {"Algorithm 2, literal": LITERAL}
    | PUBLISHED
    | {name: method for name, method in LIBRARIES.items() if method.several},
}
PEERS: dict[str, dict[str, Method]] = {
    "features": {
        OURS: replace(ours.DEFAULTS, run=ours.one_view(feature_map="identity", membership="fuzzy")),
        REFERENCE: scikit.KMEANS_10,
        SINGLE: scikit.KMEANS_1,
        "MiniBatchKMeans": scikit.MINI_BATCH,
        "faiss": fast.FAISS,
        "faiss, 10 starts": fast.FAISS_10,
        "fastkmeans": fast.FASTKMEANS,
    },
    "raw": {
        OURS: ours.DEFAULTS,
        REFERENCE: scikit.KMEANS_10,
        SINGLE: scikit.KMEANS_1,
        "KMeans(10), RBFSampler": replace(scikit.RBF_SAMPLER, most_rows=100_000),
        "KMeans(10), Nystroem": replace(scikit.NYSTROEM, most_rows=100_000),
        "SpectralClustering": replace(scikit.SPECTRAL, most_rows=5_000),
        "KPKM, exact": replace(ours.SINGLE_VIEW["KPKM"], most_rows=5_000),
    },
}


def find(kind: str, name: str) -> Method:
    """The method of that name in a table's kind (single, multi), or one's own ``module:name``."""
    if name in METHODS[kind]:
        return METHODS[kind][name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise KeyError(f"{name!r} is no method of the {kind} table; it has {', '.join(METHODS[kind])}.")
    method = getattr(importlib.import_module(module), attribute)
    if not isinstance(method, Method):
        raise TypeError(f"{name} is no benchmarks.methods.Method.")
    return method
