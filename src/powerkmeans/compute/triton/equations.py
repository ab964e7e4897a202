"""The equations of ``objective`` as Triton functions: a tile of rows by all clusters at a time, in registers.

They are those of ``objective.membership``, ``objective.power_mean`` and ``objective.block``, once more because
Triton compiles no calls into NumPy; ``tests/cards`` holds them against their originals.
"""

from __future__ import annotations

import triton
import triton.language as tl

# half of the range of single precision, where roots are held, as a power of two; about its smallest normal number
LARGEST_POWER, SMALLEST_NORMAL = tl.constexpr(64.0), tl.constexpr(1.2e-38)
LOG_TWO, LOG2_E = tl.constexpr(0.6931471805599453), tl.constexpr(1.4426950408889634)


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
def fast_log2(x, EMULATED: tl.constexpr):
    """``log2(x)`` by the unit that has it: off by 2^-22 near one, and there alone by more than rounding."""
    if EMULATED:
        return tl.log2(x)
    return tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)


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
def power_mean(
    y, valid, s, n_clusters,
    HARD: tl.constexpr, GENTLE: tl.constexpr, STEEP: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """``M_s`` of each row of ``y`` and its gradient; columns that are not ``valid`` are infinite.

    GENTLE : whether ``|s| < 1``, where ``S/k - 1`` is summed instead of ``S``
    STEEP : whether ``|s|`` is so large that the rounding of fast logarithms near zero shows
    """
    smallest = tl.min(y, 1)
    if HARD:
        tied = tl.where(y == smallest[:, None], 1.0, 0.0)
        return smallest, tied / tl.sum(tied, 1)[:, None]
    inverse = 1.0 / tl.maximum(smallest, SMALLEST_NORMAL)
    ratio = tl.maximum(y, SMALLEST_NORMAL) * inverse[:, None]
    logarithm = tl.log2(ratio) if STEEP else fast_log2(ratio, EMULATED)
    powers = tl.exp2(s * logarithm)
    total = tl.sum(powers, 1)
    log_mean = tl.log2(total / n_clusters)
    if GENTLE:
        excess = tl.sum(tl.where(valid, exponential_less_one(logarithm * s * LOG_TWO), 0.0), 1) / n_clusters
        small = excess > -0.5
        log_mean = tl.where(small, logarithm_plus_one(tl.where(small, excess, 0.0)) * LOG2_E, log_mean)
    factor = tl.exp2(tl.minimum(log_mean / s, LARGEST_POWER))
    return smallest * factor, tl.exp2((s - 1.0) * logarithm) * (factor / total)[:, None]


@triton.jit
def pulls(
    distance,
    reference,
    valid,
    s,
    fuzziness,
    n_clusters,
    BOUNDED: tl.constexpr,
    SQUARE: tl.constexpr,
    HARD: tl.constexpr,
    GENTLE: tl.constexpr,
    STEEP: tl.constexpr,
    EMULATED: tl.constexpr,
):
    """What each sample does to each cluster: its pull ``g_ij``, ``w_ij (1 - u_ij)^m``, and its ``M_s``."""
    if BOUNDED:
        degree = degrees(distance, reference, fuzziness, SQUARE)
        attraction, residual = raised(degree, fuzziness, SQUARE), raised(1.0 - degree, fuzziness, SQUARE)
        divergence = tl.where(valid, attraction * distance + residual * reference, float("inf"))
        mean, gradient = power_mean(divergence, valid, s, n_clusters, HARD, GENTLE, STEEP, EMULATED)
        return gradient * attraction, gradient * residual, mean
    mean, gradient = power_mean(distance, valid, s, n_clusters, HARD, GENTLE, STEEP, EMULATED)
    return gradient, tl.zeros_like(gradient), mean
