"""Passes on a card at drawn shapes, each against float64: what ``benchmarks.gpu --parts sweep`` runs.

Rows lie in memory as users have them: beginning off sixteen bytes, with gaps between rows, column by column. Every
case is passed several times with centroids that change, so that what was recorded is replayed with others than it
was recorded with. Cases run in processes of their own, since an error of the card ends whatever runs on it.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import choose_pass, run_pass
from powerkmeans.compute.triton.planes import STORAGE
from powerkmeans.engines import TorchOptions
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.fourier import FourierMap
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import PassInput, block_statistics, prepare
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Array, Block, Parameters, Problem, Views

PROCESSES, CASES_AT_ONCE = 12, 6
# passes with each of two sets of centroids: the first compiles, the second records, others replay
ROUNDS = 2
# what sums may be off by for gentle exponents, as a share of what they would be without cancelling; steeper ones
# multiply it, and in the hard limit so many rows may be at a tie
TIED_SHARE = 1e-3
ALLOWED = {"float32": 1e-5, "tf32": 8 * 2.0**-11, "bfloat16": 8 * 2.0**-8}
LAYOUTS = ("plain", "offset", "gaps", "columns", "double", "half")
SUMS = ("mass", "moment", "scatter", "residual", "sizes", "loss", "hard_cost")
SIZES = (1, 2, 3, 31, 63, 65, 127, 1000, 4097, 20_011)
WIDTHS = (1, 2, 7, 8, 9, 15, 17, 31, 33, 64, 65, 100, 129, 216, 255, 257, 300)
CLUSTERS = (1, 2, 3, 10, 15, 16, 17, 31, 33, 64, 65, 100, 128, 129, 200, 300)
EXPONENTS = (-math.inf, -40.0, -5.0, -1.0, -0.5)


class Case(NamedTuple):
    """One problem: sizes, how samples belong, how rows are held and lie in memory; how many Fourier ``waves``."""

    n: int
    widths: tuple[int, ...]
    k: int
    membership: str
    s: float
    precision: str
    layout: str = "plain"
    missing: bool = False
    waves: int = 0


def drawn(count: int, seed: int) -> list[Case]:
    """Cases of every kind, sizes and the rest at random."""
    rng = np.random.default_rng(seed)

    def one(number: int) -> Case:
        def of(choices: Any) -> Any:
            return choices[rng.integers(len(choices))]

        n, k, s, precision = of(SIZES), of(CLUSTERS), of(EXPONENTS), of(list(STORAGE))
        membership, layout = of(("fuzzy", "possibilistic")), of(LAYOUTS)
        if number % 4 == 1:
            widths = tuple(of(WIDTHS) for _ in range(rng.integers(2, 5)))
            return Case(n, widths, k, membership, s, precision, layout, bool(rng.integers(2)))
        if number % 4 == 2:
            width, waves = 4 * int(rng.integers(1, 33)), int(rng.integers(1, 129))
            single = layout if layout != "double" else "plain"
            return Case(n, (width,), min(k, 16), membership, s, precision, single, waves=waves)
        return Case(n, (of(WIDTHS),), k, membership, s, precision, layout)

    return [one(number) for number in range(count)]


def swept(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """The cases and what came of them, in the order in which processes end; how far it is on stderr."""
    cases, done = drawn(count, seed), 0
    groups = [cases[i : i + CASES_AT_ONCE] for i in range(0, count, CASES_AT_ONCE)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for ended in as_completed([pool.submit(told_of, group) for group in groups]):
            done += len(ended.result())
            print(f"{done} of {count} cases", file=sys.stderr, flush=True)
            yield from ended.result()


def told_of(cases: list[Case]) -> list[dict[str, Any]]:
    """What came of each; after an error of the card nothing else runs in a process."""
    rows: list[dict[str, Any]] = []
    for case in cases:
        try:
            rows.append(_shown(case) | passed(case))
        except RuntimeError as error:
            rows.append(_shown(case) | {"code": "failed", "failed": str(error)[:300]})
            break
    return rows


def _shown(case: Case) -> dict[str, Any]:
    return case._asdict() | {"s": str(case.s), "widths": list(case.widths)}


def passed(case: Case, device: str = "cuda") -> dict[str, Any]:
    """Which code ran, the largest error of any sum in any round, and the error of moments as they cancel."""
    rng = np.random.default_rng(abs(hash(case[:3])) % 2**32)
    p = sum(case.widths)
    rows, weight = rng.standard_normal((case.n, p)), rng.uniform(0.5, 1.5, case.n).astype(np.float32)
    tensor = laid_out(rows, case.layout, device)
    rows, present = tensor.double().cpu().numpy(), _present(case, rng)
    splits = tuple(np.cumsum([0, *case.widths]).tolist())
    tables = tuple(TensorSource(f"v{i}", tensor[:, a:b]) for i, (a, b) in enumerate(itertools.pairwise(splits)))
    kind = np.float64 if case.layout == "double" else np.float32
    views = Views(tuple(f"v{i}" for i in range(len(tables))), tables, weight.astype(kind), present)
    maps, features, splits = _features(case, rows, splits, rng)
    options = TorchOptions(device, case.precision, memory_budget=0 if case.waves else None)
    engine = open_engine(options, views).with_features(maps, keep=True)
    worst = cancelled = 0.0
    for centers in [_centers(features, case, rng) for _ in range(2)] * ROUNDS:
        inputs, exact = (_inputs(case, centers, splits, t) for t in (np.dtype(kind), np.dtype(np.float64)))
        block = _block(features, splits, weight, present)
        wanted, found = block_statistics(block, exact), run_pass(engine, inputs, block_statistics)
        worst = _larger(worst, _off(found, wanted, features, _tied(block, centers, case)))
        cancelled = _larger(cancelled, _norm(found.moment - wanted.moment) / max(_norm(wanted.moment), 1e-30))
    code = choose_pass(engine, inputs)
    return {
        "code": "torch" if code is None else code.name + (", raw" if case.waves else ""),
        "worst": worst, "moment_error": cancelled, "within": bool(worst <= _allowed(case, features)),
    }  # fmt: skip


def laid_out(rows: Array, layout: str, device: str) -> Any:
    """Rows on a device, lying in memory in one of LAYOUTS."""
    torch = torch_module()
    kind = {"double": torch.float64, "half": torch.bfloat16}.get(layout, torch.float32)
    there = torch.from_numpy(rows).to(device, kind)
    n, p = there.shape
    if layout == "offset":
        memory = torch.zeros(n * p + 1, dtype=kind, device=device)
        memory[1:] = there.flatten()
        return memory[1:].view(n, p)
    if layout == "gaps":
        memory = torch.full((n, p + 3), math.nan, dtype=kind, device=device)
        memory[:, 1 : p + 1] = there
        return memory[:, 1 : p + 1]
    if layout == "columns":
        return there.T.contiguous().T
    return there.float() if layout == "half" else there


def _present(case: Case, rng: Any) -> Any:
    if not case.missing:
        return None
    present = rng.random((case.n, len(case.widths))) < 0.6
    present[:, 0] |= ~present.any(axis=1)
    return present


def _features(case: Case, rows: Array, splits: tuple[int, ...], rng: Any) -> tuple[Any, Array, tuple[int, ...]]:
    """The maps, what they make of rows in float64, and where views begin."""
    if not case.waves:
        return tuple(IdentityMap(width) for width in case.widths), rows, splits
    d = case.widths[0]
    frequencies = rng.standard_normal((d, case.waves)) / math.sqrt(d)
    base = FourierMap(np.zeros(d, np.float32), frequencies.astype(np.float32))
    features = base(rows, np)
    mapped = make_centred(base, features.mean(axis=0), np.float32)
    return (mapped,), features - mapped.mean, (0, features.shape[1])


def _centers(features: Array, case: Case, rng: Any) -> Array:
    return np.asarray(rng.standard_normal((case.k, features.shape[1])) * (features.std() + 0.1))


def _inputs(case: Case, centers: Array, splits: tuple[int, ...], kind: Any) -> PassInput:
    views = len(splits) - 1
    membership = Fuzzy() if case.membership == "fuzzy" else Possibilistic()
    problem = Problem(membership, splits, np.diff(splits).astype(float), np.ones(views))
    return prepare(Parameters(centers, np.ones(views) / views), case.s, problem, kind)


def _block(features: Array, splits: tuple[int, ...], weight: Array, present: Any) -> Block:
    views = [features[:, a:b] for a, b in itertools.pairwise(splits)]
    if present is not None:
        views = [view * mask[:, None] for view, mask in zip(views, present.T, strict=True)]
    norms = tuple(np.vecdot(view, view) for view in views)
    return Block(0, tuple(views), norms, weight.astype(float), None if present is None else present.T)


def _allowed(case: Case, features: Array) -> float:
    if case.layout == "double":
        return 1e-9
    if case.s == -math.inf:
        longest = float(np.max(np.vecdot(features, features)))
        return ALLOWED[case.precision] + max(1, TIED_SHARE * case.n) * max(1.0, longest) / case.n
    return ALLOWED[case.precision] * max(1.0, -case.s / 5)


def _larger(one: float, other: float) -> float:
    """Of two numbers; infinite if either is none."""
    return max(one, other) if math.isfinite(other) else math.inf


def _tied(block: Block, centers: Array, case: Case) -> float:
    """The weight of rows whose two nearest centroids are alike to rounding, and which may count for either."""
    if case.k == 1:
        return 0.0
    starts = np.cumsum([0, *(view.shape[1] for view in block.views)])
    there = np.ones((len(block.views), case.n)) if block.present is None else block.present
    distance, scale = np.zeros((case.n, case.k)), np.zeros(case.n)
    for view, norm, seen, start in zip(block.views, block.squared_norms, there, starts, strict=False):
        points = centers[:, start : start + view.shape[1]]
        squares = np.vecdot(points, points)
        distance += seen[:, None] * (norm[:, None] + squares - 2 * view @ points.T)
        scale += seen * (norm + squares.max())
    nearest, next_one = np.partition(distance, 1, axis=1)[:, :2].T
    return float(np.sum(block.weight[next_one - nearest <= ALLOWED[case.precision] * scale]))


def _off(found: Any, wanted: Any, features: Array, tied: float) -> float:
    """The largest error of any sum, as a share of the masses times what is summed."""
    size = float(np.sum(np.abs(wanted.mass)) * max(1.0, float(np.max(np.abs(features)))))
    pairs = {name: (np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name))) for name in SUMS}
    errors = {name: float(np.max(np.abs(a - b))) for name, (a, b) in pairs.items()}
    errors["sizes"] = max(0.0, errors["sizes"] - tied)
    shares = [error / max(size, float(np.max(np.abs(pairs[name][1])))) for name, error in errors.items()]
    return max(shares) if all(map(math.isfinite, shares)) else math.inf


def _norm(values: Array) -> float:
    return float(np.linalg.norm(values))
