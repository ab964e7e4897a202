"""Every map of the registry passes one suite, and whatever lists maps has them all."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import map_suite
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.cli.options import FEATURE_MAPS
from powerkmeans.compute.placement import moved
from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.maps.registry import MAPS, classes_by_file_name, sized_maps
from powerkmeans.types import array_namespace


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs(name, dtype):
    map_suite.check_outputs(name, dtype)


@pytest.mark.parametrize("name", MAPS)
def test_facts(name):
    map_suite.check_facts(name)


@pytest.mark.parametrize("name", MAPS)
def test_rows_of_another_width(name):
    map_suite.check_columns(name)


@pytest.mark.parametrize("name", MAPS)
def test_packing(name):
    map_suite.check_packing(name)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_another_library(name, kernel):
    if (name, kernel) == ("orf", "laplacian"):
        pytest.skip("has no orthogonal form")
    map_suite.check_other_library(name, kernel)


def test_a_given_matrix_in_another_library():
    strict = pytest.importorskip("array_api_strict")
    X = map_suite.rows()
    matrix = KERNELS["rbf"].gram(X, X, 1.7)
    feature_map = map_suite.centred("exact", matrix, "precomputed")
    placed = moved(feature_map, np.ndarray, strict.asarray)
    found = placed.rows_and_norms(strict.asarray(matrix), 0, None)
    for ours, theirs in zip(feature_map.rows_and_norms(matrix, 0, None), found, strict=True):
        assert np.max(np.abs(np.asarray(theirs) - ours)) < 1e-12


@pytest.mark.parametrize("estimator", [KernelPowerKMeans, MultiViewPowerKMeans])
def test_documentation_and_command_name_every_map(estimator):
    line = re.search(r"feature_map : \{(.*?)\}", inspect.getdoc(estimator)).group(1)
    assert {word.strip(' "') for word in line.split(",")} == set(MAPS) == set(FEATURE_MAPS)


def test_names_in_files():
    assert list(classes_by_file_name()) == ["fourier", "nystroem", "graph", "identity", "exact"]
    assert sized_maps() == ("rff", "orf", "nystroem", "auto", "graph")


# features by two libraries, in double precision
TOLERANCE = 1e-12


def test_libraries_without_a_namespace_of_their_own(monkeypatch):
    class Foreign:
        pass

    assert array_namespace(np.ones(2)) is np
    monkeypatch.setitem(__import__("sys").modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"arrays of type .*Foreign and.*pip install array-api-compat"):
        array_namespace(Foreign())


@pytest.mark.parametrize("kernel", KERNELS)
def test_torch_goes_through_compat(kernel):
    torch = pytest.importorskip("torch")
    xp = array_namespace(torch.ones(2))
    X = map_suite.rows()
    for name in set(MAPS) - ({"orf"} if kernel == "laplacian" else set()):
        feature_map = map_suite.centred(name, X, kernel)
        plain = feature_map.n_outputs
        for one in (feature_map, feature_map.with_missed()):
            found, exact = moved(one, np.ndarray, xp.asarray)(xp.asarray(X), xp).numpy(), one(X, np)
            assert np.max(np.abs(found[:, :plain] - exact[:, :plain])) < TOLERANCE
            # what landmarks miss is the root of one less a sum of squares, which is off by twice the length of
            # what its terms are off; a root of nothing is off by the root of that
            missed = np.abs(found[:, plain:] ** 2 - exact[:, plain:] ** 2)
            assert np.max(missed, initial=0.0) < 2 * np.sqrt(plain) * TOLERANCE
