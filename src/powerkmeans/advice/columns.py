"""Whether the units of columns drown each other, whether outliers drown the rows, and rows without a direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from powerkmeans.advice.sample import ExaminedRows
from powerkmeans.advice.thresholds import CORRELATED, FEW, NEARLY_ALL, NEGLIGIBLE, UNCERTAINTY
from powerkmeans.compute.engine import open_engine
from powerkmeans.features.map_error import FEWEST_ROWS
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.fitting.task import Task
from powerkmeans.inputs.metric import COSINE
from powerkmeans.solver.settling import STILL
from powerkmeans.support.values import listed
from powerkmeans.types import Array, Block, Float64Array, Sums, array_namespace, device_of

# columns of one sentence that are named
_NAMED = 5
# the way out, in words of Python
SCALE_COLUMNS = "for example with StandardScaler"


def unscaled_columns(rows: ExaminedRows, names: Sequence[Any] | None = None) -> str | None:
    """A few columns have nearly all the variance, as columns of different units do; told by their names if any.

    So have principal components, rightly, and a column that clusters lie along; but those are not correlated.
    Where the other columns are all but lost they need not be; components are then known by order and mean.
    """
    if rows.few or rows.sparse:
        return None
    variance = rows.share @ rows.scaled**2
    n_varied, order = int(np.sum(variance > 0)), np.argsort(-variance, kind="stable")
    shares = np.cumsum(variance[order]) / np.sum(variance)
    count = int(np.searchsorted(shares, NEARLY_ALL)) + 1
    if n_varied < 3 or count > max(1, FEW * n_varied) or _by_tails(rows, variance, order, count):
        return None
    drowned = NEGLIGIBLE**2  # of the variance: the spread of the others is negligible
    lost = np.sum(variance[order[count:]]) < drowned * np.sum(variance) and not _like_components(rows, variance)
    if not lost and not _correlated(rows, order[: min(n_varied, FEWEST_ROWS)]):
        return None
    which = _named(order, count, names)
    share = "more than 99.99" if shares[count - 1] > 1 - drowned else f"{100 * shares[count - 1]:.4g}"
    return f"{which} {share}% of the variance, and distances see little else. Scale the columns, {SCALE_COLUMNS}."


def _named(order: NDArray[np.intp], count: int, names: Sequence[Any] | None) -> str:
    """The first columns, as the subject of a sentence."""
    if count == 1:
        return f"column {order[0] if names is None else repr(names[order[0]])} has"
    first = [] if names is None else [names[place] for place in order[: min(count, _NAMED)]]
    more = ", ..." if count > _NAMED else ""
    return f"{count} of {len(order)} columns{f' ({listed(first)}{more})' if first else ''} have"


def _by_tails(rows: ExaminedRows, variance: Float64Array, order: NDArray[np.intp], count: int) -> bool:
    """Whether the first columns owe their variance to tails, which are outliers, rather than to their units."""
    first, others = rows.scaled[:, order[:count]], order[count:]
    low, high = np.quantile(first, [1 - NEARLY_ALL, NEARLY_ALL], axis=0)
    deviations = (high - low) / (2 * NormalDist().inv_cdf(NEARLY_ALL))
    middle, rest = float(np.sum(deviations**2)), float(np.sum(variance[others]))
    return middle < (1 - FEW) * (middle + rest)


def _like_components(rows: ExaminedRows, variance: Float64Array) -> bool:
    centred = np.abs(rows.mean) <= rows.unit * np.sqrt(variance) / UNCERTAINTY
    return bool(np.all(centred | (variance == 0)) and np.all(variance[1:] <= UNCERTAINTY * variance[:-1]))


def _correlated(rows: ExaminedRows, columns: NDArray[np.intp]) -> bool:
    """Whether squared correlations are larger than those of independent columns, 1 / n on average.

    Of ranks too: rows that are far in many columns at once make values look correlated.
    """
    values = rows.scaled[:, columns]
    ranks = np.asarray(rankdata(values, axis=0), dtype=np.float64)
    chance = CORRELATED / len(values)
    return all(_mean_squared_correlation(part, rows.share) > chance for part in (values, ranks))


def _mean_squared_correlation(rows: Float64Array, share: Float64Array) -> float:
    offset = rows - share @ rows
    covariance = (offset * share[:, None]).T @ offset
    spread = np.sqrt(np.diagonal(covariance))
    squared = (covariance / np.outer(spread, spread)) ** 2
    return float((np.sum(squared) - len(spread)) / (len(spread) * (len(spread) - 1)))


def far_outliers(rows: ExaminedRows, feature_map: CentredMap, scatter: float) -> str | None:
    """Plain columns have rows so far off that rounding blurs the others.

    Rows and their centroids are rounded to ``eps`` times their lengths, whose mean square is the scatter: what
    costs change by is ``eps^2`` times it, and outliers may have nearly all of it.
    """
    extent, reach = _extents(rows, feature_map, scatter)
    if float(np.finfo(feature_map.dtype).eps) * reach <= NEGLIGIBLE * extent:
        return None
    text = (
        f"far outliers: rows are {reach:.2g} from their mean in root mean square, where most lie within "
        f"{extent:.2g} of each other, and {feature_map.dtype} rounds the one to more than a hundredth of the "
        "other. Leave outliers out, clip them, or use feature_map='nystroem', which does not see how far they are"
    )
    return text + (", or float64." if feature_map.dtype == "float32" else ".")


def hidden_by_outliers(rows: ExaminedRows, feature_map: CentredMap, scatter: float) -> bool:
    """Whether a fit takes a step of a tenth of most rows' extent for none, beside the scatter of all."""
    extent, reach = _extents(rows, feature_map, scatter)
    return (extent / 10) ** 2 <= STILL * reach**2


def _extents(rows: ExaminedRows, feature_map: CentredMap, scatter: float) -> tuple[float, float]:
    """Root mean square distances from the mean: of most rows, and of all."""
    extent = rows.unit * math.sqrt(rows.share @ np.vecdot(rows.scaled, rows.scaled))
    return extent, math.sqrt(scatter) / feature_map.scale


def zero_rows(task: Task, index: int) -> str | None:
    """Rows of a view that is compared by directions have none."""
    prepared = task.prepared
    if prepared.view_settings[index].metric != COSINE:
        return None
    given = prepared.engine.raw if prepared.given is None else open_engine(task.settings.engine, prepared.given)
    found = given.fold(_zeros, index)
    count, first = int(found.count), int(found.first) if found.count else 0
    if not count:
        return None
    several = f"{count} rows, first row {first}, are zero and have"
    which = f"row {first} is zero and has" if count == 1 else several
    return (
        f"{which} no direction: metric='cosine' takes such rows to be equally far from all others. Leave them out."
    )


@dataclass
class ZeroRows(Sums):
    """How many rows are zero, and the number of the first, infinite if there is none."""

    count: Array
    first: Array

    def __iadd__(self, other: Self) -> Self:
        self.count += other.count
        self.first = min(self.first, other.first)
        return self


def _zeros(block: Block, view: int) -> ZeroRows:
    xp = array_namespace(block.weight)
    zero = _are_zero(block, view)
    count = int(xp.count_nonzero(zero))
    first = float(block.start + int(xp.argmax(xp.astype(zero, xp.int8)))) if count else math.inf
    like = device_of(block.weight)
    return ZeroRows(xp.asarray(float(count), device=like), xp.asarray(first, device=like))


def _are_zero(block: Block, view: int) -> Array:
    """Which rows of a block are zero, of those that the view has."""
    rows, xp = block.views[view], array_namespace(block.weight)
    if hasattr(rows, "indptr"):
        zero = np.asarray((rows != 0).sum(axis=1)).reshape(-1) == 0
    else:
        zero = ~xp.any(rows != 0, axis=1)
    return zero if block.present is None else zero & block.present[view, :]
