"""What can be done to cells: each operation is frozen numbers and words, and a function of rows alone.

A row's answer does not depend on the rows beside it, so new rows are treated as those of the fit were. Files keep
the fields; ``contents`` has the table of what they may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import KNNImputer
from sklearn.preprocessing import normalize

from powerkmeans.preparing.cells import Cells, are_counted, dense, is_sparse
from powerkmeans.preparing.words import FillWords, Floats, Indicators, Ordinals, Read

ROWS_AT_ONCE = 2**15


class Operation(Protocol):
    """A step of a preparation."""

    name: ClassVar[str]

    def __call__(self, cells: Cells) -> Cells: ...


Chain = tuple[Operation, ...]


def applied(chain: Sequence[Operation], cells: Cells) -> Cells:
    """Do one operation after the other; those of numbers are given nothing else."""
    for operation in chain:
        cells = operation(cells if operation.name in _OF_WORDS else cells.as_numbers())
    return cells


@dataclass(frozen=True)
class Columns:
    """The columns that a model knows, found by their names, or by position in a table without any.

    places, among : where they stood among how many in the table of the fit, if that had others besides
    """

    columns: tuple[str, ...]
    places: tuple[int, ...] = ()
    among: int = 0
    name: ClassVar[str] = "columns"

    def __call__(self, cells: Cells) -> Cells:
        width = len(self.columns)
        if not cells.named or not self._named:
            if len(cells.columns) not in (width, self.among):
                raise ValueError(f"The table has {len(cells.columns)} columns, the model was fitted to {width}.")
            cells = cells if len(cells.columns) == width else cells.take(self.places)
            return Cells(self.columns, cells.numbers, cells.words)
        places = {label: place for place, label in enumerate(cells.columns)}
        if len(places) < len(cells.columns):
            self._check_once(cells.columns)
        lacking = [label for label in self.columns if label not in places]
        if lacking:
            shown = ", ".join(map(repr, lacking[:5])) + (" and more" if len(lacking) > 5 else "")
            raise ValueError(f"The table lacks {len(lacking)} of the {width} columns of the model: {shown}.")
        found = [places[label] for label in self.columns]
        return cells if found == list(range(len(cells.columns))) else cells.take(found)

    def _check_once(self, header: tuple[str, ...]) -> None:
        for label in self.columns:
            if header.count(label) > 1:
                raise ValueError(f"The table has more than one column {label!r}; rename them.")

    @property
    def _named(self) -> bool:
        return not are_counted(self.columns)


@dataclass(frozen=True)
class Fill:
    """A number in place of what is missing, column by column; ``absent`` rows, without any, may stay so."""

    values: Floats
    absent: bool = False
    name: ClassVar[str] = "fill"

    def __call__(self, cells: Cells) -> Cells:
        if is_sparse(cells.numbers) and not np.any(np.isnan(cells.numbers.data)):
            return cells
        cells = dense(cells)
        missing = _gaps(cells.numbers, self.absent)
        return cells.with_numbers(np.where(missing, self.values, cells.numbers).astype(cells.numbers.dtype))


@dataclass(frozen=True)
class FillByNeighbours:
    """What is missing is the mean of the donors that are nearest in what is there.

    donors : rows of the fit, gaps included
    units : what columns are divided by when rows are compared
    """

    donors: Floats
    units: Floats
    n_neighbors: int = 5
    absent: bool = False
    name: ClassVar[str] = "fill_by_neighbours"

    def __call__(self, cells: Cells) -> Cells:
        cells = dense(cells)
        missing = _gaps(cells.numbers, self.absent)
        rows = np.any(missing, axis=1)
        numbers = np.array(cells.numbers)
        if np.any(rows):
            numbers[rows] = self._imputer.transform(numbers[rows].astype(np.float64) / self.units) * self.units
        return cells.with_numbers(numbers)

    @cached_property
    def _imputer(self) -> KNNImputer:
        imputer = KNNImputer(n_neighbors=self.n_neighbors, keep_empty_features=True)
        return imputer.fit(self.donors / self.units)


def _gaps(numbers: Any, absent: bool) -> NDArray[np.bool_]:
    """What is to be filled: rows without any number are left alone where they may be absent."""
    missing = np.isnan(numbers)
    return missing & ~np.all(missing, axis=1, keepdims=True) if absent else missing


@dataclass(frozen=True)
class Totals:
    """Rows that add up to the same; those of zeros stay so."""

    total: float
    name: ClassVar[str] = "totals"

    def __call__(self, cells: Cells) -> Cells:
        _check_counts(cells, "totals")
        sums = np.asarray(cells.numbers.sum(axis=1), dtype=np.float64).ravel()
        factors = np.divide(self.total, sums, out=np.zeros_like(sums), where=sums != 0)[:, None]
        if is_sparse(cells.numbers):
            return cells.with_numbers(cells.numbers.multiply(factors).tocsr())
        return cells.with_numbers((cells.numbers * factors).astype(cells.numbers.dtype))


# functions of single numbers, by what NumPy calls them
FUNCTIONS: dict[str, Callable[..., Any]] = {
    one: getattr(np, one) for one in ("log1p", "log", "log2", "log10", "sqrt", "expm1", "exp", "abs")
}


@dataclass(frozen=True)
class Function:
    """A function of single numbers, of ``counts`` if negative ones are refused."""

    function: str
    counts: bool = False
    name: ClassVar[str] = "function"

    def __call__(self, cells: Cells) -> Cells:
        if self.counts:
            _check_counts(cells, "logarithms")
        with np.errstate(all="ignore"):
            return cells.with_numbers(FUNCTIONS[self.function](cells.numbers))


def _check_counts(cells: Cells, what: str) -> None:
    """Reject negative numbers, by the first column that has any."""
    values = cells.numbers.data if is_sparse(cells.numbers) else cells.numbers
    low = values < 0
    if np.any(low):
        which = (
            ""
            if is_sparse(cells.numbers)
            else f" in column {cells.columns[int(np.argmax(np.any(low, axis=0)))]!r}"
        )
        raise ValueError(f"There are negative numbers{which}; {what} are taken of counts and amounts alone.")


@dataclass(frozen=True)
class Affine:
    """Columns less their centres, in units of their scales, in the precision that they have."""

    centre: Floats
    scale: Floats
    name: ClassVar[str] = "affine"

    def __call__(self, cells: Cells) -> Cells:
        if is_sparse(cells.numbers) and not np.any(self.centre):
            return cells.with_numbers(cells.numbers.multiply(1 / self.scale[None, :]).tocsr())
        cells = dense(cells)
        moved = np.empty(cells.numbers.shape, dtype=cells.numbers.dtype)
        for start in range(0, len(cells), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            moved[rows] = (cells.numbers[rows].astype(np.float64) - self.centre) / self.scale
        return cells.with_numbers(moved)


@dataclass(frozen=True)
class UnitRows:
    """Rows of length one, by scikit-learn's names of norms; rows of zeros stay so."""

    norm: str
    name: ClassVar[str] = "unit_rows"

    def __call__(self, cells: Cells) -> Cells:
        if is_sparse(cells.numbers):
            return cells.with_numbers(normalize(cells.numbers, norm=self.norm))
        whole = ~np.any(np.isnan(cells.numbers), axis=1)
        numbers = np.full_like(cells.numbers, np.nan)
        if np.any(whole):
            numbers[whole] = normalize(cells.numbers[whole], norm=self.norm)
        return cells.with_numbers(numbers)


@dataclass(frozen=True)
class Project:
    """Coordinates on some directions: principal components, for example."""

    centre: Floats
    directions: Floats
    name: ClassVar[str] = "project"

    def __call__(self, cells: Cells) -> Cells:
        shift = self.centre @ self.directions.T
        found = np.asarray(cells.numbers @ self.directions.T - shift)
        columns = tuple(f"component_{place + 1}" for place in range(len(self.directions)))
        return Cells(columns, found)


@dataclass(frozen=True)
class Take:
    """Some columns by their positions."""

    places: tuple[int, ...]
    name: ClassVar[str] = "take"

    def __call__(self, cells: Cells) -> Cells:
        return cells.take(self.places)


@dataclass(frozen=True)
class Beside:
    """Results of several chains, side by side."""

    chains: tuple[Chain, ...]
    name: ClassVar[str] = "beside"

    def __call__(self, cells: Cells) -> Cells:
        parts = [applied(chain, cells) for chain in self.chains]
        numbers = [part.numbers.toarray() if is_sparse(part.numbers) else part.numbers for part in parts]
        columns = tuple(label for part in parts for label in part.columns)
        starts = np.cumsum([0, *(len(part.columns) for part in parts)]).tolist()
        words = {
            start + place: texts
            for start, part in zip(starts, parts, strict=False)
            for place, texts in part.words.items()
        }
        return Cells(columns, np.concatenate(numbers, axis=1), words)


_OF_CELLS = (Columns, Take, Beside, Read, Indicators, Ordinals, FillWords)
_OF_WORDS = {one.name for one in _OF_CELLS}
OPERATIONS: dict[str, type[Any]] = {
    one.name: one
    for one in (
        *_OF_CELLS,
        *(Fill, FillByNeighbours, Totals, Function, Affine, UnitRows, Project),
    )
}
