"""Sums that are needed before the loop: means, scatters, and the linearisation at the collapsed point.

Where all centroids sit at one point ``mu``, a small displacement is multiplied in each iteration by the
largest eigenvalue of ``2 sum_i g_i a_i z_i z_i^T / sum_i g_i`` with ``z = (phi - mu) / ||phi - mu||``,
``g = v h'(d)`` and ``a = (1 - s) d h'/h - d h''/h'``, by the membership's elasticity. Below 1 the collapse is
stable.

Why: for a centroid at ``mu + delta`` the distance is ``d - 2 (phi - mu).delta``, and sample i pulls it with
``g = w h'(d)``, where ``log w = (s-1) log h(d)`` up to what all centroids share. So ``log g`` grows by
``2 a z.delta / ||phi - mu||``, and the mean by these pulls moves by the matrix above times ``delta``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from powerkmeans.objective.block import view_cover
from powerkmeans.types import Array, Block, Membership, Sums, array_namespace, device_of


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
    """Second moments, full (P, P) or times a basis (P, r).

    covariance : ``sum_i g_i (x_i - mu) (x_i - mu)^T``
    sharp : ``sum_i g_i (d h'/h) z_i z_i^T``, the part that is multiplied by ``1 - s``
    flat : ``sum_i g_i (-d h''/h') z_i z_i^T``, the part that is not; zero if every sample counts the same
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
    view_weights: Array
    reference_distance: Array
    point: Array
    balance: Array | None = None
    basis: Array | None = None


def mean_sums(block: Block, _: None) -> MeanSums:
    """Weighted sum of the rows, in float64; raw rows may be sparse."""
    xp = array_namespace(block.weight)
    weight = xp.astype(block.weight, xp.float64)
    counts = _counts(block, weight, xp)
    totals = [count @ _in_double(view, xp) for count, view in zip(counts, block.views, strict=True)]
    return MeanSums(xp.stack([xp.sum(count) for count in counts]), xp.concat(totals))


def scatter_sums(block: Block, _: None) -> ScatterSums:
    """Weighted squared norms of centred features, per view."""
    xp = array_namespace(block.views[0])
    weight = xp.astype(block.weight, xp.float64)
    norms = [xp.sum(weight * xp.astype(norm, xp.float64)) for norm in block.squared_norms]
    total, cover = xp.sum(weight), view_cover(block, xp)
    if block.present is None or cover is None:
        full = xp.stack([total] * len(norms))
        return ScatterSums(full, xp.asarray(full, copy=True), xp.stack(norms), total)
    present = xp.astype(block.present, xp.float64)
    return ScatterSums(present @ weight, xp.astype(cover, xp.float64) @ weight, xp.stack(norms), total)


def _counts(block: Block, weight: Array, xp: Any) -> list[Array]:
    """The weight of each sample in each view: none where it lacks it."""
    if block.present is None:
        return [weight] * len(block.views)
    present = xp.astype(block.present, weight.dtype)
    return [weight * present[view, :] for view in range(len(block.views))]


def _in_double(view: Array, xp: Any) -> Array:
    return view.astype("float64") if hasattr(view, "toarray") else xp.astype(view, xp.float64)


def pull_sums(block: Block, inputs: CollapseInput) -> PullSums:
    """The sums of one iteration with all centroids at ``inputs.point``."""
    xp = array_namespace(block.views[0])
    samples = _from_point(block, inputs, xp)
    counts = xp.astype(samples.pull * samples.cover, xp.float64)
    totals = [counts[index, :] @ xp.astype(view, xp.float64) for index, view in enumerate(block.views)]
    far = block.weight * inputs.membership.residual(samples.degree, xp)
    reference = xp.asarray(inputs.reference_distance, dtype=far.dtype, device=device_of(far))[:, None]
    losses = samples.cover * (samples.pull * samples.norms + far * reference)
    return PullSums(
        pull=xp.sum(samples.pull, dtype=xp.float64),
        mass=xp.sum(counts, axis=1),
        total=xp.concat(totals),
        loss=xp.sum(losses, axis=1, dtype=xp.float64),
    )


def moment_sums(block: Block, inputs: CollapseInput) -> MomentSums:
    """Second moments about the collapsed point, as samples pull there.

    With views missing, a row is ``q_il sqrt(alpha_l) (x_il - mu_l)`` times the balance of its view.
    """
    xp = array_namespace(block.views[0])
    samples = _from_point(block, inputs, xp)
    rows = _balanced_rows(samples, inputs, xp)
    distance, pull = samples.distance, samples.pull
    positive, zero = distance > 0, xp.zeros_like(distance)
    inverse = xp.where(positive, 1 / xp.where(positive, distance, xp.ones_like(distance)), zero)
    steep, curved = inputs.membership.elasticity(distance, samples.degree, samples.reference, xp)
    sharp = _second_moment(rows, pull * steep * inverse, inputs.basis, xp)
    bounded = inputs.membership.bounded
    return MomentSums(
        covariance=_second_moment(rows, pull, inputs.basis, xp),
        sharp=sharp,
        flat=_second_moment(rows, pull * curved * inverse, inputs.basis, xp) if bounded else xp.zeros_like(sharp),
        pull=xp.sum(pull, dtype=xp.float64),
    )


class _Samples(NamedTuple):
    """Samples as they are from the collapsed point; offsets are zero where a view is absent."""

    offsets: list[Array]
    norms: Array
    cover: Array
    distance: Array
    reference: Array
    degree: Array
    pull: Array


def _from_point(block: Block, inputs: CollapseInput, xp: Any) -> _Samples:
    beside = {"dtype": block.weight.dtype, "device": device_of(block.weight)}
    parts = zip(inputs.splits[:-1], inputs.splits[1:], block.views, strict=True)
    offsets = [view - xp.asarray(inputs.point[a:b], **beside) for a, b, view in parts]
    cover = view_cover(block, xp)
    if cover is None:
        cover = xp.ones((len(offsets), block.weight.shape[0]), **beside)
    else:
        has = xp.astype(cover > 0, cover.dtype)
        offsets = [offset * has[view, :, None] for view, offset in enumerate(offsets)]
    norms = xp.stack([xp.sum(offset * offset, axis=1) for offset in offsets])
    alpha, eta = (xp.asarray(a, **beside) for a in (inputs.view_weights, inputs.reference_distance))
    distance, reference = alpha @ (cover * norms), (alpha * eta) @ cover
    degree = inputs.membership.degrees(distance, reference, xp) * xp.ones_like(distance)
    pull = block.weight * inputs.membership.attraction(degree, xp)
    return _Samples(offsets, norms, cover, distance, reference, degree, pull)


def _balanced_rows(samples: _Samples, inputs: CollapseInput, xp: Any) -> Array:
    """Views side by side, each times ``sqrt(alpha_l)`` and, if any are missing, cover and balance."""
    cover, balance = samples.cover, inputs.balance
    scale = inputs.view_weights**0.5 if balance is None else inputs.view_weights**0.5 * balance
    factors = xp.asarray(scale, dtype=cover.dtype, device=device_of(cover))[:, None]
    if balance is not None:
        factors = factors * cover
    rows = [offset * factors[view, :, None] for view, offset in enumerate(samples.offsets)]
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=1)


def _second_moment(rows: Array, coefficient: Array, basis: Array | None, xp: Any) -> Array:
    """``sum_i c_i x_i x_i^T``, or its product with a basis."""
    weighted = rows * coefficient[:, None]
    if basis is None:
        return weighted.T @ rows
    return weighted.T @ (rows @ xp.asarray(basis, dtype=rows.dtype, device=device_of(rows)))
