"""Kernels launched over planes: their shapes, what they are given, and their sums added up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from powerkmeans.compute.triton.planes import OCTET, PlaneBlocks, split
from powerkmeans.objective.block import PassInput
from powerkmeans.support.install import needed
from powerkmeans.types import PassStatistics

# numbers of centroids that one kernel keeps sums of on the chip, and the most clusters that two take
FUSED_NUMBERS, MOST_CLUSTERS = 2**12, 2**10
# rows that tensor cores add up before float64 does: they round down, and this many times
ROWS_PER_SUM = 2**11
# pulls that the second of two kernels finds in memory: rows times clusters
PULLS_AT_ONCE = 2**25
# relative rounding of numbers in two parts
PARTS_ROUNDING = 2.0**-16
# exponents beyond which the rounding of fast logarithms near zero shows
STEEP = -30.0
# columns of the smallest product that tensor cores have
SMALLEST_TILE = 16


class Shape(NamedTuple):
    """How a kernel is laid out: rows of a tile, warps, tiles on their way at once, programs for each processor."""

    rows: int
    warps: int
    stages: int
    programs: int = 1


@dataclass(frozen=True)
class Given:
    """What a pass is given, on the card."""

    inputs: PassInput
    held: PlaneBlocks
    centers: Any
    center_norms: Any
    pull_parts: int
    torch: Any

    @property
    def n_clusters(self) -> int:
        return int(self.center_norms.shape[0])

    @property
    def clusters(self) -> int:
        return padded(self.n_clusters)

    @property
    def emulated(self) -> bool:
        return not self.held.planes.is_cuda

    @property
    def processors(self) -> int:
        """Multiprocessors of the card; two where there is none, so that more than one program is tried."""
        if self.emulated:
            return 2
        return int(self.torch.cuda.get_device_properties(self.held.planes.device).multi_processor_count)

    def split_centers(self, height: int) -> Any:
        """The parts of centroids, (2, height, clusters), padded with zeros."""
        parts = split(self.centers, 2, self.torch)[:, :, : self.centers.shape[1]].transpose(1, 2)
        result = parts.new_zeros((2, height, self.clusters))
        result[:, : parts.shape[1], : self.n_clusters] = parts
        return result

    def numbers(self) -> tuple[Any, ...]:
        """How samples pull: reference, exponent, fuzziness; and the share below which distances lost digits."""
        inputs = self.inputs
        s = -1.0 if inputs.s == -math.inf else inputs.s
        share = max(inputs.resolution, PARTS_ROUNDING ** (1 / 3))
        return float(inputs.references[0]), float(s), float(inputs.membership.fuzziness), float(share)

    def flags(self, careful: bool) -> tuple[Any, ...]:
        """Which equations a kernel is compiled with."""
        inputs, membership = self.inputs, self.inputs.membership
        hard = inputs.s == -math.inf
        kinds = membership.bounded, membership.fuzziness == 2, hard, not hard and inputs.s > -1, inputs.s < STEEP
        return (*kinds, careful, int(self.held.planes.shape[0]), self.pull_parts)


def padded(size: int) -> int:
    """The size of a tile that holds so many: a power of two."""
    return max(SMALLEST_TILE, 1 << (size - 1).bit_length())


def run(given: Given) -> PassStatistics:
    """The sums of a pass, with differences where distances lost their digits and nowhere else.

    Which kernel begins is what the last pass needed; which one tells the sums is up to this pass alone.
    """
    held = given.held
    moment, tally = _sums(given, held.careful)
    doubtful = bool(tally[6].sum().item())
    if doubtful != held.careful:
        moment, tally = _sums(given, careful=doubtful)
    held.careful = doubtful
    mass, scatter, residual, sizes = (row[: given.n_clusters] for row in tally[:4])
    return PassStatistics(
        mass=mass[:, None],
        moment=moment,
        scatter=scatter[:, None],
        residual=residual[:, None],
        sizes=sizes,
        loss=tally[4].sum(),
        hard_cost=tally[5].sum(),
    )


def _sums(given: Given, careful: bool) -> tuple[Any, Any]:
    columns = padded(int(given.held.planes.shape[2]))
    fits = columns <= 256 and columns * given.clusters <= FUSED_NUMBERS
    moment, tally = (_fused if fits else _staged)(given, careful)
    return moment.T[: given.n_clusters, : given.held.n_columns], tally


def _descriptor(table: Any, *tile: int) -> Any:
    tools = needed("triton.tools.tensor_descriptor", "gpu")
    return tools.TensorDescriptor(table, list(table.shape), list(table.stride()), list(tile))


def _fused_shape(columns: int, parts: int) -> Shape:
    if columns <= 64:
        return Shape(128, 4, 3, 4)
    return Shape(64, 4, 3, 2) if parts == 2 else Shape(128, 8, 3)


def _fused(given: Given, careful: bool) -> tuple[Any, Any]:
    from powerkmeans.compute.triton.fused import fused_pass  # noqa: PLC0415 - compiled on the way

    held, torch = given.held, given.torch
    parts, n_rows, width = held.planes.shape
    columns, clusters = padded(width), given.clusters
    shape = _fused_shape(columns, parts)
    programs = given.processors * shape.programs
    flush = ROWS_PER_SUM // shape.rows
    slots = -(-n_rows // (shape.rows * flush * programs)) * programs
    zeros = {"dtype": torch.float32, "device": held.planes.device}
    moments = torch.zeros((slots, columns, clusters), **zeros)
    tallies = torch.zeros((slots, 7, clusters), **zeros)
    fused_pass[(programs,)](
        _descriptor(held.planes.view(-1, width), shape.rows, columns),
        held.planes, held.norms, held.weight, given.centers, given.split_centers(columns), given.center_norms,
        moments, tallies, n_rows, width // OCTET, held.planes.stride(0), given.n_clusters,
        *given.numbers(), *given.flags(careful),
        shape.rows, columns, clusters, flush, shape.stages, given.emulated,
        num_warps=shape.warps,
    )  # fmt: skip
    return moments.sum(0, dtype=torch.float64), tallies.sum(0, dtype=torch.float64)


def _staged_shapes(clusters: int, width: int) -> tuple[Shape, int, Shape, int]:
    """The shapes of both kernels, and how many columns each takes at once."""
    wide = min(256, padded(width))
    if clusters <= 128:
        return Shape(64, 4, 2), min(64, wide), Shape(64, 8, 2), wide
    if clusters <= 256:
        return Shape(64, 8, 2), min(64, wide), Shape(64, 8, 2), wide
    rows, narrow = (64, 32) if clusters <= 512 else (32, 16)
    return Shape(rows, 8, 1), min(narrow, wide), Shape(64, 8, 2), wide


def _staged(given: Given, careful: bool) -> tuple[Any, Any]:
    from powerkmeans.compute.triton.staged import pulled_rows, row_pulls  # noqa: PLC0415 - compiled on the way

    held, torch, clusters = given.held, given.torch, given.clusters
    parts, n_rows, width = held.planes.shape
    first, narrow, second, wide = _staged_shapes(clusters, width)
    height = -(-width // wide) * wide
    count = min(PULLS_AT_ONCE // clusters, -(-n_rows // ROWS_PER_SUM) * ROWS_PER_SUM)
    shares, tile = -(-count // ROWS_PER_SUM), min(128, clusters)
    zeros = {"dtype": torch.float32, "device": held.planes.device}
    moments = torch.zeros((shares, height, clusters), **zeros)
    tallies = torch.zeros((count // first.rows, 7, clusters), **zeros)
    pulled = torch.zeros((given.pull_parts * count, clusters), dtype=torch.bfloat16, device=held.planes.device)
    flat, points = held.planes.view(-1, width), given.split_centers(height).view(-1, clusters)
    moment, tally = moments[0].double(), tallies[0].double()
    for start in range(0, n_rows, count):
        end = min(start + count, n_rows)
        row_pulls[(count // first.rows,)](
            _descriptor(flat, first.rows, narrow), _descriptor(points, narrow, clusters),
            held.planes, held.norms, held.weight, given.centers, given.center_norms, pulled, tallies,
            start, end, n_rows, count, width // OCTET, held.planes.stride(0), height, given.n_clusters,
            *given.numbers(), *given.flags(careful), first.rows, narrow, clusters, first.stages, given.emulated,
            num_warps=first.warps,
        )  # fmt: skip
        pulled_rows[(height // wide, clusters // tile, shares)](
            _descriptor(flat, second.rows, wide), _descriptor(pulled, second.rows, tile),
            moments, start, n_rows, count, ROWS_PER_SUM, height, clusters,
            parts, given.pull_parts, second.rows, wide, tile, second.stages, given.emulated,
            num_warps=second.warps,
        )  # fmt: skip
        moment += moments.sum(0, dtype=torch.float64)
        tally += tallies.sum(0, dtype=torch.float64)
    return moment, tally
