"""Every wrong value of every parameter of everything public is refused by name; right ones are taken.

Entries, parameters and values are those of ``python -m benchmarks.fuzz.values``, which tries them all.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from benchmarks.fuzz.entries import KINDS, OWN_KINDS, entries, public_functions, public_methods
from benchmarks.fuzz.outcomes import LONG, REFUSED, TAKEN, outcome
from benchmarks.fuzz.pool import Odd, Undecided, Unshown

import powerkmeans
import powerkmeans.plotting
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k, suggest_n_components
from powerkmeans.engines import NumpyOptions
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features import size

pytest.importorskip("matplotlib").use("agg")
anndata = pytest.importorskip("anndata")

ENTRIES = {entry.name: entry for entry in entries()}
CASES = [(name, parameter) for name, entry in ENTRIES.items() for parameter in entry.parameters]
# of each kind one or two; drawing and choosing take long where a value is taken, so they get those that are wrong
ODD = {
    "huge": 10**400,
    "endless": 10**5000,
    "nan": float("nan"),
    "minus infinity": -float("inf"),
    "complex": 1j,
    "span of time": np.timedelta64(3, "s"),
    "bytes": b"auto",
    "0-d array": np.array(2.0),
    "empty list": [],
    "empty dict": {},
    "nested": [[], [[]]],
    "objects": np.array([None, object()]),
    "odd text": "\x00\ud800",
    "text that is not shown": Odd("no such word"),
    "not shown": Unshown(),
    "undecided": Undecided(),
    "a class": dict,
    "a mapping by objects": {Unshown(): 1},
}
X = np.random.default_rng(0).normal(size=(24, 3))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    pytest.importorskip("matplotlib.pyplot").close("all")


@pytest.mark.parametrize(("name", "parameter"), CASES, ids=lambda case: case)
def test_odd_values_are_refused_by_name(name, parameter):
    entry = ENTRIES[name]
    kind = entry.kind(parameter)
    for label, value in ODD.items():
        # what may be right is the command's to try: it takes longer
        if kind.forbidden(value) or parameter not in ("X", "y", "progress", "verbose"):
            assert outcome(entry, parameter, value) in (TAKEN, REFUSED, LONG), label


def test_everything_public_is_covered():
    owners = {name.partition("(")[0] for name in ENTRIES}
    for made in (KernelPowerKMeans, MultiViewPowerKMeans):
        assert made.__name__ in owners
        assert {f"{made.__name__}.{method}" for method in public_methods(made)} <= owners
    assert {function.__name__ for function in public_functions()} <= {
        owner.removeprefix("sc.") for owner in owners
    }
    for name in powerkmeans.plotting.__all__:
        assert {name, f"{name}.plot"} <= owners
        ways = [way for way in vars(getattr(powerkmeans.plotting, name)) if way.startswith("from_")]
        assert {f"{name}.{way}" for way in ways} <= owners


def test_every_parameter_has_a_kind():
    for name, parameter in CASES:
        assert ENTRIES[name].kind(parameter), (name, parameter)  # a KeyError tells of a new one
    known = {parameter for _, parameter in CASES}
    assert {*KINDS, *(parameter for _, parameter in OWN_KINDS)} == known, "a kind that nothing has any more"


VALID = ["suggest_n_components", "NumpyOptions", "DaskOptions", "purity", "normalized_mutual_info", "open_source"]
VALID += ["KernelPowerKMeans(learning)", "MultiViewPowerKMeans(learning)"]


@pytest.mark.parametrize("name", VALID)
def test_right_values_are_taken(name):
    for parameter in ENTRIES[name].parameters:
        for value in ENTRIES[name].kind(parameter).valid:
            assert outcome(ENTRIES[name], parameter, value) == TAKEN, (parameter, value)


# the list of the issue, one by one


@pytest.mark.parametrize("feature_map", ["nystroem", "rff", "orf", "exact"])
@pytest.mark.parametrize("bandwidth", [1e-300, 5e-324])
def test_bandwidths_near_nothing_work_or_are_named(feature_map, bandwidth):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataGuidanceWarning)
            model = KernelPowerKMeans(3, feature_map=feature_map, bandwidth=bandwidth, random_state=0).fit(X)
    except ValueError as error:
        assert f"bandwidth={bandwidth:g} is too small" in str(error)  # noqa: PT017 (either is right)
    else:
        assert math.isfinite(model.objective_)


@pytest.mark.parametrize("feature_map", ["rff", "orf"])
def test_maps_that_do_not_fit_in_memory_are_refused_before_they_are_drawn(feature_map, monkeypatch):
    monkeypatch.setattr(size, "available_memory", lambda: 2**34)

    def drawn(*args):
        raise AssertionError("drawn")

    monkeypatch.setattr("powerkmeans.features.maps.fourier.draw_frequencies", drawn)
    with pytest.raises(
        ValueError, match=r"n_components is too large.* needs \d+\.\d GiB .*16\.0 GiB are available"
    ):
        KernelPowerKMeans(3, feature_map=feature_map, n_components=10**8).fit(X)


def test_landmarks_that_do_not_fit_in_memory_are_refused_before_they_are_drawn(monkeypatch):
    monkeypatch.setattr(size, "available_memory", lambda: 2**20)
    monkeypatch.setattr(size, "SPARE_BYTES", 0)
    with pytest.raises(ValueError, match="n_components is too large"):
        KernelPowerKMeans(3, feature_map="nystroem", n_components=500).fit(
            np.random.default_rng(0).normal(size=(600, 3))
        )
    assert KernelPowerKMeans(3, n_components=10**8, random_state=0).fit(X).n_components_ == 24  # at most the rows


def test_numbers_beyond_all_ranges():
    with pytest.raises(ValueError, match="The 'k_max' parameter must be an int"):
        choose_k(X, k_max=1e30)
    with pytest.raises(
        ValueError, match="To compare 1000000000000 clusters takes at least 2000000000004 distinct"
    ):
        choose_k(X, 10**12, 10**12)
    for name in ("n_init", "anneal_every", "max_iter"):
        with pytest.raises(ValueError, match=rf"The '{name}' parameter must be .*Got an integer of 16610 bits"):
            KernelPowerKMeans(3, **{name: 10**5000}).fit(X)
    with pytest.raises(ValueError, match=r"eps=4\.94066e-324 and delta=0\.5 ask for more features than can be"):
        suggest_n_components(3, eps=5e-324)
    assert suggest_n_components(3, delta=5e-324) == math.ceil(4 * (math.log(3) - math.log(5e-324)) ** 3)


@pytest.mark.parametrize("wrong", [True, np.timedelta64(3), -1, 2**32, "seed", 1.0, [1], np.random.PCG64(0)])
@pytest.mark.parametrize("estimator", [KernelPowerKMeans, MultiViewPowerKMeans])
def test_random_state_is_named(estimator, wrong):
    with pytest.raises(
        ValueError, match=r"The 'random_state' parameter must be an int in the range \[0, 4294967295\]"
    ):
        estimator(3, random_state=wrong).fit(X)


@pytest.mark.parametrize("estimator", [KernelPowerKMeans, MultiViewPowerKMeans])
def test_partial_fit_looks_at_every_parameter(estimator):
    model = estimator(3, random_state=0).fit(X)
    for name, wrong in {"engine": "gpu", "random_state": True, "bandwidth": -1, "init": []}.items():
        with pytest.raises(ValueError, match=name):
            model.set_params(**{name: wrong}).partial_fit(X)
        model.set_params(**{name: estimator().get_params()[name]})
    model.partial_fit(X)


def test_options_of_a_view_that_the_stream_does_not_have():
    model = MultiViewPowerKMeans(3, random_state=0).fit({"a": X, "b": X[:, ::-1]})
    with pytest.raises(ValueError, match="bandwidth names the view 'c'; the views are 'a', 'b'"):
        model.set_params(bandwidth={"c": 1.0}).partial_fit({"a": X, "b": X[:, ::-1]})


def test_options_of_the_engine():
    for wrong in ({"n_threads": True}, {"n_threads": np.array([1, 2])}, {"kernel": np.array(["auto", "numpy"])}):
        with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter must be"):
            NumpyOptions(**wrong)
