"""What every feature map is, and what is told of it: facts are its attributes, so nobody asks what class it is.

A map is a frozen dataclass of arrays and plain values, made once and applied to any rows. Its kind is what the
registry has under a name: how to make such a map for a view, and what is known of it before one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.overflow import overflow_error
from powerkmeans.features.maps.packing import Packing
from powerkmeans.support.draws import STATISTIC_ROWS, stream, subsample
from powerkmeans.types import Array, FeatureMap, Float64Array, RowSample, T


class MapWords(NamedTuple):
    """What messages say of a map.

    components : what ``n_components`` counts
    instead : what goes before an ``n_components`` that is larger, if another map is the better way to one
    flat : what to do where all features of a view are equal to rounding, after "The kernel is flat on view ..."
    """

    components: str = "components"
    instead: str = ""
    flat: str = (
        "The kernel is flat on view {view!r}: all features are equal to rounding. "
        "The bandwidth is far larger than the distances between rows; use bandwidth='median'."
    )


class BaseMap:
    """A map of rows before its features are centred. A class says in what it differs from what is said here.

    packing : how it lies in model files
    dual : whether it puts out rows of a kernel matrix instead of coordinates (see ``types.KernelRows``)
    works_in_float64 : whether it does whatever the precision of the rows; single precision comes after centring
    misses : whether features are those of a kernel with k(x, x) = 1 less what the map misses of it
    approximates : whether it stands for a kernel, and the better the more components it has
    components_are_rows : whether it has at most as many components as there are distinct rows
    fuses : whether it takes all views together, side by side
    given : whether the rows are those of a kernel matrix themselves
    words : what messages say of it
    """

    packing: ClassVar[Packing]
    dual: ClassVar[bool] = False
    works_in_float64: ClassVar[bool] = False
    misses: ClassVar[bool] = False
    approximates: ClassVar[bool] = False
    components_are_rows: ClassVar[bool] = False
    fuses: ClassVar[bool] = False

    if TYPE_CHECKING:  # fields of one class are properties of another

        @property
        def n_components(self) -> int:
            """Frequencies, landmarks, or whatever ``n_components`` counts."""
            ...

        @property
        def n_outputs(self) -> int: ...

    @property
    def given(self) -> bool:
        return False

    @property
    def view_weights(self) -> Float64Array:
        """How much each view counts, of a map that fuses them."""
        return np.ones(1)

    @property
    def words(self) -> MapWords:
        return MapWords()

    @property
    def squared_length(self) -> float | None:
        """The most that a feature's squared length comes to; None if that depends on how long rows are."""
        return None

    @property
    def origin_length(self) -> float:
        """A bound of the length of what is subtracted from rows before they meet the bandwidth."""
        return 0.0

    @property
    def largest_output(self) -> float:
        """The largest number that it puts out for rows of any size; zero where that goes by the rows."""
        return 0.0

    @property
    def largest_row(self) -> float:
        """The largest entry of the rows that it keeps, in units of its bandwidth."""
        return 0.0

    def __call__(self, X: Array, xp: Any) -> Array:
        raise NotImplementedError

    def less(self, mean: Array, X: Array, dtype: Any, xp: Any) -> Array:
        """Features less a mean, in ``dtype``."""
        return xp.astype(self(X, xp) - mean, dtype, copy=False)

    def centred(self, mean: Array, dtype: str, scale: float = 1.0) -> CentredMap:
        """The map of centred features, whose mean is ``mean``."""
        return CentredMap(self, mean, dtype, scale)

    def before_centring(self, dtype: np.dtype[Any]) -> FeatureMap:
        """What the mean is taken of."""
        return make_centred(self, np.zeros(self.n_outputs), dtype)

    def fault(self, dtype: Any, row: int) -> ValueError:
        """What to raise where the features of a row are not finite."""
        return overflow_error(dtype, row)

    def with_lenience(self) -> BaseMap:
        """The same map without an error for rows that it cannot place, if it knows such."""
        return self

    def flaw(self) -> str | None:
        """What is wrong with arrays that fit the table of a model file, if anything is."""
        return None


def check_columns(X: Array, n_columns: int) -> None:
    """Rows of one column would be stretched to any width without a word."""
    if X.shape[1] != n_columns:
        raise ValueError(f"The rows have {X.shape[1]} columns, but the map was made for {n_columns}.")


def _one_by_one(function: Callable[[Any], T], rows: Any) -> list[T]:
    return [function(rows)]


def _undivided(features: Float64Array, weight: Float64Array, known: object = None) -> NDArray[np.integer]:
    return np.zeros(len(weight), dtype=np.int32)


@dataclass(frozen=True)
class Tools:
    """What a map that has to be learnt is made with; whoever makes a fit brings them.

    run : gives a function of consecutive rows for all given ones, in order, by as many threads as there are
    cluster : labels of features with weights, from clusters known before if there are any
    search : code that finds nearest landmarks faster, if there is any
    """

    run: Callable[[Callable[[Any], Any], Any], list[Any]] = _one_by_one
    cluster: Callable[..., NDArray[np.integer]] = _undivided
    search: Any = None  # a features.graph.distances.Search


@dataclass(frozen=True)
class Averaging:
    """How landmarks are averaged.

    least : distinct rows that each is the mean of, or more
    unit : whether rows of a view have unit length, as means have then; one for each view
    view : the name of the view, for messages; none for all together
    """

    least: int
    unit: tuple[bool, ...]
    view: str | None = None


@dataclass(frozen=True)
class MapRequest:
    """What a map is made from.

    sample : distinct rows of the view with their weights, in an order that depends on their content alone
    kernel, bandwidth, n_components : as set or chosen; no bandwidth where the kind needs none
    dtype : the precision of the features to come
    key : what random streams of the view are named by
    rows, weight : all rows of the view and their weights, absent ones zero; a dual kind has them in memory
    n_clusters, n_neighbors : as set; None leaves the neighbours to the map
    automatic : whether ``n_components`` is that of ``"auto"``, which a kind may go beyond
    offsets : columns at which views begin and end, where there are several side by side
    averaging : how landmarks are averaged; None for rows as they are
    tools : what work on the sample is done with
    """

    sample: RowSample
    kernel: str
    bandwidth: float | None
    n_components: int
    dtype: np.dtype[Any]
    seed: int
    key: str
    rows: Any
    weight: Array
    n_clusters: int = 2
    n_neighbors: int | None = None
    automatic: bool = False
    offsets: tuple[int, ...] = ()
    averaging: Averaging | None = None
    tools: Tools = field(default_factory=Tools)

    @property
    def n_columns(self) -> int:
        return int(self.rows.shape[1])

    def stream(self, *purpose: str) -> np.random.Generator:
        """The generator for one purpose."""
        return stream(self.seed, *purpose)

    def origin(self) -> Float64Array:
        """A point amid the rows, for numerics alone: shift-invariant kernels do not notice where zero is.

        The median of some rows, which no outlier moves; zero for sparse rows, which stay sparse.
        """
        (view,) = subsample(self.sample, STATISTIC_ROWS, self.stream("origin")).views
        return np.zeros(view.shape[1]) if hasattr(view, "toarray") else np.median(view.astype(np.float64), axis=0)


class MapKind:
    """A way to make feature maps; what differs from what is said here a kind says.

    map_class : the class of the maps that it makes
    sized : whether ``n_components`` means anything to it
    has_landmarks : whether its maps keep rows, which may be averages instead
    learns_from_streams : whether a model goes on from further rows; not if it keeps the training rows
    """

    map_class: ClassVar[type[BaseMap]]
    sized: ClassVar[bool] = True
    has_landmarks: ClassVar[bool] = False
    learns_from_streams: ClassVar[bool] = True

    @property
    def dual(self) -> bool:
        """Whether its maps are, which keep all training rows in memory."""
        return self.map_class.dual

    @property
    def fuses(self) -> bool:
        """Whether its maps take all views together."""
        return self.map_class.fuses

    def make(self, request: MapRequest) -> BaseMap:
        """The map of one view."""
        raise NotImplementedError

    def kernels(self) -> tuple[str, ...]:
        """The kernels that it takes."""
        return tuple(KERNELS)

    def needs_bandwidth(self, kernel: str) -> bool:
        """Whether there is a bandwidth to choose."""
        return True

    def automatic_size(self, n_clusters: int) -> int:
        """The ``n_components`` of ``"auto"``, where it is ``sized``; the least, if that goes by the rows too."""
        raise NotImplementedError

    def largest_size(self, n_clusters: int, n_rows: int, n_columns: int) -> int:
        """The most that ``"auto"`` comes to for so many distinct rows."""
        return self.automatic_size(n_clusters)

    def about_size(self, n_clusters: int, kernel: str) -> str:
        """Where the automatic size comes from, in words."""
        return f"{self.automatic_size(n_clusters)} {MapWords().components}"

    def outputs_and_numbers(self, n_components: int, n_columns: int) -> tuple[int, int]:
        """Outputs of a map of that size, and numbers that making it takes."""
        return n_components, n_components * n_columns
