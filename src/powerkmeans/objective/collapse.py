"""Sums that are needed before the loop: means, scatters, and the linearisation at the collapsed point.

Where all centroids sit at one point ``mu``, a small displacement is multiplied in each iteration by the
largest eigenvalue of ``2 sum_i g_i a_i z_i z_i^T / sum_i g_i`` with ``z = (phi - mu) / ||phi - mu||``
and ``a = (1 - s) u + (m / (m-1)) (1 - u)``, ``g = v u^m``. Below 1 the collapse is stable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from powerkmeans.types import Array, Block, Float64Array, Membership, Sums, array_namespace


@dataclass
class MeanSums(Sums):
    """``sum_i v_i`` and ``sum_i v_i x_i`` over all views side by side."""

    weight: Array
    total: Array


@dataclass
class ScatterSums(Sums):
    """``sum_i v_i`` and, per view, ``sum_i v_i ||x_il||^2``."""

    weight: Array
    scatter: Array


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
    """Where the centroids sit together, and how samples pull there (columns scaled by sqrt(alpha))."""

    membership: Membership
    reference: float
    column_scale: Float64Array
    point: Float64Array
    basis: Float64Array | None = None


def mean_sums(block: Block, _: None) -> MeanSums:
    """Weighted sum of the rows, in float64; raw rows may be sparse."""
    weight = block.weight.astype("float64")
    xp = array_namespace(weight)
    totals = [weight @ view.astype("float64") for view in block.views]
    return MeanSums(xp.sum(weight), xp.concat(totals))


def scatter_sums(block: Block, _: None) -> ScatterSums:
    """Weighted squared norms of centred features, per view."""
    xp = array_namespace(block.views[0])
    weight = xp.astype(block.weight, xp.float64)
    norms = [xp.sum(weight * xp.astype(norm, xp.float64)) for norm in block.squared_norms]
    return ScatterSums(xp.sum(weight), xp.stack(norms))


def pull_sums(block: Block, inputs: CollapseInput) -> MeanSums:
    """``sum_i g_i`` and ``sum_i g_i x_i`` with all centroids at ``inputs.point``."""
    xp = array_namespace(block.views[0])
    rows = scaled_rows(block, inputs, xp)
    _, pull = _degree_and_pull(rows - xp.asarray(inputs.point, dtype=rows.dtype), block, inputs, xp)
    pull = xp.astype(pull, xp.float64)
    return MeanSums(xp.sum(pull), pull @ xp.astype(rows, xp.float64))


def moment_sums(block: Block, inputs: CollapseInput) -> MomentSums:
    """Second moments about the collapsed point, as samples pull there."""
    xp = array_namespace(block.views[0])
    rows = scaled_rows(block, inputs, xp)
    offset = rows - xp.asarray(inputs.point, dtype=rows.dtype)
    degree, pull = _degree_and_pull(offset, block, inputs, xp)
    norms = xp.sum(offset * offset, axis=1)
    inverse = xp.where(norms > 0, 1 / xp.where(norms > 0, norms, xp.ones_like(norms)), xp.zeros_like(norms))
    sharp = _second_moment(offset, pull * degree * inverse, inputs.basis, xp)
    flat = pull * (1 - degree) * inverse
    return MomentSums(
        covariance=_second_moment(offset, pull, inputs.basis, xp),
        sharp=sharp,
        flat=_second_moment(offset, flat, inputs.basis, xp) if xp.any(flat) else xp.zeros_like(sharp),
        pull=xp.sum(pull, dtype=xp.float64),
    )


def scaled_rows(block: Block, inputs: CollapseInput, xp: Any) -> Array:
    """Views side by side, each times ``sqrt(alpha_l)``."""
    rows = block.views[0] if len(block.views) == 1 else xp.concat(list(block.views), axis=1)
    return rows * xp.asarray(inputs.column_scale, dtype=rows.dtype)


def _degree_and_pull(offset: Array, block: Block, inputs: CollapseInput, xp: Any) -> tuple[Array, Array]:
    distance = xp.sum(offset * offset, axis=1)
    degree = inputs.membership.degrees(distance, inputs.reference, xp) * xp.ones_like(distance)
    return degree, block.weight * inputs.membership.attraction(degree, xp)


def _second_moment(rows: Array, coefficient: Array, basis: Float64Array | None, xp: Any) -> Array:
    """``sum_i c_i x_i x_i^T``, or its product with a basis."""
    weighted = rows * coefficient[:, None]
    if basis is None:
        return weighted.T @ rows
    return weighted.T @ (rows @ xp.asarray(basis, dtype=rows.dtype))
