"""The pass on a card, and what it takes: views in single precision, held on the device."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, ClassVar

from powerkmeans.compute.native.compiled import is_graph
from powerkmeans.compute.triton.given import Given, within_range
from powerkmeans.compute.triton.launches import MOST_CLUSTERS, run
from powerkmeans.compute.triton.planes import PlaneBlocks
from powerkmeans.compute.triton.raw import MOST_CLUSTERS as RAW_CLUSTERS
from powerkmeans.compute.triton.raw import RawRows, raw_rows, run_raw
from powerkmeans.compute.triton.search import CardSearch
from powerkmeans.objective.block import PassInput, block_statistics
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Engine, FeatureMap, PassStatistics

_MEMBERSHIPS = (Fuzzy, Possibilistic)


# the first generation of NVIDIA's cards whose tensor cores take both kinds of planes
_OLDEST = (8, 0)
# what kernels are written with beside the language: versions of Triton before it have none of them
_TOOLS = "triton.tools.tensor_descriptor"


def available(device: Any) -> bool:
    """Whether kernels run on a device: a card of NVIDIA that is not too old, where Triton is not either."""
    torch = torch_module()
    if device.type != "cuda" or torch.version.hip is not None or find_spec("triton") is None:
        return False
    with suppress(ModuleNotFoundError):  # a package that it should be in is not there either
        return bool(torch.cuda.get_device_capability(device) >= _OLDEST) and find_spec(_TOOLS) is not None
    return False


@dataclass(frozen=True)
class TritonPass:
    """Sums of features that an executor holds as planes: each number is read once."""

    executor: Any  # compute.executors.torch.Torch, which asks here what it holds
    name: ClassVar[str] = "Triton"

    def takes(self, engine: Engine, inputs: PassInput) -> bool:
        """Whether there are kernels for such a pass."""
        held = _held(engine)
        if not isinstance(held, PlaneBlocks) or type(inputs.membership) not in _MEMBERSHIPS:
            return False
        return inputs.center_norms[0].shape[0] <= MOST_CLUSTERS and within_range(held, inputs)

    def run(self, engine: Engine, inputs: PassInput) -> PassStatistics:
        held = _held(engine)
        assert isinstance(held, PlaneBlocks)
        with self.executor.working():
            return run(Given(inputs, held))

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


@dataclass(frozen=True)
class RawPass:
    """The same from raw rows, where Fourier features are not held: they are made a tile at a time.

    known : the rows, or None where they are no such rows, once they were looked at
    """

    executor: Any
    known: list[RawRows | None] = field(default_factory=list, compare=False, repr=False)
    name: ClassVar[str] = "Triton"

    def takes(self, engine: Engine, inputs: PassInput) -> bool:
        """Whether features are made on the way, and the kernel makes such features of such rows."""
        if engine.stored or type(inputs.membership) not in _MEMBERSHIPS:
            return False
        if inputs.center_norms[0].shape[0] > RAW_CLUSTERS or any(inputs.dual):
            return False
        if not self.known:
            self.known.append(raw_rows(engine, self.executor.planes, self.executor.place))
        return self.known[-1] is not None and within_range(self.known[-1], inputs)

    def run(self, engine: Engine, inputs: PassInput) -> PassStatistics:
        rows = self.known[-1]
        assert rows is not None
        with self.executor.working():
            sums = run_raw(rows, inputs)
        return engine.fold(block_statistics, inputs) if sums is None else sums

    def answered(self, engine: Engine, function: Any, inputs: PassInput) -> None:
        """What is told of rows is told by the equations as written."""

    def accelerated(self, feature_map: FeatureMap) -> FeatureMap:
        """As it is: features that are asked for are made by PyTorch."""
        return feature_map


def _held(engine: Engine) -> Any:
    """What an engine of this machine holds of all rows."""
    return getattr(engine, "blocks", None)
