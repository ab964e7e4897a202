"""The equations of ``objective`` as Triton functions: a tile of rows by all clusters at a time, in registers.

They are those of ``objective.membership``, ``objective.power_mean`` and ``objective.block``, once more because
Triton compiles no calls into NumPy; ``tests/cards`` holds them against their originals. Clusters are along AXIS of
a tile. Those that pad it are at the distance LARGEST.
"""

from __future__ import annotations

import triton
import triton.language as tl

# half of the range of single precision, where roots are held, as a power of two; about its smallest normal number,
# below which no distance is; and what is far from everything
LARGEST_POWER, SMALLEST_NORMAL, LARGEST = tl.constexpr(64.0), tl.constexpr(1.2e-38), tl.constexpr(1e38)
LOG_TWO, LOG2_E = tl.constexpr(0.6931471805599453), tl.constexpr(1.4426950408889634)


@triton.jit
def by_row(values, AXIS: tl.constexpr):
    """One number a row, for a tile whose clusters are along AXIS."""
    return tl.expand_dims(values, AXIS)


@triton.jit
def exponential_less_one(x):
    """``exp(x) - 1`` for ``x <= 0``, with its digits where it is small: seven terms of its series."""
    series = x * (1.0 + x * (0.5 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720 + x / 5040))))))
    return tl.where(x > -0.25, series, tl.exp2(x * LOG2_E) - 1.0)


@triton.jit
def logarithm_plus_one(x):
    """``log(1 + x)`` for ``-1/2 <= x <= 0``, with its digits where it is small: ``2 atanh(x / (2 + x))``."""
    z = x / (2.0 + x)
    q = z * z
    series = 1.0 / 9 + q * (1.0 / 11 + q * (1.0 / 13 + q * (1.0 / 15)))
    return 2.0 * z * (1.0 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * series))))


@triton.jit
def by_unit(INSTRUCTION: tl.constexpr, x):
    """What an instruction of the card makes of each number."""
    return tl.inline_asm_elementwise(INSTRUCTION, "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def fast_log2(x, EMULATED: tl.constexpr):
    """``log2(x)`` by the unit that has it: off by 2^-22 near one, and there alone by more than rounding."""
    if EMULATED:
        return tl.log2(x)
    else:
        return tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )


@triton.jit
def fast_exp2(x, EMULATED: tl.constexpr):
    """``2**x`` by the unit that has it, to 2^-22; zero below the normal numbers."""
    if EMULATED:
        return tl.exp2(x)
    else:
        return tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )


@triton.jit
def inverse(x, EMULATED: tl.constexpr):
    """``1 / x`` to rounding."""
    if EMULATED:
        return 1.0 / x
    else:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )


@triton.jit
def power(x, exponent):
    """``x**exponent`` for ``x >= 0`` and positive exponents."""
    return tl.exp2(exponent * tl.log2(x))


@triton.jit
def raised(x, fuzziness, SQUARE: tl.constexpr):
    """``x**m``."""
    return x * x if SQUARE else power(x, fuzziness)


@triton.jit
def degrees(distance, reference, fuzziness, SQUARE: tl.constexpr):
    """How typical a sample is of each cluster, ``1 / (1 + (d / eta)^(1 / (m - 1)))``."""
    ratio = distance / reference
    return 1.0 / (1.0 + (ratio if SQUARE else power(ratio, 1.0 / (fuzziness - 1.0))))


@triton.jit
def gentle_gradient(y, smallest, valid, s, n_clusters, AXIS: tl.constexpr, EMULATED: tl.constexpr):
    """The same for ``|s| < 1``, where ``S/k - 1`` is summed instead of ``S``."""
    logarithm = fast_log2(tl.minimum(y * by_row(inverse(smallest, EMULATED), AXIS), LARGEST), EMULATED)
    total = tl.sum(tl.where(valid, tl.exp2(s * logarithm), 0.0), AXIS)
    below = tl.sum(tl.where(valid, exponential_less_one(logarithm * s * LOG_TWO), 0.0), AXIS) / n_clusters
    small = below > -0.5
    near_one = logarithm_plus_one(tl.where(small, below, 0.0)) * LOG2_E
    log_mean = tl.where(small, near_one, tl.log2(total / n_clusters))
    root = fast_exp2(tl.minimum(log_mean / s, LARGEST_POWER), EMULATED)
    return fast_exp2((s - 1.0) * logarithm, EMULATED), root * inverse(total, EMULATED)


@triton.jit
def gradient(
    y, smallest, valid, s, n_clusters, AXIS: tl.constexpr,
    HARD: tl.constexpr, GENTLE: tl.constexpr, DIGITS: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The gradient of ``M_s`` at each row of ``y``: what it is for each cluster, and a factor for the row.

    With ``S = sum_j (y_j / smallest)^s`` the factor is ``(S / k)^(1/s) / S``.

    DIGITS : 0 takes logarithms of ``y``, whose rounding is that of their size; 1 those of ratios; 2 not the fast
        ones, whose rounding near zero shows where ``|s|`` is large
    """
    if HARD:
        tied = tl.where(y == by_row(smallest, AXIS), 1.0, 0.0)
        return tied, 1.0 / tl.sum(tied, AXIS)
    elif GENTLE:
        return gentle_gradient(y, smallest, valid, s, n_clusters, AXIS, EMULATED)
    else:
        if DIGITS == 0:
            lowest = fast_log2(smallest, EMULATED)
            slope = fast_exp2((s - 1.0) * fast_log2(y, EMULATED) - by_row((s - 1.0) * lowest, AXIS), EMULATED)
            total = fast_log2(tl.sum(slope * y, AXIS), EMULATED) - lowest
        else:
            unit = inverse(smallest, EMULATED)
            ratio = y * by_row(unit, AXIS)
            logarithm = tl.log2(ratio) if DIGITS == 2 else fast_log2(ratio, EMULATED)
            slope = fast_exp2((s - 1.0) * logarithm, EMULATED)
            total = fast_log2(tl.sum(slope * y, AXIS) * unit, EMULATED)
        share = tl.log2(tl.cast(n_clusters, tl.float32)) / s
        return slope, fast_exp2(total * (1.0 / s - 1.0) - share, EMULATED)


@triton.jit
def pulls(
    distance, nearest, weight, reference, valid, s, fuzziness, n_clusters, AXIS: tl.constexpr,
    BOUNDED: tl.constexpr, SQUARE: tl.constexpr, HARD: tl.constexpr, GENTLE: tl.constexpr,
    DIGITS: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """What each sample does to each cluster, times its weight: its pull ``g_ij``, and ``w_ij (1 - u_ij)^m``."""
    if BOUNDED:
        degree = degrees(distance, reference, fuzziness, SQUARE)
        attraction, residual = raised(degree, fuzziness, SQUARE), raised(1.0 - degree, fuzziness, SQUARE)
        divergence = tl.where(valid, attraction * distance + residual * reference, LARGEST)
        smallest = tl.maximum(tl.min(divergence, AXIS), SMALLEST_NORMAL)
        slope, factor = gradient(divergence, smallest, valid, s, n_clusters, AXIS, HARD, GENTLE, DIGITS, EMULATED)
        slope = tl.where(valid, slope, 0.0) * by_row(factor * weight, AXIS)
        return slope * attraction, slope * residual
    else:
        slope, factor = gradient(distance, nearest, valid, s, n_clusters, AXIS, HARD, GENTLE, DIGITS, EMULATED)
        pull = slope * by_row(factor * weight, AXIS)
        return pull, tl.zeros_like(pull)
