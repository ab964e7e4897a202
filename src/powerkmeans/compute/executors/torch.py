"""PyTorch on one device, a processor or a graphics card: blocks of rows as tensors, one after another.

Products of single precision are as exact as was asked for, whatever the program around has set. Nothing is added
by atomic operations, so a device gives the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from powerkmeans.compute.blocks import StoredBlocks
from powerkmeans.compute.placement import moved
from powerkmeans.compute.triton.passes import available
from powerkmeans.compute.triton.planes import STORAGE, PlaneBlocks
from powerkmeans.features.pairs import as_dense
from powerkmeans.support.install import needed
from powerkmeans.support.memory import GIB, can_keep
from powerkmeans.support.tensors import open_device, torch_module
from powerkmeans.types import Block, Blocks, FeatureMap, P, T

# bytes of a block on a card: launches are few, and what a pass makes of a block is still small beside all rows
CARD_BLOCK_BYTES = 2**28
# share of a card's free memory that features may take where no budget is given: blocks in work need some
CARD_SHARE = 0.6
# SciPy's rows are made dense on their way
HOST_ARRAYS = (np.ndarray, csr_array, csr_matrix)
# how products of single precision are computed, in the words of each of PyTorch's two switches: for a card and for
# a processor, and for both in versions that have no such; a card's library has no products of bfloat16 here
_SWITCHES = {"float32": ("ieee", "ieee"), "tf32": ("tf32", "tf32"), "bfloat16": ("tf32", "bf16")}
_OLD_SWITCH = {"float32": "highest", "tf32": "high", "bfloat16": "medium"}


class Torch:
    """Runs functions of blocks on a device of PyTorch."""

    def __init__(self, device: str | None = None, precision: str = "float32", kernel: str = "auto") -> None:
        self._torch = torch_module()
        self._xp = needed("array_api_compat.torch", "gpu", "for engine=TorchOptions(...)")
        self.device = open_device(device)
        self.precision = precision
        # how features are held for the kernels that read them; None where there are none
        self.planes = STORAGE[precision] if kernel == "auto" and available(self.device) else None

    @property
    def xp(self) -> Any:
        return self._xp

    @property
    def on_card(self) -> bool:
        """Whether the device has memory of its own."""
        return bool(self.device.type == "cuda")

    @property
    def block_bytes(self) -> int | None:
        return CARD_BLOCK_BYTES if self.on_card else None

    def room_for(self, n_bytes: int, budget: int | None) -> bool:
        """Whether so many bytes may be kept on the device."""
        if not self.on_card:
            return can_keep(n_bytes, GIB if budget is None else budget)
        return n_bytes <= (CARD_SHARE * self._free_bytes() if budget is None else budget)

    def _free_bytes(self) -> int:
        """Bytes of the card that nobody holds, or that PyTorch holds and nobody uses."""
        cuda = self._torch.cuda
        unused = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        return int(cuda.mem_get_info(self.device)[0] + unused)

    def place(self, inputs: P) -> P:
        """Bring arrays and tensors to the device; those that are there stay as they are."""
        placed: P = moved(inputs, (*HOST_ARRAYS, self._torch.Tensor), self._placed)
        return placed

    def _placed(self, array: Any) -> Any:
        tensor = array if isinstance(array, self._torch.Tensor) else self._shared(as_dense(array))
        if tensor.device == self.device:
            return tensor
        if not self.on_card or tensor.device.type != "cpu":
            return tensor.to(self.device)
        if tensor.ndim and all(stride == 0 for stride in tensor.stride()):  # one number for all, sent once
            return tensor[(slice(1),) * tensor.ndim].to(self.device).expand(tensor.shape)
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def _shared(self, array: np.ndarray[Any, Any]) -> Any:
        """A tensor in the memory of an array, which nobody writes to."""
        if any(stride < 0 for stride in array.strides):
            array = np.ascontiguousarray(array)
        return self._torch.from_numpy(array if array.flags.writeable else np.asarray(_Unlocked(array)))

    def fetch(self, result: T) -> T:
        """Bring tensors here as NumPy arrays."""
        fetched: T = moved(result, self._torch.Tensor, lambda tensor: tensor.detach().cpu().numpy())
        return fetched

    def keep(self, function: Callable[[Block, P], Block], blocks: Blocks, inputs: P) -> Blocks:
        """The blocks that ``function`` makes, held on the device: as planes where kernels take them so."""
        made = self.run(function, blocks, inputs)
        first = next(made)
        maps = cast(tuple[tuple[FeatureMap, ...], Any], inputs)[0]
        single = all(view.dtype == self._torch.float32 for view in first.views)
        if self.planes and single and not any(m.dual for m in maps):
            return PlaneBlocks(chain([first], made), blocks.n_rows, self.planes, self._torch)  # type: ignore[attr-defined]
        return StoredBlocks([first, *made])

    def run(self, function: Callable[[Block, P], T], blocks: Blocks, inputs: P) -> Generator[T, None, None]:
        """Yield ``function(block, inputs)`` in the order of the blocks; a card works on while these are read."""
        with closing(blocks.read()) as waiting:
            for block in waiting:
                with np.errstate(over="ignore", under="ignore"), self.products(), self._explained():
                    result = function(block, inputs)
                yield result

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what takes less memory where a card has run out of it."""
        try:
            yield
        except self._torch.OutOfMemoryError as error:
            raise MemoryError(
                f"The device '{self.device}' has no memory left. Features of all rows are kept there within a "
                "budget, and computed anew in every pass beyond it: set TorchOptions(memory_budget=...) lower, 0 "
                "for none. Rows need not be there: arrays of NumPy and open_source(...) are sent block by block "
                f"with engine=TorchOptions(...). PyTorch says: {error}"
            ) from error

    @contextmanager
    def products(self) -> Iterator[None]:
        """Compute products as exactly as was asked for, and nothing for gradients."""
        backends = self._torch.backends
        if not hasattr(backends.cuda.matmul, "fp32_precision"):
            with self._torch.no_grad(), _set_old(self._torch, _OLD_SWITCH[self.precision]):
                yield
            return
        switches = backends.cuda.matmul, backends.mkldnn.matmul
        before = [switch.fp32_precision for switch in switches]
        try:
            _set_all(switches, _SWITCHES[self.precision])
            with self._torch.no_grad():
                yield
        finally:
            _set_all(switches, before)


class _Unlocked:
    """An array that PyTorch takes without a warning that it could be written to: nobody does."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self._array = array  # which lives as long as what is made of this
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}


def _set_all(switches: Any, values: Any) -> None:
    for switch, value in zip(switches, values, strict=True):
        switch.fp32_precision = value


@contextmanager
def _set_old(torch: Any, value: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(value)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
