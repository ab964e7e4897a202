"""What goes to a card before a pass and comes back after it: one copy each way, by way of pinned memory.

From its second time on a pass is one launch: both copies and its kernels were recorded as a graph of CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import accumulate
from typing import Any, NamedTuple, cast

from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Float64Array

# bytes that a table may begin at, so that a card copies tiles of it
ALIGNED = 128


class Table(NamedTuple):
    """The shape of a small table, and its type in PyTorch's words."""

    shape: tuple[int, ...]
    kind: Any


class _Recorded(NamedTuple):
    """Where the sums of a pass are brought to, and what is replayed for them once it was recorded."""

    here: Any
    graph: Any = None


class Desk:
    """Small tables that every pass over the same rows writes anew: ``here``, and ``there`` once they are sent.

    They are zero at first; those ``here`` are NumPy's where it has their type. A pass ends with its sums here, so
    the next one writes when the card has read.

    known : what is made of ``there`` once, such as descriptors
    """

    def __init__(self, device: Any, *tables: Table) -> None:
        torch = torch_module()
        sizes = [torch.empty(shape, dtype=kind, device="meta").nbytes for shape, kind in tables]
        *starts, total = accumulate((-(-size // ALIGNED) * ALIGNED for size in sizes), initial=0)
        self._here = torch.zeros(total, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._there = self._here.to(device)
        places = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        here, self.there = (
            [memory[place].view(kind).view(shape) for place, (shape, kind) in zip(places, tables, strict=True)]
            for memory in (self._here, self._there)
        )
        self.here = [table if table.dtype == torch.bfloat16 else table.numpy() for table in here]
        self.known: tuple[Any, ...] = ()
        self._passes: dict[Hashable, _Recorded] = {}

    def passed(self, key: Hashable, work: Callable[[], Any]) -> Float64Array:
        """What ``work``, which ``key`` names, makes of the tables that are here; it stays until the next time.

        The first time compiles its kernels, the second records what it launches.
        """
        if self._there is self._here:
            return cast(Float64Array, work().numpy())
        torch, known = torch_module(), self._passes.get(key)
        stream = torch.cuda.current_stream(self._there.device)
        if known is None:
            self.send()
            found = work()
            known = self._passes[key] = _Recorded(torch.empty(found.shape, dtype=found.dtype, pin_memory=True))
            known.here.copy_(found, non_blocking=True)
        else:
            if known.graph is None:
                self._passes[key] = known = self._recorded(known.here, work, stream)
            known.graph.replay()
        stream.synchronize()
        return cast(Float64Array, known.here.numpy())

    def _recorded(self, here: Any, work: Callable[[], Any], stream: Any) -> _Recorded:
        """The copies and the kernels of a pass as one graph; passes of a desk take turns in the same memory."""
        torch = torch_module()
        graph, beside = torch.cuda.CUDAGraph(), torch.cuda.Stream(stream.device)
        beside.wait_stream(stream)
        pool = next((one.graph.pool() for one in self._passes.values() if one.graph is not None), None)
        with torch.cuda.stream(beside):
            graph.capture_begin(*([] if pool is None else [pool]), capture_error_mode="thread_local")
            try:
                self.send()
                here.copy_(work(), non_blocking=True)
            finally:
                graph.capture_end()
        stream.wait_stream(beside)
        return _Recorded(here, graph)

    def send(self) -> None:
        """Bring all tables to the card, in the order of its work."""
        if self._there is not self._here:
            self._there.copy_(self._here, non_blocking=True)


def fetched(table: Any) -> Float64Array:
    """A table brought here when the card is done with it."""
    if not table.is_cuda:
        return cast(Float64Array, table.numpy())
    torch = torch_module()
    here = torch.empty(table.shape, dtype=table.dtype, pin_memory=True)
    here.copy_(table, non_blocking=True)
    torch.cuda.current_stream(table.device).synchronize()
    return cast(Float64Array, here.numpy())
