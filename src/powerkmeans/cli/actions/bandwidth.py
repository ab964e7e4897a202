"""``powerkmeans bandwidth``: distances between rows, view by view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.neighbors import NearestNeighbors

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.inputs import InputOptions, Inputs, chosen, read_inputs, tell_input
from powerkmeans.cli.terminal import NOTHING, Terminal, grid, heading
from powerkmeans.estimators import MultiViewPowerKMeans
from powerkmeans.features.kernels import KERNELS
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.inputs.views import check_several_views
from powerkmeans.support.draws import draw_seed
from powerkmeans.types import Views

_SAMPLE = 2000
_NEIGHBOUR = 10


def run(options: dict[str, Any]) -> None:
    """Read, measure, tell."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    reading = chosen(InputOptions, options)
    inputs = read_inputs(reading, terminal)
    tell_input(inputs, reading, terminal)
    kernel, seed = options["kernel"], options["seed"]
    with terminal.bar("Measuring") as bar, terminal.hearing_warnings():
        bar.wait()
        found = measured(inputs, kernel, seed)
    if terminal.as_json:
        terminal.give({"kernel": kernel, "scale": reading.scale, "views": found, "notes": terminal.notes})
        return
    header = ["view", "median", "scale", "10th neighbour", "nearest"]
    rows = [
        [line["view"], *(_shown(line[name]) for name in ("median", "scale", "tenth", "nearest"))] for line in found
    ]
    terminal.show(
        heading("Bandwidths", f"kernel {kernel}, {reading.scale} scaling"),
        grid(header, rows),
        Text("\n  fit takes the median. Thin or ring-like clusters need less:", "dim"),
        Text("  try the 10th neighbour, and twice that.\n", "dim"),
    )


def _shown(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}"


def measured(inputs: Inputs, kernel: str, seed: int) -> list[dict[str, Any]]:
    """For each view the bandwidths that fit would choose with this seed, and distances to neighbours."""
    arrays = inputs.X if isinstance(inputs.X, dict) else {inputs.views[0].name: inputs.X}
    metric = KERNELS[kernel].metric
    lines = []
    for name, values in arrays.items():
        rows = values[~np.isnan(values[:, 0])]
        near, tenth = _neighbours(rows, metric, seed)
        lines.append({"view": name, "columns": values.shape[1], "nearest": near, "tenth": tenth})
    for choice in ("median", "scale") if metric == "euclidean" else ("median",):
        for line, value in zip(lines, _chosen_widths(arrays, kernel, choice, seed), strict=True):
            line[choice] = value
    return [{"scale": None, **line} for line in lines]


def _chosen_widths(arrays: dict[str, Any], kernel: str, choice: str, seed: int) -> list[float | None]:
    """The bandwidths that a fit takes; None for a view that is constant."""
    model = MultiViewPowerKMeans(1, kernel=kernel, bandwidth=choice, n_components=1, membership="fuzzy")
    try:
        views, _ = check_several_views(model, arrays)
        settings = check_settings(model.get_params(deep=False), several_views=True)
        prepared = make_task(views, settings, draw_seed(seed)).prepared
    except ValueError as error:
        raise UserError(str(error)) from error
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
