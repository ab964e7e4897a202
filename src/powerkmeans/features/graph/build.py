"""A graph from sampled rows: landmarks, ties, directions, and how much each view counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from powerkmeans.features.bandwidth import weighted_median
from powerkmeans.features.graph.alike import ALIKE, agreement
from powerkmeans.features.graph.distances import Landmarks, usual_distances
from powerkmeans.features.graph.neighbours import FEW_NEIGHBORS, Neighbours, neighbours, shared_reach
from powerkmeans.features.graph.placing import Placing
from powerkmeans.features.graph.shares import LEAST_SHARE, beyond_chance
from powerkmeans.features.graph.spectrum import WIDE, Spectrum, Ties, gaps, shares_matrix, spectrum, ties_of
from powerkmeans.features.maps.base import Tools
from powerkmeans.features.pairs import as_dense
from powerkmeans.types import Float64Array, array_namespace

# landmarks between which the usual distance of a view is taken
_TYPICAL_ROWS = 500

# the gap behind the k-th eigenvalue over the next one, from which it is clear enough
CLEAR_GAP = 0.5
# times as many neighbours that have to find clusters again that are apart
MORE = 1.5
# how many times as many neighbours are taken at most where equal distances leave rows with next to none
SPLINTERED = 8

Labels = NDArray[np.integer]


class Rows(NamedTuple):
    """Distinct rows that a graph is built on, with their weights, and what the work is done with."""

    X: Any
    weight: Float64Array
    tools: Tools


@dataclass(frozen=True)
class GraphSize:
    """How many landmarks a graph has, how many of them are neighbours of a row, and for how many clusters.

    fixed : whether rows have so many neighbours whatever the graph says
    """

    n_landmarks: int
    n_neighbors: int
    n_clusters: int
    fixed: bool = True


@dataclass(frozen=True)
class Graph:
    """A graph that is built: all that a map needs, and the sampled rows as it sees them.

    shares : ``Z`` of the sampled rows
    reach : the squared distance from each of them to the farthest of its neighbours
    n_neighbors, n_wanted : the landmarks that a row is tied to, and before the graph fell into pieces
    n_pieces : pieces of it without ties between them
    gap, next_gap : those in the spectrum behind as many eigenvalues as there are clusters, and behind one more
    """

    placing: Placing
    landmarks: Landmarks
    n_neighbors: int
    n_wanted: int
    spectrum: Spectrum
    shares: csr_array
    reach: Float64Array
    n_pieces: int
    gap: float
    next_gap: float

    @property
    def n_directions(self) -> int:
        return len(self.spectrum.values)

    def along(self, n_directions: int) -> Graph:
        """The graph with fewer directions."""
        values, loading = self.spectrum
        return replace(self, spectrum=Spectrum(values[:n_directions], loading[:, :n_directions]))

    @property
    def features(self) -> Float64Array:
        """The sampled rows in the graph's coordinates, at unit length."""
        total = self.shares @ self.spectrum.loading
        length = np.sqrt(np.vecdot(total, total))[:, None]
        return total / np.where(length == 0, 1.0, length)


def build_graph(rows: Rows, placing: Placing, drawn: Any, size: GraphSize) -> Graph:
    """The graph on drawn landmarks."""
    landmarks = even_landmarks(placing(drawn, np), placing.placed_offsets)
    return weighed_graph(rows, placing, replace(landmarks, search=rows.tools.search), size)


def weighed_graph(rows: Rows, placing: Placing, landmarks: Landmarks, size: GraphSize) -> Graph:
    """The graph on landmarks of even weights; views are weighed by what a first graph finds."""
    first = _cut(rows, tied_graph(rows, placing, landmarks, size), size)
    if landmarks.n_views == 1:
        return first
    labels = rows.tools.cluster(first.features, rows.weight)
    landmarks = replace(landmarks, weights=view_weights(rows, first, labels))
    return _cut(rows, tied_graph(rows, placing, landmarks, size), size)


def again(rows: Rows, graph: Graph, size: GraphSize) -> Graph:
    """The graph of another size, on the same landmarks with the same weights of views."""
    return _cut(rows, tied_graph(rows, graph.placing, graph.landmarks, size), size)


def _cut(rows: Rows, graph: Graph, size: GraphSize) -> Graph:
    """The graph along as many directions as are taken: no more than clusters where these are apart.

    The next direction would cut through one of them, most easily through a long one.
    """
    count = n_directions(graph.spectrum.values, size.n_clusters)
    if count > size.n_clusters > 1 and apart(rows, graph, size.n_clusters):
        count = size.n_clusters
    return graph.along(count)


def apart(rows: Rows, graph: Graph, n_clusters: int) -> bool:
    """Whether there is a wide gap behind as many directions as clusters, and more neighbours find the same ones.

    Few neighbours leave thin shapes gaps by chance, which a few more of them span.
    """
    if graph.gap <= WIDE:
        return False
    size = GraphSize(graph.landmarks.rows.shape[0], round(MORE * graph.n_neighbors), n_clusters)
    wider = tied_graph(rows, graph.placing, graph.landmarks, size)
    if wider.gap <= WIDE:
        return False
    graphs = (one.along(n_clusters).features for one in (graph, wider))
    first, second = (rows.tools.cluster(features, rows.weight) for features in graphs)
    return agreement(first, second, rows.weight) >= ALIKE


def even_landmarks(rows: Any, offsets: tuple[int, ...]) -> Landmarks:
    """Landmarks with all views weighed alike, but those that do not vary."""
    n_views = len(offsets) - 1
    ones = np.ones(n_views)
    plain = Landmarks(rows, offsets, ones, ones, ones)
    typical, spread = np.array([usual_distances(_some(plain.alone(v, np).rows)) for v in range(n_views)]).T
    varied = typical > 0
    return Landmarks(rows, offsets, even_weights(varied), np.where(varied, typical, 1.0), spread)


def even_weights(counted: NDArray[np.bool_]) -> Float64Array:
    """The same weight for all views that count."""
    return counted / max(1, int(np.sum(counted)))


def _some(rows: Any) -> Any:
    return rows[:: max(1, rows.shape[0] // _TYPICAL_ROWS)]


def tied_graph(rows: Rows, placing: Placing, landmarks: Landmarks, size: GraphSize) -> Graph:
    """Tie rows to more and more neighbours until the graph has no more pieces than there are clusters.

    It has two directions more than clusters, from which ``n_directions`` chooses.
    At first to half of the landmarks at most: rows that are all tied to each other are not told apart.
    Splinters are no pieces of their own: up to a few times as many neighbours are taken to be rid of them.
    """
    count = wanted = max(1, min(size.n_neighbors, (landmarks.rows.shape[0] - 1) // 2))
    while True:
        landmarks, found = _tied(rows, placing, landmarks, count)
        shares = shares_matrix(found, landmarks.rows.shape[0])
        ties = ties_of(shares, rows.weight)
        whole = ties.smallest_piece >= count or count >= SPLINTERED * wanted or not _complete(landmarks)
        if (ties.n_pieces <= size.n_clusters and whole) or count >= landmarks.rows.shape[0] - 1:
            break
        count = min(2 * count, landmarks.rows.shape[0] - 1)
    directions = spectrum(ties, size.n_clusters + 2)
    gap, next_gap = map(float, gaps(directions.values, [size.n_clusters, size.n_clusters + 1]))
    return Graph(placing, landmarks, count, wanted, directions, shares, found.reach, ties.n_pieces, gap, next_gap)


def ties_with(rows: Rows, graph: Graph, n_neighbors: int) -> Ties:
    """How rows would tie the landmarks of a graph with so many neighbours."""
    landmarks, found = _tied(rows, graph.placing, graph.landmarks, n_neighbors)
    return ties_of(shares_matrix(found, landmarks.rows.shape[0]), rows.weight)


def shares_among(rows: Rows, placing: Placing, landmarks: Landmarks, n_neighbors: int) -> csr_array:
    """How rows share themselves among landmarks."""
    found = row_neighbours(rows, Nearest(placing, landmarks, n_neighbors))
    return shares_matrix(found, landmarks.rows.shape[0])


def _complete(landmarks: Landmarks) -> bool:
    """Whether all landmarks have all views: else a small piece may be rows that share a view with few others."""
    return landmarks.n_views == 1 or bool(np.all(as_dense(landmarks.present(landmarks.rows)) > 0))


def usual_reach(rows: Rows, graph: Graph) -> float:
    """The median squared distance from the graph's rows to the farthest of the few by which they are scored."""
    reach = graph.reach
    if graph.n_neighbors > FEW_NEIGHBORS:
        reach = row_neighbours(rows, Nearest(graph.placing, graph.landmarks, FEW_NEIGHBORS)).reach
    present = as_dense(rows.X[:, graph.placing.offsets[-1] :])
    return weighted_median(shared_reach(present, graph.landmarks, reach, np), rows.weight)


def n_directions(values: Float64Array, n_clusters: int) -> int:
    """How many eigenvalues are taken: as many as clusters, or one more where a clear gap is there instead.

    One for each is what cuts take. Where the next is nearly as large any mixture of both would do as well, and
    which it is hangs on single rows. In one direction alone all rows are alike.
    """
    if n_clusters == 1 or len(values) < n_clusters + 2:
        return max(2, n_clusters)
    first, second = -np.diff(values[n_clusters - 1 : n_clusters + 2])
    return n_clusters if first >= CLEAR_GAP * second else n_clusters + 1


def _tied(rows: Rows, placing: Placing, landmarks: Landmarks, count: int) -> tuple[Landmarks, Neighbours]:
    """Neighbours of all rows; landmarks that are nobody's are left out."""
    while True:
        found = row_neighbours(rows, Nearest(placing, landmarks, count))
        used = np.bincount(found.index.ravel(), found.share.ravel(), landmarks.rows.shape[0]) > 0
        if np.all(used):
            return landmarks, found
        landmarks = replace(landmarks, rows=landmarks.rows[np.flatnonzero(used)])


@dataclass(frozen=True)
class Nearest:
    """The landmarks nearest to raw rows, in all views or in one alone.

    A value and no closure: engines bring it to where they have the rows.
    """

    placing: Placing
    landmarks: Landmarks
    count: int
    view: int | None = None

    def __call__(self, X: Any) -> Neighbours:
        xp = array_namespace(self.landmarks.weights)
        rows = self.placing(X, xp)
        if self.view is not None:
            start, end = self.placing.placed_offsets[self.view : self.view + 2]
            rows = rows[:, start:end]
        return neighbours(rows, self.landmarks, self.count, xp)


def row_neighbours(rows: Rows, nearest: Nearest) -> Neighbours:
    """Neighbours of all rows; a row that has no view in common with any landmark has no shares."""
    parts = rows.tools.run(nearest, rows.X)
    joined = Neighbours(*(np.concatenate(some, axis=0) for some in zip(*parts, strict=True)))
    return joined._replace(share=np.where(np.isnan(joined.share), 0.0, joined.share))


def view_weights(rows: Rows, graph: Graph, labels: Labels) -> Float64Array:
    """``alpha_l`` in proportion to how many of a row's neighbours in view l alone are of its cluster."""
    found = np.array([view_share(rows, graph, view, labels) for view in range(graph.landmarks.n_views)])
    found = np.where(graph.landmarks.weights > 0, np.maximum(found, LEAST_SHARE), 0.0)
    return found / np.sum(found)


def view_share(rows: Rows, graph: Graph, view: int, labels: Labels) -> float:
    """How many of the neighbours in one view alone are of a row's cluster, beyond chance."""
    landmarks, alone = graph.landmarks, graph.landmarks.alone(view, np)
    if landmarks.weights[view] == 0 or alone.rows.shape[0] < 2:
        return 0.0
    count = min(graph.n_neighbors, alone.rows.shape[0] - 1)
    found = row_neighbours(rows, Nearest(graph.placing, alone, count, view))
    shares = shares_matrix(found, alone.rows.shape[0])
    weight = rows.weight
    if landmarks.n_views > 1:
        marks = graph.placing.offsets[-1] + view
        weight = weight * as_dense(rows.X[:, marks : marks + 1])[:, 0]
    return beyond_chance(shares, labels, weight)
