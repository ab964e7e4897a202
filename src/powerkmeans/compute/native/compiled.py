"""Block functions that call the compiled library; the equations are those of ``objective.block``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard

import numpy as np

from powerkmeans.compute.blocks import overflow_error
from powerkmeans.compute.native.arguments import MEMBERSHIPS, MapCall, PassCall
from powerkmeans.compute.native.library import Library, open_library
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.features.maps.fourier import FourierMap
from powerkmeans.objective.block import PassInput, block_statistics
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


@dataclass(frozen=True)
class CompiledKernel:
    """Fused sums of a block, from features or from raw rows. What it does not take goes to NumPy."""

    target: str

    @property
    def name(self) -> str:
        return f"compiled for {self.target}"

    def takes(self, inputs: PassInput) -> bool:
        """Whether the library knows such a pass: its membership, and centroids that have coordinates."""
        return type(inputs.membership) in MEMBERSHIPS and not any(inputs.dual)

    def statistics(self, block: Block, inputs: PassInput) -> PassStatistics:
        """As ``objective.block.block_statistics``."""
        return self._run(block, inputs, None) if self.takes(inputs) else block_statistics(block, inputs)

    def raw_statistics(self, block: Block, raw: RawInput) -> PassStatistics:
        """The same from raw rows: their features are made a tile at a time and never stored."""
        return self._run(block, raw.inputs, raw.maps)

    def takes_raw(self, inputs: PassInput, maps: tuple[CentredMap, ...], rows: tuple[Array, ...]) -> bool:
        """Whether ``raw_statistics`` can do without stored features of such rows."""
        return self.takes(inputs) and all(takes_rows(m, r) for m, r in zip(maps, rows, strict=True))

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        """The map, or a faster form of it."""
        return FastMap(feature_map, self.target) if is_fourier(feature_map) else feature_map

    def _run(self, block: Block, inputs: PassInput, maps: tuple[CentredMap, ...] | None) -> PassStatistics:
        call = PassCall(block, inputs, maps)
        row = _library(self.target).run_pass(call)
        if row >= 0:
            raise overflow_error(call.dtype, block.start + row)
        call.sums.loss, call.sums.hard_cost = call.totals
        return call.sums


def is_fourier(feature_map: FeatureMap) -> TypeGuard[CentredMap]:
    """Whether this is the map that the library computes, and not one that only derives from it."""
    return type(feature_map) is CentredMap and type(feature_map.base) is FourierMap


def takes_rows(feature_map: CentredMap, rows: Array) -> bool:
    """Whether the library can map such rows: dense ones, in the precision that the map works in."""
    if not is_fourier(feature_map) or hasattr(rows, "toarray"):
        return False
    frequencies = feature_map.base.frequencies
    return rows.dtype == frequencies.dtype == np.dtype(feature_map.dtype) == feature_map.mean.dtype


def _library(target: str) -> Library:
    """The library of a target, opened once a process: what refers to it can be sent to another."""
    library = open_library(target)
    if library is None:
        raise RuntimeError(f"The compiled kernel for {target} is not installed here.")
    return library
