"""``powerkmeans fit``: read, fit, write, sum up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from powerkmeans.advice.totals import about_totals
from powerkmeans.cli.actions.estimate import estimate, show_estimate
from powerkmeans.cli.actions.summary import show_summary
from powerkmeans.cli.answers import (
    all_scores,
    cluster_profiles,
    highest,
    label_blocks,
    membership_blocks,
    share_threshold,
    view_table,
    without_noise,
)
from powerkmeans.cli.errors import UserError, listed, usage
from powerkmeans.cli.genes import genes_of
from powerkmeans.cli.inputs import InputOptions, Inputs, chosen, read_inputs, tell_input
from powerkmeans.cli.modelling import ModelOptions, fit_estimator, has_scores
from powerkmeans.cli.outputs import Columns, Outputs, write_table
from powerkmeans.cli.planning import MODEL, REPORT, planned_outputs
from powerkmeans.cli.terminal import Terminal
from powerkmeans.cli.wording import in_options
from powerkmeans.inputs.settings import AUTO
from powerkmeans.preparing.files import save_prepared, without_ids
from powerkmeans.preparing.prepared import PreparedModel, scaling_words
from powerkmeans.preparing.scaling import ROWS, scales_columns
from powerkmeans.report.opened import Given
from powerkmeans.report.writing import Page, write_page

T = TypeVar("T")


@dataclass
class Stopwatch:
    """Seconds by what they were spent on."""

    seconds: dict[str, float]

    def time(self, what: str, work: Callable[[], T]) -> T:
        """Do something and remember how long it took."""
        start = time.perf_counter()
        result = work()
        self.seconds[what] = time.perf_counter() - start
        return result


def run(options: dict[str, Any]) -> None:
    """Check what can be checked, then read, fit and write."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    model, reading = chosen(ModelOptions, options), chosen(InputOptions, options)
    planned = model.parameters(several=True)  # a wrong value is told before anything is read
    if options["outliers"] and not has_scores(planned["membership"], planned["feature_map"]):
        raise usage(f"--outliers needs scores, which a {planned['membership']} membership does not have.")
    outputs = planned_outputs(options)
    watch = Stopwatch({})
    inputs = watch.time("read", lambda: read_inputs(reading, terminal))
    tell_input(inputs, reading, terminal)
    parameters = for_categories(model.parameters(several=inputs.several), inputs, terminal)
    if options["dry_run"]:
        show_estimate(estimate(inputs, parameters, watch.seconds["read"], terminal), terminal)
        return
    for name in sorted(planned.keys() - parameters.keys()):
        terminal.note(f"{name} is for several views; there is one.")
    fit_and_write(inputs, parameters, reading, options, Plan(outputs, watch, terminal, reading=reading))


def for_categories(parameters: dict[str, Any], inputs: Inputs, terminal: Terminal) -> dict[str, Any]:
    """Parameters for tables with categories: rows of different ones are never neighbours in a graph."""
    if parameters["feature_map"] != AUTO or not any(view.has_categories for view in inputs.views):
        return parameters
    terminal.note(
        "With categories a graph of neighbours would fall apart by them, so landmarks are taken; say "
        "--feature-map graph if that is wanted."
    )
    return parameters | {"feature_map": "nystroem"}


@dataclass(frozen=True)
class Plan:
    """Where results go, how long they take, and who is told.

    ``others`` are tables to write besides, by their names among the outputs; ``reading`` is how files were read.
    """

    outputs: Outputs
    watch: Stopwatch
    terminal: Terminal
    others: dict[str, Columns] = field(default_factory=dict)
    reading: InputOptions | None = None


def fit_and_write(
    inputs: Inputs, parameters: dict[str, Any], reading: InputOptions, options: dict[str, Any], plan: Plan
) -> None:
    """Fit, find out about the clusters, write everything at once, and sum it up."""
    terminal, watch = plan.terminal, plan.watch
    checkpoint = options.get("checkpoint")
    estimator = watch.time("fit", lambda: fit_estimator(inputs, parameters, terminal, checkpoint))
    prepared = watch.time("describe", lambda: described(estimator, inputs, reading, options["outliers"], terminal))
    if estimator.advice:
        terminal.note_all(about_counts(estimator, inputs, reading))
    if options.get("no_ids"):
        prepared = without_ids(prepared)
    start = time.perf_counter()
    with plan.outputs.staged() as folder:
        write_all(prepared, inputs, folder, plan)
    if checkpoint is not None:  # of a fit that has come to its end
        Path(checkpoint).unlink(missing_ok=True)
    if plan.outputs.removed:
        terminal.note(
            f"{listed(plan.outputs.removed)} of the earlier run in {str(plan.outputs.folder)!r} removed."
        )
    watch.seconds["write"] = time.perf_counter() - start
    show_summary(prepared, inputs, plan.outputs, watch.seconds, terminal)


def about_counts(estimator: Any, inputs: Inputs, reading: InputOptions) -> list[str]:
    """What there is to say of counts whose totals the clusters follow.

    The fit says it of rows as it sees them; after columns were scaled, those of the file have to be asked.
    """
    if not scales_columns(inputs.scale) or reading.total is not None or reading.log:
        return []
    found = []
    for cells in inputs.samples.views.values():
        assert cells is not None
        present = ~np.any(np.isnan(cells.numbers), axis=1)
        weight = None if inputs.weight is None else inputs.weight[present]
        found.append(about_totals(cells.numbers[present], estimator.labels_[present], weight))
    return [in_options(text[0].upper() + text[1:]) for text in found if text is not None]


def described(
    estimator: Any, inputs: Inputs, reading: InputOptions, outliers: float, terminal: Terminal
) -> PreparedModel:
    """A fitted estimator with its input and what there is to tell about its clusters."""
    n_clusters, names = estimator.n_clusters, tuple(view.name for view in inputs.views)
    scored = estimator._fit.model.scores_outliers
    if outliers and not scored:
        terminal.note(
            f"--outliers labels nothing: {estimator.feature_map_!s} has no scores with a {estimator.membership} "
            "membership; --membership auto has them."
        )
    with terminal.bar("Describing") as bar, terminal.hearing_warnings():
        scores = all_scores(estimator, inputs.X, inputs.samples.n_samples)
        bar.update(0.5)
        threshold = share_threshold(scores, outliers) if scored else None
        labels = without_noise(estimator.labels_, scores, threshold)
        found = {
            "views": view_table(estimator, inputs.X, names, inputs.weight),
            "units": inputs.units,
            "profiles": cluster_profiles(inputs.X, estimator.labels_, n_clusters, names),
            "sizes": np.bincount(labels[labels >= 0], minlength=n_clusters),
            "n_noise": int(np.sum(labels < 0)),
            "highest": highest(inputs.samples, scores) if scored else [],
            "files": [Path(name.rpartition("=")[2]).name for name in reading.data],
        }
    return PreparedModel(
        estimator,
        inputs.views,
        scale=inputs.scale,
        named=inputs.named,
        id_column=reading.id_column,
        threshold=threshold,
        found=found,
    )


def write_all(prepared: PreparedModel, inputs: Inputs, folder: Path, plan: Plan) -> None:
    """Write every file that was planned into a folder."""
    samples, X = inputs.samples, inputs.X
    for name in plan.outputs.names:
        path = folder / name
        with plan.terminal.bar("Writing", name) as bar:
            if name in plan.others:
                write_table(path, iter([plan.others[name]]))
            elif name == MODEL:
                _save(prepared, path)
            elif name == REPORT:
                bar.wait()
                _write_report(path, prepared, inputs, plan)
            elif name.startswith("labels"):
                write_table(path, label_blocks(prepared, X, samples, bar, prepared.estimator.labels_))
            else:
                write_table(path, membership_blocks(prepared, X, samples, bar))


def _save(prepared: PreparedModel, path: Path) -> None:
    """Write the model; one that could not be loaded again is the fault of its numbers."""
    try:
        save_prepared(prepared, path)
    except ValueError as error:
        raise UserError(f"{error} The numbers of the table are too large or too small; scale them.") from error


def _write_report(path: Path, prepared: PreparedModel, inputs: Inputs, plan: Plan) -> None:
    names: Any = {view.name: list(view.columns) for view in inputs.views}
    original: Any = {name: None if c is None else c.numbers for name, c in inputs.samples.views.items()}
    if not inputs.several:
        names, original = next(iter(names.values())), next(iter(original.values()))
    named = inputs.samples.ids is not None and "highest" in prepared.found
    ids: NDArray[Any] | None = inputs.samples.ids.values if inputs.samples.ids is not None and named else None
    scaling = "none" if prepared.scale == ROWS else scaling_words(prepared)
    genes = () if plan.reading is None else genes_of(inputs, plan.reading, plan.terminal)
    given = Given(ids, names, original, scaling, wording=in_options, beside=genes)
    page = Page(", ".join(prepared.found["files"]), noise_threshold=prepared.threshold, files=plan.outputs.names)
    write_page(path, prepared.estimator, inputs.X, given, page)
