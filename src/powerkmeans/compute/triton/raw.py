"""The kernel over raw rows launched: Fourier features made on the way, and their sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from powerkmeans.compute.native.compiled import is_fourier
from powerkmeans.compute.triton.desk import Desk, Table
from powerkmeans.compute.triton.given import (
    NUMBERS,
    PRODUCT_ROUNDING,
    SMALLEST_TILE,
    RawSums,
    added,
    descriptor,
    exponents,
    flags,
    from_tally,
    near_bound,
    padded,
    slots_for,
    weight_scale,
)
from powerkmeans.compute.triton.planes import Storage, split
from powerkmeans.compute.triton.shapes import Shape, launch
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.objective.block import PassInput
from powerkmeans.sources.tensors import SentSource, TensorSource
from powerkmeans.support.install import needed
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Array, Engine, Float64Array, PassStatistics

# columns, frequencies and clusters of a tile
MOST_COLUMNS, MOST_WAVES, MOST_CLUSTERS = 128, 128, SMALLEST_TILE
SHAPE = {1: Shape(64, 4, 3, 2), 2: Shape(64, 4, 2, 2)}
# rows that single precision adds up; tensor cores, which round down, add those of a tile where numbers are in two
# parts: features that are not centred sum to many times what is left of them, and with it grows what is rounded
ROWS_PER_SUM = 2**13
# frequencies are in two parts, whatever the features are
_IN_PARTS = Storage(2, "bfloat16")


@dataclass(frozen=True)
class RawRows:
    """Rows on a card as they came, their weights, and the map that makes features of them.

    waves : (2 columns, frequencies), the parts of frequencies in turns, padded
    shift : what is taken from rows, padded
    desks : what passes write to the card, by the number of clusters
    """

    rows: Any
    weight: Any
    heaviest: float
    mean_weight: float
    feature_map: CentredMap
    storage: Storage
    waves: Any
    shift: Any
    desks: dict[int, Desk] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_waves(self) -> int:
        return int(self.feature_map.base.n_components)

    @property
    def amplitude(self) -> float:
        """What sines and cosines are multiplied by."""
        return 1 / math.sqrt(self.n_waves)

    @property
    def squared_unit(self) -> float:
        """What squared distances of sines and cosines are multiplied by."""
        return (self.feature_map.scale * self.amplitude) ** 2

    def points(self, inputs: PassInput) -> Array:
        """Centroids as sines and cosines: ``(theta / scale + mean) / amplitude``."""
        centers = inputs.projections[0].T.astype(np.float64) / -2
        return self.feature_map.uncentred(centers) / self.amplitude


def raw_rows(engine: Engine, storage: Storage, place: Any) -> RawRows | None:
    """The rows of an engine, if the kernel takes them."""
    rows = _dense_rows(engine)
    if rows is None or not engine.maps or not is_fourier(engine.maps[0]):
        return None
    feature_map = engine.maps[0]
    n_columns, n_waves = feature_map.base.frequencies.shape
    if n_columns > MOST_COLUMNS or n_waves > MOST_WAVES:
        return None
    width, waves = padded(n_columns), padded(n_waves)
    (weight,) = place((np.ascontiguousarray(engine.views.weight),))
    if rows.device != weight.device:  # of the processor, or of another card
        return None
    turns = _split_double(feature_map.base.frequencies.astype(np.float64) / (2 * math.pi))
    table, shift = np.zeros((2, width, waves), dtype=np.float32), np.zeros(width, dtype=np.float32)
    table[:, :n_columns, :n_waves], shift[:n_columns] = turns, feature_map.base.origin
    parts, shift = place((table.reshape(-1, waves), shift))
    parts = parts.to(torch_module().bfloat16)
    return RawRows(
        rows, weight, float(weight.max()), float(weight.double().mean()), feature_map, storage, parts, shift
    )


def _dense_rows(engine: Engine) -> Any:
    """The one view's tensor where a descriptor can point to it: single precision, sixteen bytes at a time."""
    views = engine.views
    if (
        len(views.arrays) != 1
        or views.present is not None
        or type(views.arrays[0]) not in (TensorSource, SentSource)
    ):
        return None
    source = cast(TensorSource, views.arrays[0])
    next(iter(source.device_blocks(1)))  # which sends them, if they are still here
    rows = source.tensor
    aligned = rows.is_contiguous() and rows.shape[1] % 4 == 0 and rows.data_ptr() % 16 == 0
    return rows if aligned and rows.dtype == torch_module().float32 else None


def _split_double(values: Array) -> Array:
    """Two numbers of 8 digits that add up to each of ``values``, (2, ...), in single precision."""
    torch = torch_module()
    exact = torch.from_numpy(np.ascontiguousarray(values))
    high = exact.to(torch.bfloat16).double()
    return np.stack([high.numpy(), (exact - high).to(torch.bfloat16).double().numpy()])


def run_raw(raw: RawRows, inputs: PassInput) -> PassStatistics | None:
    """The sums of a pass; None where distances lost their digits, and on a card without room for the kernel."""
    equations, sizes = flags(inputs, raw.storage.parts), (*raw.waves.shape, raw.storage)
    compiled = raw.rows.device, "from raw rows", *sizes, equations
    sums = launch(compiled, SHAPE[raw.storage.parts], partial(_sums, raw, inputs, equations))
    return None if sums is None or sums.doubt > 0 else _statistics(raw, inputs, sums)


def _sums(raw: RawRows, inputs: PassInput, equations: tuple[bool | int, ...], shape: Shape) -> RawSums:
    from powerkmeans.compute.triton.fourier import pass_from_raw  # noqa: PLC0415 - compiled on the way

    n_rows, parts = int(raw.rows.shape[0]), raw.storage.parts
    waves, width = int(raw.waves.shape[1]), int(raw.shift.shape[0])
    slots = slots_for(raw.rows, ROWS_PER_SUM, shape, 2 * waves, SMALLEST_TILE)
    desk = _written(raw, inputs, waves)
    points, squares, numbers = desk.there

    def work() -> Any:
        table = slots.table(raw.rows.device)
        pass_from_raw[(slots.programs,)](
            descriptor(raw.rows, shape.rows, width), descriptor(raw.waves, width, waves),
            descriptor(points, waves, parts * SMALLEST_TILE), descriptor(raw.weight, shape.rows), raw.shift,
            squares, numbers, table, n_rows, squares.shape[0], float(raw.n_waves), *equations, parts,
            getattr(needed("triton.language", "gpu"), raw.storage.kind), shape.rows, width, waves, SMALLEST_TILE,
            slots.flush, shape.stages, not raw.rows.is_cuda, num_warps=shape.warps,
        )  # fmt: skip
        return added(table)

    moment, tally = slots.parted(desk.passed(equations, work))
    moment = moment.reshape(2, waves, SMALLEST_TILE)
    if raw.n_waves < waves:
        moment = moment * _rounded_off(moment[1, -1], tally[0])
    return from_tally(moment[:, : raw.n_waves].reshape(-1, SMALLEST_TILE).T, tally, squares.shape[0])


def _rounded_off(counted: Float64Array, mass: Float64Array) -> Float64Array:
    """What gives back to sums what tensor cores round off, by clusters: the cosine of a wave that pads is one.

    It is the same share of all sums, and shows where their mean is taken from them.
    """
    return np.where(counted > 0, mass / np.maximum(counted, np.finfo(np.float64).tiny), 1.0)


def _written(raw: RawRows, inputs: PassInput, waves: int) -> Desk:
    """Centroids' parts as the kernel takes them, squared lengths of what these are, and the equations' numbers."""
    torch, centers, parts = torch_module(), raw.points(inputs), raw.storage.parts
    k, n_waves, single = centers.shape[0], raw.n_waves, torch.float32
    if k not in raw.desks:
        table = Table((2 * waves, parts * SMALLEST_TILE), getattr(torch, raw.storage.kind))
        raw.desks[k] = Desk(raw.rows.device, table, Table((k,), single), Table((NUMBERS,), single))
    desk = raw.desks[k]
    pieces = split(torch.from_numpy(centers.astype(np.float32)), raw.storage, torch)[:, :, : 2 * n_waves]
    rounded = pieces.double().sum(dim=0).numpy()
    place = desk.here[0].reshape(2, waves, SMALLEST_TILE, parts)
    place[:, :n_waves, :k] = pieces.reshape(parts, k, 2, n_waves).permute(2, 3, 1, 0)
    desk.here[1][:] = np.vecdot(rounded, rounded)
    share = max(inputs.resolution, PRODUCT_ROUNDING[2] ** (1 / 3))
    reference = float(inputs.references[0]) / raw.squared_unit
    values = reference, *exponents(inputs), share, near_bound(share), weight_scale(raw, inputs)
    desk.here[2][:] = values
    return desk


def _statistics(raw: RawRows, inputs: PassInput, sums: RawSums) -> PassStatistics:
    """Sums of centred features: ``scale (amplitude M - N mean)``; the loss as in ``launches``."""
    feature_map, weights = raw.feature_map, weight_scale(raw, inputs)
    mass, scatter, residual = sums.by_view[0] / weights
    moment = raw.amplitude * sums.moment / weights - mass[:, None] * feature_map.mean
    scatter = scatter * raw.squared_unit
    return PassStatistics(
        mass=mass[:, None],
        moment=feature_map.scale * moment,
        scatter=scatter[:, None],
        residual=residual[:, None],
        sizes=sums.sizes / weights,
        loss=np.sum(scatter) + inputs.references[0] * np.sum(residual),
        hard_cost=np.asarray(sums.hard_cost * raw.squared_unit / weights),
    )
