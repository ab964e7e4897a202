"""PyTorch on one device, a processor or a graphics card: blocks of rows as tensors, one after another.

Products of single precision are as exact as was asked for, whatever the program around has set. Nothing is added
by atomic operations, so a device gives the same bits in every run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property, partial
from itertools import chain
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from powerkmeans.compute.blocks import StoredBlocks
from powerkmeans.compute.executors.lanes import Lane, arriving, sent
from powerkmeans.compute.placement import moved, stacked
from powerkmeans.compute.triton.passes import RawPass, TritonPass, available
from powerkmeans.compute.triton.planes import STORAGE, PlaneBlocks
from powerkmeans.features.pairs import as_dense
from powerkmeans.sources.tensors import SentSource, TensorSource
from powerkmeans.support.install import needed
from powerkmeans.support.memory import GIB, can_keep
from powerkmeans.support.tensors import PLAIN, open_device, torch_module
from powerkmeans.types import Array, Block, Blocks, FeatureMap, P, Pass, T, Views

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
# what Triton says where its kernels can't be launched for want of one
_NO_COMPILER = "find C compiler"


class Torch:
    """Runs functions of blocks on a device of PyTorch."""

    on_device = True

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

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The kernels of the device, where features are held as these take them."""
        return (TritonPass(self), RawPass(self)) if self.planes else ()

    @cached_property
    def lane(self) -> Any:
        """What copies rows to a card beside its work."""
        return Lane(self._torch, self.device)

    def current(self) -> AbstractContextManager[Any]:
        """Let this be the card that kernels are launched on, in the order of whoever asks."""
        if not self.on_card:
            return nullcontext()
        cuda = self._torch.cuda
        there: AbstractContextManager[Any] = cuda.stream(cuda.current_stream(self.device))
        return there

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
        tensor = self.as_tensor(array)
        if tensor.device == self.device:
            return tensor
        if not self.on_card or tensor.device.type != "cpu":
            return tensor.to(self.device)
        if tensor.ndim and all(stride == 0 for stride in tensor.stride()):  # one number for all, sent once
            return tensor[(slice(1),) * tensor.ndim].to(self.device).expand(tensor.shape)
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def as_tensor(self, array: Array) -> Any:
        """Rows as a tensor where they are; sparse ones are made dense."""
        return array if isinstance(array, self._torch.Tensor) else self._shared(as_dense(array))

    def sent(self, views: Views, budget: int | None) -> Views:
        """Dense rows of this machine to be sent to a card once, where that has room for them and for features."""
        if not self.on_card or not all(isinstance(rows, np.ndarray) for rows in views.arrays):
            return views
        if not self.room_for(2 * sum(rows.nbytes for rows in views.arrays), budget):
            return views
        named = zip(views.names, views.arrays, strict=True)
        arrays = tuple(SentSource(name, rows, self.device, self._send) for name, rows in named)
        return views._replace(arrays=arrays)

    def _send(self, rows: np.ndarray[Any, Any]) -> Any:
        with self._explained():
            return sent(self.as_tensor(rows), self.lane)

    def _shared(self, array: np.ndarray[Any, Any]) -> Any:
        """A tensor in the memory of an array, which nobody writes to."""
        if any(stride < 0 for stride in array.strides):
            array = np.ascontiguousarray(array)
        return self._torch.from_numpy(array if array.flags.writeable else np.asarray(_Unlocked(array)))

    def gathered(self, result: T) -> T:
        """There is one place for sums."""
        return result

    def fetch(self, result: T) -> T:
        """Bring tensors here as NumPy arrays."""
        fetched: T = moved(result, self._torch.Tensor, lambda tensor: tensor.detach().cpu().numpy())
        return fetched

    def stacked(self, parts: Iterator[Array], n_rows: int) -> TensorSource:
        """What a function made of blocks, as one table on the device."""
        empty = partial(self._torch.empty, device=self.device)
        with self._explained():
            return TensorSource("features", stacked(parts, n_rows, lambda shape, dtype: empty(shape, dtype=dtype)))

    def keep(self, function: Callable[[Block, P], Block], blocks: Blocks, inputs: P) -> Blocks:
        """The blocks that ``function`` makes, held on the device."""
        maps = cast(tuple[tuple[FeatureMap, ...], Any], inputs)[0]
        return self.held(self.run(function, blocks, inputs), blocks.n_rows, maps)  # type: ignore[attr-defined]

    def held(self, made: Iterator[Block], n_rows: int, maps: tuple[FeatureMap, ...]) -> Blocks:
        """Blocks that are made on the device, and have so many rows: as planes where kernels take them so."""
        first = next(made)
        single = all(view.dtype == self._torch.float32 for view in first.views)
        if self.planes and single and not any(m.dual for m in maps):
            return PlaneBlocks(chain([first], made), n_rows, self.planes, self._torch)
        return StoredBlocks([first, *made])

    def run(self, function: Callable[[Block, P], T], blocks: Blocks, inputs: P) -> Generator[T, None, None]:
        """Yield ``function(block, inputs)`` in the order of the blocks; a card works on while these are read."""
        with closing(self._ready(blocks)) as waiting:
            while True:
                with self.products(), self.working():
                    block = next(waiting, None)
                    if block is None:
                        return
                    result = function(block, inputs)
                yield result

    def _ready(self, blocks: Blocks) -> Generator[Block, None, None]:
        """The blocks; what a card is to get of this machine's rows is on its way to it."""
        if self.on_card and getattr(blocks, "from_host", False):
            return arriving(blocks.read(), [self.lane], self.as_tensor)
        return blocks.read()

    @contextmanager
    def working(self) -> Iterator[None]:
        """How a thread works on a block: infinities are limits, nothing is for gradients, and errors are told."""
        quiet = np.errstate(over="ignore", under="ignore")
        with quiet, self.current(), self._torch.no_grad(), self._explained():
            yield

    @cached_property
    def _refused(self) -> tuple[type[Exception], ...]:
        """What Triton raises where it can't compile a kernel for this card, or the card can't run it."""
        return (needed("triton.errors", "gpu").TritonError,) if self.planes else ()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what takes less memory where a card has run out of it, and what does without kernels."""
        try:
            yield
        except self._refused as error:
            raise RuntimeError(f"Triton has no kernel for the device '{self.device}': {error}. {PLAIN}") from error
        except self._torch.OutOfMemoryError as error:
            raise MemoryError(
                f"The device '{self.device}' has no memory left. Features of all rows are kept there within a "
                "budget, and computed anew in every pass beyond it: set TorchOptions(memory_budget=...) lower, 0 "
                "for none. Rows need not be there: arrays of NumPy and open_source(...) are sent block by block "
                f"with engine=TorchOptions(...). PyTorch says: {error}"
            ) from error
        except RuntimeError as error:
            if _NO_COMPILER not in str(error):
                raise
            raise RuntimeError(f"Triton needs a C compiler to launch kernels: install gcc. {PLAIN}") from error

    @contextmanager
    def products(self) -> Iterator[None]:
        """Compute products as exactly as was asked for, in all threads; the last to leave restores the rest."""
        _hold(self._torch, self.precision)
        try:
            yield
        finally:
            _release(self._torch, self.precision)


class _Unlocked:
    """An array that PyTorch takes without a warning that it could be written to: nobody does."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self._array = array  # which lives as long as what is made of this
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}


# the switches are those of the process: the precisions that hold them, and what the first of these has found
_switching, _holding = threading.Lock(), list[str]()
_found: tuple[str, ...] = ()


def _hold(torch: Any, precision: str) -> None:
    global _found
    with _switching:
        if not _holding:
            _found = _set(torch)
        _holding.append(precision)
        _set_most_exact(torch)


def _release(torch: Any, precision: str) -> None:
    with _switching:
        _holding.remove(precision)
        if _holding:
            _set_most_exact(torch)
        else:
            _set(torch, _found)


def _set_most_exact(torch: Any) -> None:
    """Nobody who holds the switches gets less than was asked for."""
    precision = next(known for known in _OLD_SWITCH if known in _holding)
    _set(torch, _SWITCHES[precision] if _has_two(torch) else (_OLD_SWITCH[precision],))


def _has_two(torch: Any) -> bool:
    return hasattr(torch.backends.cuda.matmul, "fp32_precision")


def _set(torch: Any, values: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Set how products are computed, if anything is given; tell how they are then."""
    if not _has_two(torch):
        if values:
            torch.set_float32_matmul_precision(*values)
        return (torch.get_float32_matmul_precision(),)
    switches = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    for switch, value in zip(switches, values, strict=False):
        switch.fp32_precision = value
    return tuple(switch.fp32_precision for switch in switches)
