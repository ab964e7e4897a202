"""The nouns every other module speaks: blocks of rows, parameters, sums, results, protocols.

Nothing here computes an equation.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from powerkmeans.support.install import needed

# an array of whichever array-API namespace the executor works in; on this side of it, of NumPy
Array = Any
Float64Array = NDArray[np.float64]


def array_namespace(array: Array) -> Any:
    """Return the array-API namespace of ``array``.

    Arrays of a library without one of its own, such as PyTorch, have that of array-api-compat.
    """
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    purpose = f"for arrays of type {type(array).__module__}.{type(array).__name__}"
    return needed("array_api_compat", None, purpose, "array-api-compat").array_namespace(array)


def device_of(array: Array) -> Any:
    """Return where ``array`` lives, as the ``device`` of an array that is made beside it."""
    return getattr(array, "device", None)


class Views(NamedTuple):
    """Named 2-D arrays with the same rows, and a weight per row, whose precision is that of the work.

    ``present`` tells which rows each view has, (n, L); None if every view has them all. What an absent row
    holds does not matter.
    """

    names: tuple[str, ...]
    arrays: tuple[Array, ...]
    weight: Array
    present: NDArray[np.bool_] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """What random streams are named by: the views' names, which do not matter to a single one."""
        return self.names if len(self.names) > 1 else ("X",)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.weight.dtype)

    @property
    def total_weight(self) -> float:
        if hasattr(self.weight, "total"):  # of rows that are elsewhere
            return float(self.weight.total)
        same = self.weight.strides == (0,)  # for all rows, which need not be added
        return float(len(self.weight) * self.weight[0] if same else np.sum(self.weight, dtype=np.float64))

    def alone(self, index: int) -> Views:
        """One view by itself, rows that it lacks at weight zero."""
        one = (self.names[index],), (self.arrays[index],)
        if self.present is None:
            return Views(*one, self.weight)
        return Views(*one, self.weight * self.present[:, index], self.present[:, [index]])

    def select(self, indices: list[int]) -> Views:
        """The views at ``indices``."""
        present = None if self.present is None else self.present[:, indices]
        if present is not None and np.all(present):
            present = None
        names, arrays = (tuple(group[i] for i in indices) for group in (self.names, self.arrays))
        return Views(names, arrays, self.weight, present)


class Block(NamedTuple):
    """Consecutive rows: one 2-D array per view, and a weight per row.

    ``squared_norms`` holds the squared length of each row of each view once these are features; it is empty for
    raw rows. ``present`` is (L, b): which of its rows each view has, None for all; absent rows are zero.
    """

    start: int
    views: tuple[Array, ...]
    squared_norms: tuple[Array, ...]
    weight: Array
    present: Array | None = None


@dataclass
class Sums:
    """Base of everything that is summed over rows: sums of a union of blocks are the blocks' sums added.

    Fields are arrays or floats. Addition is field by field; ``+=`` works in place on arrays.
    """

    def begun(self, xp: Any) -> Self:
        """A copy to add to, in float64: arrays where they are, and numbers as arrays."""
        own = vars(self).values()  # in the order of the fields
        return type(self)(*(xp.asarray(v, dtype=xp.float64, device=device_of(v), copy=True) for v in own))

    def __iadd__(self, other: Self) -> Self:
        own = vars(self)
        for name in own:
            own[name] += getattr(other, name)
        return self

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __radd__(self, zero: int) -> Self:  # so that ``sum`` adds them
        return self

    def __mul__(self, factor: float) -> Self:
        return type(self)(*(getattr(self, f.name) * factor for f in fields(self)))


@dataclass
class PassStatistics(Sums):
    """All that one iteration needs from the data (k clusters, L views, P features over all views).

    With ``q_il`` the cover of sample i in view l, which is 1 where no view is missing:

    mass : (k, L), sum_i v_i q_il g_ij
    moment : (k, P), sum_i v_i q_il g_ij phi_il
    scatter : (k, L), sum_i v_i q_il g_ij d_ijl
    residual : (k, L), sum_i v_i q_il w_ij (1 - u_ij)^m
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
    """What the solver moves: centroids of all views side by side, and the views' weights.

    In a dual view (see ``Problem``) a centroid is its coefficients on the n training rows followed by its inner
    products with them, 2 n numbers: sums and differences of such pairs are pairs again.
    """

    centers: Float64Array
    view_weights: Float64Array


class Membership(Protocol):
    """How a distance ``d`` becomes a degree of typicality ``u``, and how far a sample then counts.

    The objective takes ``h(d)`` in place of ``d``. ``h = eta phi(d / eta)`` for some concave ``phi`` that
    increases from 0 with slope 1, so the surrogate of an iteration touches it from above; ``eta`` is the
    reference, one number or one per sample. All that the loop and the linearisation need is here:

    bounded : whether far samples count less than near ones. If not, every degree is 1, there are no outlier scores
        and no reference distance
    degrees : ``u``, which falls from 1 at ``d = 0``; ``log_degrees`` keeps its digits where it underflows
    distances : the ``d`` that has a given degree, for memberships that are bounded
    attraction : ``h'(d) = u^m``, what multiplies a sample's pull; m is ``fuzziness``
    residual : ``(h - d h') / eta``, which depends on the degree alone
    divergence : ``h(d) = u^m d + residual eta``
    elasticity : ``d h' / h`` and ``-d h'' / h'``, which say how fast a pull falls as the distance grows:
        ``-d log g / d log d`` is the first times ``1 - s`` plus the second
    """

    @property
    def name(self) -> str: ...
    @property
    def bounded(self) -> bool: ...
    @property
    def fuzziness(self) -> float: ...
    def degrees(self, distance: Array, reference: Array, xp: Any) -> Array: ...
    def log_degrees(self, distance: Array, reference: Array, xp: Any) -> Array: ...
    def distances(self, degree: Array, reference: Array, xp: Any) -> Array: ...
    def attraction(self, degree: Array, xp: Any) -> Array: ...
    def residual(self, degree: Array, xp: Any) -> Array: ...
    def divergence(self, distance: Array, degree: Array, reference: Array, xp: Any) -> Array: ...
    def elasticity(self, distance: Array, degree: Array, reference: Array, xp: Any) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Problem:
    """What stays fixed during a fit and all its restarts.

    splits : column offsets of the views, ``(0, p_1, p_1 + p_2, ..., P)``
    reference_distance : eta_l, one value per view
    scatter : mean squared distance of the features to their mean, one value per view
    entropy : lambda, the price of uneven view weights; infinite keeps them even
    baseline : b_l, taken off the loss of view l when views are compared; None for nothing
    dual : which views have no coordinates but a kernel matrix; empty for none
    """

    membership: Membership
    splits: tuple[int, ...]
    reference_distance: Float64Array
    scatter: Float64Array
    entropy: float = 1.0
    baseline: Float64Array | None = None
    dual: tuple[bool, ...] = ()

    @cached_property  # asked for several times in every iteration
    def view_slices(self) -> tuple[slice, ...]:
        return tuple(slice(a, b) for a, b in zip(self.splits[:-1], self.splits[1:], strict=True))

    def is_dual(self, view: int) -> bool:
        return bool(self.dual) and self.dual[view]


class Status(enum.StrEnum):
    """Why the solver stopped."""

    CONVERGED = "converged"
    EXACT = "cost negligible against the scatter"
    MAX_ITER = "max_iter reached"
    INTERRUPTED = "stopped by a callback"


class Iteration(NamedTuple):
    """One line of the history: the state that the pass saw, and how far the update moves it.

    ``groups`` has, for each centroid, the first of those that it has not separated from.
    """

    s: float
    objective: float
    hard_cost: float
    shift: float
    n_distinct: int
    view_weights: tuple[float, ...]
    groups: tuple[int, ...] = ()


class SolverResult(NamedTuple):
    """Where a run ended and how it got there.

    A run that settled ends at the state that its last pass saw, and ``sums`` are those of that pass, at the
    exponent of the last line. Others end with a step that no pass has seen yet, and have None: those that were cut
    short or handed over, that explain all of the scatter, or whose view weights still turned.
    """

    parameters: Parameters
    s: float
    status: Status
    history: tuple[Iteration, ...]
    sums: PassStatistics | None = None


RunPass = Callable[[Parameters, float], PassStatistics]
OnIteration = Callable[[Iteration], bool]
P = TypeVar("P")
T = TypeVar("T")
S = TypeVar("S", bound=Sums)
A = TypeVar("A", bound=Any)  # what parts of rows tell and is added up: has ``begun`` and ``+=`` as ``Sums`` have


class FeatureMap(Protocol):
    """A function of rows, drawn or fitted once and applied anywhere; frozen arrays and plain values.

    A call gets the rows of one block, (b, d), absent ones zero, and gives (b, ``n_outputs``). It runs in whichever
    thread has the block, several at once, once per block and pass where features are not stored. ``xp`` is the
    namespace of the map's arrays and of the rows, which may be a SciPy CSR matrix if that is NumPy. What it gives
    may be the rows themselves, so nobody writes to it. ``fault`` is what is raised where features are not finite.
    A ``dual`` map, a ``KernelRows`` besides, puts out rows of a kernel matrix instead of coordinates.
    """

    @property
    def n_outputs(self) -> int: ...
    @property
    def dual(self) -> bool: ...
    def __call__(self, X: Array, xp: Any) -> Array: ...
    def fault(self, dtype: Any, row: int) -> ValueError: ...


class KernelRows(FeatureMap, Protocol):
    """A dual map, which also tells the squared lengths of the features that rows of the matrix stand for.

    Called in place of the map, it gives (b, ``n_outputs``) and (b,). ``start`` is the number of the first row.
    """

    def rows_and_norms(self, X: Array, start: int, present: Array | None) -> tuple[Array, Array]: ...


class RowSample(NamedTuple):
    """Distinct rows in an order that depends on their content alone, with their total weights.

    ``present`` is (n, L), None for all; absent rows are zero. ``n_distinct`` is how many distinct rows of positive
    weight the sample was drawn from, or about how many. ``rows`` is where in the data each of them is found.
    """

    views: tuple[Array, ...]
    weight: Float64Array
    present: NDArray[np.bool_] | None = None
    n_distinct: int = 0
    rows: NDArray[np.intp] | None = None


class Blocks(Protocol):
    """Blocks of rows to run over, in order: those of ``compute.blocks``, or what an executor keeps.

    ``read`` begins anew each time; whoever calls it closes the generator, behind which files are read ahead.
    """

    def __len__(self) -> int: ...
    def read(self) -> Generator[Block, None, None]: ...


class Pass(Protocol):
    """Code that computes the sums of one pass faster than the equations as written.

    ``takes`` is asked once per pass, before anything runs; what no pass takes goes to the plain one. ``run`` calls
    ``engine.fold`` with a block function of its own, on features or on ``engine.raw``. ``answered`` gives engine,
    function and inputs that tell what a function of blocks tells, or None. ``accelerated`` is asked once per map
    and engine, and gives a faster form of the map, or the map itself. ``name`` is shown to users.
    """

    @property
    def name(self) -> str: ...
    def takes(self, engine: Engine, inputs: Any) -> bool: ...
    def run(self, engine: Engine, inputs: Any) -> PassStatistics: ...
    def answered(self, engine: Engine, function: Any, inputs: Any) -> tuple[Engine, Any, Any] | None: ...
    def accelerated(self, feature_map: FeatureMap) -> FeatureMap: ...


class Engine(Protocol):
    """Knows where rows live and how sums over them are reduced; knows nothing of clustering.

    There are two: ``compute.rows.RowEngine`` on this machine, whatever the executor, and
    ``compute.cluster.DaskEngine``, which has one of those for every part of rows that are ``elsewhere``. ``views``
    are the raw rows, ``maps`` what they are seen through (none: raw rows), ``passes`` the faster code of this
    machine, ``code`` what runs in words, ``stored`` whether features are held. ``fold``, ``map_rows`` and
    ``map_blocks`` give NumPy arrays; ``raw`` is the engine without maps. ``on_parts`` adds what
    ``work(engine, inputs)`` gives for the engine of every part; ``take`` brings single rows here, absent ones as
    zeros, and tells which of them each view has, (r, L) or None. ``on_device`` tells that rows are tensors where
    they are worked on; ``table`` is as ``map_rows``, but stays there, within what there is ``room_for``.
    """

    n_samples: int
    dtype: np.dtype[Any]
    views: Views
    maps: tuple[FeatureMap, ...]
    passes: tuple[Pass, ...]
    elsewhere: bool

    @property
    def on_device(self) -> bool: ...

    @property
    def raw(self) -> Engine: ...
    @property
    def code(self) -> str: ...
    @property
    def stored(self) -> bool: ...
    def fold(self, function: Callable[[Block, P], S], parameters: P) -> S: ...
    def map_rows(self, function: Callable[[Block, P], Array], parameters: P) -> Array: ...
    def map_blocks(self, function: Callable[[Block, P], T], parameters: P) -> Generator[T, None, None]: ...
    def on_parts(self, work: Callable[[Any, P], A], inputs: P) -> A: ...
    def take(self, rows: NDArray[np.intp]) -> tuple[tuple[Array, ...], NDArray[np.bool_] | None]: ...
    def sample(self, size: int, seed: int) -> RowSample: ...
    def with_features(self, maps: tuple[FeatureMap, ...], keep: bool, working: int = 0) -> Engine: ...
    def room_for(self, n_bytes: int) -> bool: ...
    def table(self, function: Callable[[Block, P], Array], parameters: P) -> Array: ...


BlockFunction = Callable[[Block, Any], PassStatistics]
