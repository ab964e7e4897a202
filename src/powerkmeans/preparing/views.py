"""The preparation of a view: found in the rows of a fit, and applied to any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.preparing.cells import Cells, is_sparse
from powerkmeans.preparing.operations import (
    Affine,
    Chain,
    Columns,
    Fill,
    FillByNeighbours,
    Function,
    Operation,
    Totals,
    applied,
)
from powerkmeans.preparing.scaling import Scaling, find_scaling, scales_columns
from powerkmeans.preparing.spelling import PLAIN, Kind, Spelling, kind_of
from powerkmeans.preparing.words import Indicators, Read

MEDIAN, NEIGHBOURS, DROP_ROWS = "median", "knn", "drop-rows"
# rows that others are filled from, at most, and the seed that they are drawn with
_DONORS, _SEED = 2000, 0


@dataclass(frozen=True)
class PreparedView:
    """A view as the model sees it, and what makes it of a table.

    name : of the view
    columns : of the model, after the chain
    chain : the operations, the first of which finds the table's columns
    """

    name: str
    columns: tuple[str, ...]
    chain: Chain

    @property
    def finder(self) -> Columns:
        """What finds the columns of the table that it is made of."""
        first = self.chain[0]
        assert isinstance(first, Columns)
        return first

    @property
    def given(self) -> tuple[str, ...]:
        """The columns of the table that it is made of."""
        return self.finder.columns

    @property
    def spelling(self) -> Spelling:
        """How cells were spelt in the fit."""
        return next((one.spelling for one in self.chain if isinstance(one, Read)), PLAIN)

    @property
    def has_categories(self) -> bool:
        """Whether words became columns of 0 and 1."""
        return any(isinstance(one, Indicators) for one in self.chain)

    def in_units(self, cells: Cells) -> Any:
        """The columns of the model in the units of the table, gaps included; None where they are others."""
        found = applied([one for one in self.chain if isinstance(one, (Columns, Read, Indicators))], cells)
        return found.numbers if found.columns == self.columns and not found.words else None

    def __call__(self, cells: Cells) -> Any:
        """What the model takes, a row of NaN where a cell is missing that nothing fills."""
        numbers = applied(self.chain, cells).as_numbers().numbers
        return numbers if is_sparse(numbers) else np.asarray(numbers)


@dataclass(frozen=True)
class Treatment:
    """What is to be done to tables.

    impute : what fills missing cells, None for nothing
    scale : how columns are scaled
    total : what counts of a row are made to add up to, None to leave them
    log : whether logarithms are taken of one more than the numbers
    """

    spelling: Spelling = PLAIN
    impute: str | None = None
    scale: str = "standard"
    total: float | None = None
    log: bool = False


class Prepared(NamedTuple):
    """A view's preparation, its rows in the units of the table, gaps included, and as the model takes them."""

    view: PreparedView
    original: Cells
    values: NDArray[Any]
    scaling: Scaling


def find_kinds(cells: Cells, spelling: Spelling, encoded: Sequence[str] = ()) -> dict[str, Kind | None]:
    """What each column holds; None for words that nobody said what to do with."""
    kinds: dict[str, Kind | None] = {}
    for place, label in enumerate(cells.columns):
        if label in encoded:
            kinds[label] = Kind.CATEGORY
        else:
            kinds[label] = kind_of(set(cells.words[place]), spelling) if place in cells.words else Kind.NUMBER
    return kinds


def prepare_view(
    name: str, cells: Cells, kinds: Mapping[str, Kind], treatment: Treatment, *, absent: bool
) -> Prepared:
    """Find a view's preparation in its rows; ``absent`` ones, without any value, may stay so."""
    chain: list[Operation] = [Columns(cells.columns), Read(tuple(kinds.values()), treatment.spelling)]
    words = applied(chain, cells)
    if words.words:
        chain.append(Indicators(tuple(_levels(words, place) for place in range(len(words.columns)))))
    original = applied(chain, cells)
    _check_names(original.columns)
    categories = _categories(chain[-1])
    rest = _later(original, treatment, categories, absent=absent)
    values = applied(rest, original)
    scaling = find_scaling(values.numbers, treatment.scale, categories)
    _check_size(scaling, values.columns)
    if scales_columns(treatment.scale):
        rest.append(Affine(scaling.centre, scaling.scale))
        values = rest[-1](values)
    view = PreparedView(name, original.columns, (*chain, *rest))
    return Prepared(view, original, np.asarray(values.numbers), scaling)


def _check_names(columns: Sequence[str]) -> None:
    """Reject a category that is called as a column is."""
    for label, count in Counter(columns).items():
        if count > 1:
            raise ValueError(
                f"Two columns would be called {label!r}: one of the table, and one of a category; rename it."
            )


def _check_size(scaling: Scaling, columns: Sequence[str]) -> None:
    """Reject numbers whose squares are none."""
    fits = np.isfinite(scaling.deviation) & np.isfinite(scaling.scale)
    if not np.all(fits):
        column = columns[int(np.argmin(fits))]
        raise ValueError(
            f"Column {column!r} has numbers that are too large to be compared; divide them, or leave it out."
        )


def _levels(words: Cells, place: int) -> tuple[str, ...]:
    """The categories of a column in their order, none for one of numbers."""
    return tuple(sorted(set(words.words[place].tolist()) - {""})) if place in words.words else ()


def _categories(last: Operation) -> list[slice]:
    """Where the columns of each category stand."""
    if not isinstance(last, Indicators):
        return []
    widths = [max(1, len(levels)) for levels in last.levels]
    starts = np.cumsum([0, *widths])
    return [slice(int(a), int(a) + len(levels)) for a, levels in zip(starts, last.levels, strict=False) if levels]


def _later(original: Cells, treatment: Treatment, categories: list[slice], *, absent: bool) -> list[Operation]:
    """What is done to numbers before they are scaled."""
    rest: list[Operation] = []
    if treatment.impute == MEDIAN:
        rest.append(Fill(_medians(original, categories), absent))
    elif treatment.impute == NEIGHBOURS:
        rest.append(_by_neighbours(original, absent=absent))
    if treatment.total is not None:
        rest.append(Totals(treatment.total))
    if treatment.log:
        rest.append(Function("log1p", counts=True))
    return rest


def _medians(cells: Cells, categories: list[slice]) -> NDArray[np.float64]:
    """The median of each column, and the most frequent one of categories."""
    values = np.asarray(cells.numbers, dtype=np.float64)
    usual = np.array([0.0 if np.all(np.isnan(column)) else np.nanmedian(column) for column in values.T])
    for columns in categories:
        counts = np.nansum(values[:, columns], axis=0)
        usual[columns] = np.arange(len(counts)) == np.argmax(counts)
    return usual


def _by_neighbours(cells: Cells, *, absent: bool) -> FillByNeighbours:
    values = np.asarray(cells.numbers, dtype=np.float64)
    values = values[~np.all(np.isnan(values), axis=1)]
    units = np.array([0.0 if np.all(np.isnan(column)) else np.nanstd(column) for column in values.T])
    return FillByNeighbours(_donors(values), np.where(units > 0, units, 1.0), absent=absent)


def _donors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some of the rows, whatever order they come in."""
    if len(values) <= _DONORS:
        return values
    in_order = values[np.lexsort(values.T)]
    return in_order[np.random.default_rng(_SEED).choice(len(values), _DONORS, replace=False)]
