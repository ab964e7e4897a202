"""Whether a kernel tells samples apart, and whether its map is large enough for it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from powerkmeans.advice.sample import ExaminedRows
from powerkmeans.advice.thresholds import (
    FEW,
    LARGEST_ERROR,
    NEARLY_ALL,
    NEGLIGIBLE,
    OUTPUTS_PER_DIRECTION,
    RELATED,
    UNALIKE,
)
from powerkmeans.features.bandwidth import median_distance, weighted_median
from powerkmeans.features.kernels import Kernel
from powerkmeans.features.map_error import EXAMINED_ROWS, FEWEST_ROWS, WORK, kernel_error, size_for
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.types import Float64Array


@dataclass(frozen=True)
class ExaminedKernel:
    """A kernel on the examined rows of a view: ``gram`` has its values."""

    rows: ExaminedRows
    kernel: Kernel
    bandwidth: float
    gram: Float64Array

    @property
    def better_bandwidth(self) -> str:
        """The bandwidth to use instead."""
        rows = self.rows
        try:
            median = rows.unit * median_distance(rows.scaled, rows.share, self.kernel)
        except ValueError:  # zero to rounding
            return "one of the order of the distances between samples"
        return f"bandwidth={median:.3g} (the median distance)"


def examined_kernel(rows: ExaminedRows, kernel: Kernel, bandwidth: float) -> ExaminedKernel:
    """Evaluate a kernel on examined rows."""
    return ExaminedKernel(rows, kernel, bandwidth, rows.gram(kernel, bandwidth))


def flat_kernel(examined: ExaminedKernel) -> str | None:
    """Nearly all samples look the same: such a kernel says what plain distances do."""
    share = examined.rows.share
    alike = 1 - NEGLIGIBLE
    different = share @ ((examined.gram <= alike) @ share)
    if different > 1 - NEARLY_ALL:
        return None
    without = ", or feature_map='identity', which does without a kernel" if examined.kernel.analytic else ""
    return (
        f"bandwidth={examined.bandwidth:.4g} makes the kernel flat: more than {NEARLY_ALL:.0%} of its values are "
        f"above {alike}, and it says no more than plain distances do. Use {examined.better_bandwidth}{without}."
    )


def identity_kernel(examined: ExaminedKernel) -> str | None:
    """Even neighbours look nothing alike: no clusters can be seen then."""
    gram, share = examined.gram, examined.rows.share
    nearest = weighted_median(np.max(gram - np.diag(np.diagonal(gram)), axis=1), share)
    if nearest < UNALIKE:  # among these few; in all the data neighbours are nearer
        nearest = _nearest_of_many(examined)
    if nearest >= UNALIKE:
        return None
    return (
        f"bandwidth={examined.bandwidth:.4g} is too small to see clusters: the kernel between a sample and its "
        f"nearest neighbour is {nearest:.2g}, where 1 is alike and 0 is not. Use {examined.better_bandwidth}."
    )


def _nearest_of_many(examined: ExaminedKernel) -> float:
    """The median kernel of some rows with the nearest of all, as far as a larger draw tells.

    Where there are still more rows, its logarithm is continued as it grew from a quarter of the draw to all of it.
    """
    rows, n_asked = examined.rows, FEWEST_ROWS
    places, others = rows.more(WORK // (n_asked * len(rows.mean)))
    values = rows.values(examined.kernel, examined.bandwidth, rows.scaled[:n_asked], others)
    values[places == rows.kept[:n_asked, None]] = 0
    share = rows.share[:n_asked]
    nearest, of_a_quarter = (weighted_median(np.max(v, axis=1), share) for v in (values, values[:, ::4]))
    if rows.n_distinct <= len(places) or of_a_quarter == 1:
        return nearest
    of_all, of_part = math.log(max(nearest, sys.float_info.min)), math.log(max(of_a_quarter, sys.float_info.min))
    return math.exp(of_all * (of_all / of_part) ** math.log(rows.n_distinct / len(places), 4))


def too_many_directions(examined: ExaminedKernel, feature_map: CentredMap) -> str | None:
    """The kernel is so local that it has more independent directions than half of the map's outputs.

    There are about ``1 / mean k^2`` of them: as many as there are regions whose samples look nothing alike.
    """
    base, words = feature_map.base, feature_map.base.words
    n_distinct, directions = examined.rows.n_distinct, _count_directions(examined)
    local = directions > FEW * EXAMINED_ROWS
    if not local or OUTPUTS_PER_DIRECTION * directions <= base.n_outputs or base.n_components >= n_distinct:
        return None
    most = EXAMINED_ROWS**2 // 8  # a count beyond it rests on four of the pairs, or fewer
    count = f"about {directions:.0f}" if directions < most else f"more than {most}"
    size = min(_rounded_up(OUTPUTS_PER_DIRECTION * directions), n_distinct)
    larger = f"{words.instead}n_components={size}" if directions < most else "a larger n_components"
    return (
        f"bandwidth={examined.bandwidth:.4g} is too small for {base.n_components} {words.components}: the kernel "
        f"has {count} independent directions, and each takes two of them. Use {examined.better_bandwidth}, "
        f"or {larger} for clusters as thin as that."
    )


def _count_directions(examined: ExaminedKernel) -> float:
    pairs = examined.rows.share * examined.rows.share[:, None]
    np.fill_diagonal(pairs, 0)
    return float(np.sum(pairs)) / max(float(np.sum(pairs * examined.gram**2)), sys.float_info.min)


def map_error(examined: ExaminedKernel, feature_map: CentredMap, n_clusters: int) -> tuple[float, bool]:
    """What the map loses of the structure that clusters can show, and whether there is such structure."""
    features = feature_map(examined.rows.original(), np).astype(np.float64)
    error, recurs = kernel_error(examined.gram, features, examined.rows.share, n_clusters)
    return error, recurs >= RELATED


def map_too_small(error: float, feature_map: CentredMap, n_clusters: int, n_rows: int) -> str | None:
    """The map loses too much. Half as many landmarks as frequencies do."""
    if error <= LARGEST_ERROR:
        return None
    base, words = feature_map.base, feature_map.base.words
    size = _rounded_up(size_for(error, base.n_components))
    better = f"n_components={min(size, n_rows) if base.components_are_rows else size}"
    if words.instead:
        better += f", or {words.instead}n_components={min(-(-size // 2), n_rows)}"
    return (
        f"{base.n_components} {words.components} are too few for this kernel: they lose {error:.0%} of what "
        f"{n_clusters} clusters can show of it. Use {better}."
    )


def _rounded_up(size: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return math.ceil(size / unit) * unit
