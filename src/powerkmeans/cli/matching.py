"""New files for a fitted model: which table is which view, with the model's columns in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from powerkmeans.cli.errors import UserError, counted, listed, near
from powerkmeans.cli.reading.text import why_no_number
from powerkmeans.cli.samples import Samples, align, check_finite
from powerkmeans.cli.table import Choose, Table
from powerkmeans.cli.troubles import quoted
from powerkmeans.preparing.cells import are_counted, as_words
from powerkmeans.preparing.operations import applied
from powerkmeans.preparing.prepared import PreparedModel, complete_rows, rows_of
from powerkmeans.preparing.spelling import PLAIN, Kind, NotSpeltError, Spelling, kind_of
from powerkmeans.preparing.views import PreparedView
from powerkmeans.preparing.words import Indicators, Read


def wanted_columns(model: PreparedModel) -> Choose:
    """Of a header, the columns that the model knows; all of one without any of them."""
    known = {label for view in model.views for label in view.given}

    def choose(header: Sequence[str], source: str) -> list[int]:
        found = [place for place, label in enumerate(header) if label in known]
        if not model.named or are_counted(header):
            return list(range(len(header)))
        if not found:
            expected = listed([label for view in model.views for label in view.given])
            raise UserError(f"{source} has none of the columns that the model knows: {expected}.")
        return found

    return choose


def match_views(model: PreparedModel, tables: Sequence[Table]) -> Samples:
    """The model's views from new tables; views that no table has are missing for all samples."""
    found = _found(model, tables)
    chosen = {view.name: _ordered(found[view.name], view) for view in model.views if view.name in found}
    notes = list[str]()
    for view in model.views:
        if view.name in chosen:
            _check_words(chosen[view.name], view)
            notes += _about_categories(chosen[view.name], view)
    samples = align(list(chosen.values()))
    lacking = [view.name for view in model.views if view.name not in chosen]
    notes += [f"No file has the columns of {listed(lacking)}: missing for all samples."] if lacking else []
    views = {view.name: samples.views.get(view.name) for view in model.views}
    return replace(samples, views=views, notes=(*samples.notes, *notes))


def prepared(model: PreparedModel, samples: Samples) -> tuple[Any, Samples]:
    """What the estimator takes, of the samples that it can answer for."""
    views = {view.name: samples.views[view.name] for view in model.views}
    try:
        arrays = {view.name: None if (c := views[view.name]) is None else view(c) for view in model.views}
    except ValueError as error:
        raise UserError(str(error)) from error
    X = arrays if model.several else arrays[model.views[0].name]
    answerable = complete_rows(X)
    if np.all(answerable):
        return X, samples
    gone = counted(int(np.sum(~answerable)), "sample")
    if not np.any(answerable):
        raise UserError("Every sample has missing cells, or no view at all, so there is nothing to answer for.")
    first = samples.name_of(int(np.argmin(answerable)))
    note = f"{gone} with missing cells, the first is {first!r}: no answers there."
    return rows_of(X, answerable), samples.only(answerable, note)


def _check_words(table: Table, view: PreparedView) -> None:
    """Reject cells of another kind than the fit had, and infinite numbers, by where they stand."""
    check_finite(table)
    kinds = next((one.kinds for one in view.chain if isinstance(one, Read)), ())  # a pipeline finds out by itself
    for place, kind in enumerate(kinds):
        if kind is not Kind.CATEGORY and (place in table.words or kind is not Kind.NUMBER):
            _check_column(table, place, kind, view.spelling)


def _check_column(table: Table, place: int, kind: Kind, spelling: Spelling) -> None:
    parse, known = spelling.parser(kind), {""}
    for row, text in enumerate(as_words(table.cells.column(place)).tolist()):
        if text in known:
            continue
        try:
            parse(text)
        except NotSpeltError as error:
            where = f"{table.source}, {table.place(row)}, column {table.columns[place]!r}"
            raise UserError(
                f"{where}: {error}.{_way_out(text, spelling) if place in table.words else ''}"
            ) from error
        known.add(text)


def _way_out(text: str, spelling: Spelling) -> str:
    """What to say about a text where a number, a truth value or a date should be."""
    if kind_of([text], PLAIN) is Kind.NUMBER and spelling.decimal != PLAIN.decimal:
        return " Say --decimal . if points stand before decimals."
    return f" Say {why_no_number(text, spelling.decimal) or f'--na {quoted(text)} if it means missing'}."


def _about_categories(table: Table, view: PreparedView) -> list[str]:
    """What there is to know about categories that the fit did not see."""
    for place, one in enumerate(view.chain):
        if isinstance(one, Indicators):
            found = one.unknown(applied(view.chain[:place], table.cells))
            return [
                f"{column!r} has categories that the fit did not see: {listed(new)}."
                for column, new in found.items()
            ]
    return []


def _found(model: PreparedModel, tables: Sequence[Table]) -> dict[str, Table]:
    """Which table has which view: by columns if there is one table, else by names, else by columns."""
    if len(tables) == 1 and model.named and not _nameless(tables[0]):
        header = set(tables[0].columns)
        return {view.name: tables[0] for view in model.views if not header.isdisjoint(view.given)}
    names = {view.name for view in model.views}
    found = {table.name: table for table in tables if table.name in names}
    left = [table for table in tables if table.name not in names]
    if left and len(tables) == 1:
        return _by_position(model, left[0])
    return found | _by_columns(left, [view for view in model.views if view.name not in found])


def _by_position(model: PreparedModel, table: Table) -> dict[str, Table]:
    """One table for a model of one view, or for one whose columns have no names and are cut by position."""
    if len(model.views) == 1:
        return {model.views[0].name: table}
    places = [int(label) for view in model.views for label in view.given if label.isascii() and label.isdigit()]
    if len(set(places)) != sum(len(view.given) for view in model.views):
        raise UserError(
            f"{table.source} is one table, but the model was fitted on the views "
            f"{listed([view.name for view in model.views])} from files of their own; give one file each."
        )
    return {view.name: table for view in model.views}


def _by_columns(tables: Sequence[Table], views: Sequence[PreparedView]) -> dict[str, Table]:
    """Tables that have all columns of a view that is still open; the first of several that fit."""
    found: dict[str, Table] = {}
    for table in tables:
        fitting = [v for v in views if v.name not in found and set(v.given) <= set(table.columns)]
        if not fitting:
            names = listed([view.name for view in views])
            raise UserError(f"{table.source} has the columns of no view of the model ({names} are open).")
        found[fitting[0].name] = table
    return found


def _ordered(table: Table, view: PreparedView) -> Table:
    """The columns of a view in the model's order; by position if the table has no names."""
    place = {label: index for index, label in enumerate(table.columns)}
    lacking = [label for label in view.given if label not in place]
    nobody_named = _nameless(table) or are_counted(view.given)
    if lacking and nobody_named and len(table.columns) in (len(view.given), view.finder.among):
        return replace(table.with_cells(view.finder(table.cells)), name=view.name)
    if lacking:
        hint = near(lacking[0], list(table.columns)) if len(lacking) == 1 else "."
        raise UserError(
            f"{table.source} lacks {len(lacking)} of the {len(view.given)} columns of the model's view "
            f"{view.name!r}: {listed(lacking)}{hint or '.'}"
        )
    chosen = [place[label] for label in view.given]
    return replace(table.with_cells(table.cells.take(chosen)), name=view.name)


def _nameless(table: Table) -> bool:
    return are_counted(table.columns)
