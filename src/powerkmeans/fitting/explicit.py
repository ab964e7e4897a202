"""Explicit features of some training rows where a view has only a kernel matrix.

What happens around the solver (starts, moves, the critical exponent, what chance explains) is written for
coordinates. A pivoted Cholesky factor ``K = F F^T`` of sampled rows has them: exact for all rows while there are
no more than ``STATISTIC_ROWS`` distinct ones, and for the subspace that a sample of them spans beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.support.precision import HALF_THE_DIGITS, ROUNDING
from powerkmeans.types import Array, Block, Engine, Float64Array, Problem, RowSample, array_namespace

# rounding above this share of k(x, x) leaves nothing of a kernel
LOST_KERNEL = 0.1
# elimination multiplies rounding by no more than this; what it leaves beyond tells of an indefinite matrix
_ROUNDING_GROWTH = 1000


class Factor(NamedTuple):
    """``F`` of one dual view, (m, r), and the rows it is triangular on.

    pivots : positions among all training rows of the r rows that span the others
    root : ``F`` at the pivots, lower triangular
    """

    features: Float64Array
    pivots: NDArray[np.intp]
    root: Float64Array

    def coordinates(self, values: Float64Array) -> Float64Array:
        """The coordinates of points of given values at all training rows, as seen from the pivots' span."""
        return solve_triangular(self.root, values[:, self.pivots].T, lower=True).T

    def coefficients(self, points: Float64Array, n_samples: int) -> Float64Array:
        """The coefficients on all training rows of points given by their coordinates."""
        result = np.zeros((len(points), n_samples))
        result[:, self.pivots] = solve_triangular(self.root, points.T, lower=True, trans="T").T
        return result


@dataclass(frozen=True)
class Explicit:
    """Sampled rows with coordinates in every view, and the way between these and the points of the problem."""

    sample: RowSample
    factors: tuple[Factor | None, ...]
    engine: Engine

    @property
    def splits(self) -> tuple[int, ...]:
        return (0, *np.cumsum([view.shape[1] for view in self.sample.views]).tolist())

    def to_explicit(self, points: Float64Array, problem: Problem) -> Float64Array:
        """Points of the problem in coordinates."""
        parts = [points[:, part] for part in problem.view_slices]
        return np.concatenate(
            [
                p if factor is None else factor.coordinates(p[:, p.shape[1] // 2 :])
                for p, factor in zip(parts, self.factors, strict=True)
            ],
            axis=1,
        )

    def from_explicit(self, points: Float64Array) -> Float64Array:
        """Points in coordinates as points of the problem."""
        parts = np.split(points, self.splits[1:-1], axis=1)
        result = []
        for view, (part, factor) in enumerate(zip(parts, self.factors, strict=True)):
            if factor is None:
                result.append(part)
            else:
                result.append(self.pair(factor.coefficients(part, self.engine.n_samples), view))
        return np.concatenate(result, axis=1)

    def pair(self, coefficients: Float64Array, view: int) -> Float64Array:
        """Coefficients on the training rows and the values that go with them, side by side."""
        values = self.engine.map_rows(_values, (view, coefficients))
        return np.concatenate([coefficients, values.T], axis=1)


def make_explicit(
    engine: Engine, maps: tuple[CentredMap, ...], sample: RowSample, names: tuple[str, ...]
) -> Explicit:
    """Factor the kernel matrix of the sampled rows in each dual view."""
    views, factors = list[Array](), list[Factor | None]()
    for index, (feature_map, rows) in enumerate(zip(maps, sample.views, strict=True)):
        present = _present(sample, index)
        if feature_map.dual:
            assert sample.rows is not None
            gram = engine.map_rows(_columns, (index, sample.rows))[sample.rows] * present
            factor = _factor_of_map(feature_map, gram, sample.rows, names[index])
            factors.append(factor)
            views.append(factor.features)
        else:
            factors.append(None)
            views.append(feature_map(rows, np) * present[:, None])
    return Explicit(sample._replace(views=tuple(views)), tuple(factors), engine)


def _present(sample: RowSample, view: int) -> Float64Array:
    """One where a sample has the view, zero where it lacks it."""
    if sample.present is None:
        return np.ones(len(sample.weight))
    return sample.present[:, view].astype(np.float64)


def _factor_of_map(feature_map: CentredMap, gram: Float64Array, rows: NDArray[np.intp], name: str) -> Factor:
    """The factor of a dual map's kernel between sampled rows, unless rounding has left nothing of the kernel."""
    base = feature_map.base
    if base.bandwidth > 0 and base.noise > LOST_KERNEL:
        raise ValueError(
            f"view {name!r}: bandwidth={base.bandwidth:g} is so small beside the extent of the rows that rounding "
            "decides which are alike; use bandwidth='median', or leave out far outliers."
        )
    return _factor(gram, rows, base.noise * feature_map.scale**2, name)


def _factor(gram: Float64Array, rows: NDArray[np.intp], noise: float, name: str) -> Factor:
    """Pivoted Cholesky of a kernel matrix whose entries carry some rounding; an error if it cannot be one."""
    largest = float(np.max(np.diagonal(gram)))
    if noise > largest:
        raise ValueError(
            f"The kernel of view {name!r} is flat: what tells its samples apart is lost in rounding. Use a "
            "smaller bandwidth, centre the data, or compute the matrix in float64."
        )
    smallest = max(ROUNDING * largest, noise)
    lower, order, rank, _ = lapack.dpstrf(gram, lower=1, tol=smallest)
    order = order - 1
    features = np.empty((len(gram), rank))
    features[order] = np.tril(lower)[:, :rank]
    rest = order[rank:]  # the others are reproduced by construction
    left = float(np.max(np.abs(gram[np.ix_(rest, rest)] - features[rest] @ features[rest].T), initial=0.0))
    if left > max(HALF_THE_DIGITS * largest, _ROUNDING_GROWTH * noise):
        raise ValueError(
            f"The kernel matrix of view {name!r} is not positive semi-definite: entries are off by {left:.3g}; "
            f"the largest squared length is {largest:.3g}. Distances have no meaning then; use a kernel that is."
        )
    return Factor(features, rows[order[:rank]], np.tril(lower[:rank, :rank]))


def _columns(block: Block, inputs: tuple[int, NDArray[np.intp]]) -> Array:
    view, columns = inputs
    rows = block.views[view]
    return array_namespace(rows).take(rows, columns, axis=1)


def _values(block: Block, inputs: tuple[int, Float64Array]) -> Any:
    view, coefficients = inputs
    return block.views[view] @ coefficients.T
