"""Tables as views of the same samples: cut by columns, checked, aligned by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.columns import cut_views
from powerkmeans.cli.errors import UserError, counted, listed
from powerkmeans.cli.table import Ids, Table
from powerkmeans.cli.weights import joined_weights
from powerkmeans.preparing.cells import Cells


@dataclass(frozen=True)
class Samples:
    """Views with the same samples in the same order, in the units they were read in.

    views : the cells of each view, a row without any where a sample lacks it, None for a view that nobody has
    ids : what the samples are called
    n_samples : how many there are
    everyone, kept : where some rows were left out, the ids of all, and which rows are the samples
    n_rows : how many rows were read
    weight : what each sample counts, None if they count alike
    """

    views: dict[str, Cells | None]
    ids: Ids | None
    n_samples: int
    notes: tuple[str, ...] = ()
    everyone: Ids | None = None
    kept: NDArray[np.intp] | None = None
    n_rows: int = 0
    weight: NDArray[np.float64] | None = None

    def coverage(self, view: str) -> float:
        """The share of the samples that have a view."""
        cells = self.views[view]
        return 0.0 if cells is None else float(1 - np.mean(_absent(cells)))

    def only(self, rows: NDArray[np.bool_], note: str) -> Samples:
        """Some of the samples; the others have rows in the answers, which stay empty."""
        ids = None if self.ids is None else self.ids._replace(values=self.ids.values[rows])
        views = {name: None if cells is None else cells.rows(rows) for name, cells in self.views.items()}
        kept, weight = np.flatnonzero(rows), None if self.weight is None else self.weight[rows]
        return Samples(views, ids, len(kept), (*self.notes, note), self.ids, kept, self.n_samples, weight)

    def name_of(self, sample: int) -> Any:
        """The id of a sample, or the number of its row."""
        if self.ids is not None:
            return self.ids.values[sample]
        return int(sample if self.kept is None else self.kept[sample])


def _absent(cells: Cells) -> NDArray[np.bool_]:
    """Which rows have no value at all."""
    return np.asarray(np.all(cells.is_missing, axis=1))


def cut(table: Table, views: dict[str, list[str]]) -> list[Table]:
    """One table as a table per view."""
    groups = cut_views(views, table.columns, table.source)
    tables = [replace(table.with_cells(table.cells.take(places)), name=name) for name, places in groups.items()]
    return [replace(one, notes=table.notes if index == 0 else ()) for index, one in enumerate(tables)]


def is_full(table: Table) -> bool:
    """Whether every cell is a number, and none is infinite; a full one may be too large to add up."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not table.words and bool(np.isfinite(np.sum(table.values, dtype=np.float64)))


def check_values(table: Table, *, rows_may_lack: bool) -> None:
    """Reject infinite values, and rows or tables without any value; a row may lack one view of several."""
    if is_full(table):
        return
    check_finite(table)
    absent = _absent(table.cells)
    if np.all(absent):
        raise UserError(f"{table.source} has no values at all for view {table.name!r}.")
    if np.any(absent) and not rows_may_lack:
        first = table.place(int(np.argmax(absent)))
        bare = counted(int(np.sum(absent)), "row")
        raise UserError(
            f"{table.source} has {bare} without any value, the first in {first}; leave them out, or say --impute "
            "drop-rows."
        )


def check_finite(table: Table) -> None:
    """Reject infinite numbers, by where they stand."""
    infinite = np.isinf(table.values)
    if np.any(infinite):
        row, column = divmod(int(np.argmax(infinite)), table.values.shape[1])
        raise UserError(
            f"{table.source} has an infinite value in {table.place(row)}, column {table.columns[column]!r}."
        )


def align(tables: Sequence[Table]) -> Samples:
    """The tables as views of the union of their samples, in the order in which they first appear."""
    notes = tuple(note for table in tables for note in table.notes)
    _check_all_or_none(tables)
    first = tables[0]
    if first.ids is None or all(_same_ids(first, table) for table in tables):
        _check_lengths(tables)
        n = len(first)
        weight = joined_weights(tables, [slice(None)] * len(tables), n)
        return Samples({t.name: t.cells for t in tables}, first.ids, n, notes, n_rows=n, weight=weight)
    place: dict[str, int] = {}
    for table in tables:
        for value in _ids(table).values:
            place.setdefault(value, len(place))
    _check_overlap(tables)
    rows = [[place[value] for value in _ids(table).values] for table in tables]
    views = {t.name: t.cells.spread(where, len(place)) for t, where in zip(tables, rows, strict=True)}
    weight = joined_weights(tables, rows, len(place))
    integers = all(_ids(table).integers for table in tables)
    ids = Ids(first.ids.column, np.array(list(place), dtype=object), integers)
    lacking = {table.name: len(place) - len(table) for table in tables if len(table) < len(place)}
    notes += tuple(f"View {name!r} lacks {count} of {len(place)} samples." for name, count in lacking.items())
    return Samples(dict(views), ids, len(place), notes, n_rows=len(place), weight=weight)


def check_coverage(samples: Samples) -> None:
    """Reject a sample that has no view at all."""
    bare = np.flatnonzero(_without_any(samples))
    if len(bare):
        row = int(bare[0])
        name = f"row {row}" if samples.ids is None else samples.ids.called(row)
        raise UserError(f"{counted(len(bare), 'sample')} without any view, the first is {name}; leave them out.")


def _without_any(samples: Samples) -> NDArray[np.bool_]:
    return np.asarray(np.all([_absent(cells) for cells in samples.views.values() if cells is not None], axis=0))


def incomplete(samples: Samples) -> NDArray[np.bool_]:
    """Which samples have missing cells: in a view that they have in part, or in all of them."""
    partly = [
        np.any(cells.is_missing, axis=1) & ~_absent(cells) for cells in samples.views.values() if cells is not None
    ]
    return np.asarray(np.any(partly, axis=0)) | _without_any(samples)


def _ids(table: Table) -> Ids:
    assert table.ids is not None
    return table.ids


def _same_ids(first: Table, other: Table) -> bool:
    return other.ids is first.ids or np.array_equal(_ids(first).values, _ids(other).values)


def _check_all_or_none(tables: Sequence[Table]) -> None:
    with_ids = [table.source for table in tables if table.ids is not None]
    bare = [table.source for table in tables if table.ids is None]
    if with_ids and bare:
        raise UserError(f"{with_ids[0]} names its rows and {bare[0]} does not; give ids to all files or to none.")


def _check_lengths(tables: Sequence[Table]) -> None:
    for table in tables:
        if len(table) != len(tables[0]):
            raise UserError(
                f"{tables[0].source} has {len(tables[0])} rows and {table.source} has {len(table)}; name the "
                "column that tells which belong together with --id."
            )


def _check_overlap(tables: Sequence[Table]) -> None:
    """Reject a view whose samples no other view has: nothing would tell how its clusters belong to theirs."""
    for table in tables:
        ids = _ids(table).values
        others = [value for other in tables if other is not table for value in _ids(other).values]
        if set(ids).isdisjoint(others):
            raise UserError(
                f"No id of {table.source} ({listed(ids[:2].tolist())}, ...) is in any other file "
                f"({listed(others[:2])}, ...); is --id the same thing in all of them?"
            )
