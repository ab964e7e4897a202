"""From files to scaled views: what fit, choose-k and bandwidth have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from powerkmeans.cli.bundle import ViewInput
from powerkmeans.cli.columns import Dropped, cut_views, parse_views
from powerkmeans.cli.errors import UserError, counted, listed, usage
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.reading import Given, named_files, read_file
from powerkmeans.cli.samples import Samples, align, check_coverage, check_values, cut
from powerkmeans.cli.scaling import ROWS, find_scaling, scaled, scales_columns
from powerkmeans.cli.table import Choose, OnRead, Request, Table
from powerkmeans.cli.terminal import Terminal
from powerkmeans.inputs.metric import EUCLIDEAN

T = TypeVar("T")


def chosen(kind: type[T], options: dict[str, Any]) -> T:
    """Those of a command's options that a dataclass has."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in options.items() if name in names})


@dataclass(frozen=True)
class InputOptions:
    """The options that say what is read and how."""

    data: tuple[str, ...]
    id_column: str | None = None
    id_optional: bool = False
    view: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    array: tuple[str, ...] = ()
    scale: str = "standard"
    metric: str | None = None
    float32: bool = False
    delimiter: str | None = None
    decimal: str = "."
    header: bool | None = None
    encoding: str = "utf-8"
    may_drop: bool = True

    @property
    def by_row(self) -> bool:
        """Whether rows are scaled and columns are not: a constant column then says how long a row is."""
        return self.scale == ROWS or (self.scale == "none" and self.metric not in (None, EUCLIDEAN))


@dataclass(frozen=True)
class Inputs:
    """What an estimator is fitted to, and where it came from.

    X : the scaled views, one array if there is one view
    samples : the same in the units of the files
    views : columns, centres and scales of each view
    named : whether columns have names
    notes : what a user should know
    """

    X: Any
    samples: Samples
    views: tuple[ViewInput, ...]
    named: bool
    notes: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        return len(self.views) > 1

    @property
    def n_columns(self) -> int:
        return sum(len(view.columns) for view in self.views)


def read_inputs(options: InputOptions, terminal: Terminal) -> Inputs:
    """Read the files, make views of them, check and scale them."""
    views = parse_views(options.view)
    files = named_files(options.data)
    if views and len(files) > 1:
        raise usage("--view cuts one table into views; of several files each is a view already.")

    dropped, unused = Dropped(options.drop), list[str]()

    def choose(header: Sequence[str], source: str) -> list[int]:
        kept = dropped.rest(header, source)
        if not views:
            return kept
        groups = cut_views(views, [header[place] for place in kept], source)
        used = sorted(kept[place] for places in groups.values() for place in places)
        unused.extend(header[place] for place in kept if place not in set(used))
        return used

    tables = read_tables(files, options, choose, terminal)
    dropped.check()
    named = any(list(table.columns) != [str(place) for place in range(len(table.columns))] for table in tables)
    if views:
        if len(tables) > 1:
            raise usage(f"{files[0].source} holds several tables; --view cuts one. Choose it with --array.")
        tables = cut(tables[0], views)
    return make_inputs(_aligned(tables, unused), options.scale, named=named, by_row=options.by_row)


def _aligned(tables: list[Table], unused: list[str]) -> Samples:
    """The samples of all tables, checked, with a note of columns that no view has."""
    for table in tables:
        check_values(table, rows_may_lack=len(tables) > 1)
    samples = align(tables)
    check_coverage(samples)
    if not unused:
        return samples
    about = f"{counted(len(unused), 'column')} in no view and not used: {listed(unused)}."
    return replace(samples, notes=(*samples.notes, about))


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
                decimal=options.decimal,
                header=options.header,
                encoding=options.encoding,
                may_drop=options.may_drop,
                on_read=_telling(
                    bar, file.source + (f", file {index + 1} of {len(files)}" if len(files) > 1 else "")
                ),
            )
            tables += read_file(file, request)
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


def make_inputs(samples: Samples, scale: str, *, named: bool, by_row: bool = False) -> Inputs:
    """Scale aligned views, and remember what is to be told about them."""
    notes = list(samples.notes)
    views, arrays = list[ViewInput](), dict[str, Any]()
    for name, values in samples.views.items():
        assert values is not None
        scaling = find_scaling(values, scale)
        constant = _about_constant(name, samples.columns[name], scaling.constant, alone=len(samples.views) == 1)
        notes += [] if by_row else constant
        views.append(ViewInput(name, samples.columns[name], scaling))
        arrays[name] = scaled(values, scaling) if scales_columns(scale) else values
    X = arrays if len(arrays) > 1 else next(iter(arrays.values()))
    return Inputs(X, samples, tuple(views), named, tuple(notes))


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


def tell_input(inputs: Inputs, reading: InputOptions, terminal: Terminal) -> None:
    """Say what was read, how it is scaled, and what there is to know about it."""
    samples = inputs.samples
    views = "" if not inputs.several else f" in {len(inputs.views)} views"
    scaling = {
        "standard": "standard scaling (mean 0, deviation 1)",
        "robust": "robust scaling (median, quartiles)",
        "none": "columns as they are (no scaling)",
        ROWS: "rows of unit length, columns as they are",
    }
    read = f"{counted(samples.n_samples, 'sample')}, {counted(inputs.n_columns, 'column')}{views}"
    terminal.say(f"{read}; {scaling[reading.scale]}")
    for note in inputs.notes:
        terminal.note(note)
    if scales_columns(reading.scale) and reading.metric not in (None, EUCLIDEAN):
        terminal.note(f"Directions are those of columns in {reading.scale} scaling; for counts use --scale rows.")
