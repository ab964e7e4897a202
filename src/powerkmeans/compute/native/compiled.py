"""Block functions that call the compiled library; the equations are those of ``objective.block``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

import numpy as np

from powerkmeans.compute.native.arguments import (
    ANSWERS,
    MEMBERSHIPS,
    AnswerCall,
    CommonArguments,
    LandmarkCall,
    MapCall,
    PassCall,
    SearchCall,
)
from powerkmeans.compute.native.library import Library, open_library
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.neighbours import Neighbours
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.features.maps.fourier import FourierMap
from powerkmeans.features.maps.graph import GraphMap
from powerkmeans.features.maps.nystroem import NystroemMap
from powerkmeans.features.maps.overflow import overflow_error
from powerkmeans.objective.block import PassInput
from powerkmeans.types import Array, Block, Engine, FeatureMap, PassStatistics

# a function of a block and of what a pass needs, one row per sample
Answer = Callable[[Block, Any], Array]


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
    dual: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        return self.exact.n_outputs

    def __call__(self, X: Array, xp: Any) -> Array:
        if not takes_rows(self.exact, X):
            return self.exact(X, xp)
        call = MapCall(self.exact, X)
        _library(self.target).map_rows(call)
        return call.features

    def fault(self, dtype: Any, row: int) -> ValueError:
        """What to raise where the features of a row are not finite."""
        return self.exact.fault(dtype, row)


@dataclass(frozen=True)
class CompiledPass:
    """Sums of a block of features, fused: each number is read once."""

    target: str

    @property
    def name(self) -> str:
        return f"compiled for {self.target}"

    def takes(self, engine: Engine, inputs: PassInput) -> bool:
        """Whether the library knows such a pass: its membership, and centroids that have coordinates."""
        return type(inputs.membership) in MEMBERSHIPS and not any(inputs.dual)

    def run(self, engine: Engine, inputs: PassInput) -> PassStatistics:
        return engine.fold(BlockSums(self.target, inputs, None), inputs)

    def answered(self, engine: Engine, function: Answer, inputs: PassInput) -> tuple[Engine, Answer, Any] | None:
        """What tells of rows what ``function`` tells; None if the library does not know it."""
        return (engine, CompiledAnswer(self.target, function), inputs) if function in ANSWERS else None

    def sums(self, block: Block, inputs: PassInput) -> PassStatistics:
        """As ``objective.block.block_statistics``."""
        return BlockSums(self.target, inputs, None)(block)

    @property
    def search(self) -> CompiledSearch:
        """What finds nearest landmarks."""
        return CompiledSearch(self.target)

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        """The map, or a faster form of it."""
        if is_fourier(feature_map):
            return FastMap(feature_map, self.target)
        if is_graph(feature_map):
            return replace(feature_map, base=replace(feature_map.base, search=self.search))
        if is_gaussian(feature_map):
            return replace(feature_map, base=replace(feature_map.base, code=CompiledLandmarks(self.target)))
        return feature_map


@dataclass(frozen=True)
class FusedPass(CompiledPass):
    """The same from raw rows, where features are not stored: they are made a tile at a time and never written."""

    def takes(self, engine: Engine, inputs: PassInput) -> bool:
        """Whether the library also makes features of such rows."""
        rows = zip(engine.maps, engine.views.arrays, strict=True)
        return not engine.stored and super().takes(engine, inputs) and all(takes_rows(m, r) for m, r in rows)

    def run(self, engine: Engine, inputs: PassInput) -> PassStatistics:
        raw = self._raw(engine, inputs)
        return engine.raw.fold(BlockSums(self.target, raw.inputs, raw.maps), raw)

    def answered(self, engine: Engine, function: Answer, inputs: PassInput) -> tuple[Engine, Answer, Any] | None:
        found = super().answered(engine, function, inputs)
        return None if found is None else (engine.raw, found[1], self._raw(engine, inputs))

    def raw_sums(self, block: Block, raw: RawInput) -> PassStatistics:
        return BlockSums(self.target, raw.inputs, raw.maps)(block)

    @staticmethod
    def _raw(engine: Engine, inputs: PassInput) -> RawInput:
        return RawInput(inputs, tuple(feature_map.exact for feature_map in engine.maps))  # type: ignore[attr-defined]

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        return feature_map


@dataclass(frozen=True)
class BlockSums:
    """The sums of blocks of one pass, whose inputs are brought into form once in each process."""

    target: str
    inputs: PassInput
    maps: tuple[CentredMap, ...] | None

    @cached_property
    def common(self) -> CommonArguments:
        return CommonArguments(self.inputs, self.maps)

    def __reduce__(self) -> tuple[Any, ...]:
        """Addresses are of one process."""
        return type(self), (self.target, self.inputs, self.maps)

    def __call__(self, block: Block, _: object = None) -> PassStatistics:
        call = PassCall(block, self.common)
        _run(self.target, call, block)
        call.sums.loss, call.sums.hard_cost = call.totals
        return call.sums


@dataclass(frozen=True)
class CompiledAnswer:
    """What a function of ``objective.block`` tells of each row of a block, of features or of raw rows."""

    target: str
    function: Answer

    def __call__(self, block: Block, inputs: PassInput | RawInput) -> Array:
        given, maps = (inputs.inputs, inputs.maps) if isinstance(inputs, RawInput) else (inputs, None)
        call = AnswerCall(block, CommonArguments(given, maps), self.function)
        _run(self.target, call, block)
        return call.told


@dataclass(frozen=True)
class CompiledSearch:
    """The landmarks nearest to dense rows, as ``features.graph.neighbours`` finds them."""

    target: str

    def __call__(self, rows: Array, landmarks: Landmarks, count: int) -> Neighbours | None:
        """None where squares leave the range."""
        call = SearchCall(rows, landmarks, count)
        return call.found if _library(self.target).find_nearest(call) else None

    def embedded(self, rows: Array, landmarks: Landmarks, count: int, loading: Array) -> Array | None:
        """Coordinates in the graph, as ``features.maps.graph`` has them."""
        call = SearchCall(rows, landmarks, count, loading)
        return call.features if _library(self.target).find_nearest(call) else None


@dataclass(frozen=True)
class CompiledLandmarks:
    """Features of dense rows by a Gaussian kernel's landmarks, as ``features.maps.nystroem`` has them."""

    target: str

    def __call__(self, base: NystroemMap, rows: Array, mean: Array, dtype: Any) -> Array | None:
        """Less a mean, in ``dtype``; None where squares leave the range."""
        call = LandmarkCall(base, rows, mean, dtype)
        return call.features if _library(self.target).map_landmarks(call) else None


def _run(target: str, call: PassCall, block: Block) -> None:
    row = _library(target).run_pass(call)
    if row >= 0:
        raise overflow_error(call.dtype, block.start + row)


def is_fourier(feature_map: FeatureMap) -> TypeGuard[CentredMap]:
    """Whether this is the map that the library computes, and not one that only derives from it."""
    return type(feature_map) is CentredMap and type(feature_map.base) is FourierMap


def is_graph(feature_map: FeatureMap) -> TypeGuard[CentredMap]:
    """Whether this is a map by nearest landmarks."""
    return type(feature_map) is CentredMap and type(feature_map.base) is GraphMap


def is_gaussian(feature_map: FeatureMap) -> TypeGuard[CentredMap]:
    """Whether this is a map by a Gaussian kernel's landmarks, with or without what these miss."""
    if not isinstance(feature_map, CentredMap) or type(feature_map.base) is not NystroemMap:
        return False
    return feature_map.base.kernel == "rbf"


def takes_rows(feature_map: FeatureMap, rows: Array) -> bool:
    """Whether the library can map such rows: dense ones, in the precision that the map works in."""
    exact = feature_map.exact if isinstance(feature_map, FastMap) else feature_map
    if not is_fourier(exact) or hasattr(rows, "toarray"):
        return False
    frequencies = exact.base.frequencies
    return bool(rows.dtype == frequencies.dtype == np.dtype(exact.dtype) == exact.mean.dtype)


def _library(target: str) -> Library:
    """The library of a target, opened once per process: what refers to it can be sent to another."""
    library = open_library(target)
    if library is None:
        raise RuntimeError(f"The compiled kernel for {target} is not installed here.")
    return library
