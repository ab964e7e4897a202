"""The column that says how much each row counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError, counted, listed, near, usage
from powerkmeans.cli.table import Table
from powerkmeans.preparing.spelling import Kind, Spelling, kind_of

Weights = NDArray[np.float64]


def with_weights(tables: Sequence[Table], column: str | None, spelling: Spelling) -> list[Table]:
    """Tables with their column of weights beside the others; one of them must have it."""
    if column is None:
        return list(tables)
    if not any(column in table.columns for table in tables):
        header = [label for table in tables for label in table.columns]
        hint = near(column, header) or f"; there are {listed(header)}."
        where = tables[0].source if len(tables) == 1 else "No file"
        raise UserError(f"{where} has {'no' if len(tables) == 1 else 'a'} column {column!r} for --weight{hint}")
    return [_weighed(table, column, spelling) if column in table.columns else table for table in tables]


def _weighed(table: Table, column: str, spelling: Spelling) -> Table:
    place = table.columns.index(column)
    others = [one for one in range(len(table.columns)) if one != place]
    if not others:
        raise usage(f"--weight {column} leaves no column of {table.source} to cluster.")
    return replace(table.with_cells(table.cells.take(others)), weight=_checked(table, place, spelling))


def _checked(table: Table, place: int, spelling: Spelling) -> Weights:
    """Finite numbers from 0; others are an error that says where they stand."""
    weight = _numbers(table, place, spelling)
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if np.any(bad):
        row = int(np.argmax(bad))
        raise _no_weight(table, place, "nothing" if np.isnan(weight[row]) else f"{weight[row]:g}", row)
    if not np.any(weight > 0):
        raise UserError(f"{table.source}: all weights in column {table.columns[place]!r} are zero.")
    return weight


def _numbers(table: Table, place: int, spelling: Spelling) -> Weights:
    column = table.cells.column(place)
    if place not in table.words:
        return np.asarray(column, dtype=np.float64)
    if kind_of(set(column.tolist()), spelling) is Kind.NUMBER:
        return spelling.read(column, Kind.NUMBER)
    numbers = [kind_of([text], spelling) is Kind.NUMBER for text in column.tolist()]
    row = int(np.argmin(numbers))  # the first of all, if they are numbers of different units
    raise _no_weight(table, place, f"{column[row]!r:.40}" if column[row] else "nothing", row)


def _no_weight(table: Table, place: int, what: str, row: int) -> UserError:
    return UserError(
        f"{table.source}, {table.place(row)}: --weight {table.columns[place]!r} holds {what}; weights are finite "
        "numbers from 0 on."
    )


def joined_weights(tables: Sequence[Table], places: Sequence[Any], n_samples: int) -> Weights | None:
    """The weight of every sample, by where the rows of each table stand among them; None if no table has any."""
    if all(table.weight is None for table in tables):
        return None
    found = np.full(n_samples, np.nan)
    for table, where in zip(tables, places, strict=True):
        if table.weight is None:
            continue
        other = ~np.isnan(found[where]) & (found[where] != table.weight)
        if np.any(other):
            place = table.place(int(np.argmax(other)))
            raise UserError(f"{table.source} has another weight in {place} than the files before it.")
        found[where] = table.weight
    lacking = np.isnan(found)
    if np.any(lacking):
        whose = next(table.source for table in tables if table.weight is not None)
        raise UserError(f"{whose} has no weight for {counted(int(np.sum(lacking)), 'sample')} of the other files.")
    return found
