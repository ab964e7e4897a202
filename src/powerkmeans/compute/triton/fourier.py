"""One pass from raw rows: Fourier features are made a tile at a time in registers, and never written.

They are not centred, as those that are held are: ``psi = [sin, cos]`` has the same length for every row, and the
mean of features is taken from moments at the end. Where distances are so small beside that length that this costs
digits, the pass says so.
"""

from __future__ import annotations

import triton
import triton.language as tl

from powerkmeans.compute.triton.equations import SMALLEST_NORMAL, by_unit, pulls
from powerkmeans.compute.triton.tiles import (
    TALLIES,
    added_parts,
    in_parts,
    norms_of,
    numbers_of,
    products,
    rounded,
    store,
    write_tallies,
)

TURN = tl.constexpr(6.283185307179586)
# added and taken away again, it leaves the nearest integer
ROUNDING = tl.constexpr(12582912.0)


@triton.jit
def sine_and_cosine(turns, WITHIN_TURN: tl.constexpr, EMULATED: tl.constexpr):
    """Of an angle in turns, by the unit that has them: to 2^-20 WITHIN_TURN, which it is brought to."""
    if WITHIN_TURN:
        turns -= (turns + ROUNDING) - ROUNDING
    angle = turns * TURN
    if EMULATED:
        return tl.sin(angle), tl.cos(angle)
    else:
        return by_unit("sin.approx.ftz.f32 $0, $1;", angle), by_unit("cos.approx.ftz.f32 $0, $1;", angle)


@triton.jit
def pass_from_raw(
    raw, waves, points, weights, shift, center_norms, numbers, slots, n_rows, n_clusters, length,
    BOUNDED: tl.constexpr, SQUARE: tl.constexpr, HARD: tl.constexpr, GENTLE: tl.constexpr, DIGITS: tl.constexpr,
    PARTS: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, WAVES: tl.constexpr,
    CLUSTERS: tl.constexpr, FLUSH: tl.constexpr, STAGES: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The sums of ``objective.block.block_statistics`` of ``psi``, for one view and few clusters.

    raw : descriptor of rows, by tiles of (ROWS, WIDTH)
    waves : descriptor of the parts of frequencies in turns, (2 WIDTH, WAVES), by tiles of (WIDTH, WAVES)
    points : descriptor of (2 WAVES, PARTS CLUSTERS): sines, then cosines, the parts of a centroid side by side
    length : ``||psi||^2``, how many frequencies there are
    slots : with moments as (2 WAVES, CLUSTERS), sines before cosines
    """
    reference, s, fuzziness, _, near_bound, scale = numbers_of(numbers)
    program, cluster = tl.program_id(0), tl.arange(0, CLUSTERS)
    valid, origin = (cluster < n_clusters)[None, :], tl.load(shift + tl.arange(0, WIDTH))
    w0, w1, a, b = waves.load([0, 0]), waves.load([WIDTH, 0]), points.load([0, 0]), points.load([WAVES, 0])
    center_norm = length + norms_of(center_norms, n_clusters, CLUSTERS)
    n_tiles, step = tl.cdiv(n_rows, ROWS), tl.num_programs(0)
    nil = tl.zeros((WAVES, PARTS * CLUSTERS), tl.float32)
    for first in tl.range(program, n_tiles, step * FLUSH):
        sines, cosines = tl.zeros((WAVES, CLUSTERS), tl.float32), tl.zeros((WAVES, CLUSTERS), tl.float32)
        none, nothing = tl.zeros((ROWS, CLUSTERS), tl.float32), tl.zeros((ROWS,), tl.float32)
        mass, scatter, residue, sizes, hard, doubt = none, none, none, none, nothing, nothing
        for tile in tl.range(first, tl.minimum(first + step * FLUSH, n_tiles), step, num_stages=STAGES):
            x0, x1 = in_parts(raw.load([tile * ROWS, 0]) - origin[None, :], tl.bfloat16, EMULATED)
            weight = scale * weights.load([tile * ROWS])
            turns = products(x0, x1, w0, w1, tl.zeros((ROWS, WAVES), tl.float32), 2, 2, EMULATED)
            sine, cosine = sine_and_cosine(turns, PARTS == 2, EMULATED)
            if PARTS == 2:
                s0, s1 = in_parts(sine, KIND, EMULATED)
                q0, q1 = in_parts(cosine, KIND, EMULATED)
            else:
                s0, q0 = sine.to(KIND), cosine.to(KIND)
                s1, q1 = s0, q0
            pair = products(s0, s1, a, a, tl.zeros((ROWS, PARTS * CLUSTERS), tl.float32), PARTS, 1, EMULATED)
            inner = added_parts(products(q0, q1, b, b, pair, PARTS, 1, EMULATED), PARTS, ROWS, CLUSTERS)
            distance = tl.maximum(center_norm[None, :] - 2.0 * inner, SMALLEST_NORMAL)
            nearest = tl.min(distance, 1)
            pull, residual = pulls(
                distance, nearest, weight, reference, valid, s, fuzziness, n_clusters, 1,
                BOUNDED, SQUARE, HARD, GENTLE, DIGITS, EMULATED,
            )  # fmt: skip
            scatter += pull * distance
            if PARTS == 2:
                g0, g1 = in_parts(pull, KIND, EMULATED)
                g = tl.reshape(tl.join(g0, g1), (ROWS, PARTS * CLUSTERS))
            else:
                g, pull = rounded(pull, KIND, EMULATED)
            pair = products(tl.trans(s0), tl.trans(s1), g, g, nil, PARTS, 1, EMULATED)
            sines += added_parts(pair, PARTS, WAVES, CLUSTERS)
            pair = products(tl.trans(q0), tl.trans(q1), g, g, nil, PARTS, 1, EMULATED)
            cosines += added_parts(pair, PARTS, WAVES, CLUSTERS)
            mass += pull
            if BOUNDED:
                residue += residual
            sizes += tl.where(distance == nearest[:, None], weight[:, None], 0.0)
            hard += nearest * weight
            doubt = tl.maximum(doubt, tl.where(weight > 0, near_bound * length - nearest, 0.0))
        slot = first // step // FLUSH * step + program
        place = slots + slot.to(tl.int64) * (2 * WAVES + TALLIES) * CLUSTERS
        store(place, sines, CLUSTERS, WAVES, CLUSTERS)
        store(place + WAVES * CLUSTERS, cosines, CLUSTERS, WAVES, CLUSTERS)
        write_tallies(
            place + 2 * WAVES * CLUSTERS, tl.sum(mass, 0), tl.sum(scatter, 0), tl.sum(residue, 0),
            tl.sum(sizes, 0), tl.sum(hard, 0), tl.max(doubt, 0), CLUSTERS,
        )  # fmt: skip
