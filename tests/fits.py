"""Small fits and what came of them: results that no change of structure may move.

``python tests/fits.py`` prints how far today's fits are from ``records/fits.json``, with ``--before`` from those
before the code was rebuilt; ``--write`` makes the first file anew, for changes that are meant to change results.
The first thirty name their map, landmarks unless told; the last ones leave it to the library.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

RECORDS = Path(__file__).parent / "records" / "fits.json"
BEFORE = RECORDS.with_name("fits_before.json")
# a label is kept of at most so many rows, evenly spaced
MOST_LABELS = 400


class Record(NamedTuple):
    """What is kept of a fit."""

    labels: list[int]
    sizes: list[int]
    objective: float
    inertia: float
    s: float
    n_iter: int
    view_weights: list[float]


def _blobs(n: int = 300, k: int = 5, d: int = 6, spread: float = 2.5, dtype: Any = np.float64) -> np.ndarray:
    return make_blobs(n, d, centers=k, cluster_std=spread, random_state=k)[0].astype(dtype)


def _iris() -> np.ndarray:
    return StandardScaler().fit_transform(load_iris().data)


def _wine() -> np.ndarray:
    return StandardScaler().fit_transform(load_wine().data)


def _rings() -> np.ndarray:
    return make_circles(400, noise=0.05, factor=0.5, random_state=0)[0]


def _noise() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 20))


def _outliers() -> np.ndarray:
    X = _blobs()
    X[::25] = np.random.default_rng(0).normal(scale=60, size=X[::25].shape)
    return X


def _two_views(n: int = 300) -> dict[str, np.ndarray]:
    X = _blobs(n, 4, 8)
    noise = np.random.default_rng(1).normal(size=(n, 3))
    return {"left": X[:, :5], "right": X[:, 3:], "noise": noise}


def _missing() -> dict[str, np.ndarray]:
    views = {name: view.copy() for name, view in _two_views().items()}
    views["left"][::7] = np.nan
    views["right"][3::11] = np.nan
    return views


def _weights(n: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 4, n).astype(float)


def _one(X: Any, k: int, weight: Any = None, **parameters: Any) -> KernelPowerKMeans:
    parameters = {"feature_map": "nystroem", "random_state": 0} | parameters
    return KernelPowerKMeans(k, **parameters).fit(X, sample_weight=weight)


def _several(X: Any, k: int, weight: Any = None, **parameters: Any) -> MultiViewPowerKMeans:
    parameters = {"feature_map": "nystroem", "random_state": 0} | parameters
    return MultiViewPowerKMeans(k, **parameters).fit(X, sample_weight=weight)


def _streamed() -> KernelPowerKMeans:
    X = _blobs(3000)
    model = KernelPowerKMeans(5, feature_map="nystroem", random_state=0)
    for start in range(0, 3000, 600):
        model.partial_fit(X[start : start + 600])
    return model


FITS: dict[str, Any] = {
    "iris": lambda: _one(_iris(), 3),
    "wine": lambda: _one(_wine(), 3),
    "wine, float32": lambda: _one(_wine().astype(np.float32), 3),
    "wine, numpy": lambda: _one(_wine(), 3, engine="numpy"),
    "blobs": lambda: _one(_blobs(), 5),
    "many clusters": lambda: _one(_blobs(600, 20, 5, 0.5), 20),
    "one cluster": lambda: _one(_blobs(), 1),
    "few distinct rows": lambda: _one(np.repeat(_blobs(4), 30, axis=0), 4),
    "sparse": lambda: _one(sp.csr_array(np.abs(_wine()) * (_wine() > 0)), 3),
    "weighted": lambda: _one(_blobs(), 5, _weights(300)),
    "fourier": lambda: _one(_blobs(), 5, feature_map="rff"),
    "fourier, float32": lambda: _one(_blobs(dtype=np.float32), 5, feature_map="rff"),
    "orthogonal": lambda: _one(_wine(), 3, feature_map="orf", kernel="matern32"),
    "laplacian": lambda: _one(_wine(), 3, kernel="laplacian"),
    "rational quadratic, scale": lambda: _one(_wine(), 3, kernel="rational_quadratic", bandwidth="scale"),
    "identity": lambda: _one(_wine(), 3, feature_map="identity"),
    "exact": lambda: _one(_wine(), 3, feature_map="exact"),
    "precomputed": lambda: _one(rbf_kernel(_wine(), gamma=0.05), 3, feature_map="exact", kernel="precomputed"),
    "possibilistic": lambda: _one(_outliers(), 5, membership="possibilistic", fuzziness=1.6),
    "possibilistic, identity": lambda: _one(
        _outliers(), 5, membership="possibilistic", feature_map="identity", reference_distance="median"
    ),
    "within": lambda: _one(_outliers(), 5, membership="possibilistic", reference_distance="within"),
    "the paper's": lambda: _one(_blobs(), 5, feature_map="rff", s_init=-3.0, max_iter=600),
    "k-means": lambda: _one(_blobs(), 5, feature_map="identity", s_init=-math.inf, n_init=3),
    "given centroids": lambda: _one(_blobs(), 5, init=_blobs()[:5]),
    "pilot": lambda: _one(_blobs(34_000, 6, 4, 1.5), 6),
    "views": lambda: _several(_two_views(), 4),
    "views of several maps": lambda: _several(
        _two_views(), 4, feature_map={"left": "rff", "noise": "identity"}, membership="fuzzy", entropy=50.0
    ),
    "missing views": lambda: _several(_missing(), 4),
    "views of exact kernels": lambda: _several(
        _two_views(), 4, _weights(300), feature_map={"left": "exact"}, view_scaling=None, view_baseline=None
    ),
    "stream": _streamed,
    "default, rings": lambda: KernelPowerKMeans(2, random_state=0).fit(_rings()),
    "default, noise": lambda: KernelPowerKMeans(3, random_state=0).fit(_noise()),
    "default, missing views": lambda: MultiViewPowerKMeans(4, random_state=0).fit(_missing()),
}


def fitted(name: str) -> Record:
    """Fit, and keep what matters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name]()
    labels = model.labels_
    return Record(
        labels[:: -(-len(labels) // MOST_LABELS)].tolist(),
        np.bincount(labels, minlength=model.n_clusters).tolist(),
        float(model.objective_),
        float(model.inertia_),
        float(model.s_),
        int(model.n_iter_),
        np.asarray(model.view_weights_).tolist(),
    )


def recorded(path: Path = RECORDS) -> dict[str, Record]:
    """The fits as they were."""
    return {name: Record(**one) for name, one in json.loads(path.read_text()).items()}


def _distance(now: float, before: float) -> float:
    return abs(now - before) / max(abs(before), np.finfo(float).tiny) if now != before else 0.0


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--before", action="store_true")
    chosen = parser.parse_args()
    if chosen.write:
        found = {name: fitted(name)._asdict() for name in FITS}
        RECORDS.write_text(json.dumps(found, separators=(",", ":")).replace('},"', '},\n"') + "\n")
        return 0
    before = recorded(BEFORE if chosen.before else RECORDS)
    print(f"{'fit':28s} {'agreement':>9s} {'same labels':>11s} {'objective':>10s} {'inertia':>10s}  iterations")
    for name in before:
        now, then = fitted(name), before[name]
        print(
            f"{name:28s} {adjusted_rand_score(then.labels, now.labels):9.4f} {now.labels == then.labels!s:>11s} "
            f"{_distance(now.objective, then.objective):10.1e} {_distance(now.inertia, then.inertia):10.1e}  "
            f"{then.n_iter} -> {now.n_iter}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
