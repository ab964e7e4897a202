"""The pass on a card, and what it takes: one view in single precision, held on the device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from powerkmeans.compute.native.compiled import is_graph
from powerkmeans.compute.triton.launches import MOST_CLUSTERS, Given, run
from powerkmeans.compute.triton.planes import OCTET, PlaneBlocks
from powerkmeans.compute.triton.search import CardSearch
from powerkmeans.objective.block import PassInput
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Engine, FeatureMap, PassStatistics

# planes of features and parts of pulls, by the precision that users ask for
PARTS = {"float32": (2, 2), "tf32": (2, 1), "bfloat16": (1, 1)}
_MEMBERSHIPS = (Fuzzy, Possibilistic)


def available(device: Any) -> bool:
    """Whether kernels run on a device: a card, where Triton is installed."""
    return device.type == "cuda" and find_spec("triton") is not None


@dataclass(frozen=True)
class TritonPass:
    """Sums of features that an executor holds as planes: each number is read once."""

    executor: Any  # compute.executors.torch.Torch, which asks here what it holds
    name: ClassVar[str] = "Triton"

    def takes(self, engine: Engine, inputs: PassInput) -> bool:
        """Whether there are kernels for such a pass."""
        if not isinstance(_held(engine), PlaneBlocks) or inputs.view_weights != (1.0,):
            return False
        return type(inputs.membership) in _MEMBERSHIPS and inputs.center_norms[0].shape[0] <= MOST_CLUSTERS

    def run(self, engine: Engine, inputs: PassInput) -> PassStatistics:
        held = _held(engine)
        assert isinstance(held, PlaneBlocks)
        centers = np.ascontiguousarray(inputs.projections[0].T / -2)
        padded = np.pad(centers, ((0, 0), (0, -centers.shape[1] % OCTET)))
        points, norms = self.executor.place((padded, np.ascontiguousarray(inputs.center_norms[0][:, 0])))
        sums = run(Given(inputs, held, points, norms, PARTS[self.executor.precision][1], torch_module()))
        fetched: PassStatistics = self.executor.fetch(sums)
        return fetched

    def answered(self, engine: Engine, function: Any, inputs: PassInput) -> None:
        """What is told of rows is told by the equations as written."""

    @property
    def search(self) -> CardSearch:
        """What finds nearest landmarks."""
        return CardSearch()

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        """A graph's map finds landmarks faster; others run as they are."""
        if not is_graph(feature_map):
            return feature_map
        return replace(feature_map, base=replace(feature_map.base, search=self.search))


def _held(engine: Engine) -> Any:
    """What an engine of this machine holds of all rows."""
    return getattr(engine, "blocks", None)
