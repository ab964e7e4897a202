"""By what rows are compared: by their distances as they are, or by their directions alone."""

from __future__ import annotations

import numpy as np

from powerkmeans.sources import unit_table
from powerkmeans.types import Array, Views

EUCLIDEAN, COSINE = METRICS = ("euclidean", "cosine")


def with_metrics(views: Views, metrics: tuple[str, ...]) -> Views:
    """The views with rows of unit length where the metric, one for each, is the cosine.

    Whoever opens views of a fit or of a fitted model takes them from here, once: distances between unit rows are
    ``sqrt(2 - 2 cos)``, and nothing else has to know of metrics. Absent rows may hold anything before and after;
    a view that no sample has stays as it is, for it takes no memory.
    """
    lacking = np.zeros(len(metrics), bool) if views.present is None else ~np.asarray(np.any(views.present, axis=0))
    parts = zip(views.arrays, metrics, lacking, strict=True)
    arrays = (rows if absent else with_metric(rows, metric) for rows, metric, absent in parts)
    return views._replace(arrays=tuple(arrays))


def with_metric(rows: Array, metric: str) -> Array:
    """Rows of unit length if the metric is the cosine, and as they are if not."""
    return unit_table(rows) if metric == COSINE else rows
