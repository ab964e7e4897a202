"""One pass over features in one kernel: each number is read once, and all sums stay on the chip until the end.

Programs stay; each takes tiles of rows in turn and keeps sums in registers. Every few tiles it writes them to a
slot of their own, and the slots are added in float64 in a fixed order: no atomics, so the same bits in every run.
The tiles are few because tensor cores round their sums down.

Features come in planes of sixteen bits, which tensor cores take from shared memory in both directions, as the two
products of a pass need: a number is the sum of its planes, ``x = x0 + x1`` to 2^-18, in the four bytes of single
precision. Centroids and pulls are split likewise, and of products of parts those that are rounding are left out.
"""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.equations import pulls
from powerkmeans.compute.triton.tiles import distances, in_parts, products, write_tallies


@triton.jit
def fused_pass(
    tiles, rows, norms, weights, centers, split_centers, center_norms, moments, tallies, n_rows, octets, plane,
    n_clusters, reference, s, fuzziness, near_share, BOUNDED: tl.constexpr, SQUARE: tl.constexpr,
    HARD: tl.constexpr, GENTLE: tl.constexpr, STEEP: tl.constexpr, CAREFUL: tl.constexpr,
    ROW_PARTS: tl.constexpr, PULL_PARTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    CLUSTERS: tl.constexpr, FLUSH: tl.constexpr, STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The sums of ``objective.block.block_statistics`` for one view, from centred features.

    tiles : descriptor of ``rows`` as one table, by tiles of (ROWS, COLUMNS)
    rows : (ROW_PARTS, n_rows, 8 octets) of sixteen bits, ``plane`` numbers apart; eight are read at once
    centers : (n_clusters, 8 octets)
    split_centers : (2, COLUMNS, CLUSTERS) of sixteen bits, zero beyond columns and clusters
    moments : (slots, COLUMNS, CLUSTERS), one slot for FLUSH tiles of a program
    tallies : (slots, 7, CLUSTERS): mass, scatter, residual, sizes, loss, hard cost, and how many distances have
        lost digits, which a CAREFUL pass takes from differences instead
    """
    program, column, cluster = tl.program_id(0), tl.arange(0, COLUMNS), tl.arange(0, CLUSTERS)
    valid = (cluster < n_clusters)[None, :]
    place = split_centers + column[:, None] * CLUSTERS + cluster[None, :]
    c0, c1 = tl.load(place), tl.load(place + COLUMNS * CLUSTERS)
    center_norm = tl.load(center_norms + cluster, mask=cluster < n_clusters, other=float("inf"))
    n_tiles, step = tl.cdiv(n_rows, ROWS), tl.num_programs(0)
    for first in tl.range(program, n_tiles, step * FLUSH):
        moment = tl.zeros((COLUMNS, CLUSTERS), tl.float32)
        none, nothing = tl.zeros((ROWS, CLUSTERS), tl.float32), tl.zeros((ROWS,), tl.float32)
        mass, scatter, residue, sizes, doubtful = none, none, none, none, none
        loss, hard = nothing, nothing
        for tile in tl.range(first, tl.minimum(first + step * FLUSH, n_tiles), step, num_stages=STAGES):
            row = tile * ROWS + tl.arange(0, ROWS)
            there = row < n_rows
            norm = tl.load(norms + row, mask=there, other=0.0)
            weight = tl.load(weights + row, mask=there, other=0.0)
            x0 = tiles.load([tile * ROWS, 0])
            x1 = tiles.load([n_rows + tile * ROWS, 0]) if ROW_PARTS == 2 else x0
            inner = products(x0, x1, c0, c1, none, ROW_PARTS, 2, EMULATED)
            distance, near = distances(
                inner, norm, center_norm, near_share, rows, plane, row, there, centers, octets * 8, n_clusters,
                CAREFUL, ROW_PARTS, ROWS, COLUMNS, CLUSTERS,
            )  # fmt: skip
            nearest = tl.min(distance, 1)
            pull, residual, mean = pulls(
                distance, reference, valid, s, fuzziness, n_clusters,
                BOUNDED, SQUARE, HARD, GENTLE, STEEP, EMULATED,
            )  # fmt: skip
            pull *= weight[:, None]
            g0, g1 = in_parts(pull)
            if PULL_PARTS == 1:
                pull = g0.to(tl.float32)
            moment = products(tl.trans(x0), tl.trans(x1), g0, g1, moment, ROW_PARTS, PULL_PARTS, EMULATED)
            doubtful += tl.where(near, 1.0, 0.0)
            mass += pull
            scatter += tl.where(valid, pull * distance, 0.0)
            if BOUNDED:
                residue += residual * weight[:, None]
            sizes += tl.where(distance == nearest[:, None], weight[:, None], 0.0)
            loss += mean * weight
            hard += nearest * weight
        slot = first // step // FLUSH * step + program
        own = moments + slot.to(tl.int64) * COLUMNS * CLUSTERS + column[:, None] * CLUSTERS + cluster[None, :]
        tl.store(own, moment)
        write_tallies(tallies, slot, mass, scatter, residue, sizes, doubtful, loss, hard, CLUSTERS)
