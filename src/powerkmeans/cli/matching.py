"""New files for a fitted model: which table is which view, with the model's columns in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powerkmeans.cli.bundle import Bundle, ViewInput
from powerkmeans.cli.errors import UserError, listed, near
from powerkmeans.cli.samples import Samples, align, check_coverage, check_values
from powerkmeans.cli.table import Choose, Table


def wanted_columns(bundle: Bundle) -> Choose:
    """Of a header, the columns that the model knows; all of one without any of them."""
    known = {label for view in bundle.views for label in view.columns}

    def choose(header: Sequence[str], source: str) -> list[int]:
        found = [place for place, label in enumerate(header) if label in known]
        if not bundle.named or _is_count(header):
            return list(range(len(header)))
        if not found:
            expected = listed([label for view in bundle.views for label in view.columns])
            raise UserError(f"{source} has none of the columns that the model knows: {expected}.")
        return found

    return choose


def match_views(bundle: Bundle, tables: Sequence[Table]) -> Samples:
    """The model's views from new tables; views that no table has are missing for all samples."""
    found = _found(bundle, tables)
    chosen = {view.name: _ordered(found[view.name], view) for view in bundle.views if view.name in found}
    for table in chosen.values():
        check_values(table, rows_may_lack=bundle.several, may_drop=False)
    samples = align(list(chosen.values()))
    lacking = [view.name for view in bundle.views if view.name not in chosen]
    notes = (f"No file has the columns of {listed(lacking)}: missing for all samples.",) if lacking else ()
    views = {view.name: samples.views.get(view.name) for view in bundle.views}
    samples = replace(samples, views=views, notes=samples.notes + notes)
    check_coverage(samples)
    return samples


def _found(bundle: Bundle, tables: Sequence[Table]) -> dict[str, Table]:
    """Which table has which view: by columns if there is one table, else by names, else by columns."""
    if len(tables) == 1 and bundle.named and not _nameless(tables[0]):
        header = set(tables[0].columns)
        return {view.name: tables[0] for view in bundle.views if not header.isdisjoint(view.columns)}
    names = {view.name for view in bundle.views}
    found = {table.name: table for table in tables if table.name in names}
    left = [table for table in tables if table.name not in names]
    if left and len(tables) == 1:
        return _by_position(bundle, left[0])
    return found | _by_columns(left, [view for view in bundle.views if view.name not in found])


def _by_position(bundle: Bundle, table: Table) -> dict[str, Table]:
    """One table for a model of one view, or for one whose columns have no names and are cut by position."""
    if len(bundle.views) == 1:
        return {bundle.views[0].name: table}
    places = [int(label) for view in bundle.views for label in view.columns if label.isascii() and label.isdigit()]
    if len(set(places)) != sum(len(view.columns) for view in bundle.views):
        raise UserError(
            f"{table.source} is one table, but the model was fitted on the views "
            f"{listed([view.name for view in bundle.views])} from files of their own; give one file each."
        )
    return {view.name: table for view in bundle.views}


def _by_columns(tables: Sequence[Table], views: Sequence[ViewInput]) -> dict[str, Table]:
    """Tables that have all columns of a view that is still open; the first of several that fit."""
    found: dict[str, Table] = {}
    for table in tables:
        fitting = [v for v in views if v.name not in found and set(v.columns) <= set(table.columns)]
        if not fitting:
            names = listed([view.name for view in views])
            raise UserError(f"{table.source} has the columns of no view of the model ({names} are open).")
        found[fitting[0].name] = table
    return found


def _ordered(table: Table, view: ViewInput) -> Table:
    """The columns of a view in the model's order; by position if the table has no names."""
    place = {label: index for index, label in enumerate(table.columns)}
    lacking = [label for label in view.columns if label not in place]
    nobody_named = _nameless(table) or _is_count(view.columns)
    if lacking and nobody_named and len(table.columns) == len(view.columns):
        return replace(table, name=view.name, columns=view.columns)
    if lacking:
        hint = near(lacking[0], list(table.columns)) if len(lacking) == 1 else "."
        raise UserError(
            f"{table.source} lacks {len(lacking)} of the {len(view.columns)} columns of the model's view "
            f"{view.name!r}: {listed(lacking)}{hint or '.'}"
        )
    chosen = [place[label] for label in view.columns]
    return replace(
        table, name=view.name, columns=view.columns, values=np.ascontiguousarray(table.values[:, chosen])
    )


def _nameless(table: Table) -> bool:
    return _is_count(table.columns)


def _is_count(header: Sequence[str]) -> bool:
    """Whether columns are called 0, 1, 2, ... because nobody named them."""
    return list(header) == [str(place) for place in range(len(header))]
