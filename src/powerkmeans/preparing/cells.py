"""Rows of a table as they came: numbers, and words where a column has no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from powerkmeans.inputs.tables import as_table, column_names
from powerkmeans.preparing.spelling import PLAIN, Kind, NotSpeltError
from powerkmeans.sources.arrow import is_number
from powerkmeans.support.values import shown

Words = NDArray[Any]
# what pandas and decimals have for nothing
_NOTHING = ("None", "NaT", "<NA>", "NaN")


@dataclass(frozen=True)
class Cells:
    """Rows of named columns.

    columns : what they are called, by their positions if nobody named them
    numbers : (n_rows, n_columns), NaN for what is missing and in columns of words; sparse only without any
    words : the columns that are no numbers, by position, as texts, "" for what is missing
    """

    columns: tuple[str, ...]
    numbers: Any
    words: Mapping[int, Words] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @property
    def named(self) -> bool:
        """Whether columns have names, and are not merely counted."""
        return not are_counted(self.columns)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, (n_rows, n_columns)."""
        if is_sparse(self.numbers):
            return np.zeros(self.numbers.shape, dtype=bool)
        missing = np.isnan(self.numbers)
        for place, texts in self.words.items():
            missing[:, place] = texts == ""
        return missing

    def column(self, place: int) -> NDArray[Any]:
        """The numbers of a column, or its words."""
        return self.words[place] if place in self.words else self.numbers[:, place]

    def take(self, places: Sequence[int]) -> Cells:
        """Some columns, in their order."""
        words = {new: self.words[old] for new, old in enumerate(places) if old in self.words}
        return Cells(tuple(self.columns[place] for place in places), self.numbers[:, list(places)], words)

    def rows(self, rows: Any) -> Cells:
        """Some rows."""
        return replace(self, numbers=self.numbers[rows], words={p: w[rows] for p, w in self.words.items()})

    def spread(self, places: Sequence[int], n_rows: int) -> Cells:
        """The same rows at given places among ``n_rows``; all others are missing."""
        numbers = np.full((n_rows, len(self.columns)), np.nan, dtype=self.numbers.dtype)
        numbers[list(places)] = self.numbers
        words = {}
        for place, texts in self.words.items():
            words[place] = np.full(n_rows, "", dtype=object)
            words[place][list(places)] = texts
        return replace(self, numbers=numbers, words=words)

    def as_numbers(self) -> Cells:
        """The same with words read as the numbers that they must be."""
        if not self.words:
            return self
        numbers = np.array(self.numbers)
        for place, texts in self.words.items():
            try:
                numbers[:, place] = PLAIN.read(texts, Kind.NUMBER)
            except NotSpeltError as error:
                raise ValueError(f"Column {self.columns[place]!r}: {error}.") from error
        return self.with_numbers(numbers)

    def with_numbers(self, numbers: Any) -> Cells:
        """The same columns with other numbers and no words."""
        return Cells(self.columns, numbers)


def are_counted(columns: Sequence[str]) -> bool:
    """Whether columns are called 0, 1, 2, ... because nobody named them."""
    return list(columns) == [str(place) for place in range(len(columns))]


def is_sparse(numbers: Any) -> bool:
    """Whether numbers are a sparse matrix."""
    return bool(issparse(numbers))


def dense(cells: Cells) -> Cells:
    """The same with an array of numbers."""
    return cells.with_numbers(cells.numbers.toarray()) if is_sparse(cells.numbers) else cells


def cells_of(X: Any) -> Cells:
    """A data frame, an array, a sparse matrix or a list of rows as cells."""
    if isinstance(X, Cells):
        return X
    table = as_table(X)
    if len(getattr(table, "shape", ())) != 2:
        raise ValueError(f"Expected a table of rows and columns, got {shown(X)}.")
    header = column_names(table)
    if header is None:
        return _from_array(table)
    columns = [_column(table, place) for place in range(len(header))]
    words = {place: texts for place, texts in enumerate(columns) if texts.dtype == object}
    floats = [np.full(len(c), np.nan) if c.dtype == object else c for c in columns]
    single = bool(floats) and all(c.dtype == np.float32 for c in columns)
    numbers = np.stack(floats, axis=1) if floats else np.empty((table.shape[0], 0))
    return Cells(tuple(map(str, header)), numbers.astype(np.float32 if single else np.float64, copy=False), words)


def _from_array(table: Any) -> Cells:
    columns = tuple(str(place) for place in range(table.shape[1]))
    if is_sparse(table):
        return Cells(columns, table)  # as_table has sorted it by rows
    values = np.asarray(table)
    if values.ndim != 2:  # what has a shape need not be an array
        raise ValueError(f"Expected a table of rows and columns, got {shown(table)}.")
    if values.dtype.kind in "biuf":
        single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
        return Cells(columns, values.astype(np.float32 if single else np.float64, copy=False))
    texts = [_texts(values[:, place]) for place in range(values.shape[1])]
    return Cells(columns, np.full(values.shape, np.nan), dict(enumerate(texts)))


def _column(table: Any, place: int) -> NDArray[Any]:
    """A column of a data frame: floats, or texts as objects."""
    if hasattr(table, "to_pylist"):
        return _arrow_column(table.column(place))
    series = table.iloc[:, place] if hasattr(table, "iloc") else table[:, place]
    kind: Any = getattr(series, "dtype", None)
    numeric = getattr(kind, "kind", "") in tuple("biuf") if not hasattr(kind, "is_numeric") else kind.is_numeric()
    if numeric and hasattr(series, "isna"):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    elif numeric or str(kind) == "Boolean":
        numbers = series.cast(float).to_numpy() if hasattr(series, "cast") else np.asarray(series)
    else:
        return _texts(np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series))
    return numbers.astype(np.float32 if str(kind).lower() == "float32" else np.float64, copy=False)


def _arrow_column(column: Any) -> NDArray[Any]:
    """A column of a table of Arrow."""
    if not is_number(column.type, nulls=True):
        return _texts(np.array([*column.to_pylist(), None], dtype=object)[:-1])  # lists of one length stay cells
    numbers = np.asarray(column.cast("float64", safe=False))
    return numbers.astype(np.float32 if str(column.type) == "float" else np.float64, copy=False)


def _texts(values: NDArray[Any]) -> Words:
    """Cells as texts without white space around them; nothing for what is missing."""
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]")  # finer ones are mere integers for Python
    return np.array([_text(value) for value in values.tolist()], dtype=object)


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return number_text(float(value))
    if isinstance(value, str):
        return value.strip()
    return "" if str(value) in _NOTHING else str(value)


def as_words(column: NDArray[Any]) -> Words:
    """A column of numbers as texts; one of words is as it is."""
    if column.dtype == object:
        return column
    return np.array([number_text(value) for value in column.tolist()], dtype=object)


def number_text(value: float) -> str:
    """A number as people write it: whole ones without a point, nothing for none."""
    if not np.isfinite(value):
        return "" if np.isnan(value) else str(value)
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
