"""What a fit found, on one screen or as one JSON object."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.text import Text

from powerkmeans.cli.errors import counted
from powerkmeans.cli.inputs import Inputs
from powerkmeans.cli.memory import duration
from powerkmeans.cli.outputs import Outputs
from powerkmeans.cli.terminal import NOTHING, Terminal, facts, grid, heading, number, share_bar
from powerkmeans.preparing.prepared import PreparedModel, scaling_words
from powerkmeans.support.escapes import printable

_MOST_CLUSTERS = 40


def show_summary(
    prepared: PreparedModel, inputs: Inputs, outputs: Outputs, seconds: dict[str, float], terminal: Terminal
) -> None:
    """Tell cluster sizes, view weights, outliers, times and files."""
    if terminal.as_json:
        terminal.give(as_json(prepared, inputs, outputs, seconds) | {"notes": terminal.notes})
        return
    if terminal.quiet:
        return
    model, found = prepared.estimator, prepared.found
    samples = inputs.samples.n_samples
    counts = ((samples, "sample"), (inputs.n_columns, "column"), (model.n_clusters, "cluster"))
    about = " · ".join(counted(number, noun) for number, noun in counts)
    terminal.show("", heading(", ".join(found["files"]), about))
    terminal.show(cluster_table(found["sizes"], found["n_noise"]))
    if inputs.several:
        terminal.show(view_weights(found["views"], bandwidths(prepared)))
    pairs: list[tuple[str, Any]] = [("outliers", _outliers(prepared))] if found["highest"] else []
    pairs.append(("features", features(model)))
    pairs.append(("fit", f"{model.status_}, {model.n_iter_} iterations of the run that was kept"))
    pairs.append(("scaling", f"{scaling_words(prepared)}; metric {model.metric}; seed {model.random_state}"))
    pairs.append(("time", " · ".join(f"{what} {duration(value)}" for what, value in seconds.items())))
    pairs.append(("written", f"{outputs.folder}/: {', '.join(outputs.names)}"))
    terminal.show(facts(pairs), "")


def cluster_table(sizes: Any, n_noise: int = 0) -> Any:
    """Sizes of the clusters as numbers and bars."""
    total, largest = int(np.sum(sizes)) + n_noise, max(int(np.max(sizes)), n_noise)
    named = [(str(cluster), int(size)) for cluster, size in enumerate(sizes)]
    if len(named) > _MOST_CLUSTERS:
        rest = named[_MOST_CLUSTERS:]
        named = [*named[:_MOST_CLUSTERS], (f"{len(rest)} more", sum(size for _, size in rest))]
    named += [("-1 (outliers)", n_noise)] if n_noise else []
    rows = [[name, share_bar(size, largest), number(size), f"{size / total:.1%}"] for name, size in named]
    return grid(["cluster", "", "samples", "share"], rows, left=2)


def view_weights(views: dict[str, Any], widths: list[float | None]) -> Any:
    """Weights of the views as numbers and bars."""
    largest = max(views["weight"])
    rows = []
    for place, name in enumerate(views["view"]):
        weight, coverage, width = views["weight"][place], views["coverage"][place], widths[place]
        numbers = [number(weight), number(views["n_features"][place]), f"{coverage:.1%}"]
        numbers += [number(views["agreement"][place]), NOTHING if width is None else f"{width:.4g}"]
        rows.append([name, share_bar(weight, largest), *numbers])
    return grid(["view", "", "weight", "columns", "samples", "agreement", "bandwidth"], rows, left=2)


def features(model: Any) -> str:
    """Where clusters were looked for: the map that was taken, its kernel if it has one, its size."""
    kernel = "" if model._fit.model.fuses else f", kernel {model.kernel}"
    return f"{_one_or_all(model.feature_map_)}{kernel}, {_one_or_all(model.n_components_)} components"


def _one_or_all(values: Any) -> str:
    """What views have, once if all have the same."""
    words = [str(value) for value in np.ravel(values)]
    return words[0] if len(set(words)) == 1 else ", ".join(words)


def bandwidths(prepared: PreparedModel) -> list[float | None]:
    """The bandwidth of each view, None where there is no kernel."""
    given = prepared.estimator.bandwidth_
    values: list[Any] = list(given) if isinstance(given, np.ndarray) else [given]
    return [None if value is None or not np.isfinite(value) else float(value) for value in values]


def _outliers(prepared: PreparedModel) -> Text:
    """The samples with the highest scores."""
    worst = ", ".join(
        f"{printable(str(entry['sample']))} ({entry['score']:.2f})" for entry in prepared.found["highest"]
    )
    n_noise = prepared.found["n_noise"]
    labelled = f"{n_noise:,} labelled -1 (score above {prepared.threshold:.3f}); " if n_noise else ""
    return Text.assemble(labelled, "highest scores: ", worst)


def as_json(
    prepared: PreparedModel, inputs: Inputs, outputs: Outputs, seconds: dict[str, float]
) -> dict[str, Any]:
    """The same for scripts."""
    model, found = prepared.estimator, prepared.found
    views = [
        {name: column[place] for name, column in found["views"].items()} | {"bandwidth": width}
        for place, width in enumerate(bandwidths(prepared))
    ]
    return {
        "files": found["files"],
        "n_samples": inputs.samples.n_samples,
        "n_columns": inputs.n_columns,
        "n_clusters": model.n_clusters,
        "feature_map": model.feature_map_,
        "cluster_sizes": found["sizes"],
        "views": views,
        "outliers": {"labelled": found["n_noise"], "threshold": prepared.threshold, "highest": found["highest"]},
        "scale": prepared.scale,
        "metric": model.metric,
        "seed": model.random_state,
        "status": str(model.status_),
        "n_iter": model.n_iter_,
        "inertia": model.inertia_,
        "seconds": seconds,
        "outputs": {name.partition(".")[0]: outputs.folder / name for name in outputs.names},
    }
