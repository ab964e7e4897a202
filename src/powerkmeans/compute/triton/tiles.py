"""Tiles of rows in parts of sixteen bits: their products, and distances that keep their digits.

A number is the sum of two such parts to 2^-18, ``x = x0 + x1``. Tensor cores take sixteen-bit tiles from shared
memory in both directions, as the two products of a pass need; of products of parts those that are rounding are
left out.
"""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.equations import LARGEST, SMALLEST_NORMAL

# sums by clusters beside moments
TALLIES = tl.constexpr(5)
# two numbers of single precision rounded into one register, and what they are then
_ROUND_PAIR = tl.constexpr(
    "{ .reg .b32 t; cvt.rn.bf16x2.f32 $0, $4, $3; shl.b32 t, $0, 16; mov.b32 $1, t; "
    "and.b32 t, $0, 0xffff0000; mov.b32 $2, t; }"
)
_ROUNDED = tl.constexpr((tl.bfloat16, tl.float32))


@triton.jit
def rounded(x, KIND: tl.constexpr, EMULATED: tl.constexpr):
    """``x`` in sixteen bits, and the number in single precision that this is."""
    if EMULATED or tl.bfloat16 != KIND:
        part = x.to(KIND)
        return part, part.to(tl.float32)
    else:
        return tl.inline_asm_elementwise(_ROUND_PAIR, "=r,=f,=f,f,f", [x], _ROUNDED, is_pure=True, pack=2)


@triton.jit
def in_parts(x, KIND: tl.constexpr, EMULATED: tl.constexpr):
    """Two numbers of sixteen bits that add up to ``x``, the larger first."""
    high, held = rounded(x, KIND, EMULATED)
    return high, (x - held).to(KIND)


@triton.jit
def product(a, b, total, EMULATED: tl.constexpr):
    """``total + a @ b`` of sixteen-bit tiles; Triton's interpreter knows no products of these."""
    if EMULATED:
        return tl.dot(a.to(tl.float32), b.to(tl.float32), total, input_precision="ieee")
    else:
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
def all_products(a0, a1, b0, b1, total, PARTS: tl.constexpr, EMULATED: tl.constexpr):
    """The same with the product of the lower parts: what distances lack is the same for all rows."""
    if PARTS == 2:
        total = product(a1, b1, total, EMULATED)
    return products(a0, a1, b0, b1, total, PARTS, PARTS, EMULATED)


@triton.jit
def added_parts(tile, PARTS: tl.constexpr, HEIGHT: tl.constexpr, CLUSTERS: tl.constexpr):
    """Products with parts that are side by side, added up."""
    if PARTS == 2:
        high, low = tl.split(tl.reshape(tile, (HEIGHT, CLUSTERS, 2)))
        return high + low
    else:
        return tile


@triton.jit
def store(place, tile, stride, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Write a tile to a table whose rows are ``stride`` numbers apart."""
    row, column = tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    tl.store(place + row[:, None] * stride + column[None, :], tile)


@triton.jit
def halves(tile, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """The left and the right half of a tile, each in the registers that it is in."""
    return tl.split(tl.permute(tl.reshape(tile, (HEIGHT, 2, WIDTH // 2)), (0, 2, 1)))


@triton.jit
def store_wide(place, tile, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Write a tile by quarters, if it is wide: they pass through shared memory on their way."""
    if WIDTH < 128:
        store(place, tile, WIDTH, HEIGHT, WIDTH)
    else:
        left, right = halves(tile, HEIGHT, WIDTH)
        first, second = halves(left, HEIGHT, WIDTH // 2)
        third, fourth = halves(right, HEIGHT, WIDTH // 2)
        store(place, first, WIDTH, HEIGHT, WIDTH // 4)
        store(place + WIDTH // 4, second, WIDTH, HEIGHT, WIDTH // 4)
        store(place + WIDTH // 2, third, WIDTH, HEIGHT, WIDTH // 4)
        store(place + 3 * WIDTH // 4, fourth, WIDTH, HEIGHT, WIDTH // 4)


@triton.jit
def numbers_of(numbers):
    """``eta``, exponent, fuzziness; shares of squared lengths below which digits are lost; a scale of weights."""
    return (
        tl.load(numbers), tl.load(numbers + 1), tl.load(numbers + 2), tl.load(numbers + 3), tl.load(numbers + 4),
        tl.load(numbers + 5),
    )  # fmt: skip


@triton.jit
def norms_of(center_norms, n_clusters, CLUSTERS: tl.constexpr):
    """Squared lengths of centroids; of those that pad a tile the largest, so that they are far from all rows."""
    cluster = tl.arange(0, CLUSTERS)
    return tl.load(center_norms + cluster, mask=cluster < n_clusters, other=LARGEST)


@triton.jit
def by_differences(
    rows, n_rows, row, there, centers, start, end, width, n_clusters, near, distance,
    ROW_PARTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, CLUSTERS: tl.constexpr,
):  # fmt: skip
    """The distances in columns ``start`` to ``end``, those that are ``near`` taken from differences.

    Expanded squares have lost their digits there.
    """
    WIDTH: tl.constexpr = min(COLUMNS, 32)
    cell, lower = row.to(tl.int64) * width, (row.to(tl.int64) + n_rows) * width
    exact = tl.zeros((ROWS, CLUSTERS), tl.float32)
    for first in range(start, end, WIDTH):
        column = first + tl.arange(0, WIDTH)
        mask = there[:, None] & (column < end)[None, :]
        x = tl.load(rows + cell[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
        if ROW_PARTS == 2:
            x += tl.load(rows + lower[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
        for j in range(n_clusters):
            point = tl.load(centers + j * width + column, mask=column < end, other=0.0)
            offset = tl.where(mask, x - point[None, :], 0.0)
            part = tl.sum(offset * offset, 1)
            exact += tl.where((tl.arange(0, CLUSTERS) == j)[None, :], part[:, None], 0.0)
    return tl.where(near, tl.maximum(exact, SMALLEST_NORMAL), distance)


@triton.jit
def distances(
    inner, norm, center_norm, near_share, rows, n_rows, row, there, centers, start, end, width, n_clusters,
    CAREFUL: tl.constexpr, ROW_PARTS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, CLUSTERS: tl.constexpr,
):  # fmt: skip
    """Squared distances from inner products; a CAREFUL pass measures those that have lost digits."""
    scale = norm[:, None] + center_norm[None, :]
    distance = tl.maximum(scale - 2.0 * inner, SMALLEST_NORMAL)
    if CAREFUL:  # known when the kernel is compiled, as the next is not
        near = (distance < near_share * scale) & there[:, None]
        if tl.max(tl.max(near.to(tl.int32), 1), 0) > 0:
            distance = by_differences(
                rows, n_rows, row, there, centers, start, end, width, n_clusters, near, distance,
                ROW_PARTS, ROWS, COLUMNS, CLUSTERS,
            )  # fmt: skip
    return distance


@triton.jit
def write_tallies(place, mass, scatter, residue, sizes, hard, doubt, CLUSTERS: tl.constexpr):
    """Sums of a slot by clusters; hard cost, and by how much distances lost too many digits, are for all."""
    cluster = tl.arange(0, CLUSTERS)
    place += cluster
    tl.store(place, mass)
    tl.store(place + CLUSTERS, scatter)
    tl.store(place + 2 * CLUSTERS, residue)
    tl.store(place + 3 * CLUSTERS, sizes)
    tl.store(place + 4 * CLUSTERS, tl.where(cluster == 0, hard, tl.where(cluster == 1, doubt, 0.0)))
