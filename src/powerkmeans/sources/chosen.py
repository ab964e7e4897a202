"""Some rows of an array that are not copied: a block of them at a time is."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources.source import Source, TableFacts, is_source
from powerkmeans.types import Array

# bytes from which rows are not copied: fewer are read quicker than they are chosen again in every pass
MANY_BYTES = 2**25


class ChosenRows(Source):
    """Rows of an array by their numbers, in any order; what the array holds is not checked again."""

    held = True
    any_order = True

    def __init__(self, array: NDArray[Any], numbers: NDArray[np.intp]) -> None:
        super().__init__(TableFacts("rows", (len(numbers), array.shape[1]), array.dtype, (), None, {}, None))
        self._array, self._numbers = array, numbers

    def blocks(self, n_rows: int, present: NDArray[np.bool_] | None = None) -> Generator[NDArray[Any], None, None]:
        """Yield consecutive blocks of rows."""
        yield from self._blocks(n_rows)

    def take(self, rows: NDArray[np.intp], present: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Single rows."""
        return self._take(rows)

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> NDArray[Any]:
        return self._array[self._numbers[rows]]

    def _blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        for start in range(0, self.shape[0], n_rows):
            yield self._array[self._numbers[start : start + n_rows]]

    def _take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._array[self._numbers[rows]]


def choose_rows(array: Array, numbers: NDArray[np.intp]) -> Array:
    """Rows of a table in memory: as a copy, or, if that would be large, as a source."""
    dense = isinstance(array, np.ndarray)
    many = len(numbers) * array.shape[1] * array.dtype.itemsize >= MANY_BYTES
    return ChosenRows(array, numbers) if dense and many else array[numbers]


def in_memory(table: Array) -> Array:
    """A table as an array: one that is read is read whole."""
    return table.read() if is_source(table) else table
