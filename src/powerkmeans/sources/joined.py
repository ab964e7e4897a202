"""Several views side by side, read as one table: for maps that take them together."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from powerkmeans.sources.dask import are_lazy, join_lazy
from powerkmeans.sources.source import READ_BYTES, Source, TableFacts, is_source
from powerkmeans.sources.tensors import is_tensors
from powerkmeans.support.absent import zero_where_absent
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Views


class JoinedSource(Source):
    """Rows of all views next to each other, then one column for each view that is one where it is present.

    Absent rows are zero. Parts may be arrays, sparse matrices or sources; if one is sparse, so are the blocks.
    ``held`` tells that nothing is read from a file.
    """

    def __init__(self, arrays: tuple[Any, ...], present: NDArray[np.bool_] | None) -> None:
        n_rows = int(arrays[0].shape[0])
        width = sum(int(array.shape[1]) for array in arrays) + len(arrays)
        dtype = np.result_type(*(array.dtype for array in arrays))
        super().__init__(TableFacts("views", (n_rows, width), dtype, (), None, {}, None))
        self.parts = arrays
        self._present = np.ones((n_rows, len(arrays)), dtype=bool) if present is None else present
        self.held = all(part.held for part in filter(is_source, arrays))
        self.any_order = all(part.any_order for part in filter(is_source, arrays))

    def blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Generator[Any, None, None]:
        """Yield consecutive blocks of rows; ``present`` is that of the parts, which they were joined with."""
        with ExitStack() as stack:
            readers = [stack.enter_context(closing(self._reader(v, n_rows))) for v in range(len(self.parts))]
            for index, rows in enumerate(zip(*readers, strict=True)):
                yield self._joined(rows, self._present[index * n_rows : (index + 1) * n_rows])

    def device_blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Iterator[Any]:
        """Yield the same where tensors are, if there are any among the parts."""
        device = next((part.device for part in self.parts if is_tensors(part)), None)
        if device is None:
            yield from self.blocks(n_rows)
            return
        torch = torch_module()
        with ExitStack() as stack:
            readers = [stack.enter_context(closing(self._reader(v, n_rows, True))) for v in range(len(self.parts))]
            for index, rows in enumerate(zip(*readers, strict=True)):
                marks = self._present[index * n_rows : (index + 1) * n_rows]
                parts = [zero_where_absent(_dense(part), marks[:, view]) for view, part in enumerate(rows)]
                dtype = getattr(torch, self.dtype.name)
                placed = [torch.as_tensor(part, dtype=dtype, device=device) for part in (*parts, marks)]
                yield torch.cat(placed, dim=1)

    def take(self, rows: NDArray[np.intp], present: NDArray[np.bool_] | None = None) -> Any:
        """Single rows."""
        if any(is_tensors(part) or hasattr(part, "indptr") for part in self.parts):
            return self._side_by_side(rows)
        joined = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        # a few at a time, as parts take as much again; of files all at once, which are read from their beginning
        step = max(1, READ_BYTES // (self.shape[1] * self.dtype.itemsize)) if self.any_order else max(1, len(rows))
        for start in range(0, len(rows), step):
            joined[start : start + step] = self._side_by_side(rows[start : start + step])
        return joined

    def _side_by_side(self, rows: NDArray[np.intp]) -> Any:
        marks = self._present[rows]
        taken = [
            part.take(rows, marks[:, view]) if is_source(part) else part[rows]
            for view, part in enumerate(self.parts)
        ]
        return self._joined(taken, marks)

    def check_unchanged(self) -> None:
        """Raise SourceChangedError if a file of any part is not what it was."""
        for part in filter(is_source, self.parts):
            part.check_unchanged()

    def _reader(self, view: int, n_rows: int, on_device: bool = False) -> Generator[Any, None, None]:
        part = self.parts[view]
        if is_source(part):
            yield from (part.device_blocks if on_device else part.blocks)(n_rows, self._present[:, view])
        else:
            yield from (part[start : start + n_rows] for start in range(0, self.shape[0], n_rows))

    def _joined(self, rows: Any, present: NDArray[np.bool_]) -> Any:
        parts = [zero_where_absent(part, present[:, view]) for view, part in enumerate(rows)]
        marks = present.astype(self.dtype)
        if any(hasattr(part, "indptr") for part in self.parts):
            return sparse.csr_array(sparse.hstack([*map(sparse.csr_array, parts), sparse.csr_array(marks)]))
        return np.concatenate([*parts, marks], axis=1, dtype=self.dtype)

    def _blocks(self, n_rows: int) -> Iterator[Any]:
        return self.blocks(n_rows)

    def _take(self, rows: NDArray[np.intp]) -> Any:
        return self.take(rows)


def _dense(rows: Any) -> Any:
    return rows.toarray() if hasattr(rows, "toarray") else rows


def view_offsets(table: Any) -> tuple[int, ...]:
    """Columns at which views begin and end."""
    parts = getattr(table, "parts", None) or (table,)
    return (0, *np.cumsum([int(part.shape[1]) for part in parts]).tolist())


def join_views(views: Views) -> Views:
    """All views as one; a single one stays as it is."""
    if len(views.names) == 1:
        return views
    if are_lazy(views):
        return Views(("graph",), (join_lazy(views),), views.weight)
    return Views(("graph",), (JoinedSource(views.arrays, views.present),), views.weight)
