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
        return given.ctypes.data

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


class PassCall(Call):
    """One pass over a block, from features or, with maps, raw rows: the call fills ``sums`` and ``totals``."""

    def __init__(self, block: Block, inputs: PassInput, maps: tuple[CentredMap, ...] | None) -> None:
        super().__init__(inputs.dtype)
        _check_numbers(inputs)
        self._n_rows, self._n_clusters = len(block.weight), len(inputs.center_norms[0])
        if self._n_clusters == 0:
            raise ValueError("The compiled kernel needs at least one centroid.")
        self._check_views(block, inputs, maps)
        self._views = (ViewStructure * len(block.views))()
        for index, view in enumerate(self._views):
            self._fill(view, index, block, inputs, None if maps is None else maps[index])
        # masses, scatters and residuals, (k, L) each; sizes, (k,); loss and hard cost: one array is one address
        self._numbers = np.empty(self._n_clusters * (3 * len(block.views) + 1) + 2)
        self.sums, self.totals = self._empty_sums(), self._numbers[-2:]
        self.structure = self._structure(block, inputs)

    @staticmethod
    def _check_views(block: Block, inputs: PassInput, maps: tuple[CentredMap, ...] | None) -> None:
        counts = {
            "view weights": inputs.view_weights,
            "references": inputs.references,
            "projections": inputs.projections,
            "norms of centroids": inputs.center_norms,
            **({"norms": block.squared_norms} if maps is None else {"maps": maps}),
            **({} if block.present is None else {"rows of the mask of present views": block.present}),
        }
        for what, given in counts.items():
            if len(given) != len(block.views):
                raise ValueError(f"The compiled kernel got {len(block.views)} views, but {len(given)} {what}.")

    def _fill(
        self, view: ViewStructure, index: int, block: Block, inputs: PassInput, feature_map: CentredMap | None
    ) -> None:
        n, k, of = self._n_rows, self._n_clusters, f"of view {index}"
        view.width, _ = _two_sizes(f"projections {of}", inputs.projections[index])
        view.weight, view.reference = inputs.view_weights[index], inputs.references[index]
        n_columns = view.width
        if feature_map is None:
            view.norms = self._address(f"norms {of}", block.squared_norms[index], (n,))
        else:
            view.map = ctypes.pointer(self._map(feature_map))
            n_columns = self._columns_of(view, of)
        view.rows = self._address(f"rows {of}", block.views[index], (n, n_columns))
        view.projection = self._address(f"projections {of}", inputs.projections[index], (view.width, k))
        view.center_norms = self._address(f"norms of centroids {of}", inputs.center_norms[index], (k, 1))
        if block.present is not None:
            view.present = self._address(f"the mask {of}", block.present[index], (n,), np.bool_)

    @staticmethod
    def _columns_of(view: ViewStructure, of: str) -> int:
        made = view.map.contents
        if view.width != 2 * made.n_frequencies:
            raise ValueError(
                f"The map {of} makes {2 * made.n_frequencies} features, but the centroids have {view.width}."
            )
        return int(made.n_columns)

    def _empty_sums(self) -> PassStatistics:
        k, n_views = self._n_clusters, len(self._views)
        width = sum(view.width for view in self._views)
        by_view = self._numbers[: 3 * k * n_views].reshape(3, k, n_views)
        return PassStatistics(
            mass=by_view[0],
            moment=np.zeros((k, width), dtype=self.dtype),  # the others are set, this one is added to
            scatter=by_view[1],
            residual=by_view[2],
            sizes=self._numbers[3 * k * n_views : -2],
            loss=0.0,
            hard_cost=0.0,
        )

    def _structure(self, block: Block, inputs: PassInput) -> PassStructure:
        sums, by_view = self.sums, self._n_clusters * len(self._views)
        first, step = self._address("sums", self._numbers, self._numbers.shape, np.float64), self._numbers.itemsize
        hard = inputs.s == -math.inf
        return PassStructure(
            n_rows=self._n_rows,
            n_clusters=self._n_clusters,
            n_views=len(self._views),
            hard=hard,
            possibilistic=MEMBERSHIPS[type(inputs.membership)],
            resolution=inputs.resolution,
            s=-1.0 if hard else inputs.s,
            fuzziness=inputs.membership.fuzziness,
            views=self._views,
            weight=self._address("weights", block.weight, (self._n_rows,)),
            moment=self._address("moments", sums.moment, sums.moment.shape),
            mass=first,
            scatter=first + step * by_view,
            residual=first + step * 2 * by_view,
            sizes=first + step * 3 * by_view,
            totals=first + step * (3 * by_view + self._n_clusters),
        )


class AnswerCall(PassCall):
    """What one of the functions of ``ANSWERS`` tells of rows: the call fills ``answers``, or ``nearest`` too."""

    def __init__(
        self,
        block: Block,
        inputs: PassInput,
        maps: tuple[CentredMap, ...] | None,
        function: Callable[..., Any],
    ) -> None:
        super().__init__(block, inputs, maps)
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
