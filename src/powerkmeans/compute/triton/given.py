"""What kernels over planes are given, and where they write."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from powerkmeans.compute.triton.planes import PlaneBlocks, Storage
from powerkmeans.compute.triton.shapes import Shape
from powerkmeans.objective.block import PassInput
from powerkmeans.support.install import needed
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Array, Float64Array

# rows that tensor cores add up before float64 does, by the number of planes: they round down, and this many times
ROWS_PER_SUM = {1: 2**13, 2: 2**10}
# relative rounding of products of numbers in one part, which are exact, and in two
PRODUCT_ROUNDING = {1: 2.0**-22, 2: 2.0**-16}
# groups of slots that are added apart, and how many numbers of how many slots a program takes at once
SLOT_GROUPS, SLOT_WIDTH, SLOT_DEPTH = 64, 128, 8
# sums by clusters beside moments, and numbers that equations have beside rows and centroids
TALLIES, NUMBERS = 5, 6
# exponents beyond which the rounding of fast logarithms near zero shows
STEEP = -30.0
# columns of the smallest product that tensor cores have, and clusters where these are its rows
SMALLEST_TILE, SMALLEST_HEIGHT = 16, 64
# where the largest pull is put in the range of ``float16``, and how far below it others may be, as powers of two
HALF_TOP, HALF_SPREAD = 15, 14


def rows_per_sum(parts: int) -> int:
    """The same where sums are many, and to write them takes its time."""
    return parts * ROWS_PER_SUM[parts]


@dataclass(frozen=True)
class Given:
    """What a pass is given: rows on a card, and centroids, which are few and are made ready in NumPy."""

    inputs: PassInput
    held: PlaneBlocks

    @property
    def n_clusters(self) -> int:
        return int(self.inputs.center_norms[0].shape[0])

    @property
    def parts(self) -> int:
        return self.held.storage.parts

    @property
    def clusters(self) -> int:
        return padded(self.n_clusters)

    @property
    def n_views(self) -> int:
        return len(self.held.widths)

    @property
    def plain(self) -> bool:
        """Whether there is one view, and all rows have it."""
        return self.n_views == 1 and self.held.covers is None

    @property
    def emulated(self) -> bool:
        return not self.held.planes.is_cuda

    @property
    def kind(self) -> Any:
        """The type of planes in Triton's words."""
        return getattr(needed("triton.language", "gpu"), self.held.storage.kind)

    def centers(self) -> Array:
        """Centroids as features are held, (k, columns of all views padded)."""
        result = np.zeros((self.n_clusters, self.held.planes.shape[2]), dtype=np.float32)
        self.write_centers(result)
        return result

    def write_centers(self, table: Array) -> None:
        """The same, to a table that is zero where columns are padded."""
        for start, projection in zip(self.held.starts, self.inputs.projections, strict=True):
            np.multiply(projection.T, -self.held.scale / 2, out=table[:, start : start + projection.shape[0]])

    def squares(self, pieces: Any) -> Array:
        """Squared lengths of centroids, (L, k), as these are rounded to parts, so that distances are to those.

        Lengths of others would be off by the same for all rows, which does not cancel in sums.
        """
        rounded = pieces.double().sum(dim=0).numpy()
        return np.add.reduceat(rounded * rounded, self.held.starts, axis=1).T.astype(np.float32)

    @property
    def near_share(self) -> float:
        """The share of squared lengths below which a distance has lost digits."""
        return float(max(self.inputs.resolution, PRODUCT_ROUNDING[self.parts] ** (1 / 3)))

    @property
    def reference(self) -> float:
        """``eta`` of a single view, in the units of what is held."""
        return float(self.inputs.references[0]) * self.held.scale**2

    @property
    def weight_scale(self) -> float:
        return weight_scale(self.held, self.inputs)

    @property
    def numbers(self) -> tuple[float, ...]:
        """What ``tiles.numbers_of`` reads."""
        share = self.near_share
        return self.reference, *exponents(self.inputs), share, near_bound(share), self.weight_scale


def near_bound(sigma: float) -> float:
    """The share of a row's squared length, at least, below which a distance is that has lost digits.

    If ``||x - c||^2 < sigma (||x||^2 + ||c||^2)``, then ``||c|| <= (1 + delta) ||x||`` with
    ``delta^2 = sigma (1 + (1 + delta)^2)``.
    """
    delta = (sigma + math.sqrt(sigma**2 + 2 * sigma * (1 - sigma))) / (1 - sigma)
    return sigma * (1 + (1 + delta) ** 2)


def exponents(inputs: PassInput) -> tuple[float, float]:
    """How samples pull: exponent and fuzziness."""
    return -1.0 if inputs.s == -math.inf else float(inputs.s), float(inputs.membership.fuzziness)


def flags(inputs: PassInput, parts: int) -> tuple[bool | int, ...]:
    """Which equations a kernel is compiled with, and with how many digits for numbers in so many parts."""
    membership, hard = inputs.membership, inputs.s == -math.inf
    digits = 2 if inputs.s < STEEP else parts - 1
    return membership.bounded, membership.fuzziness == 2, hard, not hard and inputs.s > -1, digits


def steepest_pull(inputs: PassInput) -> float:
    """The logarithm to base two of the largest pull there can be: of ``k^(-1/s)``."""
    if inputs.s == -math.inf:
        return 0.0
    return -math.log2(inputs.center_norms[0].shape[0]) / inputs.s


class Weighted(Protocol):
    """Rows and how they are held: the largest weight with which one pulls, and the mean of these."""

    @property
    def storage(self) -> Storage: ...
    @property
    def heaviest(self) -> float: ...
    @property
    def mean_weight(self) -> float: ...


def weight_scale(held: Weighted, inputs: PassInput) -> float:
    """What weights are multiplied by so that pulls are in the range of the type they are multiplied in."""
    if held.storage.kind != "float16":
        return 1.0
    return 2.0 ** math.floor(HALF_TOP - math.log2(held.heaviest) - steepest_pull(inputs))


def within_range(held: Weighted, inputs: PassInput) -> bool:
    """Whether pulls are then in that range, and few so small that they lose digits."""
    if held.storage.kind != "float16":
        return True
    if not held.heaviest > 0:  # a part of the rows without any weight
        return False
    return math.log2(held.heaviest / held.mean_weight) + steepest_pull(inputs) <= HALF_SPREAD


def padded(size: int, least: int = SMALLEST_TILE) -> int:
    """The size of a tile that holds so many: a power of two."""
    return max(least, 1 << (size - 1).bit_length())


class RawSums(NamedTuple):
    """What kernels leave, in float64.

    moment : (k, columns of all views padded)
    by_view : (L, 3, k): mass, scatter and residual
    """

    moment: Float64Array
    by_view: Float64Array
    sizes: Float64Array
    hard_cost: float
    doubt: float


class Slots(NamedTuple):
    """Where programs write: how many programs and slots there are, tiles of a slot, and what a slot holds.

    A slot is moments, (height, clusters) or these the other way round, and what ``tiles.write_tallies`` says.
    """

    programs: int
    written: int
    flush: int
    height: int
    clusters: int

    def table(self, device: Any) -> Any:
        """The slots, to be written to."""
        torch = torch_module()
        size = (self.height + TALLIES) * self.clusters
        return torch.empty((self.written, size), dtype=torch.float32, device=device)

    def parted(self, sums: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Moments and tallies of slots that were added up."""
        total = sums.reshape(self.height + TALLIES, -1)
        return total[: self.height], total[self.height :]


def slots_for(rows: Any, per_sum: int, shape: Shape, height: int, clusters: int) -> Slots:
    """Slots for moments of so many columns and clusters, as many as programs will write: each of so many rows."""
    programs = _processors(rows.device, torch_module()) * shape.programs
    flush = max(1, per_sum // shape.rows)
    n_tiles = -(-rows.shape[-2] // shape.rows)
    whole = (n_tiles - 1) // (flush * programs)
    count = whole * programs + min(programs, n_tiles - whole * flush * programs)
    return Slots(programs, count, flush, height, clusters)


def added(slots: Any) -> Any:
    """The sum of slots in float64: of groups of them, where they are many, then of these."""
    from powerkmeans.compute.triton.adding import add_slots  # noqa: PLC0415 - compiled on the way

    count, size = slots.shape
    stages = (min(SLOT_GROUPS, -(-count // SLOT_DEPTH)), 1) if count > SLOT_GROUPS else (1,)
    for groups in stages:
        sums = slots.new_empty((groups, size), dtype=torch_module().float64)
        add_slots[(-(-size // SLOT_WIDTH), groups)](slots, sums, count, size, SLOT_WIDTH, SLOT_DEPTH, num_warps=4)
        slots, count = sums, groups
    return slots[0]


def _processors(device: Any, torch: Any) -> int:
    """Multiprocessors of a card; two where there is none, so that more than one program is tried."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 2


def from_tally(moment: Float64Array, tally: Float64Array, n_clusters: int) -> RawSums:
    """Sums of one view as kernels over slots leave them."""
    return RawSums(
        moment[:n_clusters], tally[None, :3, :n_clusters], tally[3, :n_clusters], tally[4, 0], tally[4, 1]
    )


def descriptor(table: Any, *tile: int) -> Any:
    """What the card copies tiles of a table by."""
    tools = needed("triton.tools.tensor_descriptor", "gpu")
    return tools.TensorDescriptor(table, list(table.shape), list(table.stride()), list(tile))
