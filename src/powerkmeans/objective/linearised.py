"""Sums that are needed before the loop: means, scatters, and the linearisation at the collapsed point.

Where all centroids sit at one point ``mu``, a small displacement is multiplied in each iteration by the
largest eigenvalue of ``2 sum_i g_i a_i z_i z_i^T / sum_i g_i`` with ``z = (phi - mu) / ||phi - mu||``
and ``a = (1 - s) u + (m / (m-1)) (1 - u)``, ``g = v u^m``. Below 1 the collapse is stable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from powerkmeans.objective.block import view_cover
from powerkmeans.types import Array, Block, Float64Array, Membership, Sums, array_namespace


@dataclass
class MeanSums(Sums):
    """Per view ``sum_i v_i o_il``, and ``sum_i v_i o_il x_il`` over all views side by side."""

    weight: Array
    total: Array


@dataclass
class ScatterSums(Sums):
    """Per view ``sum_i v_i o_il``, ``sum_i v_i q_il`` and ``sum_i v_i o_il ||x_il||^2``; and ``sum_i v_i``."""

    weight: Array
    cover: Array
    scatter: Array
    total: Array


@dataclass
class PullSums(Sums):
    """What all samples do to centroids that sit together.

    pull : ``sum_i g_i``
    mass : per view ``sum_i q_il g_i``
    total : ``sum_i q_il g_i x_il``, views side by side
    loss : per view ``sum_i v_i q_il (u_i^m d_il + (1 - u_i)^m eta_l)``
    """

    pull: Array
    mass: Array
    total: Array
    loss: Array


@dataclass
class MomentSums(Sums):
    """Second moments, whole (P, P) or times a basis (P, r).

    covariance : ``sum_i g_i (x_i - mu) (x_i - mu)^T``
    sharp : ``sum_i g_i u_i z_i z_i^T``, the part multiplied by ``1 - s``
    flat : ``sum_i g_i (1 - u_i) z_i z_i^T``, the part multiplied by ``m / (m-1)``
    pull : ``sum_i g_i``
    """

    covariance: Array
    sharp: Array
    flat: Array
    pull: Array


@dataclass(frozen=True)
class CollapseInput:
    """Where the centroids sit together, and how samples pull there.

    balance : per view the factor that makes the linearised step symmetric: 1 where no view is missing, else
        ``sqrt(sum_i g_i / sum_i q_il g_i)``
    """

    membership: Membership
    splits: tuple[int, ...]
    view_weights: Float64Array
    reference_distance: Float64Array
    point: Float64Array
    balance: Float64Array | None = None
    basis: Float64Array | None = None


def mean_sums(block: Block, _: None) -> MeanSums:
    """Weighted sum of the rows, in float64; raw rows may be sparse."""
    weight = block.weight.astype("float64")
    xp = array_namespace(weight)
    counts = [weight] * len(block.views) if block.present is None else [weight * o for o in block.present]
    totals = [count @ view.astype("float64") for count, view in zip(counts, block.views, strict=True)]
    return MeanSums(xp.stack([xp.sum(count) for count in counts]), xp.concat(totals))


def scatter_sums(block: Block, _: None) -> ScatterSums:
    """Weighted squared norms of centred features, per view."""
    xp = array_namespace(block.views[0])
    weight = xp.astype(block.weight, xp.float64)
    norms = [xp.sum(weight * xp.astype(norm, xp.float64)) for norm in block.squared_norms]
    total, cover = xp.sum(weight), view_cover(block, xp)
    if block.present is None or cover is None:
        full = xp.stack([total] * len(norms))
        return ScatterSums(full, full.copy(), xp.stack(norms), total)
    return ScatterSums(block.present @ weight, cover @ weight, xp.stack(norms), total)


def pull_sums(block: Block, inputs: CollapseInput) -> PullSums:
    """The sums of one iteration with all centroids at ``inputs.point``."""
    xp = array_namespace(block.views[0])
    seen = _seen_from_point(block, inputs, xp)
    counts = xp.astype(seen.pull * seen.cover, xp.float64)
    totals = [count @ xp.astype(view, xp.float64) for count, view in zip(counts, block.views, strict=True)]
    far = block.weight * inputs.membership.residual(seen.degree, xp)
    reference = xp.asarray(inputs.reference_distance, dtype=far.dtype)[:, None]
    losses = seen.cover * (seen.pull * seen.norms + far * reference)
    return PullSums(
        pull=xp.sum(seen.pull, dtype=xp.float64),
        mass=xp.sum(counts, axis=1),
        total=xp.concat(totals),
        loss=xp.sum(losses, axis=1, dtype=xp.float64),
    )


def moment_sums(block: Block, inputs: CollapseInput) -> MomentSums:
    """Second moments about the collapsed point, as samples pull there.

    With views missing, a row is ``q_il sqrt(alpha_l) (x_il - mu_l)`` times the balance of its view.
    """
    xp = array_namespace(block.views[0])
    seen = _seen_from_point(block, inputs, xp)
    rows = _balanced_rows(seen, inputs, xp)
    distance, degree, pull = seen.distance, seen.degree, seen.pull
    positive = distance > 0
    inverse = xp.where(positive, 1 / xp.where(positive, distance, xp.ones_like(distance)), 0 * distance)
    sharp = _second_moment(rows, pull * degree * inverse, inputs.basis, xp)
    flat = pull * (1 - degree) * inverse
    return MomentSums(
        covariance=_second_moment(rows, pull, inputs.basis, xp),
        sharp=sharp,
        flat=_second_moment(rows, flat, inputs.basis, xp) if xp.any(flat) else xp.zeros_like(sharp),
        pull=xp.sum(pull, dtype=xp.float64),
    )


class _Seen(NamedTuple):
    """Samples as seen from the collapsed point; offsets are zero where a view is absent."""

    offsets: list[Array]
    norms: Array
    cover: Array
    distance: Array
    degree: Array
    pull: Array


def _seen_from_point(block: Block, inputs: CollapseInput, xp: Any) -> _Seen:
    dtype = block.weight.dtype
    parts = zip(inputs.splits[:-1], inputs.splits[1:], block.views, strict=True)
    offsets = [view - xp.asarray(inputs.point[a:b], dtype=dtype) for a, b, view in parts]
    cover = view_cover(block, xp)
    if cover is None:
        cover = xp.ones((len(offsets), len(block.weight)), dtype=dtype)
    else:
        offsets = [offset * (share > 0)[:, None] for offset, share in zip(offsets, cover, strict=True)]
    norms = xp.stack([xp.sum(offset * offset, axis=1) for offset in offsets])
    alpha = xp.asarray(inputs.view_weights, dtype=dtype)
    eta = xp.asarray(inputs.reference_distance, dtype=dtype)
    distance, reference = alpha @ (cover * norms), (alpha * eta) @ cover
    degree = inputs.membership.degrees(distance, reference, xp) * xp.ones_like(distance)
    pull = block.weight * inputs.membership.attraction(degree, xp)
    return _Seen(offsets, norms, cover, distance, degree, pull)


def _balanced_rows(seen: _Seen, inputs: CollapseInput, xp: Any) -> Array:
    """Views side by side, each times ``sqrt(alpha_l)`` and, if any are missing, cover and balance."""
    scale = inputs.view_weights**0.5
    if inputs.balance is None:
        rows = [offset * float(a) for offset, a in zip(seen.offsets, scale, strict=True)]
    else:
        factors = xp.asarray(scale * inputs.balance, dtype=seen.cover.dtype)[:, None] * seen.cover
        rows = [offset * factor[:, None] for offset, factor in zip(seen.offsets, factors, strict=True)]
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=1)


def _second_moment(rows: Array, coefficient: Array, basis: Float64Array | None, xp: Any) -> Array:
    """``sum_i c_i x_i x_i^T``, or its product with a basis."""
    weighted = rows * coefficient[:, None]
    if basis is None:
        return weighted.T @ rows
    return weighted.T @ (rows @ xp.asarray(basis, dtype=rows.dtype))
