"""The rows of a view that are examined: a few hundred, drawn by content, in units of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from powerkmeans.advice.thresholds import FAR
from powerkmeans.features.bandwidth import weighted_median
from powerkmeans.features.kernels import Kernel
from powerkmeans.features.map_error import FEWEST_ROWS, examined_size
from powerkmeans.features.pairs import as_dense
from powerkmeans.fitting.task import Task
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Array, Float64Array, RowSample


@dataclass(frozen=True)
class ExaminedRows:
    """Rows of one view, centred at ``mean`` and in units of their largest entry.

    ``share`` is what each stands for. ``kept`` are their places in ``sample``, which they were drawn from by
    ``times``; ``n_distinct`` is how many rows there are in all.
    """

    sample: RowSample
    times: Float64Array
    n_distinct: int
    kept: NDArray[np.intp]
    scaled: Float64Array
    share: Float64Array
    mean: Float64Array
    unit: float

    @property
    def few(self) -> bool:
        """Whether there are too few rows to tell anything of columns and maps."""
        return len(self.sample.weight) < FEWEST_ROWS

    @property
    def sparse(self) -> bool:
        return hasattr(self.sample.views[0], "toarray")

    def original(self) -> Array:
        """The same rows as they were given."""
        return self.sample.views[0][self.kept]

    def more(self, size: int) -> tuple[NDArray[np.intp], Float64Array]:
        """A larger draw, which these rows are part of: places in the sample, and the rows in the same units."""
        places, _ = draw_by_weight(self.times, self.sample.weight, max(len(self.kept), size))
        rows = as_dense(self.sample.views[0][places]).astype(np.float64)
        return places, (rows - self.mean) / self.unit

    def gram(self, kernel: Kernel, bandwidth: float) -> Float64Array:
        """The kernel matrix of the rows."""
        return self.values(kernel, bandwidth, self.scaled, self.scaled)

    def values(self, kernel: Kernel, bandwidth: float, left: Float64Array, right: Float64Array) -> Float64Array:
        """Kernels between rows in these units, of a bandwidth in those of the data."""
        return kernel.gram(left, right, max(bandwidth / self.unit, 1 / FAR))


def examined_rows(task: Task, index: int) -> ExaminedRows | None:
    """Draw rows of a view; None if there are too few, or their differences overflow."""
    sample = task.prepared.examined[index]
    if 8 * len(sample.weight) < FEWEST_ROWS:
        return None
    times = task.stream("guidance").standard_exponential(len(sample.weight))
    kept, weight = draw_by_weight(times, sample.weight, examined_size(sample.views[0].shape[1]))
    rows = as_dense(sample.views[0][kept]).astype(np.float64)
    near = _near(rows, weight)
    kept, rows, share = kept[near], rows[near], weight[near] / np.sum(weight[near])
    mean = share @ rows
    offset = rows - mean
    unit = float(np.max(np.abs(offset)))
    if not 0 < unit < math.inf:
        return None
    return ExaminedRows(sample, times, task.prepared.sample.n_distinct, kept, offset / unit, share, mean, unit)


def _near(rows: Float64Array, weight: Float64Array) -> NDArray[np.bool_]:
    """Rows that are not so far off that beside them all others look alike."""
    with np.errstate(over="ignore"):
        reach = np.max(np.abs(rows - np.median(rows, axis=0)), axis=1)
    near: NDArray[np.bool_] = reach <= FAR * weighted_median(reach, weight)
    return near
