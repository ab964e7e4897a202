"""One pass in two kernels, for more columns and clusters than one keeps on the chip, and for several views.

The first gives every row's pulls, the second multiplies them with the rows. Both work on some of the rows at a
time, so that pulls of all are never in memory. Views are ranges of columns; rows that a view lacks are zero there.
"""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.equations import LARGEST, SMALLEST_NORMAL, pulls
from powerkmeans.compute.triton.tiles import (
    all_products,
    distances,
    in_parts,
    norms_of,
    numbers_of,
    products,
    rounded,
)


@triton.jit
def view_distances(
    view, tiles, points, rows, norms, centers, center_norms, ranges, first, row, there, n_rows, width,
    height, n_clusters, near_share, near_bound, CAREFUL: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr,
    WIDTH: tl.constexpr, CLUSTERS: tl.constexpr, STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """``d_ijl`` of a tile of rows in one view, and by how much each row's fell below what keeps digits.

    Columns of a tile that are beyond the view meet zeros of its centroids.
    """
    start, end = tl.load(ranges + 3 * view), tl.load(ranges + 3 * view + 1)
    beyond = tl.load(ranges + 3 * view + 2) - start
    inner = tl.zeros((ROWS, CLUSTERS), tl.float32)
    for column in tl.range(start, end, WIDTH, num_stages=STAGES):
        x0, c0 = tiles.load([first, column]), points.load([beyond + column, 0])
        x1 = tiles.load([n_rows + first, column]) if PARTS == 2 else x0
        c1 = points.load([height + beyond + column, 0]) if PARTS == 2 else c0
        inner += all_products(x0, x1, c0, c1, tl.zeros((ROWS, CLUSTERS), tl.float32), PARTS, EMULATED)
    norm = tl.load(norms + tl.cast(view, tl.int64) * n_rows + row, mask=there, other=0.0)
    center_norm = norms_of(center_norms + view * n_clusters, n_clusters, CLUSTERS)
    distance = distances(
        inner, norm, center_norm, near_share, rows, n_rows, row, there, centers, start, end, width, n_clusters,
        CAREFUL, PARTS, ROWS, WIDTH, CLUSTERS,
    )  # fmt: skip
    return distance, near_bound * norm - tl.min(distance, 1)


@triton.jit
def row_pulls(
    tiles, points, rows, norms, weights, covers, centers, center_norms, ranges, view_numbers, numbers, pulled,
    tallies, first, end, n_rows, count, width, height, n_views, n_clusters, BOUNDED: tl.constexpr,
    SQUARE: tl.constexpr, HARD: tl.constexpr, GENTLE: tl.constexpr,
    DIGITS: tl.constexpr, CAREFUL: tl.constexpr, COVERED: tl.constexpr, VIEWED: tl.constexpr,
    PARTS: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, CLUSTERS: tl.constexpr,
    STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The pulls of rows ``first`` to ``end``, in parts, and their sums.

    points : descriptor of the centroids' parts, (PARTS height, CLUSTERS), by tiles of (WIDTH, CLUSTERS)
    covers : (n_views, n_rows), ``q_il``; read where views are COVERED, which is where some are missing
    ranges : for each view its first column, where it ends, and its first row in ``points``
    view_numbers : for each view ``alpha_l`` and ``alpha_l eta_l``
    pulled : (PARTS, count, CLUSTERS); ``count``, a multiple of ROWS, are at least as many rows
    tallies : (tiles of rows, 3 n_views + 2, CLUSTERS): mass, scatter and residual of each view, sizes, and of all
        clusters hard cost and by how much distances fell below what keeps digits
    """
    _single, s, fuzziness, near_share, near_bound, scale = numbers_of(numbers)
    program, cluster = tl.program_id(0), tl.arange(0, CLUSTERS)
    valid, start = (cluster < n_clusters)[None, :], first + program * ROWS
    row = start + tl.arange(0, ROWS)
    there = row < end
    weight = scale * tl.load(weights + row, mask=there, other=0.0)
    distance, nothing = tl.zeros((ROWS, CLUSTERS), tl.float32), tl.zeros((ROWS,), tl.float32)
    reference, most, doubt = nothing, nothing, nothing
    for view in range(n_views):
        part, short = view_distances(
            view, tiles, points, rows, norms, centers, center_norms, ranges, start, row, there, n_rows,
            width, height, n_clusters, near_share, near_bound,
            CAREFUL, PARTS, ROWS, WIDTH, CLUSTERS, STAGES, EMULATED,
        )  # fmt: skip
        cover = cover_of(covers, view, row, there, n_rows, COVERED, ROWS)
        distance += part * (tl.load(view_numbers + 2 * view) * cover)[:, None]
        reference += tl.load(view_numbers + 2 * view + 1) * cover
        most, doubt = tl.maximum(most, cover), tl.maximum(doubt, short)
    # beyond the last row and cluster nothing counts, but it has to be a number
    distance = tl.where(valid, tl.maximum(distance, SMALLEST_NORMAL), LARGEST)
    reference = tl.where(there, reference, 1.0)
    nearest = tl.min(distance, 1)
    pull, residual = pulls(
        distance, nearest, weight, reference[:, None], valid, s, fuzziness, n_clusters, 1,
        BOUNDED, SQUARE, HARD, GENTLE, DIGITS, EMULATED,
    )  # fmt: skip
    place = pulled + (program * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64) * CLUSTERS + cluster[None, :]
    if PARTS == 2:
        counted = pull * most[:, None]
        g0, g1 = in_parts(counted, KIND, EMULATED)
        tl.store(place + count * CLUSTERS, g1)
    else:
        g0, counted = rounded(pull * most[:, None], KIND, EMULATED)
    tl.store(place, g0)
    own = tallies + program * (3 * n_views + 2) * CLUSTERS + cluster
    for view in range(n_views):
        cover = cover_of(covers, view, row, there, n_rows, COVERED, ROWS)
        part = distance
        if VIEWED:
            part, _ = view_distances(
                view, tiles, points, rows, norms, centers, center_norms, ranges, start, row, there, n_rows,
                width, height, n_clusters, near_share, near_bound,
            CAREFUL, PARTS, ROWS, WIDTH, CLUSTERS, STAGES, EMULATED,
            )  # fmt: skip
        tl.store(own, tl.sum(tl.where((cover > 0)[:, None], counted, 0.0), 0))
        tl.store(own + CLUSTERS, tl.sum(pull * part * cover[:, None], 0))
        if BOUNDED:
            tl.store(own + 2 * CLUSTERS, tl.sum(residual * cover[:, None], 0))
        own += 3 * CLUSTERS
    tl.store(own, tl.sum(tl.where(distance == nearest[:, None], weight[:, None], 0.0), 0))
    hard, most_doubt = tl.sum(nearest * weight, 0), tl.max(doubt, 0)
    tl.store(own + CLUSTERS, tl.where(cluster == 0, hard, tl.where(cluster == 1, most_doubt, 0.0)))


@triton.jit
def cover_of(covers, view, row, there, n_rows, COVERED: tl.constexpr, ROWS: tl.constexpr):
    """``q_il`` of a tile of rows in one view."""
    if COVERED:
        return tl.load(covers + tl.cast(view, tl.int64) * n_rows + row, mask=there, other=0.0)
    else:
        return tl.full((ROWS,), 1.0, tl.float32)


@triton.jit
def pulled_rows(
    tiles, pulled, moments, first, n_rows, count, share, height, n_clusters, PARTS: tl.constexpr,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, CLUSTERS: tl.constexpr, STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """Rows ``first`` and on times their pulls: columns by clusters for every ``share`` rows of ``count``.

    pulled : descriptor of the parts of pulls, (PARTS count, n_clusters), by tiles of (ROWS, CLUSTERS)
    moments : (shares, height, n_clusters); ``n_clusters`` is padded
    """
    column, cluster, part = tl.program_id(0) * WIDTH, tl.program_id(1) * CLUSTERS, tl.program_id(2)
    moment = tl.zeros((WIDTH, CLUSTERS), tl.float32)
    for row in tl.range(part * share, tl.minimum((part + 1) * share, count), ROWS, num_stages=STAGES):
        x0, g0 = tiles.load([first + row, column]), pulled.load([row, cluster])
        x1 = tiles.load([n_rows + first + row, column]) if PARTS == 2 else x0
        g1 = pulled.load([count + row, cluster]) if PARTS == 2 else g0
        moment = products(tl.trans(x0), tl.trans(x1), g0, g1, moment, PARTS, PARTS, EMULATED)
    place = (part.to(tl.int64) * height + column + tl.arange(0, WIDTH))[:, None] * n_clusters
    tl.store(moments + place + cluster + tl.arange(0, CLUSTERS)[None, :], moment)
