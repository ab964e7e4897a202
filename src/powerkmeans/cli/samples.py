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


@dataclass(frozen=True)
class Samples:
    """Views with the same samples in the same order, in the units they were read in.

    ``views`` has one array per view, a row of NaN where a sample lacks it, None for a view that no sample has.
    """

    views: dict[str, NDArray[Any] | None]
    columns: dict[str, tuple[str, ...]]
    ids: Ids | None
    n_samples: int
    notes: tuple[str, ...] = ()

    def coverage(self, view: str) -> float:
        """The share of the samples that have a view."""
        values = self.views[view]
        return 0.0 if values is None else float(np.mean(~np.isnan(values[:, 0])))


def cut(table: Table, views: dict[str, list[str]]) -> list[Table]:
    """One table as a table per view."""
    groups = cut_views(views, table.columns, table.source)
    return [
        replace(
            table,
            name=name,
            columns=tuple(table.columns[place] for place in places),
            values=np.ascontiguousarray(table.values[:, places]),
            notes=table.notes if index == 0 else (),
        )
        for index, (name, places) in enumerate(groups.items())
    ]


def check_values(table: Table, *, rows_may_lack: bool, may_drop: bool = True) -> None:
    """Reject missing and infinite values, by column and row; a row without any value may lack the view."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(table.values, dtype=np.float64)):
            return
    missing = np.isnan(table.values)
    absent = np.all(missing, axis=1)
    if rows_may_lack:
        missing &= ~absent[:, None]
    if np.any(missing):
        way = "the columns out with --drop" if may_drop else "the rows out"
        raise UserError(_about_missing(table, missing, absent, way, several=rows_may_lack))
    infinite = np.isinf(table.values)
    if np.any(infinite):
        row, column = divmod(int(np.argmax(infinite)), table.values.shape[1])
        raise UserError(
            f"{table.source} has an infinite value in {table.place(row)}, column {table.columns[column]!r}."
        )
    if np.all(absent):
        raise UserError(f"{table.source} has no values at all for view {table.name!r}.")


def _about_missing(
    table: Table, missing: NDArray[np.bool_], absent: NDArray[np.bool_], way: str, *, several: bool
) -> str:
    counts = np.sum(missing, axis=0)
    worst = [int(place) for place in np.argsort(-counts, kind="stable") if counts[place]]
    shown = ", ".join(f"{table.columns[place]!r} ({counts[place]})" for place in worst[:5])
    more = f" and {len(worst) - 5} more columns" if len(worst) > 5 else ""
    first = table.place(int(np.argmax(np.any(missing, axis=1))))
    advice = " A sample has a view whole or not at all." if several else ""
    if not several and np.all(absent[np.any(missing, axis=1)]):
        bare = counted(int(np.sum(absent)), "row")
        return f"{table.source} has {bare} without any value, the first in {first}; leave them out."
    return (
        f"{table.source} has missing values in {shown}{more}, the first in {first}; fill them in, or leave "
        f"{way}.{advice}"
    )


def align(tables: Sequence[Table]) -> Samples:
    """The tables as views of the union of their samples, in the order in which they first appear."""
    notes = tuple(note for table in tables for note in table.notes)
    columns = {table.name: table.columns for table in tables}
    _check_all_or_none(tables)
    first = tables[0]
    if first.ids is None or all(_same_ids(first, table) for table in tables):
        _check_lengths(tables)
        return Samples({t.name: t.values for t in tables}, columns, first.ids, len(first), notes)
    place: dict[str, int] = {}
    for table in tables:
        for value in _ids(table).values:
            place.setdefault(value, len(place))
    _check_overlap(tables)
    views = {table.name: _spread(table, place) for table in tables}
    integers = all(_ids(table).integers for table in tables)
    ids = Ids(first.ids.column, np.array(list(place), dtype=object), integers)
    lacking = {table.name: len(place) - len(table) for table in tables if len(table) < len(place)}
    notes += tuple(f"View {name!r} lacks {count} of {len(place)} samples." for name, count in lacking.items())
    return Samples(dict(views), columns, ids, len(place), notes)


def check_coverage(samples: Samples) -> None:
    """Reject a sample that has no view at all."""
    given = [values for values in samples.views.values() if values is not None]
    bare = np.flatnonzero(np.all([np.isnan(values[:, 0]) for values in given], axis=0))
    if len(bare):
        row = int(bare[0])
        name = f"row {row}" if samples.ids is None else samples.ids.called(row)
        raise UserError(f"{counted(len(bare), 'sample')} without any view, the first is {name}; leave them out.")


def _spread(table: Table, place: dict[str, int]) -> NDArray[Any]:
    values = np.full((len(place), table.values.shape[1]), np.nan, dtype=table.values.dtype)
    values[[place[value] for value in _ids(table).values]] = table.values
    return values


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
