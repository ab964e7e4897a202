"""What can be done to cells: each operation is frozen numbers and words, and a function of rows alone.

A row's answer does not depend on the rows beside it, so new rows are treated as those of the fit were. Files keep
the fields; ``contents`` has the table of what they may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import KNNImputer
from sklearn.preprocessing import normalize

from powerkmeans.preparing.cells import Cells, as_words, dense, is_sparse, number_text
from powerkmeans.preparing.spelling import Kind, NotSpeltError, Spelling

ROWS_AT_ONCE = 2**15
Floats = NDArray[np.float64]


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
    """The columns that a model knows, found by their names, or by position in a table without any."""

    columns: tuple[str, ...]
    name: ClassVar[str] = "columns"

    def __call__(self, cells: Cells) -> Cells:
        width = len(self.columns)
        if not cells.named or not self._named:
            if len(cells.columns) != width:
                raise ValueError(f"The table has {len(cells.columns)} columns, the model was fitted to {width}.")
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
        return list(self.columns) != [str(place) for place in range(len(self.columns))]


@dataclass(frozen=True)
class Read:
    """Words as numbers: amounts, shares, truth values, days; categories stay words, and numbers become them.

    kinds : what each column holds
    """

    kinds: tuple[Kind, ...]
    spelling: Spelling
    name: ClassVar[str] = "read"

    def __call__(self, cells: Cells) -> Cells:
        words: dict[int, NDArray[Any]] = {}
        cells = cells if set(self.kinds) <= {Kind.NUMBER} and not self.spelling.missing else dense(cells)
        numbers = np.array(cells.numbers) if cells.words else cells.numbers
        numbers = self.spelling.with_gaps(numbers) if self.spelling.missing else numbers
        cells = replace(cells, numbers=numbers)
        for place, kind in enumerate(self.kinds):
            column = cells.column(place)
            if kind is Kind.CATEGORY:
                words[place] = self._categories(column)
            elif place in cells.words:
                numbers[:, place] = self._numbers(column, kind, cells.columns[place])
            elif kind is not Kind.NUMBER:
                _check_kind(column, kind, cells.columns[place])
        return Cells(cells.columns, numbers, words)

    def _numbers(self, texts: NDArray[Any], kind: Kind, column: str) -> Floats:
        try:
            return self.spelling.read(texts, kind)
        except NotSpeltError as error:
            raise ValueError(f"Column {column!r}: {error}, as cells were in the fit.") from error

    def _categories(self, column: NDArray[Any]) -> NDArray[Any]:
        if column.dtype == object:
            missing = self.spelling.is_missing
            return np.array(["" if missing(text) else text for text in column.tolist()], dtype=object)
        return as_words(column)


def _check_kind(numbers: Floats, kind: Kind, column: str) -> None:
    """Reject numbers where there were words: other ones than 0 and 1 as truth values, any as dates."""
    fits = np.isnan(numbers) if kind is Kind.DATE else np.isin(numbers, (0, 1)) | np.isnan(numbers)
    if not np.all(fits):
        first = number_text(float(numbers[np.argmin(fits)]))
        raise ValueError(f"Column {column!r}: {NotSpeltError(first, kind)}, as cells were in the fit.")


# what becomes of cells that have none of the categories of the fit, missing ones among them
GAPS, IGNORE, ERROR = "gaps", "ignore", "error"
UNSEEN = (GAPS, IGNORE, ERROR)
_NEW, _MISSING = -1, -2


@dataclass(frozen=True)
class Indicators:
    """A column of zeros and ones for each category.

    levels : the categories of each column, empty for one that stays as it is
    unseen : of cells without any of them: new categories are zeros and missing cells stay so, both are zeros, or
        both are an error
    """

    levels: tuple[tuple[str, ...], ...]
    unseen: str = GAPS
    name: ClassVar[str] = "indicators"

    def __call__(self, cells: Cells) -> Cells:
        parts, columns = list[NDArray[Any]](), list[str]()
        for place, (label, levels) in enumerate(zip(cells.columns, self.levels, strict=True)):
            if not levels:
                parts.append(cells.numbers[:, place : place + 1])
                columns.append(label)
                continue
            parts.append(self._indicated(as_words(cells.column(place)), levels, label))
            columns += [f"{label}={level}" for level in levels]
        return Cells(tuple(columns), np.concatenate(parts, axis=1).astype(cells.numbers.dtype, copy=False))

    def _indicated(self, texts: NDArray[Any], levels: tuple[str, ...], label: str) -> Floats:
        places = _places(texts, levels)
        if self.unseen == ERROR and np.any(places < 0):
            new = texts[np.argmin(places)]
            what = f"the category {new!r}" if new else "missing cells"
            raise ValueError(f"Column {label!r} has {what}, which the fit did not have.")
        found = (places[:, None] == np.arange(len(levels))).astype(np.float64)
        if self.unseen == GAPS:
            found[places == _MISSING] = np.nan
        return found

    def unknown(self, cells: Cells) -> dict[str, list[str]]:
        """Categories that the fit did not see, by column."""
        found = {}
        for place, (label, levels) in enumerate(zip(cells.columns, self.levels, strict=True)):
            texts = as_words(cells.column(place)) if levels else np.array([], dtype=object)
            new = texts[_places(texts, levels) == _NEW]
            if len(new):
                found[label] = sorted(set(new.tolist()))
        return found


def _places(texts: NDArray[Any], levels: tuple[str, ...]) -> NDArray[np.intp]:
    """Which category each text is. Codes may come as numbers, and truth values too, which 01 and TRUE then are."""
    alike = {_as_number(level): place for place, level in reversed(list(enumerate(levels)))}
    alike |= {level: place for place, level in enumerate(levels)}
    nothing = {"": alike.get("", _MISSING)}
    known = {text: alike.get(text, alike.get(_as_number(text), _NEW)) for text in set(texts.tolist())} | nothing
    return np.array([known[text] for text in texts.tolist()], dtype=np.intp)


def _as_number(text: str) -> str:
    """The number that a table of numbers has for a text, as text."""
    if text.lower() in ("true", "false"):
        return str(int(text.lower() == "true"))
    try:
        number = float(text)
    except ValueError:
        return text
    return number_text(number) if np.isfinite(number) else text


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
class FillWords:
    """A word in place of what is missing, column by column; numbers beside it become words."""

    values: tuple[str, ...]
    name: ClassVar[str] = "fill_words"

    def __call__(self, cells: Cells) -> Cells:
        words = dict(cells.words)
        for place in np.flatnonzero(np.any(cells.is_missing, axis=0)).tolist():
            texts = as_words(cells.column(place))
            words[place] = np.where(texts == "", self.values[place], texts)
        return Cells(cells.columns, cells.numbers, words)


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


_OF_CELLS = (Columns, Take, Beside, Read, Indicators, FillWords)
_OF_WORDS = {one.name for one in _OF_CELLS}
OPERATIONS: dict[str, type[Any]] = {
    one.name: one
    for one in (
        *_OF_CELLS,
        *(Fill, FillByNeighbours, Totals, Function, Affine, UnitRows, Project),
    )
}
