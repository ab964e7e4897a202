"""The nouns every other module speaks: blocks of rows, parameters, sums, results, protocols.

Numpy and typing only; nothing here computes an equation.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

# An array of whichever array-API namespace the engine works in (numpy here).
Array = Any
Float64Array = NDArray[np.float64]


def array_namespace(array: Array) -> Any:
    """Return the array-API namespace of ``array``."""
    return array.__array_namespace__()


class Block(NamedTuple):
    """Consecutive rows: one 2-D array per view, and a weight per row.

    ``squared_norms`` holds the squared length of each row of each view once the views are features;
    it is empty for raw rows.
    """

    start: int
    views: tuple[Array, ...]
    squared_norms: tuple[Array, ...]
    weight: Array


@dataclass
class Sums:
    """Base of everything that is summed over rows: sums of a union of blocks are the blocks' sums added.

    Fields are arrays or floats. Addition is field by field; ``+=`` works in place on arrays.
    """

    def __iadd__(self, other: Self) -> Self:
        for field in fields(self):
            value = getattr(self, field.name)
            value += getattr(other, field.name)
            setattr(self, field.name, value)
        return self

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass
class PassStatistics(Sums):
    """All that one iteration needs from the data (k clusters, L views, P features over all views).

    mass : (k, L), sum_i v_i g_ij
    moment : (k, P), sum_i v_i g_ij phi_i
    scatter : (k, L), sum_i v_i g_ij d_ijl
    residual : (k, L), sum_i v_i w_ij (1 - u_ij)^m
    sizes : (k,), weight of the samples nearest to each centroid (a tie counts for each)
    loss : sum_i v_i M_s
    hard_cost : sum_i v_i min_j dbar_ij
    """

    mass: Array
    moment: Array
    scatter: Array
    residual: Array
    sizes: Array
    loss: Array
    hard_cost: Array


@dataclass(frozen=True)
class Parameters:
    """What the solver moves: centroids of all views side by side, and the views' weights."""

    centers: Float64Array
    view_weights: Float64Array


class Membership(Protocol):
    """How a distance becomes a degree of typicality (see ``objective.membership``)."""

    @property
    def name(self) -> str: ...
    @property
    def fuzziness(self) -> float: ...
    def degrees(self, distance: Array, reference: float, xp: Any) -> Array: ...
    def log_degrees(self, distance: Array, reference: float, xp: Any) -> Array: ...
    def attraction(self, degree: Array, xp: Any) -> Array: ...
    def residual(self, degree: Array, xp: Any) -> Array: ...
    def divergence(self, distance: Array, degree: Array, reference: float, xp: Any) -> Array: ...


@dataclass(frozen=True)
class Problem:
    """What stays fixed during a fit and all its restarts.

    splits : column offsets of the views, ``(0, p_1, p_1 + p_2, ..., P)``
    reference_distance : eta_l, one value a view
    scatter : mean squared distance of the features to their mean, one value a view
    entropy : lambda, the price of uneven view weights
    """

    membership: Membership
    splits: tuple[int, ...]
    reference_distance: Float64Array
    scatter: Float64Array
    entropy: float = 1.0

    @property
    def view_slices(self) -> tuple[slice, ...]:
        return tuple(slice(a, b) for a, b in zip(self.splits[:-1], self.splits[1:], strict=True))


class Status(enum.StrEnum):
    """Why the solver stopped."""

    CONVERGED = "converged"
    EXACT = "cost negligible against the scatter"
    MAX_ITER = "max_iter reached"
    INTERRUPTED = "stopped by a callback"


class Iteration(NamedTuple):
    """One line of the history: the state that the pass saw, and how far the update moved it."""

    s: float
    objective: float
    hard_cost: float
    shift: float
    n_distinct: int
    view_weights: tuple[float, ...]


class SolverResult(NamedTuple):
    """Where a run ended and how it got there."""

    parameters: Parameters
    s: float
    status: Status
    history: tuple[Iteration, ...]


RunPass = Callable[[Parameters, float], PassStatistics]
OnIteration = Callable[[Iteration], bool]
P = TypeVar("P")
S = TypeVar("S", bound=Sums)


class FeatureMap(Protocol):
    """A function of rows, drawn or fitted once and applied anywhere."""

    @property
    def n_outputs(self) -> int: ...
    def __call__(self, X: Array, xp: Any) -> Array: ...


class RowSample(NamedTuple):
    """Distinct rows in an order that depends on their content alone, with their total weights."""

    views: tuple[Array, ...]
    weight: Float64Array


class Engine(Protocol):
    """Knows where rows live and how sums over them are reduced; knows nothing of clustering."""

    n_samples: int
    dtype: np.dtype[Any]

    def fold(self, function: Callable[[Block, P], S], parameters: P) -> S: ...
    def map_rows(self, function: Callable[[Block, P], Array], parameters: P) -> Array: ...
    def sample(self, size: int, seed: int) -> RowSample: ...
    def with_features(self, maps: tuple[FeatureMap, ...], keep: bool, working: int = 0) -> Engine: ...
