"""Block functions that call the compiled library; the equations are those of ``objective.block``."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from powerkmeans.checks import overflow_error
from powerkmeans.features.maps import CentredMap, FourierMap
from powerkmeans.kernels.library import Library, Map, Pass, View, open_library
from powerkmeans.objective.block import PassInput
from powerkmeans.types import Array, Block, FeatureMap, PassStatistics


@dataclass(frozen=True)
class RawInput:
    """What a pass over raw rows needs: the parameters, and the maps that make features of the rows."""

    inputs: PassInput
    maps: tuple[CentredMap, ...]


@dataclass(frozen=True)
class FastMap:
    """A centred Fourier map, computed by the compiled library where the rows allow it."""

    exact: CentredMap
    target: str

    @property
    def n_outputs(self) -> int:
        return self.exact.n_outputs

    def __call__(self, X: Array, xp: Any) -> Array:
        if not takes_rows(self.exact, X):
            return self.exact(X, xp)
        rows = np.ascontiguousarray(X)
        out = np.empty((len(rows), self.n_outputs), dtype=rows.dtype)
        _library(self.target).map_rows(_Arguments().map(self.exact), rows, out)
        return out


@dataclass(frozen=True)
class CompiledKernel:
    """Fused sums of a block, from features or from raw rows."""

    target: str

    @property
    def name(self) -> str:
        return f"compiled for {self.target}"

    def statistics(self, block: Block, inputs: PassInput) -> PassStatistics:
        """As ``objective.block.block_statistics``."""
        return self._run(block, inputs, None)

    def raw_statistics(self, block: Block, raw: RawInput) -> PassStatistics:
        """The same from raw rows: their features are made a tile at a time and never stored."""
        return self._run(block, raw.inputs, raw.maps)

    def takes_raw(self, maps: tuple[CentredMap, ...], rows: tuple[Array, ...]) -> bool:
        """Whether ``raw_statistics`` can do without stored features of such rows."""
        return all(takes_rows(m, r) for m, r in zip(maps, rows, strict=True))

    def accelerated(self, feature_map: CentredMap) -> FeatureMap:
        """The map, or a faster form of it."""
        return FastMap(feature_map, self.target) if isinstance(feature_map.base, FourierMap) else feature_map

    def _run(self, block: Block, inputs: PassInput, maps: tuple[CentredMap, ...] | None) -> PassStatistics:
        dtype, arguments = inputs.dtype, _Arguments()
        n_clusters, n_views = inputs.center_norms[0].shape[0], len(block.views)
        width = sum(projection.shape[0] for projection in inputs.projections)
        sums = PassStatistics(
            mass=np.empty((n_clusters, n_views)),
            moment=np.zeros((n_clusters, width), dtype=dtype),
            scatter=np.empty((n_clusters, n_views)),
            residual=np.empty((n_clusters, n_views)),
            sizes=np.empty(n_clusters),
            loss=0.0,
            hard_cost=0.0,
        )
        totals = np.empty(2)
        row = _library(self.target).run_pass(arguments.of_pass(block, inputs, maps, sums, totals), dtype)
        if row >= 0:
            raise overflow_error(dtype, block.start + row)
        sums.loss, sums.hard_cost = totals
        return sums


def takes_rows(feature_map: CentredMap, rows: Array) -> bool:
    """Whether the library can map such rows: dense ones, in the precision that the map works in."""
    base = feature_map.base
    if not isinstance(base, FourierMap) or hasattr(rows, "toarray"):
        return False
    return rows.dtype == base.frequencies.dtype == np.dtype(feature_map.dtype) == feature_map.mean.dtype


def _library(target: str) -> Library:
    """The library of a target, opened once a process: what refers to it can be sent to another."""
    library = open_library(target)
    if library is None:
        raise RuntimeError(f"The compiled kernel for {target} is not installed here.")
    return library


class _Arguments:
    """Structures for one call; holds on to every array that they point to."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def of_pass(
        self,
        block: Block,
        inputs: PassInput,
        maps: tuple[CentredMap, ...] | None,
        sums: PassStatistics,
        totals: Array,
    ) -> Pass:
        views = (View * len(block.views))()
        for index in range(len(block.views)):
            self._fill(views[index], index, block, inputs, None if maps is None else maps[index])
        self._held.append(views)
        hard = inputs.s == -math.inf
        return Pass(
            n_rows=len(block.weight),
            n_clusters=len(sums.sizes),
            n_views=len(views),
            hard=hard,
            possibilistic=inputs.membership.name == "possibilistic",
            resolution=inputs.resolution,
            s=-1.0 if hard else inputs.s,
            fuzziness=inputs.membership.fuzziness,
            views=views,
            weight=self._pointer(block.weight, inputs.dtype),
            moment=self._pointer(sums.moment, inputs.dtype),
            mass=self._pointer(sums.mass),
            scatter=self._pointer(sums.scatter),
            residual=self._pointer(sums.residual),
            sizes=self._pointer(sums.sizes),
            totals=self._pointer(totals),
        )

    def map(self, feature_map: CentredMap) -> Map:
        base = feature_map.base
        assert isinstance(base, FourierMap)
        dtype = base.frequencies.dtype
        return Map(
            n_columns=len(base.origin),
            n_frequencies=base.n_components,
            scale=feature_map.scale,
            origin=self._pointer(base.origin, dtype),
            frequencies=self._pointer(base.frequencies, dtype),
            mean=self._pointer(feature_map.mean, dtype),
        )

    def _fill(
        self, view: View, index: int, block: Block, inputs: PassInput, feature_map: CentredMap | None
    ) -> None:
        dtype = inputs.dtype
        view.width = inputs.projections[index].shape[0]
        view.weight, view.reference = inputs.view_weights[index], inputs.references[index]
        view.rows = self._pointer(block.views[index], dtype)
        if feature_map is None:
            view.norms = self._pointer(block.squared_norms[index], dtype)
        else:
            view.map = ctypes.pointer(self.map(feature_map))
        view.projection = self._pointer(inputs.projections[index], dtype)
        view.center_norms = self._pointer(inputs.center_norms[index], dtype)
        if block.present is not None:
            view.present = self._pointer(block.present[index], np.bool_)

    def _pointer(self, array: Array, dtype: Any = np.float64) -> int:
        contiguous = np.ascontiguousarray(array, dtype=dtype)
        self._held.append(contiguous)
        return int(contiguous.ctypes.data)
