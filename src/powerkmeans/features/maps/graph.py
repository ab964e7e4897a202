"""Coordinates from a graph of landmarks: clusters of any shape."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from powerkmeans.features.averages import landmark_rows
from powerkmeans.features.graph.agreement import Judgement
from powerkmeans.features.graph.build import GraphSize, Rows, usual_reach
from powerkmeans.features.graph.choice import Chosen, clearest_graph, doubted_graph
from powerkmeans.features.graph.distances import Landmarks, Search, alike
from powerkmeans.features.graph.neighbours import FEW_NEIGHBORS, Neighbours, neighbours, shared_reach
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.maps.base import BaseMap, MapKind, MapRequest, MapWords, check_columns
from powerkmeans.features.maps.packing import ArrayEntry, Packing, PlainEntry
from powerkmeans.support.precision import HALF_THE_DIGITS
from powerkmeans.types import Array, Float64Array, device_of

# landmarks of a map unless told otherwise, and for each cluster: more are better, and cost in proportion
MANY_LANDMARKS, LANDMARKS_PER_CLUSTER = 2000, 10


def _arrays(entries: Mapping[str, Any]) -> dict[str, ArrayEntry]:
    """The arrays of a map in a file: m landmarks of c columns, f stored numbers if they are sparse."""
    double = np.finfo(np.float64)
    arrays = {
        "mean": ArrayEntry("p#"),
        "origin": ArrayEntry("d#"),
        "offsets": ArrayEntry("l#+1", "int64", low=0),
        "weights": ArrayEntry("l#", low=0, high=1),
        "typical": ArrayEntry("l#", low=float(double.tiny), high=float(double.max)),  # squares
        "spread": ArrayEntry("l#", low=float(double.tiny)),
        "loading": ArrayEntry("m# p#"),
    }
    if entries["projected"]:
        arrays["projection"] = ArrayEntry("d# e#")
    if entries["sparse"]:
        return arrays | {
            "data": ArrayEntry("f#"),
            "indices": ArrayEntry("f#", "int32 int64", low=0),
            "indptr": ArrayEntry("m#+1", "int32 int64", low=0),
        }
    return arrays | {"landmarks": ArrayEntry("m# c#")}


@dataclass(frozen=True)
class GraphMap(BaseMap):
    """``phi(x) = z(x) Lambda~^{-1/2} V mu^{-1/2}``, scaled to unit length.

    ``z`` are the shares of a row's nearest landmarks (``features.graph.neighbours``), the rest comes from the
    spectrum of the graph that training rows tie between landmarks (``features.graph.spectrum``). Several views are
    fused: rows have them side by side, then one column for each that tells where it is present.

    origin, offsets, projection : how rows are placed (``features.graph.placing``)
    landmarks : (m, c), placed
    data, indices, indptr : the parts of landmarks that are sparse, which lie in files instead of them
    weights, typical, spread : how much each view counts in a distance, and what is usual in it
    loading : (m, q), what shares are multiplied by
    n_wanted : the neighbours that a row was to have; n_neighbors are more where the graph fell into pieces
    n_pieces : pieces of the graph that no row ties together
    agreement : what the graph and graphs on two halves of its landmarks agree on, from 0 to 1
    purity : how many neighbours of a row are of its cluster, beyond chance, from 0 to 1
    usual : the median squared distance from a row to the farthest of those by which it is scored
    search : code that finds nearest landmarks faster, if there is any; not part of a file
    lenient : whether rows without any neighbour have features of zero; else they have none, which is an error
    doubt : what speaks against the graph whatever its halves agree on, if that was asked; not part of a file
    """

    origin: Array
    offsets: Array
    weights: Array
    typical: Array
    spread: Array
    loading: Array
    n_neighbors: int
    n_wanted: int
    n_pieces: int
    agreement: float
    purity: float
    usual: float
    sparse: bool = False
    projected: bool = False
    projection: Array | None = None
    landmarks: Any = None
    data: Array | None = None
    indices: Array | None = None
    indptr: Array | None = None
    lenient: bool = False
    search: Search | None = None
    doubt: str | None = None

    works_in_float64: ClassVar[bool] = True
    components_are_rows: ClassVar[bool] = True
    fuses: ClassVar[bool] = True
    squared_length: ClassVar[float] = 1.0
    largest_output: ClassVar[float] = 1.0
    words: ClassVar[MapWords] = MapWords(
        "landmarks",
        flat="All rows have the same coordinates in the graph of view {view!r}: each is tied to the same "
        "landmarks, so nothing tells them apart. Use fewer n_neighbors, or feature_map='nystroem'.",
    )
    packing: ClassVar[Packing] = Packing(
        "graph",
        _arrays,
        {
            "n_neighbors": PlainEntry(int, low=1),
            "n_wanted": PlainEntry(int, low=1),
            "n_pieces": PlainEntry(int, low=1),
            "agreement": PlainEntry(float),
            "purity": PlainEntry(float),
            "usual": PlainEntry(float, squared=True),
            "sparse": PlainEntry(bool),
            "projected": PlainEntry(bool),
        },
        has_bandwidth=lambda entries: False,
    )

    def __post_init__(self) -> None:
        if not self.sparse or self.landmarks is not None:  # an engine without sparse rows brings dense ones
            return
        parts = (self.data, self.indices, self.indptr)
        with suppress(ValueError):  # files are checked once they are read
            rows: Any = csr_array(parts, shape=(self.n_components, self.origin.shape[0]))  # type: ignore[arg-type]
            object.__setattr__(self, "landmarks", rows)

    @property
    def n_components(self) -> int:
        return int(self.loading.shape[0])

    @property
    def n_outputs(self) -> int:
        return int(self.loading.shape[1])

    @property
    def view_weights(self) -> Float64Array:
        return self.weights

    @property
    def placing(self) -> Placing:
        """What brings rows to where landmarks are."""
        return Placing(self.origin, tuple(int(column) for column in self.offsets), self.projection)

    @property
    def placed(self) -> Landmarks:
        """The landmarks as distances take them."""
        offsets = self.placing.placed_offsets
        return Landmarks(self.landmarks, offsets, self.weights, self.typical, self.spread, self.search)

    def embedded(self, rows: Array, xp: Any) -> Array:
        """The coordinates of placed rows."""
        rows, found = alike(rows, self.placed), None
        if self.search is not None and not hasattr(rows, "toarray"):
            found = self.search.embedded(rows, self.placed, self.n_neighbors, self.loading)
        return embedded(self.nearest(rows, xp), self.loading, xp) if found is None else found

    def nearest(self, rows: Array, xp: Any) -> Neighbours:
        """The landmarks nearest to each of the rows, which are placed already."""
        return neighbours(rows, self.placed, self.n_neighbors, xp)

    def scoring(self, rows: Array, xp: Any) -> Neighbours:
        """The few by which rows that are placed already are scored, with how far they are over shared views."""
        found = neighbours(rows, self.placed, min(self.n_neighbors, FEW_NEIGHBORS), xp)
        return found._replace(reach=shared_reach(self.placed.present(rows), self.placed, found.reach, xp))

    def __call__(self, X: Array, xp: Any) -> Array:
        check_columns(X, self.origin.shape[0])
        features = self.embedded(self.placing(X, xp), xp)
        return xp.where(xp.isnan(features), xp.zeros_like(features), features) if self.lenient else features

    def with_lenience(self) -> GraphMap:
        return replace(self, lenient=True)

    @property
    def judged(self) -> Judgement:
        """What speaks for the graph."""
        return Judgement(self.agreement, self.purity)

    def flaw(self) -> str | None:
        widths, n_columns = np.diff(self.offsets), self.origin.shape[0]
        n_marks = len(widths) if len(widths) > 1 else 0
        if self.offsets[0] != 0 or not np.all(widths > 0) or self.offsets[-1] + n_marks != n_columns:
            return f"offsets must rise from 0 to the {n_columns - n_marks} columns of its views"
        if not abs(float(np.sum(self.weights)) - 1) < HALF_THE_DIGITS:
            return "weights must add up to 1"
        if not (self.agreement <= 1 and self.purity <= 1) or self.n_pieces > self.n_components:
            return "agreement or purity is above 1, or n_pieces above the number of landmarks"
        return self._flaw_of_landmarks(n_marks)

    def _flaw_of_landmarks(self, n_marks: int) -> str | None:
        if self.sparse and (self.projected or not _in_order(self.landmarks)):
            return "data, indices and indptr are no sparse rows"
        placed, end = self.placed, self.placing.placed_offsets[-1]
        if self.n_neighbors > placed.rows.shape[0]:
            return "it has fewer landmarks than neighbours of a row"
        if placed.rows.shape[1] != end + n_marks:
            return f"landmarks must have {end + n_marks} columns"
        marks = placed.present(placed.rows) if n_marks else np.ones((1, 1))
        if np.any(self.origin[self.offsets[-1] :]) or not np.all((marks == 0) | (marks == 1)):
            return "the columns that tell which views are present must be 0 or 1"
        return None if np.all(np.any(marks > 0, axis=1)) else "a landmark has no view"

    def fault(self, dtype: Any, row: int) -> ValueError:
        if len(self.view_weights) == 1:
            return super().fault(dtype, row)
        return ValueError(
            f"Sample {row} has no view in common with any landmark, so nobody is near it. Leave it out, or give "
            "it a view that others have; predict with noise_threshold labels such samples -1."
        )


def _in_order(rows: csr_array | None) -> bool:
    """Whether sparse rows could be made of their parts, and have each column once, in order."""
    if rows is None:
        return False
    try:
        rows.check_format(full_check=True)
    except ValueError:
        return False
    return bool(rows.has_canonical_format)


def embedded(found: Neighbours, loading: Array, xp: Any) -> Array:
    """``z(x)`` times the loadings, at unit length."""
    total = xp.zeros((found.index.shape[0], loading.shape[1]), dtype=loading.dtype, device=device_of(loading))
    for rank in range(found.index.shape[1]):
        total += found.share[:, rank][:, None] * xp.take(loading, found.index[:, rank], axis=0)
    length = xp.sqrt(xp.linalg.vecdot(total, total))[:, None]
    return total / xp.where(length == 0, xp.ones_like(length), length)


class GraphKind(MapKind):
    """One graph of landmarks for all views."""

    map_class = GraphMap
    has_landmarks = True
    build = staticmethod(clearest_graph)

    def make(self, request: MapRequest) -> GraphMap:
        sample = request.sample
        offsets = request.offsets or (0, request.n_columns)
        drawn = landmark_rows(request, request.n_components)
        rows = Rows(sample.views[0], sample.weight, request.tools)
        count = request.n_neighbors
        size = GraphSize(drawn.shape[0], count or FEW_NEIGHBORS, request.n_clusters, fixed=count is not None)
        placing = Placing(origin_of(rows.X if request.averaging is None else drawn, offsets), offsets)
        return map_of(self.build(rows, placing, drawn, size, request.stream("agreement")))

    def kernels(self) -> tuple[str, ...]:
        return ("rbf",)

    def needs_bandwidth(self, kernel: str) -> bool:
        return False

    def automatic_size(self, n_clusters: int) -> int:
        return max(MANY_LANDMARKS, LANDMARKS_PER_CLUSTER * n_clusters)

    def about_size(self, n_clusters: int, kernel: str) -> str:
        return f"{self.automatic_size(n_clusters)} landmarks, or all distinct rows if they are fewer"

    def outputs_and_numbers(self, n_components: int, n_columns: int) -> tuple[int, int]:
        """The landmarks, and a share of them for each sampled row."""
        return 2, n_components * n_columns


class AutoKind(GraphKind):
    """The same of rows as they are, for fits that take landmarks instead where that tells nothing."""

    build = staticmethod(doubted_graph)


def _within(value: float) -> float:
    """From 0 to 1, where rounding may lead beyond."""
    return min(1.0, max(0.0, value))


def map_of(chosen: Chosen) -> GraphMap:
    """The map that a graph gives."""
    graph = chosen.graph
    rows = graph.landmarks.rows
    sparse = hasattr(rows, "indptr")
    held = {name: getattr(rows, name) for name in ("data", "indices", "indptr")} if sparse else {"landmarks": rows}
    return GraphMap(
        origin=graph.placing.origin,
        offsets=np.array(graph.placing.offsets, dtype=np.int64),
        weights=graph.landmarks.weights,
        typical=graph.landmarks.typical,
        spread=graph.landmarks.spread,
        loading=graph.spectrum.loading,
        n_neighbors=graph.n_neighbors,
        n_wanted=graph.n_wanted,
        n_pieces=graph.n_pieces,
        agreement=_within(chosen.judged.agreement),
        purity=_within(chosen.judged.purity),
        usual=usual_reach(chosen.rows, graph),
        sparse=sparse,
        projected=graph.placing.projection is not None,
        projection=graph.placing.projection,
        doubt=chosen.doubt,
        **held,
    )
