"""Nasty data through every engine, map, membership and precision.

A fit must end in finite answers, labels in range, an objective that never rises at one exponent, the same
partition for shuffled rows, and the right one where it is known. What cannot be told apart in a precision may be
refused, in words that say so. The suite takes a few of each, ``POWERKMEANS_FUZZ=1`` (``make test-nasty``) all.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

import toy_engine
from helpers import blobs, make_engine, make_problem
from oracle import precise_sums
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute.native.compiled import CompiledPass
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.compute.options import ENGINES
from powerkmeans.engines import NumpyOptions
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.types import Parameters

WHOLE = bool(os.environ.get("POWERKMEANS_FUZZ"))
ENGINE = {
    "numpy": "numpy",
    "compiled": "auto",
    "recomputed": NumpyOptions(n_threads=2, memory_budget=0),
    "another library": toy_engine.StrictOptions(),
}
MAPS = ["identity", "rff", "orf", "nystroem", "exact", "graph"]
PLAIN = ("identity",)
QUICK = ("numpy", "compiled")  # for what takes seconds
MEMBERSHIPS = ["fuzzy", "possibilistic"]
DTYPES = [np.float64, np.float32]
# few different rows: neighbours are sought in several widths
SLOW_GRAPHS = ("duplicates", "as many clusters as rows", "weights of sixty decades", "small unsigned integers")


class Case(NamedTuple):
    """Rows or views with what a fit has to make of them.

    truth : the partition that any map and membership must find, None where it is not known
    plain : the one that plain distances must find with the fuzzy membership
    refused : what an error may say where a precision or a map cannot take the rows, None for nothing
    """

    X: Any
    k: int
    weight: Any = None
    truth: Any = None
    plain: Any = None
    refused: str | None = None
    maps: tuple[str, ...] = tuple(MAPS)
    engines: tuple[str, ...] = tuple(ENGINE)


def grid(size=2, apart=10.0, dimensions=3):
    """Points far from one another."""
    return apart * np.array(list(itertools.product(range(size), repeat=dimensions)))[[0, 3, 5, 6]]


def joined_pair(rows):
    """Every row by itself but the two that are nearest to each other: the best of one cluster fewer than rows."""
    apart = cdist(rows, rows) + np.diag(np.full(len(rows), np.inf))
    first, second = np.unravel_index(np.argmin(apart), apart.shape)
    labels = np.arange(len(rows))
    labels[second] = first
    return labels


@functools.cache
def cases():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 15)
    X, labels = blobs(3, 4, 20, 0.4, seed=3)
    far = np.vstack([X, [[1e12, -1e12, 1e12, 1e12]]])
    wide = rng.normal(0, 1, (3, 100_000))[np.arange(12) % 3] + 0.1 * rng.normal(size=(12, 100_000))
    integers = np.int64(2**61) * rng.integers(-1, 2, (3, 4))[labels] + rng.integers(0, 2**50, X.shape)
    bytes_ = np.where(labels[:, None] == [[0, 1, 2]], 255, 0).astype(np.uint8)
    small = 5e-324 * np.round(100 * (X + 10))
    spread = 10.0 ** rng.uniform(-30, 30, 60)
    heavy = np.where(np.arange(60) == 7, 1.0, 1e-300)
    rising, falling = np.argsort(X[:, 0]), np.argsort(-np.sum(X**2, axis=1))
    many, equal = rng.normal(0, 100, (1001, 2)), "rows are equal"
    return {
        "duplicates": Case(grid()[y], 4, truth=y),
        "near duplicates": Case(grid()[y] / 10 + 1e-15 * rng.normal(size=(60, 3)), 4, truth=y),
        "an outlier": Case(far, 4, plain=np.append(labels, 3), refused="rounding decides which are alike"),
        "as many clusters as rows": Case(rng.normal(0, 5, (9, 3)), 9, truth=np.arange(9)),
        "one cluster": Case(X, 1, truth=np.zeros(60)),
        "a view of zeros": Case({"a": X, "zeros": np.zeros((60, 2))}, 3, truth=labels),
        "integers near overflow": Case(integers, 3, truth=labels),
        "small unsigned integers": Case(bytes_, 3, truth=labels),
        "subnormals": Case(small, 3, refused=f"underflow|{equal}|too small for float64"),
        "small numbers": Case(1e-30 * X, 3, truth=labels, refused="underflow float32"),
        "weight on one sample": Case(X, 3, weight=heavy, refused="weight are equal|flat|same coordinates"),
        "weights of sixty decades": Case(X, 3, weight=spread, refused="outside the range of float32 sums"),
        "sorted rows": Case(X[rising], 3, truth=labels[rising]),
        "far rows first": Case(X[falling], 3, truth=labels[falling]),
        "100,000 columns": Case(wide, 3, truth=np.arange(12) % 3, engines=QUICK),
        "one row more": Case(many, 1000, plain=joined_pair(many), maps=PLAIN, engines=QUICK),
    }


def cast(X, dtype):
    if isinstance(X, dict):
        return {name: cast(view, dtype) for name, view in X.items()}
    return X if X.dtype.kind in "iu" else X.astype(dtype)


def products():
    """Every case with every setting, or in the suite some of each."""
    every = [
        (name, engine, feature_map, membership, dtype)
        for name, case in cases().items()
        for engine, feature_map, membership, dtype in itertools.product(
            case.engines, case.maps, MEMBERSHIPS, DTYPES if cast(case.X, np.float32) is not case.X else DTYPES[:1]
        )
    ]
    return every if WHOLE else [one for one in every if is_quick(*one[:3])][::37]


def is_quick(name, engine, feature_map):
    """Whether a fit takes some hundredths of a second."""
    if name == "one row more":
        return False
    if name == "100,000 columns":
        return feature_map in ("nystroem", "exact")
    return feature_map != "graph" or (engine == "numpy" and name not in SLOW_GRAPHS)


@pytest.fixture(autouse=True)
def another_engine(monkeypatch):
    monkeypatch.setitem(ENGINES, toy_engine.StrictOptions, toy_engine.Strict)


def taken(X, order):
    return {name: view[order] for name, view in X.items()} if isinstance(X, dict) else X[order]


def fitted(case, X, weight, **parameters):
    made = MultiViewPowerKMeans if isinstance(X, dict) else KernelPowerKMeans
    given = {"anneal_factor": 2.5, "n_components": 32, "random_state": 0, "advice": False, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(case.k, **given).fit(X, sample_weight=weight)


def assert_sound(model, X, k):
    assert np.all(np.isfinite([model.objective_, model.inertia_]))
    assert set(np.unique(model.labels_)) <= set(range(k))
    assert np.array_equal(model.predict(X), model.labels_)
    for answer in (model.transform(X), model.predict_proba(X), model.view_weights_):
        assert np.all(np.isfinite(answer))
    assert np.sum(model.predict_proba(X), axis=1) == pytest.approx(1, rel=1e-5)
    centers = model.cluster_centers_
    assert all(np.all(np.isfinite(part)) for part in (centers if isinstance(centers, list) else [centers]))


def assert_descends(model, X, total, dtype):
    """At one exponent the objective falls, but for the rounding of distances and of features."""
    values, s = (np.asarray(model.history_[name]) for name in ("objective", "s"))
    eps, farthest = float(np.finfo(dtype).eps), float(np.max(model.transform(X)))
    close = 30 * eps ** (2 / 3) * np.max(np.abs(values), initial=0) + 8 * total * (eps * farthest) ** 2
    assert np.all(np.diff(values)[s[1:] == s[:-1]] <= close)


@pytest.mark.parametrize(("name", "engine", "feature_map", "membership", "dtype"), products())
def test_nasty_data(name, engine, feature_map, membership, dtype):
    case = cases()[name]
    X, given = (
        cast(case.X, dtype),
        {"engine": ENGINE[engine], "feature_map": feature_map, "membership": membership},
    )
    try:
        model = fitted(case, X, case.weight, **given)
    except ValueError as error:
        assert re.search(case.refused or "(?!)", str(error)), error  # noqa: PT017
        return
    assert_sound(model, X, case.k)
    n = len(model.labels_)
    assert_descends(model, X, n if case.weight is None else np.sum(case.weight), dtype)
    order = np.random.default_rng(1).permutation(n)
    shuffled = fitted(case, taken(X, order), None if case.weight is None else case.weight[order], **given)
    assert adjusted_rand_score(model.labels_[order], shuffled.labels_) == 1
    # in single precision a mean that an outlier draws away takes the digits of all other rows
    plain = case.plain if (feature_map, membership, dtype) == ("identity", "fuzzy", np.float64) else None
    known = case.truth if plain is None else plain
    if known is not None:
        assert adjusted_rand_score(known, model.labels_) == 1


# of a distance by an expanded square two thirds of the digits are left, and exponents multiply what is lost
KERNELS = ["numpy", *(target for target in TARGETS if open_library(target) is not None)]
ROWS = [name for name, case in cases().items() if not isinstance(case.X, dict) and name != "one row more"]


@pytest.mark.parametrize("s", [-0.5, -3.0, -40.0] if WHOLE else [-3.0])
@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code", KERNELS)
@pytest.mark.parametrize("name", ROWS if WHOLE else ROWS[:3] + ROWS[6:7] + ROWS[-3:])
def test_sums_are_those_of_extended_precision(name, code, dtype, membership, s):
    case = cases()[name]
    rows = np.asarray(case.X, dtype=np.float64)[:, :50]
    rows = (rows - rows.mean(axis=0)).astype(dtype)
    weight = (np.ones(len(rows)) if case.weight is None else case.weight).astype(dtype)
    parameters = Parameters(rows[:: max(1, len(rows) // 5)][:6].astype(np.float64), np.ones(1))
    scatter = float(np.mean(np.sum(rows.astype(np.float64) ** 2, axis=1)))
    if not np.finfo(dtype).tiny * 1e6 < scatter < np.finfo(dtype).max / 1e3 or not np.all(np.isfinite(weight)):
        pytest.skip("a fit refuses such rows")
    problem = make_problem([rows.astype(np.float64)], membership, reference=[scatter])
    kernel = block_statistics if code == "numpy" else CompiledPass(code).sums
    found = make_engine([rows], weight).fold(kernel, prepare(parameters, s, problem, np.dtype(dtype)))
    eta = scatter if membership == "possibilistic" else None
    exact, size = precise_sums(rows, weight, parameters.centers.astype(dtype), s, eta=eta)
    close = 8 * (1 - s) * float(np.finfo(dtype).eps) ** (2 / 3)
    for field, value in exact.items():
        off = np.abs(np.asarray(getattr(found, field), dtype=np.longdouble) - value)
        assert np.all(off <= close * np.max(size[field]) + np.finfo(dtype).tiny), field
