"""``powerkmeans predict``: new samples, labelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from powerkmeans.cli.answers import answered, labelled, memberships
from powerkmeans.cli.earlier import check_run
from powerkmeans.cli.errors import Exit, UserError, counted
from powerkmeans.cli.inputs import InputOptions, chosen, read_tables
from powerkmeans.cli.loading import load_prepared
from powerkmeans.cli.matching import match_views, prepared, wanted_columns
from powerkmeans.cli.outputs import Columns, Outputs, check_table_name, write_csv, write_table
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.reading import named_files
from powerkmeans.cli.samples import Samples
from powerkmeans.cli.terminal import Terminal
from powerkmeans.cli.wording import in_options
from powerkmeans.preparing.prepared import PreparedModel, rows_of


def run(options: dict[str, Any]) -> None:
    """Read the model and the samples, and write labels to a file or to stdout."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    output = options["output"]
    if output is not None:
        check_table_name(output)
    target = Path(output) if output is not None else None
    outputs = None
    if target is not None:
        read = [options["model"], *(file.path for file in named_files(options["data"]))]
        outputs = Outputs(target.parent, [target.name], overwrite=options["overwrite"], inputs=read)
        outputs.check()
    terminal.note_all(check_run(options["model"]))
    model = _with_threshold(load_prepared(options["model"]), options["noise_threshold"])
    X, samples = read_for(model, options, terminal)
    with terminal.bar("Labelling") as bar, terminal.hearing_warnings():
        blocks = answers(model, X, samples, bar, with_memberships=options["memberships"])
        if outputs is not None and target is not None:
            with outputs.staged() as folder:
                write_table(folder / target.name, blocks)
        elif terminal.as_json:
            _give(blocks, terminal)
        else:
            write_csv(sys.stdout, blocks)
    if target is not None:
        terminal.say(f"{counted(samples.n_samples, 'sample')} labelled; written to {target}")
        if terminal.as_json:
            terminal.give({"n_samples": samples.n_samples, "output": target, "notes": terminal.notes})


def read_for(model: PreparedModel, options: dict[str, Any], terminal: Terminal) -> tuple[Any, Samples]:
    """New samples as the model's estimator takes them, told where something is missing."""
    reading = _as_in_fit(replace(chosen(InputOptions, options), for_fit=False), model)
    tables = read_tables(named_files(reading.data), reading, wanted_columns(model), terminal)
    X, samples = prepared(model, match_views(model, tables))
    for note in samples.notes:
        terminal.note(note)
    return X, samples


def _as_in_fit(reading: InputOptions, model: PreparedModel) -> InputOptions:
    """The options with what was said in the fit about ids and about how cells are spelt."""
    if reading.id_column is None and model.id_column is not None:
        reading = replace(reading, id_column=model.id_column, id_optional=True)
    known = model.views[0].spelling
    reading = replace(reading, na=(*reading.na, *known.missing))
    if reading.decimal not in (None, known.decimal):  # written otherwise, so between thousands too
        return reading
    return replace(reading, decimal=known.decimal, thousands=reading.thousands or known.thousands)


def answers(
    model: PreparedModel, X: Any, samples: Samples, bar: Bar, *, with_memberships: bool
) -> Iterator[Columns]:
    """Labels and scores, and memberships if they are wanted."""

    def answer(rows: slice) -> Columns:
        more = memberships(model.estimator, rows_of(X, rows)) if with_memberships else {}
        return labelled(model, X, rows) | more

    try:
        yield from answered(samples, answer, bar)
    except (ValueError, TypeError) as error:
        raise UserError(in_options(str(error))) from error


def _with_threshold(model: PreparedModel, threshold: float | None) -> PreparedModel:
    if threshold is None:
        return model
    if not model.estimator._fit.model.scores_outliers:
        raise UserError(
            f"--noise-threshold needs scores, which a model of {model.estimator.membership} membership does not "
            "have.",
            Exit.USAGE,
        )
    return replace(model, threshold=threshold)


def _give(blocks: Iterator[Columns], terminal: Terminal) -> None:
    parts = list(blocks)
    answer: dict[str, Any] = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    terminal.give(answer | {"notes": terminal.notes})


def _joined(parts: list[Any]) -> Any:
    """A column of all blocks; nothing where there is no answer."""
    if isinstance(parts[0], np.ma.MaskedArray):
        return [value for part in parts for value in part.tolist()]
    return np.concatenate(parts)
