"""What each view contributes to a model, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from powerkmeans.models.answers import precise_evidence
from powerkmeans.models.graph_answers import neighbour_evidence, table_columns
from powerkmeans.models.model import Model
from powerkmeans.sources.dask import with_known_chunks
from powerkmeans.types import Array, Views


class ViewTable(dict[str, Array]):
    """Columns by name, one entry per view; ``pandas.DataFrame(table)`` takes it as it is."""

    def __str__(self) -> str:
        cells = [[_shown(value) for value in column] for column in self.values()]
        widths = [max(len(name), *map(len, column)) for name, column in zip(self, cells, strict=True)]
        lines = [list(self), *map(list, zip(*cells, strict=True))]
        return "\n".join(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def view_table(model: Model, views: Views, engine: Any) -> ViewTable:
    """The table of :func:`explain_views`, of views that have been checked."""
    views = with_known_chunks(views)
    if model.fuses:
        return _table(model, _of_graph(model, views, engine))
    return _table(model, _of_features(model, views, engine))


def _table(model: Model, columns: dict[str, tuple[Array, float]]) -> ViewTable:
    table = ViewTable(view=np.array(model.view_names, dtype=object), n_features=np.array(model.view_widths))
    table.update({name: model.for_all_views(values, otherwise) for name, (values, otherwise) in columns.items()})
    return table


def _of_graph(model: Model, views: Views, engine: Any) -> dict[str, tuple[Array, float]]:
    """What the neighbours in each view say."""
    total = views.total_weight
    columns = table_columns(neighbour_evidence(model, views, engine), model.maps[0].base.view_weights, total)
    return {name: (values, np.nan) for name, values in columns.items()}


def _of_features(model: Model, views: Views, engine: Any) -> dict[str, tuple[Array, float]]:
    """What the features of each view say."""
    sums = precise_evidence(model, views, engine)
    within = np.where(sums.total > 0, sums.within / np.where(sums.total > 0, sums.total, 1), 1.0)
    within = np.where(sums.count > 0, within, np.nan)
    count = np.where(sums.count > 0, sums.count, np.nan)
    return {
        "coverage": (sums.count / views.total_weight, np.nan),
        "weight": (model.parameters.view_weights, 0.0),
        "distance_share": (sums.share / max(float(np.sum(sums.share)), np.finfo(np.float64).tiny), 0.0),
        "explained": (1 - within, np.nan),
        "agreement": (sums.agreement / count, np.nan),
        "silhouette": (sums.silhouette / count, np.nan),
    }
