"""``powerkmeans bandwidth``: distances between rows, view by view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.neighbors import NearestNeighbors

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.inputs import InputOptions, Inputs, chosen, read_inputs, tell_input
from powerkmeans.cli.modelling import checked, chosen_metric
from powerkmeans.cli.terminal import NOTHING, Terminal, grid, heading
from powerkmeans.cli.wording import in_options
from powerkmeans.estimators import MultiViewPowerKMeans
from powerkmeans.features.kernels import KERNELS
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.metric import with_metric
from powerkmeans.inputs.settings import Settings, check_settings
from powerkmeans.inputs.views import check_several_views
from powerkmeans.support.draws import draw_seed
from powerkmeans.types import Views

_SAMPLE = 2000
_NEIGHBOUR = 10


def run(options: dict[str, Any]) -> None:
    """Read, measure, tell."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    reading = chosen(InputOptions, options)
    metric = chosen_metric(options["metric"], reading.scale)
    checked({"metric": metric}, several=True)
    inputs = read_inputs(reading, terminal)
    tell_input(inputs, reading, terminal)
    kernel, seed = options["kernel"], options["seed"]
    with terminal.bar("Measuring") as bar, terminal.hearing_warnings():
        bar.wait()
        found = measured(inputs, kernel, metric, seed)
    if terminal.as_json:
        told = {"kernel": kernel, "metric": metric, "scale": inputs.scale}
        terminal.give({**told, "views": found, "notes": terminal.notes})
        return
    header = ["view", "median", "scale", "10th neighbour", "nearest"]
    rows = [
        [line["view"], *(_shown(line[name]) for name in ("median", "scale", "tenth", "nearest"))] for line in found
    ]
    terminal.show(
        heading("Bandwidths", f"kernel {kernel}, metric {metric}, scaling {inputs.scale}"),
        grid(header, rows),
        Text("\n  With a kernel fit takes the median. Thin or ring-like clusters need less:", "dim"),
        Text("  try the 10th neighbour, and twice that, or a graph, which has no bandwidth.\n", "dim"),
    )


def _shown(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}"


def measured(inputs: Inputs, kernel: str, metric: Any, seed: int) -> list[dict[str, Any]]:
    """For each view the bandwidths that fit would choose with this seed, and distances to neighbours."""
    arrays = inputs.X if isinstance(inputs.X, dict) else {inputs.views[0].name: inputs.X}
    model = MultiViewPowerKMeans(
        1, feature_map="nystroem", kernel=kernel, metric=metric, n_components=1, membership="fuzzy"
    )
    distance = KERNELS[kernel].metric
    lines = []
    for (name, values), one in zip(arrays.items(), _metrics(model, tuple(arrays)), strict=True):
        rows = with_metric(values[~np.isnan(values[:, 0])], one)
        near, tenth = _neighbours(rows, distance, seed)
        lines.append({"view": name, "columns": values.shape[1], "nearest": near, "tenth": tenth})
    for choice in ("median", "scale") if distance == "euclidean" else ("median",):
        widths = _chosen_widths(model.set_params(bandwidth=choice), arrays, inputs.weight, seed)
        for line, value in zip(lines, widths, strict=True):
            line[choice] = value
    return [{"scale": None, **line} for line in lines]


def _settings(model: MultiViewPowerKMeans) -> Settings:
    return check_settings(model.get_params(deep=False), several_views=True)


def _metrics(model: MultiViewPowerKMeans, names: tuple[str, ...]) -> list[str]:
    try:
        return [one.metric for one in _settings(model).of_views(names)]
    except ValueError as error:
        raise UserError(in_options(str(error))) from error


def _chosen_widths(
    model: MultiViewPowerKMeans, arrays: dict[str, Any], weight: Any, seed: int
) -> list[float | None]:
    """The bandwidths that a fit takes; None for a view that is constant."""
    try:
        views, _ = check_several_views(model, arrays, weight)
        prepared = make_task(views, _settings(model), draw_seed(seed)).prepared
    except ValueError as error:
        raise UserError(in_options(str(error))) from error
    used: Views = prepared.views
    widths = dict(zip(used.names, prepared.bandwidths, strict=True))
    return [widths.get(name) for name in arrays]


def _neighbours(rows: NDArray[Any], metric: str, seed: int) -> tuple[float | None, float | None]:
    """Median distances of a sample of rows to their nearest other row and to the tenth, among all rows."""
    if len(rows) <= _NEIGHBOUR:
        return None, None
    rng = np.random.default_rng(seed)
    asked = rows[rng.choice(len(rows), min(_SAMPLE, len(rows)), replace=False)]
    search = NearestNeighbors(n_neighbors=_NEIGHBOUR + 1, metric=metric).fit(rows)
    distances, _ = search.kneighbors(asked)
    return float(np.median(distances[:, 1])), float(np.median(distances[:, _NEIGHBOUR]))
