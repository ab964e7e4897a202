"""``powerkmeans predict``: new samples, labelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from powerkmeans.cli.answers import blocks_of, label_blocks, memberships
from powerkmeans.cli.bundle import Bundle, load_bundle, rows_of
from powerkmeans.cli.errors import Exit, UserError, counted
from powerkmeans.cli.inputs import InputOptions, chosen, read_tables
from powerkmeans.cli.manifest import check_run
from powerkmeans.cli.matching import match_views, wanted_columns
from powerkmeans.cli.outputs import Columns, Outputs, check_table_name, write_csv, write_table
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.reading import named_files
from powerkmeans.cli.samples import Samples
from powerkmeans.cli.terminal import Terminal


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
    bundle = _with_threshold(load_bundle(options["model"]), options["noise_threshold"])
    samples = read_for(bundle, options, terminal)
    X = bundle.inputs(samples)
    with terminal.bar("Labelling") as bar, terminal.hearing_warnings():
        blocks = answered(bundle, X, samples, bar, with_memberships=options["memberships"])
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


def read_for(bundle: Bundle, options: dict[str, Any], terminal: Terminal) -> Samples:
    """New samples as the model's views, told where something is missing."""
    reading = replace(chosen(InputOptions, options), may_drop=False)
    if reading.id_column is None and bundle.id_column is not None:
        reading = replace(reading, id_column=bundle.id_column, id_optional=True)
    tables = read_tables(named_files(reading.data), reading, wanted_columns(bundle), terminal)
    samples = match_views(bundle, tables)
    for note in samples.notes:
        terminal.note(note)
    return samples


def answered(bundle: Bundle, X: Any, samples: Samples, bar: Bar, *, with_memberships: bool) -> Iterator[Columns]:
    """Labels and scores, and memberships if they are wanted."""
    try:
        for rows, block in zip(blocks_of(samples.n_samples), label_blocks(bundle, X, samples, bar), strict=True):
            yield block | (memberships(bundle.estimator, rows_of(X, rows)) if with_memberships else {})
    except (ValueError, TypeError) as error:
        raise UserError(str(error)) from error


def _with_threshold(bundle: Bundle, threshold: float | None) -> Bundle:
    if threshold is None:
        return bundle
    if not bundle.estimator._fit.model.scores_outliers:
        raise UserError(
            f"--noise-threshold needs scores, which a model of {bundle.estimator.membership} membership does not "
            "have.",
            Exit.USAGE,
        )
    return replace(bundle, threshold=threshold)


def _give(blocks: Iterator[Columns], terminal: Terminal) -> None:
    parts = list(blocks)
    answer: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    terminal.give(answer | {"notes": terminal.notes})
