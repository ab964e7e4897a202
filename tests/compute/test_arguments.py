"""What reaches native code: every array is checked against the others, and lives as long as the call."""

from __future__ import annotations

import ctypes
import gc
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from helpers import blobs, make_engine, make_present, make_problem, make_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.native import compiled as native
from powerkmeans.compute.native.arguments import CommonArguments, MapCall, PassCall
from powerkmeans.compute.native.compiled import CompiledPass, FastMap, FusedPass, RawInput
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.compute.passes import available_passes, fastest, run_pass
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.fourier import FourierMap, make_fourier
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.features.maps.nystroem import make_nystroem
from powerkmeans.fitting import problem
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import Possibilistic
from powerkmeans.types import Block, Parameters

BUILT = [target for target in TARGETS if open_library(target) is not None]
needs_library = pytest.mark.skipif(not BUILT, reason="powerkmeans was installed without a C++ compiler")
N, K, WIDTHS = 20, 3, (4, 6)


@pytest.fixture(params=BUILT or [pytest.param("none", marks=needs_library)])
def compiled(request):
    return CompiledPass(request.param)


def make_pass(dtype=np.float64, raw=False):
    """A block of two views, its inputs, and maps if it is of raw rows."""
    rng = np.random.default_rng(0)
    views = tuple(rng.normal(size=(N, p)).astype(dtype) for p in WIDTHS)
    outputs = tuple(2 * p for p in WIDTHS) if raw else WIDTHS
    present = np.ascontiguousarray(make_present(N, 2, rng, 0.3).T)
    block = Block(0, views, tuple(np.vecdot(v, v) for v in views), np.ones(N, dtype), present)
    problem = make_problem([rng.normal(size=(9, p)) for p in outputs], "possibilistic")
    inputs = prepare(
        Parameters(rng.normal(size=(K, sum(outputs))), np.full(2, 0.5)), -2.0, problem, np.dtype(dtype)
    )
    maps = tuple(fourier(p, p, dtype) for p in WIDTHS) if raw else None
    return block, inputs, maps


def fourier(n_columns, n_frequencies, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    base = make_fourier(rng.normal(size=n_columns), rng.normal(size=(n_columns, n_frequencies)), 1.0, dtype)
    return make_centred(base, 0.01 * rng.normal(size=2 * n_frequencies), dtype)


def cut(array):
    return array[:-1]


def narrowed(array):
    return array[..., :-1]


def widened(array):
    return np.concatenate([array, array], axis=-1)


def emptied(array):
    return array[:0]


def flattened(array):
    return array.reshape(-1, 1, 1)


def complex_(array):
    return array.astype(complex)


WRONG = [cut, narrowed, widened, emptied, flattened, complex_]


def second(items, how):
    return (*items[:1], how(items[1]), *items[2:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize(
    "what",
    [
        "views",
        "weight",
        "present",
        "projections",
        "center_norms",
        "squared_norms",
        "origin",
        "frequencies",
        "mean",
    ],
)
def test_a_wrong_array_is_an_error_in_words(what, how, raw, dtype):
    block, inputs, maps = make_pass(dtype, raw)
    PassCall(block, CommonArguments(inputs, maps))
    if what in ("views", "squared_norms"):
        block = block._replace(**{what: second(getattr(block, what), how)})
    elif what in ("weight", "present"):
        block = block._replace(**{what: how(getattr(block, what))})
    elif what in ("projections", "center_norms"):
        inputs = replace(inputs, **{what: second(getattr(inputs, what), how)})
    elif raw:
        maps = second(maps, lambda m: spoilt_map(m, what, how))
    if (what == "squared_norms") == raw and what in ("squared_norms", "origin", "frequencies", "mean"):
        PassCall(block, CommonArguments(inputs, maps))  # what is not read does no harm
        return
    with pytest.raises(ValueError, match=r"compiled kernel|The map of view 1 makes"):
        PassCall(block, CommonArguments(inputs, maps))


def spoilt_map(feature_map, what, how):
    if what == "mean":
        return replace(feature_map, mean=how(feature_map.mean))
    return replace(feature_map, base=replace(feature_map.base, **{what: how(getattr(feature_map.base, what))}))


@pytest.mark.parametrize("field", ["view_weights", "references", "projections", "center_norms"])
def test_numbers_of_views_are_compared(field):
    block, inputs, _ = make_pass()
    inputs = replace(inputs, **{field: getattr(inputs, field)[:1]})
    with pytest.raises(ValueError, match="got 2 views, but 1 "):
        PassCall(block, CommonArguments(inputs, None))


@pytest.mark.parametrize("s", [0.0, 1.0, math.nan])
def test_exponents_that_are_not_below_zero_are_refused(s):
    block, inputs, _ = make_pass()
    with pytest.raises(ValueError, match="exponent s below 0"):
        PassCall(block, CommonArguments(replace(inputs, s=s), None))


def test_other_precisions_and_no_frequencies_are_refused():
    with pytest.raises(ValueError, match="float32 or float64, not in float16"):
        MapCall(fourier(3, 4), np.ones((2, 3), dtype=np.float16))
    with pytest.raises(ValueError, match="at least one frequency"):
        MapCall(CentredMap(FourierMap(np.zeros(3), np.zeros((3, 0))), np.zeros(0), "float64"), np.ones((2, 3)))


@pytest.mark.parametrize("n_columns", [1, 2, 4, 200])
def test_the_fourier_map_compares_widths(compiled, n_columns):
    exact = fourier(3, 5)
    with pytest.raises(ValueError, match=rf"rows to map of shape \(50, 3\), got \(50, {n_columns}\)"):
        compiled.accelerated(exact)(np.zeros((50, n_columns)), np)


@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("feature_map", ["rff", "nystroem", "identity"])
def test_rows_of_another_width_are_an_error_though_the_estimator_let_them_in(engine, feature_map):
    X = np.random.default_rng(0).normal(size=(60, 9)) + np.repeat(9 * np.eye(9)[:3], 20, axis=0)
    model = KernelPowerKMeans(3, feature_map=feature_map, engine=engine, random_state=0).fit(X)
    model.n_features_in_ = 1
    with pytest.raises(ValueError, match=r"\b9\b"):
        model.predict(np.zeros((1000, 1)))


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_the_maps_of_numpy_compare_widths_too(n_columns):
    X = np.random.default_rng(0).normal(size=(6, 3))
    for base in (fourier(3, 5).base, make_nystroem(np.zeros(3), X, "rbf", 1.0), IdentityMap(3)):
        with pytest.raises(ValueError, match=f"The rows have {n_columns} columns, but the map was made for 3"):
            base(np.zeros((50, n_columns)), np)


def strided(array):
    wide = np.full((*array.shape[:-1], 2 * array.shape[-1]), np.nan)
    wide[..., ::2] = array
    return wide.astype(array.dtype)[..., ::2]


def unaligned(array):
    buffer = np.empty(array.nbytes + 1, dtype=np.uint8)
    shifted = buffer[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    return shifted


def fortran(array):
    return np.asfortranarray(array)


LAYOUTS = [strided, unaligned, fortran, lambda array: array[::-1][::-1].copy()[..., ::-1][..., ::-1]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_layout_are_read_right(compiled, layout):
    block, inputs, maps = make_pass(raw=True)
    block = block._replace(
        views=tuple(np.where(there[:, None], v, 0) for v, there in zip(block.views, block.present, strict=True))
    )
    expected = FusedPass(compiled.target).raw_sums(block, RawInput(inputs, maps))
    inputs = replace(
        inputs,
        projections=tuple(map(layout, inputs.projections)),
        center_norms=tuple(map(layout, inputs.center_norms)),
    )
    maps = tuple(spoilt_map(spoilt_map(m, "frequencies", layout), "mean", layout) for m in maps)
    block = block._replace(views=tuple(map(layout, block.views)), weight=layout(block.weight))
    found = FusedPass(compiled.target).raw_sums(block, RawInput(inputs, maps))
    for name in ("mass", "moment", "scatter", "residual", "sizes"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("dtype", [">f8", "f4", "i2", "?"])
def test_rows_and_weights_of_other_types_are_converted(compiled, dtype):
    block, inputs, _ = make_pass()
    whole = block._replace(
        views=tuple(np.round(v).astype(dtype) for v in block.views), weight=block.weight.astype(dtype)
    )
    plain = whole._replace(views=tuple(v.astype(float) for v in whole.views), weight=whole.weight.astype(float))
    found, expected = (compiled.sums(b, inputs) for b in (whole, plain))
    assert np.array_equal(found.moment, expected.moment)
    assert found.loss == expected.loss


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maps_of_any_layout_give_the_same_features(compiled, layout, dtype):
    exact = fourier(40, 300, dtype)
    X = np.random.default_rng(0).normal(size=(500, 40)).astype(dtype)
    expected = FastMap(exact, compiled.target)(X, np)
    other = spoilt_map(spoilt_map(spoilt_map(exact, "frequencies", layout), "mean", layout), "origin", layout)
    assert np.array_equal(FastMap(other, compiled.target)(layout(X), np), expected)


def test_a_call_holds_the_arrays_that_it_points_to():
    exact = fourier(40, 300)
    call = MapCall(spoilt_map(exact, "frequencies", np.asfortranarray), np.ones((5, 40)))
    gc.collect()
    assert np.array_equal(at(call.structure.frequencies, (40, 300)), exact.base.frequencies)
    block, inputs, _ = make_pass()
    call = PassCall(block._replace(views=tuple(map(strided, block.views))), CommonArguments(inputs, None))
    gc.collect()
    for view, given in zip(call.structure.views[:2], block.views, strict=True):
        assert np.array_equal(at(view.rows, given.shape), given)


def test_parameters_are_brought_into_form_once_a_pass(compiled, monkeypatch):
    made = []

    def counted(*given):
        made.append(given)
        return CommonArguments(*given)

    monkeypatch.setattr(native, "CommonArguments", counted)
    X, _ = blobs(3, size=9000)
    engine = make_engine([X])
    inputs = prepare(Parameters(X[::9000], np.ones(1)), -2.0, make_problem([X], "fuzzy"), X.dtype)
    assert len(engine.blocks) > 1
    compiled.run(engine, inputs)
    assert len(made) == 1


def test_a_call_of_a_block_holds_the_parameters_of_its_pass():
    block, inputs, _ = make_pass()
    projections = tuple(map(strided, inputs.projections))
    call = PassCall(block, CommonArguments(replace(inputs, projections=projections), None))
    gc.collect()
    for view, given in zip(call.structure.views[:2], projections, strict=True):
        assert np.array_equal(at(view.projection, given.shape), given)


def at(address, shape):
    """The numbers at an address, as native code would read them."""
    return np.ctypeslib.as_array((ctypes.c_double * math.prod(shape)).from_address(address)).reshape(shape)


@dataclass(frozen=True)
class Bounded(Possibilistic):
    """A membership of a test: half of the sample always counts."""

    name: str = "bounded"

    def degrees(self, distance, reference, xp):
        return 0.5 + 0.5 * super().degrees(distance, reference, xp)


def test_a_membership_that_the_library_does_not_know_goes_to_numpy(compiled):
    X, _ = blobs(3, spread=1.0)
    for membership in (Bounded(2.0), Bounded(2.0, name="possibilistic"), Bounded(2.0, name="fuzzy")):
        problem = replace(make_problem([X], "possibilistic"), membership=membership)
        inputs = prepare(Parameters(X[::40], np.ones(1)), -2.0, problem, X.dtype)
        engine = make_engine([X])
        found, expected = run_pass(engine, inputs, block_statistics), engine.fold(block_statistics, inputs)
        assert not compiled.takes(engine, inputs)
        assert np.array_equal(found.moment, expected.moment)
        assert found.loss == expected.loss
        with pytest.raises(ValueError, match="does not know the membership Bounded"):
            CommonArguments(inputs, None)


@needs_library
@pytest.mark.parametrize("engine", ["auto", "compiled"])
@pytest.mark.parametrize("budget", [2**30, 0])
@pytest.mark.parametrize("feature_map", ["rff", "identity"])
def test_fits_with_a_membership_of_ones_own_are_those_of_numpy(monkeypatch, engine, budget, feature_map):
    monkeypatch.setattr(problem, "make_membership", lambda name, fuzziness: Bounded(fuzziness))
    X, _ = blobs(4, size=60, spread=1.0)
    models = [
        KernelPowerKMeans(
            4,
            membership="possibilistic",
            feature_map=feature_map,
            random_state=0,
            engine=NumpyOptions(kernel=kernel, memory_budget=budget),
        ).fit(X)
        for kernel in (engine, "numpy")
    ]
    assert np.array_equal(models[0].labels_, models[1].labels_)
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-9)


@needs_library
def test_maps_that_derive_from_the_fourier_map_are_left_alone():
    class Doubled(CentredMap):
        def __call__(self, X, xp):
            return 2 * super().__call__(X, xp)

    exact = fourier(3, 5)
    doubled = Doubled(exact.base, exact.mean, exact.dtype)
    assert fastest(doubled, available_passes("compiled", np)) is doubled


def test_a_raw_pass_is_not_offered_for_unknown_memberships(compiled):
    block, inputs, maps = make_pass(raw=True)
    engine = open_engine("auto", make_views(block.views, block.weight)).with_features(maps, keep=False)
    fused = FusedPass(compiled.target)
    assert fused.takes(engine, inputs)
    assert not fused.takes(engine, replace(inputs, membership=Bounded(2.0)))
