"""One pass in two kernels, for more columns and clusters than one keeps on the chip.

The first gives every row's pulls, the second multiplies them with the rows. Both work on some of the rows at a
time, so that pulls of all are never in memory.
"""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.equations import pulls
from powerkmeans.compute.triton.tiles import distances, in_parts, products, write_tallies


@triton.jit
def row_pulls(
    tiles, points, rows, norms, weights, centers, center_norms, pulled, tallies, first, end, n_rows, count,
    octets, plane, height, n_clusters, reference, s, fuzziness, near_share, BOUNDED: tl.constexpr,
    SQUARE: tl.constexpr, HARD: tl.constexpr, GENTLE: tl.constexpr, STEEP: tl.constexpr, CAREFUL: tl.constexpr,
    ROW_PARTS: tl.constexpr, PULL_PARTS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    CLUSTERS: tl.constexpr, STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The pulls of rows ``first`` to ``end``, in parts, and their sums.

    points : descriptor of the centroids' parts, (2 height, CLUSTERS), by tiles of (WIDTH, CLUSTERS)
    pulled : (PULL_PARTS, count, CLUSTERS); ``count``, a multiple of ROWS, are at least as many rows
    tallies : (tiles of rows, 7, CLUSTERS), as in ``fused_pass``
    """
    program = tl.program_id(0)
    cluster = tl.arange(0, CLUSTERS)
    valid = (cluster < n_clusters)[None, :]
    center_norm = tl.load(center_norms + cluster, mask=cluster < n_clusters, other=float("inf"))
    start = first + program * ROWS
    row = start + tl.arange(0, ROWS)
    there = row < end
    inner = tl.zeros((ROWS, CLUSTERS), tl.float32)
    for column in tl.range(0, octets * 8, WIDTH, num_stages=STAGES):
        x0 = tiles.load([start, column])
        c0 = points.load([column, 0])
        c1 = points.load([height + column, 0])
        x1 = tiles.load([n_rows + start, column]) if ROW_PARTS == 2 else x0
        none = tl.zeros((ROWS, CLUSTERS), tl.float32)
        inner += products(x0, x1, c0, c1, none, ROW_PARTS, 2, EMULATED)
    norm = tl.load(norms + row, mask=there, other=0.0)
    weight = tl.load(weights + row, mask=there, other=0.0)
    distance, near = distances(
        inner, norm, center_norm, near_share, rows, plane, row, there, centers, octets * 8, n_clusters,
        CAREFUL, ROW_PARTS, ROWS, WIDTH, CLUSTERS,
    )  # fmt: skip
    nearest = tl.min(distance, 1)
    pull, residual, mean = pulls(
        distance, reference, valid, s, fuzziness, n_clusters, BOUNDED, SQUARE, HARD, GENTLE, STEEP, EMULATED
    )
    pull *= weight[:, None]
    g0, g1 = in_parts(pull)
    place = pulled + (program * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64) * CLUSTERS + cluster[None, :]
    tl.store(place, g0)
    if PULL_PARTS == 2:
        tl.store(place + count * CLUSTERS, g1)
    else:
        pull = g0.to(tl.float32)
    scatter, lost = tl.where(valid, pull * distance, 0.0), tl.where(near, 1.0, 0.0)
    sizes = tl.where(distance == nearest[:, None], weight[:, None], 0.0)
    residue = residual * weight[:, None]
    write_tallies(tallies, program, pull, scatter, residue, sizes, lost, mean * weight, nearest * weight, CLUSTERS)


@triton.jit
def pulled_rows(
    tiles, pulled, moments, first, n_rows, count, share, height, n_clusters, ROW_PARTS: tl.constexpr,
    PULL_PARTS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, CLUSTERS: tl.constexpr,
    STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """Rows ``first`` and on times their pulls: columns by clusters for every ``share`` rows of ``count``.

    pulled : descriptor of the parts of pulls, (PULL_PARTS count, n_clusters), by tiles of (ROWS, CLUSTERS)
    moments : (shares, height, n_clusters); ``n_clusters`` is padded
    """
    column, cluster, part = tl.program_id(0) * WIDTH, tl.program_id(1) * CLUSTERS, tl.program_id(2)
    moment = tl.zeros((WIDTH, CLUSTERS), tl.float32)
    for row in tl.range(part * share, tl.minimum((part + 1) * share, count), ROWS, num_stages=STAGES):
        x0, g0 = tiles.load([first + row, column]), pulled.load([row, cluster])
        x1 = tiles.load([n_rows + first + row, column]) if ROW_PARTS == 2 else x0
        g1 = pulled.load([count + row, cluster]) if PULL_PARTS == 2 else g0
        moment = products(tl.trans(x0), tl.trans(x1), g0, g1, moment, ROW_PARTS, PULL_PARTS, EMULATED)
    place = (part.to(tl.int64) * height + column + tl.arange(0, WIDTH))[:, None] * n_clusters
    tl.store(moments + place + cluster + tl.arange(0, CLUSTERS)[None, :], moment)
