"""Algorithm 2 of the paper as the tests write it out: loops over samples in double precision, for small sets.

The tests' oracle is no package, so it is loaded by its path. Features and start as the paper has them, with the
median distance as bandwidth; reference distances from the start, as its appendix says. It stops as the library
does: labels unchanged over five iterations.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.methods.interface import Answer, Method, Views
from benchmarks.methods.scikit import median_gamma
from powerkmeans import suggest_n_components

ORACLE = Path(__file__).parents[2] / "tests" / "oracle.py"
_GAMMA, _EVERY, _UNCHANGED, _MOST = 1.04, 2, 5, 60


def oracle() -> ModuleType:
    """The tests' oracle as a module."""
    name = "benchmarks_oracle"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ORACLE)
        if spec is None or spec.loader is None or not ORACLE.is_file():
            raise FileNotFoundError(f"{ORACLE} is missing: run from a checkout of the repository")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


def algorithm_2(views: Views, k: int, seed: int, *, s_init: float = -15.0, entropy: float = 10.0) -> Answer:
    """IP-RFF-MKPKM, literal; the setting is the middle of the paper's grid unless told."""
    rng = np.random.default_rng(seed)
    phi = []
    for view in (np.asarray(view, dtype=np.float64) for view in views):
        sigma = np.sqrt(1 / (2 * median_gamma(view, seed)))
        omega = rng.normal(0, 1 / sigma, (view.shape[1], suggest_n_components(k)))
        phi.append(oracle().fourier_features(view, omega))
    labels = KMeans(k, n_init=1, random_state=seed).fit_predict(np.hstack(phi))
    theta = [np.array([features[labels == j].mean(axis=0) for j in range(k)]) for features in phi]
    eta = [
        [float(np.mean(np.sum((p - t[j]) ** 2, axis=1))) for p, t in zip(phi, theta, strict=True)]
        for j in range(k)
    ]
    even = np.full(len(phi), 1 / len(phi))
    model = oracle().Algorithm2(phi, theta, eta, alpha=even, entropy=entropy, m=2.0)
    unchanged, iteration = 0, 0
    while unchanged < _UNCHANGED and iteration < _MOST:
        model.step(s_init * _GAMMA ** (iteration // _EVERY))
        nearest = np.array([np.argmin(model.combined(i)) for i in range(model.n)])
        unchanged = unchanged + 1 if np.array_equal(nearest, labels) else 0
        labels, iteration = nearest, iteration + 1
    return Answer(labels, iteration, note=f"s_init {s_init:g}, entropy {entropy:g}")


LITERAL = Method(algorithm_2, several=True, install="", module="powerkmeans", most_rows=300)
