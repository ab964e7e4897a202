"""Everything on a graphics card, checked and timed in one call; results as JSON lines beside printed tables.

python -m benchmarks.gpu [--rows 10000000]
    [--parts odd,sweep,passes,views,raw,limits,fits,bits,stream,several,cupy] [--out benchmarks/results/gpu.jsonl]

passes : one pass at three shapes, in every precision: event timings, the median of ten, beside the time that
    reading the features once takes, a hard iteration of flash-kmeans on the same rows where that package is
    installed, the error of the moments against float64, and the share of labels unlike those of float64. A pass
    begins and ends with numbers of this machine; ``kernels_ms`` is what its kernels take alone
odd : kernels at odd shapes against float64, and their time beside that of PyTorch's functions. Errors are shares
    of the moments, and ``of_added`` of what these would be if nothing in them cancelled
sweep : drawn shapes of every kind, and rows as they may lie in memory, against float64 (``benchmarks.gpu_sweep``)
views : a pass over three views, whole and with three tenths of them missing, beside PyTorch's functions
raw : a pass from raw rows whose Fourier features are made inside, and the memory that it takes beside the rows
limits : more than 2^31 numbers, and more than 2^25 rows in one cluster, counted
fits : a whole default fit and predict from host memory, beside flash-kmeans (best of ten) and a tenth on the CPU,
    with the library for its ``cpu_target`` if one is compiled (python -m powerkmeans.compute.native)
bits : twenty fits with one seed, and labels against those of the CPU
stream : a pass over rows that stay in host memory, a memory map and a Parquet file, beside one over rows on the
    card and the time that sending them takes; whether the sums have the same bits
several : one card as two devices, held and streamed: whether sums and samples have the bits of one
cupy : fits and answers of arrays of CuPy, where that is installed: their kind, and labels against those of the CPU
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gpu_sweep import swept
from powerkmeans import KernelPowerKMeans, open_source
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors.several import Several
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.compute.native.library import find_target
from powerkmeans.compute.passes import choose_pass, run_pass
from powerkmeans.compute.rows import RowEngine
from powerkmeans.compute.triton import launches
from powerkmeans.compute.triton.planes import STORAGE, PlaneBlocks
from powerkmeans.compute.triton.raw import raw_rows, run_raw
from powerkmeans.engines import TorchOptions
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.fourier import FourierMap
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import PassInput, block_statistics, prepare
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Block, Parameters, Problem, Views

_CHUNK = 2**20
_SHAPES = ((216, 10), (256, 100), (11, 10))
_SWEPT = 240
_ODD = ((2, 1, 1), (1000, 1, 2), (5000, 257, 17), (3001, 40, 100), (4097, 700, 5), (2000, 33, 1000))


def main() -> None:
    torch = __import__("torch")
    options = _options()
    made = {"date": datetime.now(UTC).date().isoformat(), "device": torch.cuda.get_device_name()}
    made |= {"torch": torch.__version__, "triton": __import__("triton").__version__}
    for part in options.parts.split(","):
        for row in _PARTS[part](torch, options.rows):
            print("  ".join(f"{name} {_shown(value)}" for name, value in row.items()), flush=True)
            with Path(options.out).open("a") as file:
                file.write(json.dumps(made | {"part": part} | row) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", default=",".join(_PARTS))
    parser.add_argument("--out", default="benchmarks/results/gpu.jsonl")
    return parser.parse_args()


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def milliseconds(function: Callable[[], object], torch: Any, repeats: int = 10) -> float:
    """The median, by the card's own clock."""
    function()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return float(np.median(times))


def kernel_milliseconds(function: Callable[[], object], torch: Any, repeats: int = 10) -> float:
    """What kernels of the card take of a call, on average."""
    function()
    kind = torch.profiler.ProfilerActivity.CUDA
    with torch.profiler.profile(activities=[kind]) as profile:
        for _ in range(repeats):
            function()
        torch.cuda.synchronize()
    return float(sum(event.self_device_time_total for event in profile.key_averages()) / 1000 / repeats)


def mixture(n: int, p: int, k: int, torch: Any, spread: float = 2.0) -> tuple[Any, Any]:
    """Rows of a mixture less their mean, and its centres, on the card."""
    draw = torch.Generator("cuda").manual_seed(n + p + k)
    centers = spread * torch.randn((k, p), device="cuda", generator=draw)
    rows = torch.empty((n, p), device="cuda")
    for start in range(0, n, _CHUNK):
        part = rows[start : start + _CHUNK]
        which = torch.randint(0, k, (len(part),), device="cuda", generator=draw)
        part[:] = centers[which] + torch.randn(part.shape, device="cuda", generator=draw)
    mean = rows.mean(dim=0)
    rows -= mean
    return rows, centers - mean


def problem_at(points: Any, membership: Any, s: float) -> PassInput:
    """What a pass is given where centroids are at ``points``."""
    p = points.shape[1]
    problem = Problem(membership, (0, p), np.array([float(p)]), np.ones(1))
    return prepare(Parameters(points.double().cpu().numpy(), np.ones(1)), s, problem, np.dtype(np.float32))


def held_as(rows: Any, weight: Any, precision: str, torch: Any) -> PlaneBlocks:
    parts = range(0, len(rows), _CHUNK)
    blocks = (Block(i, (rows[i : i + _CHUNK],), (), weight[i : i + _CHUNK]) for i in parts)
    return PlaneBlocks(blocks, len(rows), STORAGE[precision], torch)


def on_card(held: PlaneBlocks, inputs: PassInput) -> launches.Given:
    return launches.Given(inputs, held)


class Truth(NamedTuple):
    """Moments in float64, what they would be without cancelling, and labels."""

    moment: Any
    added: Any
    labels: Any


def in_double(rows: Any, weight: Any, points: Any, inputs: PassInput, torch: Any) -> Truth:
    centers, moment, added, labels = points.double(), 0.0, 0.0, []
    for start in range(0, len(rows), _CHUNK // 4):
        x, v = rows[start : start + _CHUNK // 4].double(), weight[start : start + _CHUNK // 4].double()
        distance = torch.cdist(x, centers, compute_mode="donot_use_mm_for_euclid_dist").square()
        pulled = (_pulls(distance, inputs, torch) * v[:, None]).T
        moment, added = moment + pulled @ x, added + pulled @ x.abs()
        labels.append(distance.argmin(dim=1))
    return Truth(moment, added, torch.cat(labels))


def _error(found: Any, truth: Any, size: Any = None) -> float:
    there = torch_module().asarray(found, device=truth.device)
    return float((there - truth).norm() / (truth if size is None else size).norm())


def _pulls(distance: Any, inputs: PassInput, torch: Any) -> Any:
    degree = 1 / (1 + distance / inputs.references[0]) if inputs.membership.bounded else torch.ones_like(distance)
    y = degree**2 * distance + (1 - degree) ** 2 * inputs.references[0]
    smallest = y.min(dim=1, keepdim=True).values
    if inputs.s == -np.inf:
        tied = (y == smallest).double()
        return tied / tied.sum(dim=1, keepdim=True) * degree**2
    ratio = torch.where(y == 0, torch.ones_like(y), smallest / y)
    powers = ratio ** (-inputs.s)
    total = powers.sum(dim=1, keepdim=True)
    return powers * ratio * ((total / y.shape[1]) ** (1 / inputs.s) / total) * degree**2


def _labels(held: PlaneBlocks, points: Any, torch: Any) -> Any:
    rows = (block.views[0].double() for block in held.read())
    return torch.cat([torch.cdist(part, points.double()).argmin(dim=1) for part in rows])


def _passes(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    for p, k in _SHAPES:
        rows, centers = mixture(n, p, k, torch)
        points = centers + torch.randn(centers.shape, device="cuda") / 2
        weight, inputs = torch.rand(n, device="cuda") + 0.5, problem_at(points, Fuzzy(), -5.0)
        truth, _, labels = in_double(rows, weight, points, inputs, torch)
        flash = _flash_iteration(rows, points, torch)
        for precision in STORAGE:
            held = held_as(rows, weight, precision, torch)
            given = on_card(held, inputs)
            sums = launches.run(given)
            limit = milliseconds(lambda held=held: held.planes.view(torch.int32).amax(), torch)
            changed = (_labels(held, points, torch) != labels).double().mean()
            yield {
                "n": n, "p": p, "k": k, "precision": precision, "careful": held.careful,
                "ms": milliseconds(lambda held=held, i=inputs: launches.run(on_card(held, i)), torch),
                "kernels_ms": kernel_milliseconds(lambda given=given: launches.run(given), torch),
                "read_once_ms": limit,
                "flash_kmeans_ms": flash[precision == "bfloat16"],
                "moment_error": _error(sums.moment, truth),
                "labels_changed": float(changed),
            }  # fmt: skip
            del held, given
        del rows
        torch.cuda.empty_cache()


def _flash_iteration(rows: Any, points: Any, torch: Any) -> tuple[float | None, float | None]:
    """Milliseconds of a hard iteration of flash-kmeans, in float32 and in bfloat16."""
    if find_spec("flash_kmeans") is None:
        return None, None
    from flash_kmeans.kmeans_triton_impl import _euclid_iter  # noqa: PLC0415

    times = []
    for kind in (torch.float32, torch.bfloat16):
        x, c = rows.to(kind)[None], points.to(kind)[None].contiguous()
        squares = torch.cat([part.square().sum(dim=-1) for part in x[0].split(_CHUNK)])[None].to(kind)
        times.append(milliseconds(lambda x=x, squares=squares, c=c: _euclid_iter(x, squares, c), torch))
    return times[0], times[1]


_WIDTHS, _SHARE = (64, 216, 20), 0.3


def _views(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    k, n_views = 10, len(_WIDTHS)
    splits = tuple(np.cumsum([0, *_WIDTHS]).tolist())
    rows, centers = mixture(n, splits[-1], k, torch)
    weight = torch.rand(n, device="cuda") + 0.5
    problem = Problem(Possibilistic(), splits, np.array(_WIDTHS, dtype=float), np.ones(n_views))
    given = Parameters((centers + 0.3).double().cpu().numpy(), np.array([0.3, 0.5, 0.2]))
    inputs, exact = (prepare(given, -5.0, problem, np.dtype(kind)) for kind in (np.float32, np.float64))
    for missing in (False, True):
        present = torch.rand((n_views, n), device="cuda") > _SHARE
        present[1] |= ~present.any(dim=0)
        blocks = list(_view_blocks(rows, weight, present if missing else None, splits))
        truth = _added(blocks, Torch("cuda").place(exact), torch)
        plain = milliseconds(lambda blocks=blocks: _added(blocks, Torch("cuda").place(inputs), torch), torch, 3)
        for precision, storage in STORAGE.items():
            held = PlaneBlocks(iter(blocks), n, storage, torch)
            sums = launches.run(on_card(held, inputs))
            yield {
                "n": n, "widths": list(_WIDTHS), "k": k, "missing": _SHARE if missing else 0.0,
                "precision": precision, "torch_ms": plain,
                "ms": milliseconds(lambda held=held: launches.run(on_card(held, inputs)), torch),
                "moment_error": _error(sums.moment, truth.moment),
                "scatter_error": _error(sums.scatter, truth.scatter),
            }  # fmt: skip
            del held


def _view_blocks(rows: Any, weight: Any, present: Any, splits: tuple[int, ...]) -> Iterator[Block]:
    for start in range(0, len(rows), _CHUNK // 2):
        here = slice(start, start + _CHUNK // 2)
        views = [rows[here, a:b].contiguous() for a, b in itertools.pairwise(splits)]
        if present is not None:
            views = [view * mask[here, None] for view, mask in zip(views, present, strict=True)]
        norms = tuple(view.square().sum(dim=1) for view in views)
        yield Block(start, tuple(views), norms, weight[here], None if present is None else present[:, here])


def _added(blocks: list[Block], inputs: PassInput, torch: Any) -> Any:
    """The sums of all blocks by PyTorch's functions, in the precision of the inputs."""
    kind, total = inputs.dtype, None
    for block in blocks:
        views = tuple(view.to(kind) for view in block.views)
        norms = tuple(view.square().sum(dim=1) for view in views)
        sums = block_statistics(
            block._replace(views=views, squared_norms=norms, weight=block.weight.to(kind)), inputs
        )
        total = sums.begun(Torch("cuda").xp) if total is None else total + sums
    return total


def _raw(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    d, waves, k = 64, 108, 10
    rows, centers = mixture(n, d, k, torch, spread=0.5)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, n).astype(np.float32)
    frequencies = np.random.default_rng(1).standard_normal((d, waves)) / 12
    base = FourierMap(np.zeros(d, np.float32), frequencies.astype(np.float32))
    some, points = (base(part.double().cpu().numpy(), np) for part in (rows[:_CHUNK], centers))
    mapped = make_centred(base, some.mean(axis=0), np.float32)
    inputs = problem_at(torch.from_numpy(mapped.centred(points)), Fuzzy(), -5.0)
    views = Views(("X",), (TensorSource("X", rows),), weight)
    truth = _moments_of_features(rows, weight, mapped, inputs, torch)
    torch.cuda.empty_cache()
    for precision, storage in STORAGE.items():
        torch.cuda.reset_peak_memory_stats()
        raw = raw_rows(_Seen(views, (mapped,)), storage, Torch("cuda").place)
        sums = run_raw(raw, inputs)
        peak = torch.cuda.max_memory_allocated()
        yield {
            "n": n, "d": d, "frequencies": waves, "k": k, "precision": precision,
            "ms": milliseconds(lambda raw=raw: run_raw(raw, inputs), torch),
            "kernels_ms": kernel_milliseconds(lambda raw=raw: run_raw(raw, inputs), torch),
            "read_once_ms": milliseconds(lambda: rows.view(torch.int32).amax(), torch),
            "peak_over_input": peak / rows.nbytes,
            "moment_error": _error(sums.moment, truth),
        }  # fmt: skip
        del raw


class _Seen(NamedTuple):
    """Rows seen through maps: what the pass from raw rows asks of an engine."""

    views: Views
    maps: tuple[Any, ...]


def _moments_of_features(rows: Any, weight: Any, mapped: Any, inputs: PassInput, torch: Any) -> Any:
    """In float64."""
    place, total = Torch("cuda").place, 0.0
    waves, mean = (torch.from_numpy(a.astype(np.float64)).cuda() for a in (mapped.base.frequencies, mapped.mean))
    points = place(inputs.projections[0].T / -2).double()
    for start in range(0, len(rows), _CHUNK // 4):
        phase = rows[start : start + _CHUNK // 4].double() @ waves
        features = torch.cat([phase.sin(), phase.cos()], dim=1) / waves.shape[1] ** 0.5 - mean
        distance = torch.cdist(features, points, compute_mode="donot_use_mm_for_euclid_dist").square()
        v = place(weight[start : start + _CHUNK // 4]).double()
        total = total + (_pulls(distance, inputs, torch) * v[:, None]).T @ features
    return total


def _limits(torch: Any, _: int) -> Iterator[dict[str, Any]]:
    """All rows but one in the first cluster."""
    n, p = 40_000_000, 64
    rows, _ = mixture(n, p, 1, torch)
    rows += 1  # or sums would be of rounding
    rows[-1] = 20.0
    weight = torch.ones(n, device="cuda")
    for k in (2, 100, 200):
        points = torch.cat([torch.ones((1, p)), 20 + torch.randn((k - 1, p))]).cuda()
        inputs = problem_at(points, Fuzzy(), -5.0)
        truth = in_double(rows, weight, points, inputs, torch).moment
        for precision in STORAGE:
            held = held_as(rows, weight, precision, torch)
            sums = launches.run(on_card(held, inputs))
            yield {
                "n": n, "p": p, "k": k, "precision": precision, "numbers": held.planes.numel(),
                "counted": [float(sums.sizes[0]), float(sums.sizes[1:].sum())],
                "moment_error": _error(sums.moment, truth),
            }  # fmt: skip
            del held


def _odd(torch: Any, _: int) -> Iterator[dict[str, Any]]:
    for n, p, k in _ODD:
        for membership in (Fuzzy(), Possibilistic()):
            for s in (-np.inf, -5.0, -0.5) if k < 1000 else (-5.0,):  # many clusters take long to compile
                shape = {"n": n, "p": p, "k": k, "membership": membership.name, "s": str(s)}
                yield shape | _odd_passes(n, p, k, membership, s, torch)


def _odd_passes(n: int, p: int, k: int, membership: Any, s: float, torch: Any) -> dict[str, float]:
    """Errors in every precision and of PyTorch's functions, and the time of a pass in single precision by both."""
    rows, centers = mixture(n, p, k, torch)
    draw = torch.Generator("cuda").manual_seed(n)
    points, weight = centers + 0.1, torch.rand(n, device="cuda", generator=draw) + 0.5
    inputs = problem_at(points, membership, s)
    truth = in_double(rows, weight, points, inputs, torch)
    block = Block(0, (rows,), (rows.square().sum(dim=1),), weight)

    def plain() -> Any:
        return _added([block], Torch("cuda").place(inputs), torch)

    helds = {precision: held_as(rows, weight, precision, torch) for precision in STORAGE}
    found = {name: launches.run(on_card(held, inputs)).moment for name, held in helds.items()}
    errors = {name: _error(moment, truth.moment) for name, moment in found.items()}
    errors |= {f"{name}_of_added": _error(moment, truth.moment, truth.added) for name, moment in found.items()}
    times = {
        "ms": milliseconds(lambda: launches.run(on_card(helds["float32"], inputs)), torch),
        "torch_ms": milliseconds(plain, torch, 3),
    }
    return errors | {"torch_error": _error(plain().moment, truth.moment)} | times


def _timed(function: Callable[[], Any], torch: Any) -> tuple[float, Any]:
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = function()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def _hard_cost(rows: Any, labels: Any, k: int, torch: Any) -> float:
    """Squared distances to the means of labels, over all rows, in float64."""
    labels = torch.as_tensor(labels, device="cuda").long()
    sums = torch.zeros((k, rows.shape[1]), dtype=torch.float64, device="cuda")
    squares = 0.0
    for start in range(0, len(rows), _CHUNK):
        x = rows[start : start + _CHUNK].double()
        sums += torch.nn.functional.one_hot(labels[start : start + _CHUNK], k).double().T @ x
        squares += float(x.square().sum())
    counts = torch.bincount(labels, minlength=k).clamp_min(1).double()
    return squares - float((sums.square().sum(dim=1) / counts).sum())


def _fits(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    d, k = 64, 10
    rows, _ = mixture(n, d, k, torch, spread=1.0)
    host = rows.cpu().numpy()
    kinds = {"default": {}, "identity": {"feature_map": "identity"}, "rff": {"feature_map": "rff"}}
    for name, settings in kinds.items():
        for engine in (TorchOptions("cuda"), "auto"):  # kernels are compiled before anything is timed
            KernelPowerKMeans(k, random_state=1, engine=engine, **settings).fit(host[:20_000])
        torch.cuda.reset_peak_memory_stats()
        model = KernelPowerKMeans(k, random_state=0, engine=TorchOptions("cuda"), **settings)
        seconds, _ = _timed(lambda model=model: model.fit(host), torch)
        peak = torch.cuda.max_memory_allocated() - rows.nbytes
        answer, _ = _timed(lambda model=model: model.predict(host), torch)
        on_card, _ = _timed(lambda name=settings: KernelPowerKMeans(k, random_state=0, **name).fit(rows), torch)
        tenth = KernelPowerKMeans(k, random_state=0, **settings)
        cpu, _ = _timed(lambda tenth=tenth: tenth.fit(host[: n // 10]), torch)
        yield {
            "method": name, "n": n, "d": d, "k": k, "fit_s": seconds, "fit_tensor_s": on_card, "predict_s": answer,
            "cpu_tenth_s": cpu, "cpu_target": find_target(),
            "hard_cost": _hard_cost(rows, model.labels_, k, torch), "iterations": model.n_iter_,
            "peak_over_input": peak / host.nbytes,
        }  # fmt: skip
    if find_spec("flash_kmeans") is not None:
        yield _flash_fit(rows, k, torch)


def _flash_fit(rows: Any, k: int, torch: Any) -> dict[str, Any]:
    """The best of ten, as k-means is run."""
    from flash_kmeans import batch_kmeans_Euclid  # noqa: PLC0415

    batch_kmeans_Euclid(rows[None, :100_000], k, max_iters=3)
    costs, start = [], time.perf_counter()
    for _ in range(10):
        labels = batch_kmeans_Euclid(rows[None], k, max_iters=100, tol=1e-4)[0]
        torch.cuda.synchronize()
        costs.append((time.perf_counter() - start, _hard_cost(rows, labels[0], k, torch)))
        start = time.perf_counter()
    times, values = np.array(costs).T
    return {
        "method": "flash-kmeans, best of ten", "n": len(rows), "d": rows.shape[1], "k": k,
        "fit_tensor_s": float(times.sum()), "hard_cost": float(values.min()),
        "worst_hard_cost": float(values.max()),
    }  # fmt: skip


def _bits(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    rows, _ = mixture(n // 20, 64, 10, torch, spread=0.5)
    host = rows.cpu().numpy()
    for name in ("auto", "identity", "rff"):
        fits = [KernelPowerKMeans(10, feature_map=name, random_state=0).fit(rows) for _ in range(20)]
        same = all(np.array_equal(fit.cluster_centers_, fits[0].cluster_centers_) for fit in fits)
        here = KernelPowerKMeans(10, feature_map=name, random_state=0).fit(host)
        yield {
            "feature_map": name, "n": n // 20, "fits": 20, "same_bits": same,
            "labels_unlike_cpu": float(np.mean(here.labels_ != fits[0].labels_)),
            "objective_ratio": float(fits[0].objective_ / here.objective_),
        }  # fmt: skip


def _stream(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    d, k = 64, 10
    rows, centers = mixture(n, d, k, torch, spread=1.0)
    host, inputs = rows.cpu().numpy(), problem_at(centers, Fuzzy(), -5.0)
    weight = np.broadcast_to(np.float32(1), (n,))
    sent, _ = _timed(lambda: torch.from_numpy(host).to("cuda"), torch)
    tables = (TensorSource("X", part) for part in (rows, rows[: n // 10]))
    there = {int(table.shape[0]): _streamed(table, weight, inputs, torch) for table in tables}
    with tempfile.TemporaryDirectory() as folder:
        for name, given in _kept(host, Path(folder)):
            (sums, seconds), size = _streamed(given, weight, inputs, torch), int(given.shape[0])
            truth, on_card = there[size]
            yield {
                "rows": name, "n": size, "d": d, "k": k, "pass_s": seconds, "pass_on_card_s": on_card,
                "send_s": sent * size / n,
                "gigabytes_per_s": 4 * d * size / seconds / 1e9,
                "same_bits": bool(np.array_equal(sums.moment, truth.moment) and sums.loss == truth.loss),
            }  # fmt: skip


def _kept(host: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """The rows as users have them."""
    yield "array", host
    np.save(folder / "rows.npy", host)
    yield "memory map", np.load(folder / "rows.npy", mmap_mode="r")
    if find_spec("pyarrow") is not None:
        pyarrow, parquet = __import__("pyarrow"), __import__("pyarrow.parquet").parquet
        some = host[: len(host) // 10]
        parquet.write_table(
            pyarrow.table({f"c{i}": some[:, i] for i in range(some.shape[1])}), folder / "rows.parquet"
        )
        yield "Parquet", open_source(folder / "rows.parquet")


def _streamed(rows: Any, weight: Any, inputs: PassInput, torch: Any) -> tuple[Any, float]:
    """The sums of a pass whose rows and features nobody keeps, and the median time of five."""
    views = Views(("X",), (rows,), weight[: rows.shape[0]])
    engine = open_engine(TorchOptions("cuda", memory_budget=0), views)
    features = engine.with_features((IdentityMap(int(rows.shape[1])),), keep=False, working=40)
    runs = [_timed(lambda: features.fold(block_statistics, inputs), torch) for _ in range(6)]
    return runs[-1][1], float(np.median([seconds for seconds, _ in runs[1:]]))


def _several(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    rows, centers = mixture(n // 3, 64, 10, torch, spread=1.0)
    host, inputs = rows.cpu().numpy(), problem_at(centers, Fuzzy(), -5.0)
    views = Views(("X",), (host,), np.random.default_rng(0).uniform(0.5, 2, len(host)).astype(np.float32))
    for kernel in ("torch", "auto"):
        for budget in (None, 0):
            options = TorchOptions("cuda", memory_budget=budget, kernel=kernel)
            card = [Torch("cuda", kernel=kernel) for _ in range(2)]
            found = [_sums_and_sample(views, options, executor, inputs) for executor in (card[0], Several(card))]
            (one, drawn, _), (two, again, code) = found
            yield {
                "code": code, "held": budget is None, "n": len(host),
                "same_bits": bool(np.array_equal(one.moment, two.moment) and one.loss == two.loss),
                "same_sample": bool(np.array_equal(drawn, again)),
                "apart": float(np.max(np.abs(one.moment - two.moment)) / np.max(np.abs(one.moment))),
            }  # fmt: skip


def _sums_and_sample(
    views: Views, options: TorchOptions, executor: Any, inputs: PassInput
) -> tuple[Any, Any, str]:
    engine = RowEngine(executor.sent(views, options.memory_budget), options, executor)
    features = engine.with_features((IdentityMap(64),), keep=True, working=40)
    chosen = choose_pass(features, inputs)
    sums = run_pass(features, inputs, block_statistics)
    return sums, engine.sample(1000, seed=1).rows, "torch" if chosen is None else chosen.name


def _cupy(torch: Any, n: int) -> Iterator[dict[str, Any]]:
    if find_spec("cupy") is None:
        return
    cupy = __import__("cupy")
    rows, _ = mixture(n // 100, 64, 10, torch)
    host, there = rows.cpu().numpy(), cupy.from_dlpack(rows)
    for name in ("auto", "identity", "rff"):
        model = KernelPowerKMeans(10, feature_map=name, random_state=0).fit(there)
        here = KernelPowerKMeans(10, feature_map=name, random_state=0).fit(host)
        answers = [model.predict(there), model.predict_proba(there), model.transform(there), here.predict(there)]
        yield {
            "feature_map": name, "cupy": cupy.__version__, "n": len(host),
            "answers_in_kind": all(isinstance(answer, cupy.ndarray) for answer in answers),
            "labels_unlike_cpu": float(np.mean(here.labels_ != model.labels_)),
            "predicted_unlike_fit": float(np.mean(cupy.asnumpy(answers[0]) != model.labels_)),
        }  # fmt: skip


def _sweep(_torch: Any, _: int) -> Iterator[dict[str, Any]]:
    """What failed or was off, as it comes, and how many did not."""
    rows = []
    for row in swept(_SWEPT):
        rows.append(row)
        if not row.get("within", False):
            yield row
    for code in sorted({row["code"] for row in rows}):
        those = [row for row in rows if row["code"] == code]
        yield {
            "code": code, "cases": len(those), "within": sum(row.get("within", False) for row in those),
            "worst": {name: _worst(those, name) for name in STORAGE},
        }  # fmt: skip


def _worst(rows: list[dict[str, Any]], precision: str) -> float:
    return max((row["worst"] for row in rows if row["precision"] == precision and "worst" in row), default=0.0)


_PARTS = {
    "odd": _odd, "sweep": _sweep, "passes": _passes, "views": _views, "raw": _raw, "limits": _limits,
    "fits": _fits, "bits": _bits, "stream": _stream, "several": _several, "cupy": _cupy,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
