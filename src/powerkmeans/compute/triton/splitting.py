"""Centroids brought into parts on the card, and their squared lengths: a pass sends them as they are."""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.tiles import rounded


@triton.jit
def split_centers(
    centers, points, squares, width, by_part, by_cluster, by_column,
    PARTS: tl.constexpr, KIND: tl.constexpr, COLUMNS: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The parts of one centroid, written to a table so many numbers apart, and its squared length as rounded.

    Lengths of centroids that are not rounded would be off by the same for all rows, which does not cancel in sums.
    """
    cluster, column = tl.program_id(0), tl.arange(0, COLUMNS)
    there = column < width
    center = tl.load(centers + cluster * width + column, mask=there, other=0.0)
    high, held = rounded(center, KIND, EMULATED)
    place = points + cluster * by_cluster + column * by_column
    tl.store(place, high, mask=there)
    exact = held.to(tl.float64)
    if PARTS == 2:
        low, rest = rounded(center - held, KIND, EMULATED)
        tl.store(place + by_part, low, mask=there)
        exact += rest.to(tl.float64)
    tl.store(squares + cluster, tl.sum(exact * exact, 0).to(tl.float32))
