"""Tiles of rows in parts of sixteen bits: their products, and distances that keep their digits.

A number is the sum of two such parts to 2^-18, ``x = x0 + x1``. Tensor cores take sixteen-bit tiles from shared
memory in both directions, as the two products of a pass need; of products of parts those that are rounding are
left out.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def in_parts(x):
    """Two numbers of sixteen bits that add up to ``x``, the larger first."""
    high = x.to(tl.bfloat16)
    return high, (x - high.to(tl.float32)).to(tl.bfloat16)


@triton.jit
def product(a, b, total, EMULATED: tl.constexpr):
    """``total + a @ b`` of sixteen-bit tiles; Triton's interpreter knows no products of these."""
    if EMULATED:
        return tl.dot(a.to(tl.float32), b.to(tl.float32), total, input_precision="ieee")
    return tl.dot(a, b, total)


@triton.jit
def products(a0, a1, b0, b1, total, A: tl.constexpr, B: tl.constexpr, EMULATED: tl.constexpr):
    """``total + a @ b`` of numbers in A and B parts, the smallest products first."""
    if A == 2:
        total = product(a1, b0, total, EMULATED)
    if B == 2:
        total = product(a0, b1, total, EMULATED)
    return product(a0, b0, total, EMULATED)


@triton.jit
def by_differences(
    rows, plane, row, there, centers, n_columns, n_clusters, near, distance,
    ROW_PARTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, CLUSTERS: tl.constexpr,
):  # fmt: skip
    """The distances, those that are ``near`` taken from differences: expanded squares have lost their digits."""
    WIDTH: tl.constexpr = min(COLUMNS, 32)
    cell = row.to(tl.int64) * n_columns
    exact = tl.zeros((ROWS, CLUSTERS), tl.float32)
    for start in range(0, n_columns, WIDTH):
        column = start + tl.arange(0, WIDTH)
        mask = there[:, None] & (column < n_columns)[None, :]
        x = tl.load(rows + cell[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
        if ROW_PARTS == 2:
            x += tl.load(rows + plane + cell[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
        for j in range(n_clusters):
            point = tl.load(centers + j * n_columns + column, mask=column < n_columns, other=0.0)
            offset = tl.where(mask, x - point[None, :], 0.0)
            part = tl.sum(offset * offset, 1)
            exact += tl.where((tl.arange(0, CLUSTERS) == j)[None, :], part[:, None], 0.0)
    return tl.where(near, exact, distance)


@triton.jit
def distances(
    inner, norm, center_norm, near_share, rows, plane, row, there, centers, n_columns, n_clusters,
    CAREFUL: tl.constexpr, ROW_PARTS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, CLUSTERS: tl.constexpr,
):  # fmt: skip
    """Squared distances from inner products, and which of them have lost digits: a CAREFUL pass measures these."""
    scale = norm[:, None] + center_norm[None, :]
    distance = tl.maximum(scale - 2.0 * inner, 0.0)
    near = (distance < near_share * scale) & there[:, None]
    if CAREFUL:  # known when the kernel is compiled, as the next is not
        if tl.max(tl.max(near.to(tl.int32), 1), 0) > 0:
            distance = by_differences(
                rows, plane, row, there, centers, n_columns, n_clusters, near, distance,
                ROW_PARTS, ROWS, COLUMNS, CLUSTERS,
            )  # fmt: skip
    return distance, near


@triton.jit
def write_tallies(tallies, slot, mass, scatter, residue, sizes, near, loss, hard, CLUSTERS: tl.constexpr):
    """Sums over the rows of a tile: by clusters, but for loss and hard cost, which are for all."""
    cluster = tl.arange(0, CLUSTERS)
    place = tallies + slot * 7 * CLUSTERS + cluster
    tl.store(place, tl.sum(mass, 0))
    tl.store(place + CLUSTERS, tl.sum(scatter, 0))
    tl.store(place + 2 * CLUSTERS, tl.sum(residue, 0))
    tl.store(place + 3 * CLUSTERS, tl.sum(sizes, 0))
    tl.store(place + 4 * CLUSTERS, tl.where(cluster == 0, tl.sum(loss, 0), 0.0))
    tl.store(place + 5 * CLUSTERS, tl.where(cluster == 0, tl.sum(hard, 0), 0.0))
    tl.store(place + 6 * CLUSTERS, tl.sum(near, 0))
