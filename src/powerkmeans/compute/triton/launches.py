"""Kernels launched over planes: their shapes, what they are given, and their sums added up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from powerkmeans.compute.triton.planes import OCTET, PlaneBlocks, split
from powerkmeans.objective.block import PassInput
from powerkmeans.support.install import needed
from powerkmeans.types import PassStatistics

# numbers of centroids that a kernel by rows keeps sums of on the chip; columns and clusters of one by clusters, and
# the most clusters that two kernels take
FUSED_NUMBERS, FUSED_COLUMNS, FUSED_CLUSTERS, MOST_CLUSTERS = 2**12, 2**8, 2**7, 2**10
# rows that tensor cores add up before float64 does, by the number of planes: they round down, and this many times
ROWS_PER_SUM = {1: 2**13, 2: 2**11}
# pulls that the second of two kernels finds in memory: rows times clusters
PULLS_AT_ONCE = 2**25
# relative rounding of products of numbers in one part, which are exact, and in two
PRODUCT_ROUNDING = {1: 2.0**-22, 2: 2.0**-16}
# exponents beyond which the rounding of fast logarithms near zero shows
STEEP = -30.0
# columns of the smallest product that tensor cores have, and clusters where these are its rows
SMALLEST_TILE, SMALLEST_HEIGHT = 16, 64
# where the largest pull is put in the range of ``float16``, and how far below it others may be, as powers of two
HALF_TOP, HALF_SPREAD = 15, 14


class Shape(NamedTuple):
    """How a kernel is laid out: rows of a tile, warps, tiles on their way at once, programs for each processor."""

    rows: int
    warps: int
    stages: int
    programs: int = 1


@dataclass(frozen=True)
class Given:
    """What a pass is given, on the card.

    centers, center_norms : per view (k, p_l) and (k,)
    """

    inputs: PassInput
    held: PlaneBlocks
    centers: tuple[Any, ...]
    center_norms: tuple[Any, ...]
    torch: Any

    @property
    def n_clusters(self) -> int:
        return int(self.center_norms[0].shape[0])

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

    @property
    def processors(self) -> int:
        """Multiprocessors of the card; two where there is none, so that more than one program is tried."""
        if self.emulated:
            return 2
        return int(self.torch.cuda.get_device_properties(self.held.planes.device).multi_processor_count)

    def side_by_side(self) -> Any:
        """Centroids as features are held, (k, columns of all views padded)."""
        pad = self.torch.nn.functional.pad
        views = [pad(points, (0, -points.shape[1] % OCTET)) for points in self.centers]
        return self.torch.cat(views, dim=1) * self.held.scale

    def split_centers(self, points: Any) -> Any:
        """The parts of centroids that are given side by side, (parts, k, columns)."""
        return split(points, self.held.storage, self.torch)

    def squares(self, pieces: Any) -> Any:
        """Squared lengths of centroids, (L, k): of single parts as they are rounded, so distances are to these."""
        if self.parts == 2:
            return self.torch.stack(self.center_norms)
        rounded, ends = pieces[0].float().square(), [*self.held.starts[1:], pieces.shape[2]]
        views = zip(self.held.starts, ends, strict=True)
        return self.torch.stack([rounded[:, start:end].sum(dim=1) for start, end in views])

    @property
    def near_share(self) -> float:
        """The share of squared lengths below which a distance has lost digits."""
        return float(max(self.inputs.resolution, PRODUCT_ROUNDING[self.parts] ** (1 / 3)))

    @property
    def near_bound(self) -> float:
        """The share of a row's squared length, at least, below which a distance then is.

        If ``||x - c||^2 < sigma (||x||^2 + ||c||^2)``, then ``||c|| <= (1 + delta) ||x||`` with
        ``delta^2 = sigma (1 + (1 + delta)^2)``.
        """
        sigma = self.near_share
        delta = (sigma + math.sqrt(sigma**2 + 2 * sigma * (1 - sigma))) / (1 - sigma)
        return sigma * (1 + (1 + delta) ** 2)

    @property
    def reference(self) -> float:
        """``eta`` of a single view, in the units of what is held."""
        return float(self.inputs.references[0]) * self.held.scale**2

    @property
    def weight_scale(self) -> float:
        """What weights are multiplied by so that pulls are in the range of their type."""
        if self.held.storage.kind != "float16":
            return 1.0
        return 2.0 ** math.floor(HALF_TOP - math.log2(self.held.heaviest) - steepest_pull(self.inputs))

    def exponents(self) -> tuple[float, float]:
        """How samples pull: exponent and fuzziness."""
        s = -1.0 if self.inputs.s == -math.inf else self.inputs.s
        return float(s), float(self.inputs.membership.fuzziness)

    def flags(self) -> tuple[bool, ...]:
        """Which equations a kernel is compiled with."""
        inputs, membership = self.inputs, self.inputs.membership
        hard = inputs.s == -math.inf
        return membership.bounded, membership.fuzziness == 2, hard, not hard and inputs.s > -1, inputs.s < STEEP


def steepest_pull(inputs: PassInput) -> float:
    """The logarithm to base two of the largest pull there can be: of ``k^(-1/s)``."""
    if inputs.s == -math.inf:
        return 0.0
    return -math.log2(inputs.center_norms[0].shape[0]) / inputs.s


def within_range(held: PlaneBlocks, inputs: PassInput) -> bool:
    """Whether pulls are in the range of the type they are multiplied in."""
    if held.storage.kind != "float16":
        return True
    return math.log2(held.heaviest / held.mean_weight) + steepest_pull(inputs) <= HALF_SPREAD


def padded(size: int, least: int = SMALLEST_TILE) -> int:
    """The size of a tile that holds so many: a power of two."""
    return max(least, 1 << (size - 1).bit_length())


class RawSums(NamedTuple):
    """What kernels leave, in float64.

    moment : (k, columns of all views padded)
    by_view : (L, 3, k): mass, scatter and residual
    """

    moment: Any
    by_view: Any
    sizes: Any
    hard_cost: Any
    doubt: Any


def run(given: Given) -> PassStatistics:
    """The sums of a pass; again with differences where distances lost their digits."""
    held = given.held
    sums = _sums(given, held.careful)
    doubtful = bool((sums.doubt > 0).item())
    if doubtful and not held.careful:
        sums = _sums(given, careful=True)
    held.careful = doubtful
    return _statistics(given, sums)


def _statistics(given: Given, sums: RawSums) -> PassStatistics:
    """Sums in the units of features and weights; the loss is ``sum_jl alpha_l D_jl + alpha_l eta_l R_jl``.

    ``M_s`` is homogeneous, so it is its gradient times what it is taken of.
    """
    held, inputs, torch = given.held, given.inputs, given.torch
    by_view = sums.by_view / given.weight_scale
    mass, scatter, residual = by_view[:, 0].T, by_view[:, 1].T / held.scale**2, by_view[:, 2].T
    numbers = {"dtype": torch.float64, "device": scatter.device}
    shares = torch.tensor(inputs.view_weights, **numbers), torch.tensor(inputs.references, **numbers)
    views = zip(held.starts, held.widths, strict=True)
    moment = torch.cat([sums.moment[:, start : start + width] for start, width in views], dim=1)
    return PassStatistics(
        mass=mass,
        moment=moment / (held.scale * given.weight_scale),
        scatter=scatter,
        residual=residual,
        sizes=sums.sizes / given.weight_scale,
        loss=(scatter @ shares[0]).sum() + (residual @ shares[1]).sum(),
        hard_cost=sums.hard_cost / (held.scale**2 * given.weight_scale),
    )


def _sums(given: Given, careful: bool) -> RawSums:
    columns = padded(int(given.held.planes.shape[2]))
    if given.plain and columns <= FUSED_COLUMNS and columns * given.clusters <= FUSED_NUMBERS:
        return _by_rows(given, careful)
    few = columns <= FUSED_COLUMNS and given.n_clusters <= FUSED_CLUSTERS
    return _by_clusters(given) if given.plain and few and not careful else _staged(given, careful)


def _descriptor(table: Any, *tile: int) -> Any:
    tools = needed("triton.tools.tensor_descriptor", "gpu")
    return tools.TensorDescriptor(table, list(table.shape), list(table.stride()), list(tile))


class Slots(NamedTuple):
    """Where programs write: how many there are, tiles of a slot, and the tables of sums."""

    programs: int
    flush: int
    moments: Any
    tallies: Any

    def sums(self, torch: Any) -> tuple[Any, Any]:
        """Both tables added up in float64, in their order."""
        return self.moments.sum(0, dtype=torch.float64), self.tallies.sum(0, dtype=torch.float64)


def slots_for(given: Given, shape: Shape, size: int, clusters: int) -> Slots:
    """Slots of ``size`` numbers."""
    programs, n_rows = given.processors * shape.programs, given.held.planes.shape[1]
    flush = max(1, ROWS_PER_SUM[given.parts] // shape.rows)
    count = -(-n_rows // (shape.rows * flush * programs)) * programs
    zeros = {"dtype": given.torch.float32, "device": given.held.planes.device}
    moments, tallies = given.torch.zeros((count, size), **zeros), given.torch.zeros((count, 5, clusters), **zeros)
    return Slots(programs, flush, moments, tallies)


def _by_rows_shape(columns: int, clusters: int, parts: int) -> Shape:
    if clusters > SMALLEST_TILE:
        return Shape(64, 4, 3, 2)
    if columns <= 64:
        return Shape(128, 4, 3, 4) if parts == 1 else Shape(64, 4, 4, 6)
    return Shape(64, 4, 3, 1 if columns * parts > 256 else 2)


def _by_rows(given: Given, careful: bool) -> RawSums:
    from powerkmeans.compute.triton.fused import pass_by_rows  # noqa: PLC0415 - compiled on the way

    held, torch, clusters = given.held, given.torch, given.clusters
    parts, n_rows, width = held.planes.shape
    columns = padded(width)
    shape = _by_rows_shape(columns, clusters, parts)
    slots = slots_for(given, shape, columns * clusters, clusters)
    centers = given.side_by_side()
    pieces = given.split_centers(centers)
    points = pieces.new_zeros((columns, clusters, parts))
    points[:width, : given.n_clusters] = pieces.permute(2, 1, 0)
    pass_by_rows[(slots.programs,)](
        _descriptor(held.planes.view(-1, width), shape.rows, columns),
        _descriptor(points.view(columns, clusters * parts), columns, clusters * parts),
        _descriptor(held.norms[0], shape.rows), _descriptor(held.weight, shape.rows), held.planes, centers,
        given.squares(pieces)[0], slots.moments, slots.tallies, n_rows, width, held.planes.stride(0),
        given.n_clusters, given.reference, *given.exponents(), given.near_share, given.near_bound,
        given.weight_scale, *given.flags(), careful, parts, given.kind, shape.rows, columns, clusters,
        slots.flush, shape.stages, given.emulated, num_warps=shape.warps,
    )  # fmt: skip
    moment, tally = slots.sums(torch)
    return from_tally(moment.view(columns, clusters).T, tally, given.n_clusters)


def from_tally(moment: Any, tally: Any, n_clusters: int) -> RawSums:
    """Sums of one view as kernels over slots leave them."""
    return RawSums(moment[:n_clusters], tally[None, :3, :n_clusters], tally[3, :n_clusters], tally[4, 0], tally[4, 1])


def _by_clusters_shape(clusters: int, parts: int) -> Shape:
    if clusters <= SMALLEST_HEIGHT:
        return Shape(64, 4, 2, 2) if parts == 1 else Shape(32, 4, 2)
    return Shape(64, 8, 3) if parts == 1 else Shape(32, 8, 2)


def _by_clusters(given: Given) -> RawSums:
    from powerkmeans.compute.triton.fused import pass_by_clusters  # noqa: PLC0415 - compiled on the way

    held, torch, clusters = given.held, given.torch, padded(given.n_clusters, SMALLEST_HEIGHT)
    parts, n_rows, width = held.planes.shape
    columns, shape = padded(width), _by_clusters_shape(clusters, parts)
    slots = slots_for(given, shape, columns * clusters, clusters)
    pieces = given.split_centers(given.side_by_side())
    points = pieces.new_zeros((parts, clusters, columns))
    points[:, : given.n_clusters, :width] = pieces
    pass_by_clusters[(slots.programs,)](
        _descriptor(held.planes.view(-1, width), shape.rows, columns),
        _descriptor(points.view(-1, columns), clusters, columns),
        _descriptor(held.norms[0], shape.rows), _descriptor(held.weight, shape.rows),
        given.squares(pieces)[0], slots.moments, slots.tallies, n_rows,
        given.n_clusters, given.reference, *given.exponents(), given.near_bound,
        given.weight_scale, *given.flags(), parts, given.kind, shape.rows, columns, clusters,
        slots.flush, shape.stages, given.emulated, num_warps=shape.warps,
    )  # fmt: skip
    moment, tally = slots.sums(torch)
    return from_tally(moment.view(clusters, columns), tally, given.n_clusters)


def _staged_shapes(clusters: int, width: int) -> tuple[Shape, int, Shape, int]:
    """The shapes of both kernels, and how many columns each takes at once."""
    wide = min(256, padded(width))
    if clusters <= 128:
        return Shape(64, 4, 2), min(64, wide), Shape(64, 8, 2), wide
    if clusters <= 256:
        return Shape(64, 8, 2), min(64, wide), Shape(64, 8, 2), wide
    rows, narrow = (64, 32) if clusters <= 512 else (32, 16)
    return Shape(rows, 8, 1), min(narrow, wide), Shape(64, 8, 2), wide


class ViewTables(NamedTuple):
    """Where views are: ranges of columns, their numbers, and centroids by views, each from a multiple of a tile."""

    ranges: Any
    numbers: Any
    points: Any
    height: int


def _view_tables(given: Given, pieces: Any, narrow: int) -> ViewTables:
    held, torch = given.held, given.torch
    ends = [*held.starts[1:], int(held.planes.shape[2])]
    heights = [-(-(end - start) // narrow) * narrow for start, end in zip(held.starts, ends, strict=True)]
    height = sum(heights)
    points = pieces.new_zeros((pieces.shape[0], height, given.clusters))
    ranges, row = [], 0
    for start, end, tall in zip(held.starts, ends, heights, strict=True):
        points[:, row : row + end - start, : given.n_clusters] = pieces[:, :, start:end].transpose(1, 2)
        ranges.append((start, end, row))
        row += tall
    numbers = [(w, r * held.scale**2) for w, r in zip(given.inputs.view_weights, given.inputs.references, strict=True)]
    device = held.planes.device
    tables = torch.tensor(ranges, dtype=torch.int32), torch.tensor(numbers, dtype=torch.float32)
    return ViewTables(*(table.to(device) for table in tables), points.view(-1, given.clusters), height)


def _staged(given: Given, careful: bool) -> RawSums:
    from powerkmeans.compute.triton.staged import pulled_rows, row_pulls  # noqa: PLC0415 - compiled on the way

    held, torch, clusters, n_views = given.held, given.torch, given.clusters, given.n_views
    parts, n_rows, width = held.planes.shape
    first, narrow, second, wide = _staged_shapes(clusters, width)
    height, per_sum = -(-width // wide) * wide, ROWS_PER_SUM[2]
    count = min(PULLS_AT_ONCE // clusters, -(-n_rows // per_sum) * per_sum)
    shares, tile = -(-count // per_sum), min(128, clusters)
    device = held.planes.device
    moments = torch.zeros((shares, height, clusters), dtype=torch.float32, device=device)
    tallies = torch.zeros((count // first.rows, 3 * n_views + 2, clusters), dtype=torch.float32, device=device)
    pulled = torch.zeros((parts * count, clusters), dtype=held.planes.dtype, device=device)
    flat, centers = held.planes.view(-1, width), given.side_by_side()
    pieces = given.split_centers(centers)
    tables, squares = _view_tables(given, pieces, narrow), given.squares(pieces)
    covers = held.norms if held.covers is None else held.covers
    moment, tally = moments[0].double(), tallies[0].double()
    for start in range(0, n_rows, count):
        row_pulls[(count // first.rows,)](
            _descriptor(flat, first.rows, narrow), _descriptor(tables.points, narrow, clusters),
            held.planes, held.norms, held.weight, covers, centers, squares, tables.ranges, tables.numbers,
            pulled, tallies, start, min(start + count, n_rows), n_rows, count, held.planes.stride(0), width,
            tables.height, n_views, given.n_clusters, *given.exponents(), given.near_share, given.near_bound,
            given.weight_scale, *given.flags(), careful, held.covers is not None, n_views > 1, parts, given.kind,
            first.rows, narrow, clusters, first.stages, given.emulated, num_warps=first.warps,
        )  # fmt: skip
        pulled_rows[(height // wide, clusters // tile, shares)](
            _descriptor(flat, second.rows, wide), _descriptor(pulled, second.rows, tile),
            moments, start, n_rows, count, per_sum, height, clusters,
            parts, second.rows, wide, tile, second.stages, given.emulated, num_warps=second.warps,
        )  # fmt: skip
        moment += moments.sum(0, dtype=torch.float64)
        tally += tallies.sum(0, dtype=torch.float64)
    return _from_views(moment.T[: given.n_clusters], tally, n_views, given.n_clusters)


def _from_views(moment: Any, tally: Any, n_views: int, n_clusters: int) -> RawSums:
    by_view = tally[: 3 * n_views, :n_clusters].reshape(n_views, 3, n_clusters)
    return RawSums(moment, by_view, tally[-2, :n_clusters], tally[-1, 0], tally[-1, 1])
