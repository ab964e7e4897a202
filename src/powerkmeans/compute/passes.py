"""Block functions to choose from: NumPy, which is the reference, and compiled, which is faster.

``native/`` holds the C++ sources; an installation without a compiler has none of it and uses NumPy.
"""

from __future__ import annotations

from typing import Protocol

from powerkmeans.compute.native.compiled import CompiledKernel, RawInput
from powerkmeans.compute.native.library import find_target, why_missing
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.objective.block import PassInput, block_statistics
from powerkmeans.types import Array, Block, FeatureMap, PassStatistics

__all__ = ["Kernel", "RawInput", "choose_kernel"]


class Kernel(Protocol):
    """How the sums of a block are computed."""

    @property
    def name(self) -> str: ...
    def statistics(self, block: Block, inputs: PassInput) -> PassStatistics: ...
    def raw_statistics(self, block: Block, raw: RawInput) -> PassStatistics: ...
    def takes_raw(self, inputs: PassInput, maps: tuple[CentredMap, ...], rows: tuple[Array, ...]) -> bool: ...
    def accelerated(self, feature_map: FeatureMap) -> FeatureMap: ...


class NumpyKernel:
    """The equations as written."""

    name = "numpy"

    def statistics(self, block: Block, inputs: PassInput) -> PassStatistics:
        return block_statistics(block, inputs)

    def raw_statistics(self, block: Block, raw: RawInput) -> PassStatistics:
        raise NotImplementedError("NumPy has no fused pass over raw rows.")

    def takes_raw(self, inputs: PassInput, maps: tuple[CentredMap, ...], rows: tuple[Array, ...]) -> bool:
        return False

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        return feature_map


def choose_kernel(choice: str) -> Kernel:
    """The kernel called ``choice``; "auto" is the compiled one where it is installed."""
    if choice == "numpy":
        return NumpyKernel()
    target = find_target()
    if target is not None:
        return CompiledKernel(target)
    if choice == "compiled":
        raise ValueError(
            f"kernel='compiled' is not available: {why_missing()}. Install a C++ compiler (for example g++ or "
            "clang++) and run `python -m powerkmeans.compute.native`, or use engine='auto'."
        )
    return NumpyKernel()
