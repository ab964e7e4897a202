"""Kernels launched over planes, and their sums added up."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from powerkmeans.compute.triton import given as known
from powerkmeans.compute.triton.desk import Desk, Table, fetched
from powerkmeans.compute.triton.given import (
    NUMBERS,
    SMALLEST_HEIGHT,
    SMALLEST_TILE,
    Given,
    RawSums,
    added,
    descriptor,
    flags,
    from_tally,
    padded,
    rows_per_sum,
    slots_for,
)
from powerkmeans.compute.triton.planes import split
from powerkmeans.compute.triton.shapes import Shape, Shapes, launch
from powerkmeans.support.tensors import PLAIN, torch_module
from powerkmeans.types import Float64Array, PassStatistics

# numbers of centroids that a kernel by rows keeps sums of on the chip; columns and clusters of one by clusters;
# and the most clusters that two kernels take
FUSED_NUMBERS, FUSED_COLUMNS, FUSED_CLUSTERS, MOST_CLUSTERS = 2**12, 2**8, 2**7, 2**10
# pulls that the second of two kernels finds in memory: rows times clusters
PULLS_AT_ONCE = 2**25


def run(given: Given) -> PassStatistics:
    """The sums of a pass, with differences where distances lost their digits and nowhere else.

    Which kernel begins is what the last pass needed; which one tells the sums is up to this pass, but for
    distances at the very bound that the careful kernel alone doubts.
    """
    held = given.held
    sums = _sums(given, held.careful)
    if held.careful and not sums.doubt > 0:
        plain = _sums(given, careful=False)
        held.careful = bool(plain.doubt > 0)  # which rounds otherwise, and has the last word
        sums = sums if held.careful else plain
    elif sums.doubt > 0 and not held.careful:
        held.careful, sums = True, _sums(given, careful=True)
    return _statistics(given, sums)


def _statistics(given: Given, sums: RawSums) -> PassStatistics:
    """Sums in the units of features and weights; the loss is ``sum_jl alpha_l D_jl + alpha_l eta_l R_jl``.

    ``M_s`` is homogeneous, so it is its gradient times what it is taken of.
    """
    held, inputs, weights = given.held, given.inputs, given.weight_scale
    mass, scatter, residual = (sums.by_view / weights).transpose(1, 2, 0)
    scatter = scatter / held.scale**2
    views = [sums.moment[:, i : i + width] for i, width in zip(held.starts, held.widths, strict=True)]
    moment = views[0] if len(views) == 1 else np.concatenate(views, axis=1)
    return PassStatistics(
        mass=mass,
        moment=moment / (held.scale * weights),
        scatter=scatter,
        residual=residual,
        sizes=sums.sizes / weights,
        loss=scatter.sum(axis=0).dot(inputs.view_weights) + residual.sum(axis=0).dot(inputs.references),
        hard_cost=np.asarray(sums.hard_cost / (held.scale**2 * weights)),
    )


def _sums(given: Given, careful: bool) -> RawSums:
    found = _fused(given, careful) if given.plain else None
    found = _staged(given, careful) if found is None else found
    if found is None:
        raise RuntimeError(
            f"The device '{given.held.planes.device}' has too little shared memory for any kernel that makes a "
            f"pass: {PLAIN}"
        )
    return found


def _fused(given: Given, careful: bool) -> RawSums | None:
    """The sums by one kernel; None where there is none for such a pass, or the card has no room for it."""
    columns = padded(int(given.held.planes.shape[2]))
    if columns <= FUSED_COLUMNS and columns * given.clusters <= FUSED_NUMBERS:
        return _by_rows(given, careful)
    few = columns <= FUSED_COLUMNS and given.n_clusters <= FUSED_CLUSTERS
    return _by_clusters(given) if few and not careful else None


def _compiled(given: Given, kernel: str, columns: int, clusters: int, equations: tuple[Any, ...]) -> Hashable:
    """All that the compiled form of a kernel hangs on, but for its shape."""
    return given.held.planes.device, kernel, columns, clusters, given.parts, given.held.storage.kind, equations


def _by_rows_shape(columns: int, clusters: int, parts: int) -> Shape:
    if clusters > SMALLEST_TILE:
        return Shape(64, 4, 3, 2)
    if columns <= 64:
        return Shape(128, 4, 3, 4) if parts == 1 else Shape(64, 4, 4, 6)
    return Shape(64, 4, 3, 1 if columns * parts > 256 else 2)


def _by_rows(given: Given, careful: bool) -> RawSums | None:
    columns, clusters = padded(int(given.held.planes.shape[2])), given.clusters
    equations = (*flags(given.inputs, given.parts), careful)
    return launch(
        _compiled(given, "by rows", columns, clusters, equations),
        _by_rows_shape(columns, clusters, given.parts),
        partial(_rows_summed, given, columns, equations),
    )


def _rows_summed(given: Given, columns: int, equations: tuple[bool | int, ...], shape: Shape) -> RawSums:
    from powerkmeans.compute.triton.fused import pass_by_rows  # noqa: PLC0415 - compiled on the way

    held, clusters = given.held, given.clusters
    parts, n_rows, width = held.planes.shape
    slots = slots_for(held.planes, known.ROWS_PER_SUM[parts], shape, columns, clusters)
    desk = _desk(given, shape, (columns, clusters * parts))

    def work() -> Any:
        _split(given, desk, 1, parts, clusters * parts)
        table = slots.table(held.planes.device)
        pass_by_rows[(slots.programs,)](
            *desk.known, *desk.there[1:3], table, held.planes, desk.there[3], n_rows, width, given.n_clusters,
            *equations, parts, given.kind, shape.rows, columns, clusters, slots.flush, shape.stages,
            given.emulated, num_warps=shape.warps,
        )  # fmt: skip
        return added(table)

    moment, tally = slots.parted(desk.passed(equations, work))
    return from_tally(moment.T, tally, given.n_clusters)


def _desk(given: Given, shape: Shape, *points: tuple[int, int]) -> Desk:
    """Centroids and numbers of a pass over one view on their desk, with a table and tiles of these shapes."""
    held, torch = given.held, torch_module()
    table, tile = points[0], points[-1]
    key = table, shape, given.n_clusters
    if key not in held.desks:
        width, single = int(held.planes.shape[2]), torch.float32
        desk = Desk(
            held.planes.device, Table(table, held.planes.dtype), Table((given.n_clusters,), single),
            Table((NUMBERS,), single), Table((given.n_clusters, width), single),
        )  # fmt: skip
        desk.known = (
            descriptor(held.planes.view(-1, width), shape.rows, padded(width)), descriptor(desk.there[0], *tile),
            descriptor(held.norms[0], shape.rows), descriptor(held.weight, shape.rows),
        )  # fmt: skip
        held.desks[key] = desk
    desk = cast(Desk, held.desks[key])
    given.write_centers(desk.here[3])
    desk.here[2][:] = given.numbers
    return desk


def _split(given: Given, desk: Desk, *apart: int) -> None:
    """Write the parts of centroids to their table, numbers so far apart by part, cluster and column."""
    from powerkmeans.compute.triton.splitting import split_centers  # noqa: PLC0415 - compiled on the way

    points, squares, _numbers, centers = desk.there
    split_centers[(given.n_clusters,)](
        centers, points, squares, centers.shape[1], *apart,
        given.parts, given.kind, padded(centers.shape[1]), given.emulated, num_warps=1,
    )  # fmt: skip


def _by_clusters_shape(clusters: int, parts: int) -> Shape:
    if clusters <= SMALLEST_HEIGHT:
        return Shape(64, 4, 2, 2) if parts == 1 else Shape(32, 4, 2)
    return Shape(64, 8, 3) if parts == 1 else Shape(32, 8, 3)


def _by_clusters(given: Given) -> RawSums | None:
    columns, clusters = padded(int(given.held.planes.shape[2])), padded(given.n_clusters, SMALLEST_HEIGHT)
    equations = flags(given.inputs, given.parts)
    return launch(
        _compiled(given, "by clusters", columns, clusters, equations),
        _by_clusters_shape(clusters, given.parts),
        partial(_clusters_summed, given, columns, clusters, equations),
    )


def _clusters_summed(
    given: Given, columns: int, clusters: int, equations: tuple[bool | int, ...], shape: Shape
) -> RawSums:
    from powerkmeans.compute.triton.fused import pass_by_clusters  # noqa: PLC0415 - compiled on the way

    held = given.held
    parts, n_rows, _ = held.planes.shape
    slots = slots_for(held.planes, rows_per_sum(parts), shape, columns, clusters)
    desk = _desk(given, shape, (parts * clusters, columns), (clusters, columns))

    def work() -> Any:
        _split(given, desk, clusters * columns, columns, 1)
        table = slots.table(held.planes.device)
        pass_by_clusters[(slots.programs,)](
            *desk.known, *desk.there[1:3], table, n_rows, given.n_clusters,
            *equations, parts, given.kind, shape.rows, columns, clusters, slots.flush, shape.stages,
            given.emulated, num_warps=shape.warps,
        )  # fmt: skip
        return added(table)

    moment, tally = slots.parted(desk.passed(equations, work))
    return from_tally(moment.reshape(clusters, columns), tally, given.n_clusters)


def _staged_shapes(clusters: int, width: int) -> tuple[Shapes, int]:
    """The shapes of both kernels, and how many columns the first takes at once."""
    wide, second = min(256, padded(width)), Shape(64, 8, 2)
    if clusters <= 256:
        return Shapes(Shape(64, 4 if clusters <= 128 else 8, 2), second, wide), min(64, wide)
    rows, narrow = (64, 32) if clusters <= 512 else (32, 16)
    return Shapes(Shape(rows, 8, 1), second, wide), min(narrow, wide)


class ViewTables(NamedTuple):
    """Where views are: ranges of columns, their numbers, and centroids by views, each from the start of a tile."""

    ranges: Any
    numbers: Any
    points: Any
    height: int


def _view_tables(given: Given, pieces: Any, narrow: int) -> ViewTables:
    held, torch = given.held, torch_module()
    ends = [*held.starts[1:], int(held.planes.shape[2])]
    heights = [-(-(end - start) // narrow) * narrow for start, end in zip(held.starts, ends, strict=True)]
    height = sum(heights)
    points = pieces.new_zeros((given.parts, height, given.clusters))
    ranges, row = [], 0
    for start, end, tall in zip(held.starts, ends, heights, strict=True):
        points[:, row : row + end - start, : given.n_clusters] = pieces[:, :, start:end].mT
        ranges.append((start, end, row))
        row += tall
    shares = zip(given.inputs.view_weights, given.inputs.references, strict=True)
    scaled = [(weight, reference * held.scale**2) for weight, reference in shares]
    numbers = torch.tensor(ranges, dtype=torch.int32), torch.tensor(scaled, dtype=torch.float32)
    return ViewTables(*numbers, points.view(-1, given.clusters), height)


def _staged(given: Given, careful: bool) -> RawSums | None:
    shapes, narrow = _staged_shapes(given.clusters, int(given.held.planes.shape[2]))
    views = given.held.covers is not None, given.n_views > 1
    equations = (*flags(given.inputs, given.parts), careful, *views)
    return launch(
        _compiled(given, "staged", shapes.columns, given.clusters, equations),
        shapes,
        partial(_staged_summed, given, narrow, equations),
    )


def _staged_summed(given: Given, narrow: int, equations: tuple[bool | int, ...], shapes: Shapes) -> RawSums:
    from powerkmeans.compute.triton.staged import pulled_rows, row_pulls  # noqa: PLC0415 - compiled on the way

    held, torch, clusters, n_views = given.held, torch_module(), given.clusters, given.n_views
    parts, n_rows, width = held.planes.shape
    first, second, wide = shapes
    height, per_sum = -(-width // wide) * wide, rows_per_sum(2)
    count = min(PULLS_AT_ONCE // clusters, -(-n_rows // per_sum) * per_sum)
    shares, tile = -(-count // per_sum), min(128, clusters)
    device = held.planes.device
    moments = torch.zeros((shares, height, clusters), dtype=torch.float32, device=device)
    tallies = torch.zeros((count // first.rows, 3 * n_views + 2, clusters), dtype=torch.float32, device=device)
    pulled = torch.zeros((parts * count, clusters), dtype=held.planes.dtype, device=device)
    flat, centers = held.planes.view(-1, width), torch.from_numpy(given.centers())
    pieces = split(centers, held.storage, torch)
    tables = _view_tables(given, pieces, narrow)
    small = (*tables[:3], torch.from_numpy(given.squares(pieces)), torch.tensor(given.numbers), centers)
    desk = Desk(device, *(Table(tuple(table.shape), table.dtype) for table in small))
    for place, table in zip(desk.here, small, strict=True):
        place[:] = table
    desk.send()
    ranges, view_numbers, points, squares, numbers, centers = desk.there
    covers = held.norms if held.covers is None else held.covers
    moment, tally = moments[0].double(), tallies[0].double()
    for start in range(0, n_rows, count):
        row_pulls[(count // first.rows,)](
            descriptor(flat, first.rows, narrow), descriptor(points, narrow, clusters),
            held.planes, held.norms, held.weight, covers, centers, squares, ranges, view_numbers, numbers,
            pulled, tallies, start, min(start + count, n_rows), n_rows, count, width,
            tables.height, n_views, given.n_clusters, *equations, parts,
            given.kind, first.rows, narrow, clusters, first.stages, given.emulated, num_warps=first.warps,
        )  # fmt: skip
        pulled_rows[(height // wide, clusters // tile, shares)](
            descriptor(flat, second.rows, wide), descriptor(pulled, second.rows, tile),
            moments, start, n_rows, count, per_sum, height, clusters,
            parts, second.rows, wide, tile, second.stages, given.emulated, num_warps=second.warps,
        )  # fmt: skip
        moment += added(moments.view(shares, -1)).view(height, clusters)
        tally += tallies.sum(0, dtype=torch.float64)
    return _from_views(fetched(moment).T[: given.n_clusters], fetched(tally), n_views, given.n_clusters)


def _from_views(moment: Float64Array, tally: Float64Array, n_views: int, n_clusters: int) -> RawSums:
    by_view = tally[: 3 * n_views, :n_clusters].reshape(n_views, 3, n_clusters)
    return RawSums(moment, by_view, tally[-2, :n_clusters], tally[-1, 0], tally[-1, 1])
