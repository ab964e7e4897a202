"""Arguments of the compiled functions: the one place where arrays become addresses.

A call is an object that holds every array that it points to. Each is brought into the form that C++ reads
(contiguous, aligned, of one real type) and compared with the others first: native code checks nothing.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from powerkmeans.compute.native.structures import (
    LandmarkStructure,
    MapStructure,
    PassStructure,
    SearchStructure,
    ViewStructure,
)
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.neighbours import Neighbours
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.features.maps.nystroem import NystroemMap
from powerkmeans.objective.block import (
    Nearest,
    PassInput,
    block_distances,
    block_labels,
    block_nearest,
    block_outlier_scores,
    block_probabilities,
    block_typicality,
)
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.support.precision import HALF_THE_DIGITS, ROUNDING
from powerkmeans.types import Array, Block, PassStatistics

# what a pass tells of each row instead of sums, numbered as in cpp/arguments.h
ANSWERS: dict[Callable[..., Any], int] = {
    block_labels: 1,
    block_distances: 2,
    block_probabilities: 3,
    block_typicality: 4,
    block_outlier_scores: 5,
    block_nearest: 6,
}
_BY_CLUSTER = (block_distances, block_probabilities)
# memberships that the compiled pass knows, and whether they are possibilistic
MEMBERSHIPS: dict[type, bool] = {Fuzzy: False, Possibilistic: True}


class Call:
    """Arrays of one call as C++ sees them, kept for as long as the call is."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"The compiled kernel computes in float32 or float64, not in {self.dtype}.")
        self.precision = f"float{8 * self.dtype.itemsize}"  # its name, which NumPy takes long to tell
        self._kept: list[Array] = []

    def _address(self, what: str, array: Any, shape: tuple[int, ...], dtype: Any = None) -> int:
        """Where the array is, or a copy of it in the form that C++ reads."""
        given, dtype = np.asarray(array), self.dtype if dtype is None else dtype
        flags = given.flags
        if given.shape != shape:
            raise ValueError(f"The compiled kernel needs {what} of shape {shape}, got {given.shape}.")
        if not (given.dtype == dtype and flags.c_contiguous and flags.aligned):
            if not np.can_cast(given.dtype, dtype, "same_kind"):
                raise ValueError(f"The compiled kernel needs {what} as {np.dtype(dtype)}, got {given.dtype}.")
            given = np.array(given, dtype=dtype, order="C")
        self._kept.append(given)
        return int(given.__array_interface__["data"][0])  # quicker than `ctypes`

    def _map(self, feature_map: CentredMap) -> MapStructure:
        base = feature_map.base
        n_columns, n_frequencies = _two_sizes("frequencies", base.frequencies)
        if n_frequencies == 0:
            raise ValueError("The compiled kernel needs a Fourier map of at least one frequency.")
        return MapStructure(
            n_columns=n_columns,
            n_frequencies=n_frequencies,
            scale=feature_map.scale,
            origin=self._address("the map's origin", base.origin, (n_columns,)),
            frequencies=self._address("frequencies", base.frequencies, (n_columns, n_frequencies)),
            mean=self._address("the map's mean", feature_map.mean, (2 * n_frequencies,)),
        )


class MapCall(Call):
    """Features of rows by a centred Fourier map: ``features`` is what the call fills."""

    def __init__(self, feature_map: CentredMap, rows: Array) -> None:
        super().__init__(rows.dtype)
        self.structure = self._map(feature_map)
        self.n_rows = len(rows)
        self.rows = self._address("rows to map", rows, (self.n_rows, self.structure.n_columns))
        self.features = np.empty((self.n_rows, 2 * self.structure.n_frequencies), dtype=self.dtype)
        self.out = self._address("features", self.features, self.features.shape)


class CommonArguments(Call):
    """What all blocks of a pass have in common, brought into form once: parameters, and maps if rows are raw."""

    def __init__(self, inputs: PassInput, maps: tuple[CentredMap, ...] | None) -> None:
        super().__init__(inputs.dtype)
        _check_numbers(inputs)
        self.n_clusters, self.raw = len(inputs.center_norms[0]), maps is not None
        if self.n_clusters == 0:
            raise ValueError("The compiled kernel needs at least one centroid.")
        self.n_views = self._count_views(inputs, maps)
        self._views = (ViewStructure * self.n_views)()
        for index, view in enumerate(self._views):
            self._fill(view, index, inputs, None if maps is None else maps[index])
        self.width = sum(view.width for view in self._views)
        self._structure = self._unfilled(inputs)

    def structures(self) -> tuple[PassStructure, Any]:
        """A pass and its views, where what is a block's own is still to be filled in."""
        return PassStructure.from_buffer_copy(self._structure), type(self._views).from_buffer_copy(self._views)

    def columns_of(self, view: ViewStructure) -> int:
        """How many columns the rows of a view have."""
        return int(view.map.contents.n_columns if self.raw else view.width)

    @staticmethod
    def _count_views(inputs: PassInput, maps: tuple[CentredMap, ...] | None) -> int:
        counts = {
            "view weights": inputs.view_weights,
            "references": inputs.references,
            "projections": inputs.projections,
            "norms of centroids": inputs.center_norms,
            **({} if maps is None else {"maps": maps}),
        }
        n_views = max(map(len, counts.values()))
        _check_counts(n_views, counts)
        return n_views

    def _fill(self, view: ViewStructure, index: int, inputs: PassInput, feature_map: CentredMap | None) -> None:
        k, of = self.n_clusters, f"of view {index}"
        view.width, _ = _two_sizes(f"projections {of}", inputs.projections[index])
        view.weight, view.reference = inputs.view_weights[index], inputs.references[index]
        if feature_map is not None:
            view.map = ctypes.pointer(self._map(feature_map))
            _check_width(view, of)
        view.projection = self._address(f"projections {of}", inputs.projections[index], (view.width, k))
        view.center_norms = self._address(f"norms of centroids {of}", inputs.center_norms[index], (k, 1))

    def _unfilled(self, inputs: PassInput) -> PassStructure:
        hard = inputs.s == -math.inf
        return PassStructure(
            n_clusters=self.n_clusters,
            n_views=self.n_views,
            hard=hard,
            possibilistic=MEMBERSHIPS[type(inputs.membership)],
            resolution=inputs.resolution,
            s=-1.0 if hard else inputs.s,
            fuzziness=inputs.membership.fuzziness,
        )


class PassCall(Call):
    """One pass over a block of features or of raw rows: the call fills ``sums`` and ``totals``."""

    def __init__(self, block: Block, common: CommonArguments) -> None:
        super().__init__(common.dtype)
        self._common, self._n_rows, self._n_clusters = common, len(block.weight), common.n_clusters
        self._check_views(block)
        self.structure, self._views = common.structures()
        for index, view in enumerate(self._views):
            self._fill(view, index, block)
        # masses, scatters and residuals, (k, L) each; sizes, (k,); loss and hard cost: one array is one address
        self._numbers = np.empty(self._n_clusters * (3 * common.n_views + 1) + 2)
        self.sums, self.totals = self._empty_sums(), self._numbers[-2:]
        self._complete(block)

    def _check_views(self, block: Block) -> None:
        counts: dict[str, Any] = {"views of centroids": self._common._views}
        if not self._common.raw:
            counts["norms"] = block.squared_norms
        if block.present is not None:
            counts["rows of the mask of present views"] = block.present
        _check_counts(len(block.views), counts)

    def _fill(self, view: ViewStructure, index: int, block: Block) -> None:
        n, of = self._n_rows, f"of view {index}"
        view.rows = self._address(f"rows {of}", block.views[index], (n, self._common.columns_of(view)))
        if not self._common.raw:
            view.norms = self._address(f"norms {of}", block.squared_norms[index], (n,))
        if block.present is not None:
            view.present = self._address(f"the mask {of}", block.present[index], (n,), np.bool_)

    def _empty_sums(self) -> PassStatistics:
        k, n_views = self._n_clusters, self._common.n_views
        by_view = self._numbers[: 3 * k * n_views].reshape(3, k, n_views)
        return PassStatistics(
            mass=by_view[0],
            moment=np.zeros((k, self._common.width), dtype=self.dtype),  # the others are set, this one is added to
            scatter=by_view[1],
            residual=by_view[2],
            sizes=self._numbers[3 * k * n_views : -2],
            loss=0.0,
            hard_cost=0.0,
        )

    def _complete(self, block: Block) -> None:
        by_view, step, given = self._n_clusters * self._common.n_views, self._numbers.itemsize, self.structure
        first = self._address("sums", self._numbers, self._numbers.shape, np.float64)
        given.n_rows = self._n_rows
        given.views = self._views
        given.weight = self._address("weights", block.weight, (self._n_rows,))
        given.moment = self._address("moments", self.sums.moment, self.sums.moment.shape)
        given.mass, given.scatter = first, first + step * by_view
        given.residual, given.sizes = first + step * 2 * by_view, first + step * 3 * by_view
        given.totals = first + step * (3 * by_view + self._n_clusters)


class AnswerCall(PassCall):
    """What one of the functions of ``ANSWERS`` tells of rows: the call fills ``answers``, or ``nearest`` too."""

    def __init__(self, block: Block, common: CommonArguments, function: Callable[..., Any]) -> None:
        super().__init__(block, common)
        shape = (self._n_rows, self._n_clusters) if function in _BY_CLUSTER else (self._n_rows,)
        dtype = np.dtype(np.int32) if function in (block_labels, block_nearest) else self.dtype
        self.answers = np.empty(shape, dtype=dtype)
        self.structure.answer = ANSWERS[function]
        self.structure.answers = self._address("answers", self.answers, shape, dtype)
        if function is block_nearest:
            self.nearest = np.empty(self._n_rows, dtype=self.dtype)
            self.structure.nearest = self._address("nearest", self.nearest, (self._n_rows,), self.dtype)

    @property
    def told(self) -> Any:
        """What the function tells."""
        both = self.structure.answer == ANSWERS[block_nearest]
        return Nearest(self.answers, self.nearest) if both else self.answers


class SearchCall(Call):
    """The landmarks nearest to rows: the call fills ``found``, and with loadings ``features``."""

    def __init__(self, rows: Array, landmarks: Landmarks, n_neighbors: int, loading: Array | None = None) -> None:
        super().__init__(np.float64)
        n_landmarks, n_columns = _two_sizes("landmarks", landmarks.rows)
        n_rows, n_views = len(rows), landmarks.n_views
        _check_search(landmarks, n_neighbors, n_columns)
        self.found = Neighbours(
            np.empty((n_rows, n_neighbors), dtype=np.int64),
            np.empty((n_rows, n_neighbors)),
            np.empty(n_rows, dtype=np.bool_),
            np.empty(n_rows),
        )
        self.structure = SearchStructure(
            n_rows=n_rows,
            n_landmarks=n_landmarks,
            n_columns=n_columns,
            n_views=n_views,
            n_neighbors=n_neighbors,
            count=min(n_neighbors + 1, n_landmarks),
            rounding=ROUNDING,
            tolerance=HALF_THE_DIGITS,
            offsets=self._address("offsets", landmarks.offsets, (n_views + 1,), np.int64),
            scale=self._address("scales", landmarks.weights / landmarks.spread, (n_views,)),
            typical=self._address("usual distances", landmarks.typical, (n_views,)),
            rows=self._address("rows", rows, (n_rows, n_columns)),
            landmarks=self._address("landmarks", landmarks.rows, (n_landmarks, n_columns)),
            index=self._address("numbers of landmarks", self.found.index, (n_rows, n_neighbors), np.int64),
            share=self._address("shares", self.found.share, (n_rows, n_neighbors)),
            itself=self._address("marks", self.found.itself, (n_rows,), np.bool_),
            reach=self._address("reaches", self.found.reach, (n_rows,)),
        )
        if loading is not None:
            _, n_outputs = _two_sizes("loadings", loading)
            self.features = np.empty((n_rows, n_outputs))
            self.structure.n_outputs = n_outputs
            self.structure.loading = self._address("loadings", loading, (n_landmarks, n_outputs))
            self.structure.features = self._address("features", self.features, (n_rows, n_outputs))


class LandmarkCall(Call):
    """Features of rows by a Gaussian kernel's landmarks, less a mean: ``features`` is what the call fills."""

    def __init__(self, base: NystroemMap, rows: Array, mean: Array, dtype: Any) -> None:
        super().__init__(dtype)
        if not base.bandwidth > 0:
            raise ValueError(f"The compiled kernel needs a bandwidth above 0, got {base.bandwidth!r}.")
        (n_landmarks, n_columns), n_rows = _two_sizes("landmarks", base.landmarks), len(rows)
        _, n_outputs = _two_sizes("normalization", base.normalization)
        single = rows.dtype == np.float32
        of_rows = np.float32 if single else np.float64
        self.features = np.empty((n_rows, n_outputs), dtype=self.dtype)
        self.structure = LandmarkStructure(
            n_rows=n_rows,
            n_columns=n_columns,
            n_landmarks=n_landmarks,
            n_outputs=n_outputs,
            single_rows=single,
            single_features=self.dtype == np.float32,
            bandwidth=base.bandwidth,
            rows=self._address("rows", rows, (n_rows, n_columns), of_rows),
            origin=self._address("the map's origin", base.origin, (n_columns,), np.float64),
            landmarks=self._address(
                "landmarks", base.landmarks / base.bandwidth, (n_landmarks, n_columns), np.float64
            ),
            normalization=self._address("normalization", base.normalization, (n_landmarks, n_outputs), np.float64),
            mean=self._address("the map's mean", mean, (n_outputs,), np.float64),
            features=self._address("features", self.features, (n_rows, n_outputs)),
        )


def _check_search(landmarks: Landmarks, n_neighbors: int, n_columns: int) -> None:
    n_views = landmarks.n_views
    if not 1 <= n_neighbors <= landmarks.rows.shape[0]:
        raise ValueError(f"The compiled kernel cannot find {n_neighbors} of {landmarks.rows.shape[0]} landmarks.")
    if any(a >= b for a, b in pairwise(landmarks.offsets)) or landmarks.offsets[0] != 0:
        raise ValueError(f"The compiled kernel needs offsets that rise from 0, got {landmarks.offsets}.")
    if landmarks.offsets[-1] + (n_views if n_views > 1 else 0) != n_columns:
        raise ValueError(f"The compiled kernel needs landmarks of the columns that {landmarks.offsets} tell.")


def _check_counts(n_views: int, given: dict[str, Any]) -> None:
    for what, items in given.items():
        if len(items) != n_views:
            raise ValueError(f"The compiled kernel got {n_views} views, but {len(items)} {what}.")


def _check_width(view: ViewStructure, of: str) -> None:
    made = 2 * view.map.contents.n_frequencies
    if view.width != made:
        raise ValueError(f"The map {of} makes {made} features, but the centroids have {view.width}.")


def _check_numbers(inputs: PassInput) -> None:
    if type(inputs.membership) not in MEMBERSHIPS:
        raise ValueError(f"The compiled kernel does not know the membership {inputs.membership!r}.")
    if not inputs.s < 0:
        raise ValueError(f"The compiled kernel needs an exponent s below 0, got {inputs.s!r}.")
    if not inputs.center_norms:
        raise ValueError("The compiled kernel needs at least one view.")


def _two_sizes(what: str, array: Array) -> tuple[int, int]:
    if array.ndim != 2:
        raise ValueError(f"The compiled kernel needs {what} of two dimensions, got shape {array.shape}.")
    rows, columns = array.shape
    return rows, columns
