"""From files to prepared views: what fit, choose-k and bandwidth have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.columns import Chosen, Named, cut_views, parse_views
from powerkmeans.cli.errors import UserError, counted, listed, usage
from powerkmeans.cli.memory import check_room
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.reading import Given, named_files, read_file
from powerkmeans.cli.samples import Samples, align, check_coverage, check_values, cut, incomplete
from powerkmeans.cli.table import Choose, OnRead, Request, Table
from powerkmeans.cli.terminal import Terminal
from powerkmeans.cli.troubles import check_columns, is_category, looks_like_ids, quoted
from powerkmeans.cli.weights import with_weights
from powerkmeans.inputs.metric import EUCLIDEAN
from powerkmeans.preparing.cells import Cells
from powerkmeans.preparing.scaling import AUTO, NONE, ROWS, STANDARD, Scaling, scales_columns
from powerkmeans.preparing.spelling import Kind, Spelling
from powerkmeans.preparing.views import DROP_ROWS, Prepared, PreparedView, Treatment, find_kinds, prepare_view

T = TypeVar("T")
Kinds = dict[str, dict[str, Kind | None]]


def chosen(kind: type[T], options: dict[str, Any]) -> T:
    """Those of a command's options that a dataclass has."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in options.items() if name in names})


@dataclass(frozen=True)
class InputOptions:
    """The options that say what is read, how, and what is done to it."""

    data: tuple[str, ...]
    id_column: str | None = None
    id_optional: bool = False
    weight: str | None = None
    view: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    drop_text: bool = False
    encode: tuple[str, ...] = ()
    encode_text: bool = False
    impute: str | None = None
    array: tuple[str, ...] = ()
    scale: str = AUTO
    total: float | None = None
    log: bool = False
    metric: str | None = None
    float32: bool = False
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] = ()
    header: bool | None = None
    encoding: str = "utf-8"
    for_fit: bool = True

    @property
    def by_row(self) -> bool:
        """Whether rows are scaled and columns are not: a constant column then says how long a row is."""
        return self.scale == ROWS or (self.scale == NONE and self.metric not in (None, EUCLIDEAN))

    @property
    def spelling(self) -> Spelling:
        """How cells are written."""
        decimal = self.decimal or "."
        if self.thousands is not None and (len(self.thousands) != 1 or self.thousands == decimal):
            way = " Say --decimal , too." if self.thousands == "." and self.decimal is None else ""
            raise usage(f"--thousands {self.thousands!r} must be one character, and not that of --decimal.{way}")
        return Spelling(decimal, self.thousands, tuple(text.lower() for text in self.na))

    @property
    def treatment(self) -> Treatment:
        """What is done to columns."""
        fills = None if self.impute == DROP_ROWS else self.impute
        return Treatment(self.spelling, fills, self.scale, self.total, self.log)


@dataclass(frozen=True)
class Inputs:
    """What an estimator is fitted to, and where it came from.

    X : the prepared views, one array if there is one view
    samples : the same in the units of the files
    views : columns and preparation of each view
    units : the deviation of each column of a view in the units that it has in X, 0 for constant ones
    named : whether columns have names
    scale : how columns are scaled, in a word
    notes : what a user should know
    """

    X: Any
    samples: Samples
    views: tuple[PreparedView, ...]
    units: dict[str, Any]
    named: bool
    scale: str
    notes: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        return len(self.views) > 1

    @property
    def weight(self) -> NDArray[np.float64] | None:
        """What each sample counts, None if they count alike."""
        return self.samples.weight

    @property
    def labels(self) -> dict[str, tuple[str, ...]] | None:
        """The names of the columns of X by view, None if they have none but their numbers."""
        return {view.name: view.columns for view in self.views} if self.named else None

    @property
    def n_columns(self) -> int:
        return sum(len(view.columns) for view in self.views)


def read_inputs(options: InputOptions, terminal: Terminal) -> Inputs:
    """Read the files, make views of them, check and prepare them."""
    views = parse_views(options.view)
    files = named_files(options.data)
    if options.weight is not None and options.weight == options.id_column:
        raise usage(f"--id and --weight both name {options.weight!r}.")
    if views and len(files) > 1:
        raise usage("--view cuts one table into views; of several files each is a view already.")

    chosen_columns, unused = Chosen(options.columns, options.drop), list[str]()

    def choose(header: Sequence[str], source: str) -> list[int]:
        weight = [header.index(options.weight)] if options.weight in header else []
        kept = [place for place in chosen_columns.places(header, source) if place not in weight]
        if not views:
            return sorted([*kept, *weight])
        groups = cut_views(views, [header[place] for place in kept], source)
        used = sorted(kept[place] for places in groups.values() for place in places)
        unused.extend(header[place] for place in kept if place not in set(used))
        return sorted([*used, *weight])

    tables = read_tables(files, options, choose, terminal)
    chosen_columns.check()
    named = any(table.cells.named for table in tables)
    tables = with_weights(tables, options.weight, options.spelling)
    if views:
        if len(tables) > 1:
            raise usage(f"{files[0].source} holds several tables; --view cuts one. Choose it with --array.")
        tables = cut(tables[0], views)
    return _prepared(tables, options, unused, named=named)


def _prepared(tables: list[Table], options: InputOptions, unused: list[str], *, named: bool) -> Inputs:
    """All tables as views that an estimator takes."""
    notes = [f"{counted(len(unused), 'column')} in no view and not used: {listed(unused)}."] if unused else []
    tables, kinds, more = decided(tables, options)
    several = len(tables) > 1
    spelt = options.decimal is not None or options.thousands is not None
    check_columns(tables, kinds, options.spelling, fills=options.impute is not None, spelt=spelt)
    for table in tables:
        check_values(table, rows_may_lack=several or options.impute == DROP_ROWS)
    samples = align(tables)
    if options.impute == DROP_ROWS:
        samples = _complete(samples)
    check_coverage(samples)
    notes += [*more, *(note for table in tables for note in _about_ids(table))]
    scales = {table.name: scale_of(table, options.scale) for table in tables}
    return make_inputs(replace(samples, notes=(*samples.notes, *notes)), options, kinds, scales, named=named)


def decided(tables: list[Table], options: InputOptions) -> tuple[list[Table], Kinds, list[str]]:
    """Tables without the texts that are dropped, what their columns hold, and notes of what was decided."""
    kinds, kept, notes = Kinds(), list[Table](), list[str]()
    encode = Named(options.encode)
    for table in tables:
        encoded = [table.columns[place] for place in encode.places(table.columns, table.source)]
        of_table = find_kinds(table.cells, options.spelling, encoded)
        words = [label for label, kind in of_table.items() if kind is None and _has_words(table, label)]
        if options.encode_text:
            of_table |= {label: Kind.CATEGORY for label in words if is_category(table.words_of(label))}
        left_out = [label for label in words if of_table[label] is None] if options.drop_text else []
        if left_out:
            notes.append(f"{counted(len(left_out), 'column')} of words left out: {listed(left_out)}.")
        kinds[table.name] = {label: kind for label, kind in of_table.items() if label not in left_out}
        notes += _about_kinds(kinds[table.name])
        kept.append(_without(table, left_out))
    encode.check()
    return kept, kinds, notes


def _has_words(table: Table, label: str) -> bool:
    return bool(np.any(table.words_of(label) != ""))


def _without(table: Table, words: list[str]) -> Table:
    if not words:
        return table
    places = [place for place, label in enumerate(table.columns) if label not in words]
    if not places:
        raise usage(f"--drop-text leaves no column of {table.source}.")
    return table.with_cells(table.cells.take(places))


def _about_kinds(kinds: dict[str, Kind | None]) -> list[str]:
    """What was made of columns that are no plain numbers."""
    says = {
        Kind.CATEGORY: "as categories, a column of 0 and 1 for each",
        Kind.DATE: "as days",
        Kind.TRUTH: "as 1 and 0",
    }
    groups = {kind: [label for label, one in kinds.items() if one is kind] for kind in says}
    return [f"{listed(labels)} taken {says[kind]}." for kind, labels in groups.items() if labels]


def _about_ids(table: Table) -> list[str]:
    names = [table.columns[place] for place in range(len(table.columns)) if looks_like_ids(table, place)]
    named = table.cells.named and len(names) < len(table.columns)
    way = "" if table.ids is not None else f"--id {quoted(names[0])} or " if names else ""
    return [
        f"{name!r} has another whole number in every row, as names of rows do; it is used as a number. Say "
        f"{way}--drop {quoted(name)} if it is a name."
        for name in names[:1]
        if named
    ]


def _complete(samples: Samples) -> Samples:
    """The samples without missing cells."""
    gaps = incomplete(samples)
    if not np.any(gaps):
        return samples
    if np.all(gaps):
        raise UserError("Every row has missing cells, so --impute drop-rows leaves none; use median or knn.")
    left = counted(int(np.sum(gaps)), "row")
    return samples.only(~gaps, f"{left} with missing cells left out; they have no label.")


def scale_of(table: Table, scale: str) -> str:
    """How the columns of a table are scaled: by default all but those whose units are to be kept."""
    if scale != AUTO:
        return scale
    return STANDARD if table.scaled else NONE


def read_tables(files: list[Given], options: InputOptions, choose: Choose, terminal: Terminal) -> list[Table]:
    """Read all files, with a bar."""
    tables = list[Table]()
    for index, file in enumerate(files):
        with terminal.bar("Reading") as bar:
            request = Request(
                choose,
                id_column=options.id_column,
                id_optional=options.id_optional,
                arrays=options.array,
                single=options.float32,
                delimiter=_delimiter(options.delimiter),
                spelling=options.spelling,
                header=options.header,
                encoding=options.encoding,
                for_fit=options.for_fit,
                on_read=_telling(
                    bar, file.source + (f", file {index + 1} of {len(files)}" if len(files) > 1 else "")
                ),
            )
            read = read_file(file, request)
            tables += [replace(table, values=request.spelling.with_gaps(table.values)) for table in read]
    names = [table.name for table in tables]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise usage(f"Two tables give a view called {twice[0]!r}; name the files: name=path.")
    return tables


def _telling(bar: Bar, about: str) -> OnRead:
    return lambda share: bar.update(share, about)


def _delimiter(given: str | None) -> str | None:
    known = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
    if given is None:
        return None
    delimiter = known.get(given, given)
    if len(delimiter) != 1:
        raise usage(f"--delimiter {given!r} must be one character, or 'tab'.")
    return delimiter


def make_inputs(
    samples: Samples, options: InputOptions, kinds: Kinds, scales: dict[str, str], *, named: bool
) -> Inputs:
    """Prepare aligned views, and remember what is to be told about them."""
    notes = list(samples.notes)
    found = list[Prepared]()
    several = len(samples.views) > 1
    for name, cells in samples.views.items():
        assert cells is not None
        treatment = replace(options.treatment, scale=scales[name])
        one = _prepared_view(name, cells, kinds[name], treatment, several=several)
        constant = _about_constant(name, one.view.columns, one.scaling.constant, alone=not several)
        notes += [] if options.by_row else constant
        found.append(one)
    arrays = {one.view.name: one.values for one in found}
    X = arrays if several else found[0].values
    samples = replace(samples, views={one.view.name: one.original for one in found})
    units = {one.view.name: _units(one.scaling) for one in found}
    used = set(scales.values())
    scale = used.pop() if len(used) == 1 else STANDARD
    return Inputs(X, samples, tuple(one.view for one in found), units, named, scale, tuple(notes))


def _prepared_view(
    name: str, cells: Any, kinds: dict[str, Any], treatment: Treatment, *, several: bool
) -> Prepared:
    numbers = all(kind is Kind.NUMBER for kind in kinds.values())
    if (treatment.total is not None or treatment.log) and not numbers:
        raise usage("--total and --log are for counts and amounts; leave other columns out with --drop.")
    _check_categories(cells, kinds)
    try:
        return prepare_view(name, cells, kinds, treatment, absent=several)
    except ValueError as error:
        raise UserError(f"View {name!r}: {error}" if several else str(error)) from error


def _check_categories(cells: Cells, kinds: dict[str, Kind]) -> None:
    """Reject a column that has more categories than there is room for: names of rows, mostly."""
    for place, (label, kind) in enumerate(kinds.items()):
        if kind is Kind.CATEGORY:
            levels = len(set(cells.column(place).tolist()))
            check_room(len(cells) * levels * 8, f"Column {label!r} as {levels:,} categories")


def _units(scaling: Scaling) -> Any:
    return np.where(scaling.constant, 0.0, scaling.deviation / scaling.scale)


def _about_constant(view: str, columns: tuple[str, ...], constant: Any, *, alone: bool) -> list[str]:
    """A constant column says nothing; if all are, there is nothing to cluster."""
    flat = [label for label, is_flat in zip(columns, constant, strict=True) if is_flat]
    if len(flat) == len(columns) and alone:
        raise UserError(f"All columns are constant ({listed(flat)}): there is nothing to cluster.")
    if not flat:
        return []
    one = len(flat) == 1
    says = "is constant and says nothing" if one else "are constant and say nothing"
    return [f"{'Column' if one else 'Columns'} {listed(flat)} of view {view!r} {says}."]


_SCALING_WORDS = {
    STANDARD: "standard scaling (mean 0, deviation 1)",
    "robust": "robust scaling (median, quartiles)",
    NONE: "columns as they are (no scaling)",
    ROWS: "rows of unit length, columns as they are",
}


def tell_input(inputs: Inputs, reading: InputOptions, terminal: Terminal) -> None:
    """Say what was read, what was done to it, and what there is to know about it."""
    samples = inputs.samples
    views = "" if not inputs.several else f" in {len(inputs.views)} views"
    read = f"{counted(samples.n_samples, 'sample')}, {counted(inputs.n_columns, 'column')}{views}"
    done = [f"rows add up to {reading.total:g}"] if reading.total is not None else []
    done += ["logarithms"] if reading.log else []
    done += [f"weighted by {reading.weight}"] if reading.weight is not None else []
    done += ["missing cells filled"] if reading.impute not in (None, DROP_ROWS) else []
    terminal.say("; ".join([read, *done, _SCALING_WORDS[inputs.scale]]))
    for note in inputs.notes:
        terminal.note(note)
    if scales_columns(inputs.scale) and reading.metric not in (None, EUCLIDEAN):
        terminal.note(f"Directions are those of columns in {inputs.scale} scaling; for counts use --scale rows.")
