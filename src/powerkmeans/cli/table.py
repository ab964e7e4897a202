"""A table that was read: numbers, the names of their columns, and the ids of their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError, listed, near
from powerkmeans.preparing.cells import Cells, Words
from powerkmeans.preparing.spelling import PLAIN, Spelling
from powerkmeans.support.escapes import printable

# where the wanted columns stand in a header: (header, name of the file) -> positions
Choose = Callable[[Sequence[str], str], list[int]]
# told of the share of a file that has been read
OnRead = Callable[[float], None]


class Ids(NamedTuple):
    """What the rows are called: the name of the column, texts, and whether they were integers."""

    column: str
    values: NDArray[Any]
    integers: bool

    def called(self, row: int) -> str:
        """What a row is called, for messages."""
        return f"{printable(self.column)} {self.values[row]!r}"


@dataclass(frozen=True)
class Request:
    """What is wanted of a file, and how it is to be read.

    choose : which columns
    id_column : the column that names the rows; ``id_optional``: if there is one
    arrays : which arrays or sheets, of a file that holds several
    single : in single precision
    delimiter, header, encoding : of text files; None to find out
    spelling : how numbers are written, and what is missing
    for_fit : whether a model is to be made of it, and is not there already
    on_read : told of the share of the file that has been read
    """

    choose: Choose
    id_column: str | None = None
    id_optional: bool = False
    arrays: tuple[str, ...] = ()
    single: bool = False
    delimiter: str | None = None
    spelling: Spelling = PLAIN
    header: bool | None = None
    encoding: str = "utf-8"
    for_fit: bool = True
    on_read: OnRead = lambda share: None

    def dtype(self, stored: np.dtype[Any]) -> np.dtype[Any]:
        """The precision in which a stored type is used."""
        narrow = self.single or (stored.kind == "f" and stored.itemsize <= 4)
        return np.dtype(np.float32 if narrow else np.float64)

    @property
    def decimal(self) -> str:
        return self.spelling.decimal


@dataclass(frozen=True)
class Table:
    """One view's worth of rows; what is missing is NaN, and so are columns that hold words.

    ``source`` is what messages call it. ``lines`` has the line of the file that each row stands in, for text.
    ``words`` has the columns that are no numbers, by position, with "" for what is missing.
    ``scaled`` tells whether columns are to be scaled if nobody says: components have one unit, and their spread
    tells what they are worth. ``weight`` has what each row counts, if the file says so.
    """

    name: str
    source: str
    columns: tuple[str, ...]
    values: NDArray[Any]
    ids: Ids | None = None
    lines: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    words: Mapping[int, Words] = field(default_factory=dict)
    scaled: bool = True
    weight: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def cells(self) -> Cells:
        """The columns, numbers and words."""
        return Cells(self.columns, self.values, self.words)

    def words_of(self, column: str) -> Words:
        """The words of a column, nothing for one of numbers."""
        place = self.columns.index(column)
        return self.words[place] if place in self.words else np.full(len(self), "", dtype=object)

    def with_cells(self, cells: Cells) -> Table:
        """The same rows with other columns."""
        return replace(self, columns=cells.columns, values=cells.numbers, words=cells.words)

    def place(self, row: int) -> str:
        """Where a row is found, for messages."""
        if self.lines is not None:
            return f"line {self.lines[row]}"
        return f"row {row}" if self.ids is None else f"row {row} ({self.ids.called(row)})"


def id_place(header: Sequence[str], request: Request, source: str) -> int | None:
    """Where the column of ids stands."""
    id_column = request.id_column
    if id_column is None or (request.id_optional and id_column not in header):
        return None
    if id_column not in header:
        hint = near(id_column, list(header)) or f"; it has {listed(list(header))}."
        raise UserError(f"{source} has no column {id_column!r} for --id{hint}")
    return list(header).index(id_column)


def checked_header(header: Sequence[str], source: str) -> None:
    """Reject a header with a name that comes twice."""
    known = set[str]()
    for name in header:
        if name in known:
            raise UserError(f"{source} has more than one column {name!r}; rename them.")
        known.add(name)


def checked_ids(ids: Ids, table: Table) -> Ids:
    """Reject ids that are empty or come twice."""
    first: dict[str, int] = {}
    for row, value in enumerate(ids.values):
        if value == "":
            raise UserError(f"{table.source} has no {ids.column!r} in {table.place(row)}; every row needs an id.")
        if value in first:
            places = f"{table.place(first[value])} and {table.place(row)}"
            raise UserError(f"{table.source} has the id {value!r} twice, in {places}; ids must be unique.")
        first[value] = row
    return ids
