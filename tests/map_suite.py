"""What every feature map must do, whoever wrote it: checks by the name of a map in the registry."""

from __future__ import annotations

import pickle
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from powerkmeans.compute.placement import moved
from powerkmeans.features.maps.base import BaseMap, MapRequest
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.types import RowSample

N_ROWS, N_COLUMNS = 60, 5


def rows(dtype=np.float64) -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(N_ROWS, N_COLUMNS))
    return (X * (np.abs(X) > 0.5) + [0, 0, 0, 1, 2]).astype(dtype)


def made(name: str, X: np.ndarray, kernel: str = "rbf") -> BaseMap:
    """The map of ``X``, as a fit makes it."""
    kind, weight = MAPS[name], np.ones(len(X))
    request = MapRequest(
        sample=RowSample((X,), weight),
        kernel=kernel,
        bandwidth=1.7 if kind.needs_bandwidth(kernel) else None,
        n_components=12 if kind.sized else 0,
        dtype=X.dtype,
        seed=3,
        key="X",
        rows=X,
        weight=weight,
    )
    return kind.make(request)


def centred(name: str, X: np.ndarray, kernel: str = "rbf") -> CentredMap:
    base = made(name, X, kernel)
    mean = np.mean(base(X, np), axis=0, dtype=np.float64)
    return make_centred(base, mean, X.dtype).scaled(1.3).for_new()


def check_outputs(name: str, dtype: type) -> None:
    X = rows(dtype)
    feature_map = centred(name, X)
    features = feature_map(X, np)
    assert features.shape == (N_ROWS, feature_map.n_outputs)
    assert features.dtype == dtype
    assert np.all(np.isfinite(features))
    assert np.mean(features, axis=0) == pytest.approx(0, abs=1e-5 if dtype == np.float32 else 1e-12)
    close = 1e-5 if dtype == np.float32 else 1e-12
    assert feature_map(X[7:20], np) == pytest.approx(features[7:20], abs=close)
    assert feature_map(sparse.csr_array(X), np) == pytest.approx(features, abs=close)


def check_facts(name: str) -> None:
    X = rows()
    base, feature_map = made(name, X), centred(name, X)
    features = base(X, np)
    assert feature_map.dual is base.dual is MAPS[name].dual
    assert base.works_in_float64 or made(name, X.astype(np.float32))(X.astype(np.float32), np).dtype == np.float32
    assert base.words.components
    if not base.dual:
        lengths = np.vecdot(features, features)
        assert feature_map.n_coordinates == feature_map.n_outputs
        if base.squared_length is not None:
            assert np.max(lengths) <= base.squared_length + 1e-12
        if base.largest_output:
            assert np.max(np.abs(features)) <= base.largest_output
        points = np.random.default_rng(1).normal(size=(4, feature_map.n_outputs))
        assert feature_map.uncentred(feature_map.centred(points)) == pytest.approx(points)
    if base.misses:
        more = feature_map.with_missed()(X, np)
        assert more.shape[1] == feature_map.with_missed().n_outputs == feature_map.n_outputs + 1
        whole_length = (more[:, -1] / 1.3) ** 2 + np.vecdot(features, features)
        assert whole_length == pytest.approx(1)
    else:
        assert feature_map.with_missed() is feature_map


def check_columns(name: str) -> None:
    for width in (1, N_COLUMNS + 1):
        with pytest.raises(ValueError, match=f"rows have {width} columns, but the map was made for"):
            made(name, rows())(np.ones((3, width)), np)


def check_packing(name: str) -> None:
    """The tables of model files name the fields of the map, which can be made anew from them."""
    base = made(name, rows())
    entries = {entry: getattr(base, entry) for entry in base.packing.entries}
    arrays = [array for array in base.packing.arrays(entries) if array != "mean"]
    named = {*entries, *arrays}
    rest = {field.name: field.default for field in fields(base) if field.name not in named}
    assert named | set(rest) == {field.name for field in fields(base)}
    assert all(getattr(base, field) is default for field, default in rest.items())  # of another form of the map
    again = type(base)(**entries, **{array: getattr(base, array) for array in arrays})
    assert np.array_equal(again(rows(), np), base(rows(), np))
    assert np.array_equal(pickle.loads(pickle.dumps(base))(rows(), np), base(rows(), np))


def check_other_library(name: str, kernel: str = "rbf") -> None:
    """The same features of arrays of a library that has nothing but the standard, on a device of its own."""
    strict = pytest.importorskip("array_api_strict")
    device = strict.Device("device1")
    X = rows()
    feature_map = centred(name, X, kernel)
    for one in (feature_map, feature_map.with_missed()):
        placed = moved(one, np.ndarray, lambda array: strict.asarray(array, device=device))
        features = placed(strict.asarray(X, device=device), strict)
        assert features.device == device
        home = strict.asarray(features, device=strict.Device("CPU_DEVICE"))
        assert np.max(np.abs(np.asarray(home) - one(X, np))) < 1e-12
