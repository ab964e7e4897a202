"""One pass over features in one kernel: each number is read once, and all sums stay on the chip until the end.

Programs stay; each takes tiles of rows in turn and keeps sums in registers. Every few tiles it writes them to a
slot of their own, and the slots are added in float64 in a fixed order: no atomics, so the same bits in every run.
The tiles are few because tensor cores round their sums down.

Features come in planes of sixteen bits, which tensor cores take from shared memory in both directions, as the two
products of a pass need: one plane, or two whose sum a number is to 2^-18, in the four bytes of single precision.
Centroids and pulls are split likewise, and of products of parts those that are rounding are left out.
"""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.equations import SMALLEST_NORMAL, pulls
from powerkmeans.compute.triton.tiles import (
    TALLIES,
    added_parts,
    all_products,
    distances,
    in_parts,
    norms_of,
    numbers_of,
    products,
    rounded,
    store,
    store_wide,
    write_tallies,
)


@triton.jit
def pass_by_rows(
    tiles, points, norms, weights, center_norms, numbers, slots, rows, centers, n_rows, width, n_clusters,
    BOUNDED: tl.constexpr, SQUARE: tl.constexpr, HARD: tl.constexpr, GENTLE: tl.constexpr, DIGITS: tl.constexpr,
    CAREFUL: tl.constexpr, PARTS: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    CLUSTERS: tl.constexpr, FLUSH: tl.constexpr, STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The sums of ``objective.block.block_statistics`` for one view, from centred features; for few clusters.

    tiles : descriptor of ``rows`` as one table, by tiles of (ROWS, COLUMNS)
    points : descriptor of (COLUMNS, PARTS CLUSTERS) of sixteen bits, the parts of a centroid side by side
    norms, weights : descriptors of numbers by row
    numbers : what ``numbers_of`` reads
    slots : one for FLUSH tiles of a program: moments, (COLUMNS, CLUSTERS), then mass, scatter, residual, sizes,
        and of all clusters hard cost and by how much distances fell below what keeps digits, for which a CAREFUL
        pass takes differences
    rows, centers : (PARTS, n_rows, width) of sixteen bits, and (n_clusters, width)
    """
    reference, s, fuzziness, near_share, near_bound, scale = numbers_of(numbers)
    program, cluster = tl.program_id(0), tl.arange(0, CLUSTERS)
    valid = (cluster < n_clusters)[None, :]
    both = points.load([0, 0])
    center_norm = norms_of(center_norms, n_clusters, CLUSTERS)
    n_tiles, step = tl.cdiv(n_rows, ROWS), tl.num_programs(0)
    for first in tl.range(program, n_tiles, step * FLUSH):
        moment = tl.zeros((COLUMNS, CLUSTERS), tl.float32)
        none, nothing = tl.zeros((ROWS, CLUSTERS), tl.float32), tl.zeros((ROWS,), tl.float32)
        mass, scatter, residue, sizes, hard, doubt = none, none, none, none, nothing, nothing
        for tile in tl.range(first, tl.minimum(first + step * FLUSH, n_tiles), step, num_stages=STAGES):
            norm, weight = norms.load([tile * ROWS]), scale * weights.load([tile * ROWS])
            x0 = tiles.load([tile * ROWS, 0])
            x1 = tiles.load([n_rows + tile * ROWS, 0]) if PARTS == 2 else x0
            pair = products(x0, x1, both, both, tl.zeros((ROWS, PARTS * CLUSTERS), tl.float32), PARTS, 1, EMULATED)
            inner = added_parts(pair, PARTS, ROWS, CLUSTERS)
            row = tile * ROWS + tl.arange(0, ROWS)
            distance = distances(
                inner, norm, center_norm, near_share, rows, n_rows, row, row < n_rows, centers, 0, width, width,
                n_clusters, CAREFUL, PARTS, ROWS, COLUMNS, CLUSTERS,
            )  # fmt: skip
            nearest = tl.min(distance, 1)
            pull, residual = pulls(
                distance, nearest, weight, reference, valid, s, fuzziness, n_clusters, 1,
                BOUNDED, SQUARE, HARD, GENTLE, DIGITS, EMULATED,
            )  # fmt: skip
            scatter += pull * distance
            if PARTS == 2:
                g0, g1 = in_parts(pull, KIND, EMULATED)
            else:
                g0, pull = rounded(pull, KIND, EMULATED)
                g1 = g0
            moment = products(tl.trans(x0), tl.trans(x1), g0, g1, moment, PARTS, PARTS, EMULATED)
            mass += pull
            if BOUNDED:
                residue += residual
            sizes += tl.where(distance == nearest[:, None], weight[:, None], 0.0)
            hard += nearest * weight
            doubt = tl.maximum(doubt, near_bound * norm - nearest)
        slot = first // step // FLUSH * step + program
        place = slots + slot.to(tl.int64) * (COLUMNS + TALLIES) * CLUSTERS
        store(place, moment, CLUSTERS, COLUMNS, CLUSTERS)
        write_tallies(
            place + COLUMNS * CLUSTERS, tl.sum(mass, 0), tl.sum(scatter, 0), tl.sum(residue, 0), tl.sum(sizes, 0),
            tl.sum(hard, 0), tl.max(doubt, 0), CLUSTERS,
        )  # fmt: skip


@triton.jit
def pass_by_clusters(
    tiles, points, norms, weights, center_norms, numbers, slots, n_rows, n_clusters, BOUNDED: tl.constexpr,
    SQUARE: tl.constexpr, HARD: tl.constexpr, GENTLE: tl.constexpr, DIGITS: tl.constexpr, PARTS: tl.constexpr,
    KIND: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, CLUSTERS: tl.constexpr, FLUSH: tl.constexpr,
    STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The same for many clusters, which tiles have as their rows: pulls go from product to product in registers.

    points : descriptor of (PARTS CLUSTERS, COLUMNS), by tiles of (CLUSTERS, COLUMNS)
    slots : with moments as (CLUSTERS, COLUMNS)
    """
    reference, s, fuzziness, _, near_bound, scale = numbers_of(numbers)
    program, cluster = tl.program_id(0), tl.arange(0, CLUSTERS)
    valid = (cluster < n_clusters)[:, None]
    c0 = points.load([0, 0])
    c1 = points.load([CLUSTERS, 0]) if PARTS == 2 else c0
    # a distance below this is one that has lost its digits, but for a row and a centroid at the origin
    center_norm = tl.maximum(norms_of(center_norms, n_clusters, CLUSTERS), SMALLEST_NORMAL)
    n_tiles, step = tl.cdiv(n_rows, ROWS), tl.num_programs(0)
    for first in tl.range(program, n_tiles, step * FLUSH):
        moment = tl.zeros((CLUSTERS, COLUMNS), tl.float32)
        none, hard, doubt = tl.zeros((CLUSTERS,), tl.float32), 0.0, 0.0
        mass, scatter, residue, sizes = none, none, none, none
        for tile in tl.range(first, tl.minimum(first + step * FLUSH, n_tiles), step, num_stages=STAGES):
            norm, weight = norms.load([tile * ROWS]), scale * weights.load([tile * ROWS])
            x0 = tiles.load([tile * ROWS, 0])
            x1 = tiles.load([n_rows + tile * ROWS, 0]) if PARTS == 2 else x0
            inner = tl.zeros((CLUSTERS, ROWS), tl.float32)
            inner = all_products(c0, c1, tl.trans(x0), tl.trans(x1), inner, PARTS, EMULATED)
            distance = (norm[None, :] + center_norm[:, None]) - 2.0 * inner
            nearest = tl.min(distance, 0)
            doubt = tl.maximum(doubt, tl.max(near_bound * norm - nearest, 0))
            hard += tl.sum(nearest * weight, 0)
            sizes += tl.sum(tl.where(distance == nearest[None, :], weight[None, :], 0.0), 1)
            pull, residual = pulls(
                distance, nearest, weight, reference, valid, s, fuzziness, n_clusters, 0,
                BOUNDED, SQUARE, HARD, GENTLE, DIGITS, EMULATED,
            )  # fmt: skip
            if BOUNDED:
                residue += tl.sum(residual, 1)
            scatter += tl.sum(pull * distance, 1)
            if PARTS == 2:
                g0, g1 = in_parts(pull, KIND, EMULATED)
            else:
                g0, pull = rounded(pull, KIND, EMULATED)
                g1 = g0
            moment = products(g0, g1, x0, x1, moment, PARTS, PARTS, EMULATED)
            mass += tl.sum(pull, 1)
        slot = first // step // FLUSH * step + program
        place = slots + slot.to(tl.int64) * (COLUMNS + TALLIES) * CLUSTERS
        store_wide(place, moment, CLUSTERS, COLUMNS)
        write_tallies(place + COLUMNS * CLUSTERS, mass, scatter, residue, sizes, hard, doubt, CLUSTERS)
