"""Random passes through the compiled kernel: what fits is held to NumPy, what does not must be refused in words.

python -m benchmarks.fuzz.shapes [--count 12000] [--seed 0] [--only CASE]

A case is a block of rows (features or raw, any layout and precision, views missing or not), centroids, an exponent
and a membership. In one of five, one array has a wrong shape. Under sanitizers: ``make test-sanitized``.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.compute.native.arguments import ANSWERS, CommonArguments, PassCall
from powerkmeans.compute.native.compiled import CompiledAnswer, CompiledPass, FusedPass, RawInput
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.fourier import make_fourier
from powerkmeans.objective.block import PassInput, block_statistics, prepare, sample_distances
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Array, Block, Parameters, PassStatistics, Problem

# of the largest number of a sum; exponents multiply what rounding does to logarithms of distances. Where NumPy in
# the same precision is further off (a residual next to zero, memberships all but tied), four times that is allowed
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
# rows whose two nearest centroids are as near as this may go to either
AMBIGUOUS = 1e-3
SMOOTH, ANY = ("loss", "hard_cost"), ("loss", "hard_cost", "mass", "moment", "scatter", "residual", "sizes")
WRONG_SHARE = 0.2


class Case(NamedTuple):
    """One pass: a block, its inputs, and maps if its rows are raw."""

    block: Block
    inputs: PassInput
    maps: tuple[CentredMap, ...] | None

    def __str__(self) -> str:
        shapes = [view.shape for view in self.block.views]
        k, dtype = len(self.inputs.center_norms[0]), self.inputs.dtype
        kind = "features" if self.maps is None else "raw rows"
        missing = "" if self.block.present is None else ", some missing"
        return f"{dtype} {kind} {shapes}{missing}, k={k}, s={self.inputs.s:g}, {self.inputs.membership}"


def draw_case(rng: np.random.Generator) -> Case:
    dtype = np.dtype(rng.choice(["float32", "float64"]))
    n, k, n_views = _size(rng, 200), _size(rng, 40), int(rng.integers(1, 4))
    columns = [_size(rng, 300) for _ in range(n_views)]
    raw = rng.random() < 0.4
    maps = tuple(_map(rng, d, _size(rng, 40), dtype) for d in columns) if raw else None
    widths = columns if maps is None else [m.n_outputs for m in maps]
    present = _present(rng, n_views, n) if rng.random() < 0.3 else None
    rows = [rng.normal(size=(n, d)).astype(dtype) for d in columns]
    if present is not None:
        rows = [np.where(there[:, None], view, 0).astype(dtype) for view, there in zip(rows, present, strict=True)]
    weight = (rng.random(n) * (rng.random(n) < 0.8)).astype(dtype)
    norms = () if raw else tuple(_layout(rng, np.vecdot(view, view)) for view in rows)
    block = Block(0, tuple(_layout(rng, view) for view in rows), norms, _layout(rng, weight), present)
    return Case(block, _inputs(rng, k, widths, dtype), maps)


def spoilt(rng: np.random.Generator, case: Case) -> Case:
    """The case with one array of another shape."""
    block, inputs, maps = case
    view = int(rng.integers(len(block.views)))
    kinds = ["views", "weight", "projections", "center_norms", *(["norms"] if maps is None else ["map"])]
    kind = rng.choice(kinds)
    if kind == "weight":
        return case._replace(block=block._replace(weight=_other_shape(rng, block.weight)))
    if kind in ("views", "norms"):
        name = "views" if kind == "views" else "squared_norms"
        return case._replace(block=block._replace(**{name: _changed(rng, getattr(block, name), view)}))
    if kind == "map":
        return case._replace(maps=(*maps[:view], _spoilt_map(rng, maps[view]), *maps[view + 1 :]))
    return case._replace(inputs=replace(inputs, **{kind: _changed(rng, getattr(inputs, kind), view)}))


def check(case: Case, target: str) -> float:
    """The largest error of a sum, in parts of what is allowed; infinite where a row is told what is no number."""
    inputs = case.inputs if case.maps is None else RawInput(case.inputs, case.maps)
    told = [CompiledAnswer(target, function)(case.block, inputs) for function in ANSWERS]
    if not all(np.all(np.isfinite(part)) for one in told for part in (one if isinstance(one, tuple) else (one,))):
        return math.inf
    if case.maps is None:
        found = CompiledPass(target).sums(case.block, case.inputs)
    else:
        found = FusedPass(target).raw_sums(case.block, RawInput(case.inputs, case.maps))
    precise, steepness = _in_float64(case), abs(case.inputs.s)
    expected, same = block_statistics(*precise), block_statistics(_in_precision(precise[0], case), case.inputs)
    steepness = 1.0 if math.isinf(steepness) else max(steepness, 1 / steepness)
    rounding = TOLERANCE[case.inputs.dtype.name] * steepness
    names = ANY if _is_clear(*precise) else SMOOTH
    return max(_error(found, expected, n) / max(rounding, 4 * _error(same, expected, n)) for n in names)


def _error(found: PassStatistics, expected: PassStatistics, name: str) -> float:
    a, b = (np.asarray(getattr(sums, name), dtype=float) for sums in (found, expected))
    difference, largest = float(np.max(np.abs(a - b))), float(np.max(np.abs(b)))
    if not math.isfinite(difference):
        return math.inf
    return difference / largest if largest else difference


def _in_float64(case: Case) -> tuple[Block, PassInput]:
    """Features of the rows in float64, and inputs to go with them."""
    block, inputs, maps = case
    rows = [np.asarray(view, dtype=np.float64) for view in block.views]
    if maps is not None:
        rows = [
            np.asarray(m(view.astype(m.dtype), np), dtype=np.float64) for m, view in zip(maps, rows, strict=True)
        ]
    if block.present is not None:
        rows = [np.where(there[:, None], view, 0) for view, there in zip(rows, block.present, strict=True)]
    norms = tuple(np.vecdot(view, view) for view in rows)
    wide = block._replace(views=tuple(rows), squared_norms=norms, weight=block.weight.astype(np.float64))
    points = tuple(p.astype(np.float64) for p in inputs.projections)
    lengths = tuple((np.sum(p * p, axis=0) / 4)[:, None] for p in points)
    return wide, replace(inputs, projections=points, center_norms=lengths)


def _in_precision(block: Block, case: Case) -> Block:
    """The features as NumPy would have them in the precision of the case."""
    dtype = case.inputs.dtype
    rows = tuple(view.astype(dtype) for view in block.views)
    norms = tuple(norm.astype(dtype) for norm in block.squared_norms)
    return block._replace(views=rows, squared_norms=norms, weight=block.weight.astype(dtype))


def _is_clear(block: Block, inputs: PassInput) -> bool:
    """Whether every row that counts has one nearest centroid."""
    distance, _ = sample_distances(block, inputs, np)
    nearest = np.sort(distance[:, np.asarray(block.weight) > 0], axis=0)[:2]
    return len(nearest) < 2 or bool(np.all(nearest[1] - nearest[0] > AMBIGUOUS * nearest[1]))


def _inputs(rng: np.random.Generator, k: int, widths: list[int], dtype: np.dtype[Any]) -> PassInput:
    splits = (0, *np.cumsum(widths).tolist())
    n_views, s = len(widths), -math.inf if rng.random() < 0.2 else -(10.0 ** rng.uniform(-0.5, 1.5))
    membership = make_membership(str(rng.choice(["fuzzy", "possibilistic"])), float(rng.choice([1.3, 2.0, 3.7])))
    problem = Problem(membership, splits, rng.uniform(0.5, 2, n_views) * np.sqrt(widths), np.ones(n_views))
    weights = np.maximum(rng.dirichlet(np.ones(n_views)), 1e-3)
    made = prepare(
        Parameters(0.7 * rng.normal(size=(k, splits[-1])), weights / np.sum(weights)), s, problem, dtype
    )
    return replace(made, projections=tuple(_layout(rng, p) for p in made.projections))


def _present(rng: np.random.Generator, n_views: int, n: int) -> Array:
    """Which samples have which views: at least one each."""
    there = rng.random((n_views, n)) < 0.6
    there[rng.integers(n_views, size=n), np.arange(n)] = True
    return there


def _map(rng: np.random.Generator, n_columns: int, n_frequencies: int, dtype: np.dtype[Any]) -> CentredMap:
    frequencies = rng.normal(size=(n_columns, n_frequencies))
    base = make_fourier(rng.normal(size=n_columns), frequencies, math.sqrt(n_columns), dtype)
    base = replace(base, frequencies=_layout(rng, base.frequencies), origin=_layout(rng, base.origin))
    return make_centred(base, 0.1 * rng.normal(size=2 * n_frequencies), dtype).scaled(float(rng.uniform(0.5, 2)))


def _spoilt_map(rng: np.random.Generator, feature_map: CentredMap) -> CentredMap:
    name = rng.choice(["origin", "frequencies", "mean"])
    if name == "mean":
        return replace(feature_map, mean=_other_shape(rng, feature_map.mean))
    base = feature_map.base
    return replace(feature_map, base=replace(base, **{name: _other_shape(rng, getattr(base, name))}))


def _changed(rng: np.random.Generator, arrays: tuple[Array, ...], index: int) -> tuple[Array, ...]:
    return (*arrays[:index], _other_shape(rng, arrays[index]), *arrays[index + 1 :])


def _other_shape(rng: np.random.Generator, array: Array) -> Array:
    forms = [
        array[:-1],
        array[:0],
        np.concatenate([array, array]),
        np.concatenate([array, array], axis=-1),
        array[..., None],
        array.ravel() if array.ndim > 1 else array[None],
    ]
    return forms[int(rng.integers(len(forms)))]


def _layout(rng: np.random.Generator, array: Array) -> Array:
    """The same numbers, somehow in memory."""
    kind = int(rng.integers(5))
    if kind == 0:
        return np.asfortranarray(array)
    if kind == 1:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if kind == 2:
        shifted = np.empty(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype).reshape(array.shape)
        shifted[...] = array
        return shifted
    return array[::-1].copy()[::-1] if kind == 3 else array


def _size(rng: np.random.Generator, largest: int) -> int:
    """Small ones, and those next to the sizes of tiles and vectors, more often than others."""
    edge = int(rng.choice([1, 2, 4, 6, 8, 16, 32, 64, 128, 192])) + int(rng.integers(-1, 2))
    size = edge if rng.random() < 0.5 else int(largest ** rng.random())
    return min(max(size, 1), largest)


def try_case(seed: int, index: int, target: str) -> float | None:
    """The error of one case, None if it was refused as it should be."""
    rng = np.random.default_rng((seed, index))
    case, wrong = draw_case(rng), rng.random() < WRONG_SHARE
    if not wrong:
        return check(case, target)
    try:
        wrong_case = spoilt(rng, case)
        PassCall(wrong_case.block, CommonArguments(wrong_case.inputs, wrong_case.maps))
    except ValueError:
        return None
    return math.inf


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one case alone, by its number")
    chosen = parser.parse_args()
    targets = [target for target in TARGETS if open_library(target) is not None]
    if not targets:
        print("not run: there is no compiled kernel here (python -m powerkmeans.compute.native)")
        return 0
    cases = range(chosen.count) if chosen.only is None else [chosen.only]
    errors = {index: try_case(chosen.seed, index, targets[index % len(targets)]) for index in cases}
    compared = {index: error for index, error in errors.items() if error is not None}
    bad = [index for index, error in compared.items() if not error <= 1]
    for index in bad:
        case = draw_case(np.random.default_rng((chosen.seed, index)))
        print(f"case {index}: error {compared[index]:.3g} of what is allowed in {case}")
    print(
        f"{len(errors)} random passes on {', '.join(targets)}: {len(compared)} compared with NumPy (largest error "
        f"{max(compared.values(), default=0.0):.2g} of what is allowed), {len(errors) - len(compared)} refused, "
        f"{len(bad)} wrong"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
