"""Tensors of PyTorch as tables: rows stay on their device, and come here only where somebody asks for NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.source import Source, TableFacts
from powerkmeans.sources.unit import unit_rows
from powerkmeans.support.tensors import to_numpy, torch_module
from powerkmeans.types import Views


class TensorSource(Source):
    """A 2-D tensor of floats, whose values have been looked at.

    ``blocks`` and ``take`` give NumPy arrays, as those of any source; ``device_blocks`` gives tensors as they are.
    """

    held = True

    def __init__(self, name: str, tensor: Any) -> None:
        shape = (int(tensor.shape[0]), int(tensor.shape[1]))
        dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
        super().__init__(TableFacts(name, shape, dtype, tuple(range(shape[1])), None, {}, None))
        self.tensor = tensor

    @property
    def device(self) -> Any:
        """Where the rows are."""
        return self.tensor.device

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return to_numpy(self.tensor[rows])

    def blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[NDArray[Any]]:
        """Yield consecutive blocks of rows, brought here."""
        yield from (np.ascontiguousarray(to_numpy(rows)) for rows in self.device_blocks(n_rows, present))

    def device_blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[Any]:
        """Yield consecutive blocks of rows, where they are."""
        yield from (self._made(self.tensor[start : start + n_rows]) for start in range(0, self.shape[0], n_rows))

    def take(self, rows: NDArray[np.intp], present: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Single rows, brought here."""
        index = torch_module().from_numpy(self._checked_rows(rows)).to(self.device)
        return to_numpy(self._made(self.tensor[index]))

    def read(self, on_read: Callable[[float], None] | None = None) -> NDArray[Any]:
        """All rows, brought here."""
        return to_numpy(self._made(self.tensor))

    def choose(self, positions: list[int]) -> Source:
        """Some of the columns."""
        return type(self)(self.name, self.tensor[:, positions])

    def unit(self) -> Source:
        """The same rows, each over its length as it is asked for."""
        return UnitTensorSource(self.name, self.tensor)

    def cast(self, dtype: np.dtype[Any]) -> TensorSource:
        """The same in another precision."""
        return type(self)(self.name, self.tensor.to(getattr(torch_module(), dtype.name)))

    def check_unchanged(self) -> None:
        """There is no file that could have changed."""

    def _made(self, rows: Any) -> Any:
        """What rows become when they are asked for."""
        return rows

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        return self.blocks(n_rows)

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.take(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.tensor)


class UnitTensorSource(TensorSource):
    """The same, every row scaled to unit length as it is asked for."""

    def _made(self, rows: Any) -> Any:
        return unit_rows(rows)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return to_numpy(self._made(self.tensor[rows]))


class SentSource(TensorSource):
    """Rows of this machine that are sent to a device once, when the first of them are asked for there."""

    def __init__(self, name: str, rows: NDArray[Any], device: Any, send: Callable[[NDArray[Any]], Any]) -> None:
        super().__init__(name, torch_module().empty(rows.shape, dtype=_kind_of(rows), device="meta"))
        self._rows, self._device, self._send, self._sent = rows, device, send, False

    @property
    def device(self) -> Any:
        return self._device

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return self._rows[rows]

    def device_blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[Any]:
        if not self._sent:
            self.tensor, self._sent = self._send(self._rows), True
        yield from super().device_blocks(n_rows, present)

    def blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[NDArray[Any]]:
        yield from (self._rows[start : start + n_rows] for start in range(0, self.shape[0], n_rows))

    def take(self, rows: NDArray[np.intp], present: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        return self._rows[self._checked_rows(rows)]

    def read(self, on_read: Callable[[float], None] | None = None) -> NDArray[Any]:
        return self._rows

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (self._rows,)


def _kind_of(rows: NDArray[Any]) -> Any:
    return getattr(torch_module(), rows.dtype.name)


def is_tensors(table: Any) -> TypeGuard[TensorSource]:
    """Whether a table is a tensor."""
    return isinstance(table, TensorSource)


def here(views: Views) -> Views:
    """The same views with tensors brought here."""
    return views._replace(arrays=tuple(rows.read() if is_tensors(rows) else rows for rows in views.arrays))


def as_arrays(views: Views) -> Views:
    """The same views, with tensors that are rows of NumPy in memory already as such."""
    return views._replace(arrays=tuple(_as_array(rows) for rows in views.arrays))


def _as_array(rows: Any) -> Any:
    plain = type(rows) is TensorSource and rows.device.type == "cpu" and rows.tensor.is_contiguous()
    return rows.read() if plain else rows


def device_of_views(views: Views) -> Any:
    """Where tensors among the views are; None if there are none."""
    parts = [part for array in views.arrays for part in getattr(array, "parts", (array,))]
    return next((part.device for part in parts if is_tensors(part)), None)
