"""A look at some rows of a view before the fit: whether its kernel, its map or its columns are unwise.

A few hundred rows, drawn by content, tell what matters; DESIGN.md says where the thresholds come from.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from powerkmeans.features.bandwidth import median_distance, weighted_median
from powerkmeans.features.kernels import KERNELS, Kernel
from powerkmeans.features.maps.base import BaseMap
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.features.pairs import as_dense
from powerkmeans.fitting.task import Task
from powerkmeans.solver.settling import STILL
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Float64Array, RowSample

# rows that are looked at, fewer where they are wide; how few say nothing of columns and maps, and of a kernel
ROWS, SMALLEST_LOOK, FEWEST_ROWS, FEWEST_NEIGHBOURS = 200, 64, 64, 8
# multiplications that one kernel matrix may take
_WORK = 2**25
# a kernel is flat if all but this share of its values are above the other: it is linear then
FLAT_SHARE, FLAT_VALUE = 0.05, 0.99
# ... and an identity if its value between nearest neighbours is below this
ALONE, _QUERIES = 0.2, 64
# rows this many times as far from the median as half of them are left aside: beside them the others look alike
_FAR = 1e5
# rounding above this share of the distances between most rows shows in their clusters
LARGEST_ROUNDING = 0.01
# most rows are nothing beside outliers where a fit takes a step of a tenth of their extent for none
_NEGLIGIBLE = 100 * STILL
# bandwidths below this share of the largest entry are lost in expanded squares
_SHARPEST = 1e-7
# a kernel of fewer directions is not local, and more are not counted on so few rows
_FEWEST_DIRECTIONS, _MOST_DIRECTIONS = 20, 5000
# outputs that each direction takes; as many landmarks are suggested, where frequencies would have to be far more
_SPARE = 2.0
# a map is too small above the first error; the size that is suggested aims at the second
LARGEST_ERROR, GOOD_ERROR = 0.15, 0.02
# ... unless other rows show less than this share of the structure: there is none to lose
SMALLEST_HOLD, _SMALLEST_EIGENVALUE = 0.5, 1e-12
# columns are unscaled if this share of the variance is in so few of them
DOMINANT, FEW_COLUMNS = 0.95, 0.1
# ... nearly as much without the tails, which are outliers, and if columns are correlated beyond chance
_WITHOUT_TAILS, _TAIL, _CORRELATED, _MOST_COLUMNS = 0.9, 0.05, 3.0, 50
# ... or if the others have less than this share, unless columns are centred, up to this share of their spread, and
# variances fall from one to the next, up to this factor
_DROWNED, _CENTRED, _FALLING = 1e-4, 0.5, 2.0
_TINY = float(np.finfo(np.float64).tiny)


class Look(NamedTuple):
    """Some rows of a view, centred and in units of their largest entry; ``kept`` are their places in the sample.

    ``times`` are those that the rows were drawn by; ``n_distinct`` is how many rows there are; ``share`` is what
    each stands for.
    """

    sample: RowSample
    times: Float64Array
    n_distinct: int
    kept: NDArray[np.intp]
    scaled: Float64Array
    share: Float64Array
    mean: Float64Array
    unit: float


class Seen(NamedTuple):
    """What a look at one view found.

    What is unwise, whether its map is too small, the map's error, whether most rows are nothing beside outliers.
    """

    unwise: list[str]
    too_small: str | None = None
    error: float | None = None
    hidden: bool = False


def look_at_view(task: Task, index: int) -> Seen:
    """Look at the columns of one view, its bandwidth, and its map if that stands for a kernel."""
    prepared, n_clusters = task.prepared, task.settings.n_clusters
    own, bandwidth, feature_map = prepared.view_settings[index], prepared.bandwidths[index], prepared.maps[index]
    look = None if own.given else _look(task, index)
    if look is None:
        return Seen([])
    few = len(look.sample.weight) < FEWEST_ROWS
    columns = [] if few else about_columns(look)
    if bandwidth is None:
        outliers, hidden = about_outliers(look, feature_map, float(task.problem.scatter[index]))
        return Seen(columns + outliers, hidden=hidden)
    kernel, base = KERNELS[own.kernel], feature_map.base
    gram = _gram(kernel, look.scaled, look.scaled, bandwidth / look.unit)
    wrong = about_flatness(gram, look, kernel, bandwidth) or about_loneliness(gram, look, kernel, bandwidth)
    if wrong or few or n_clusters == 1 or not base.approximates:
        return Seen(columns + wrong)
    wrong = about_directions(gram, look, kernel, base, bandwidth)
    if wrong:  # what is wrong with the bandwidth comes first
        return Seen(columns + wrong)
    features = feature_map(look.sample.views[0][look.kept], np).astype(np.float64)
    error, holds = kernel_error(gram, features, look.share, n_clusters)
    if error <= LARGEST_ERROR or holds < SMALLEST_HOLD:
        return Seen(columns, None, error)
    return Seen(columns, _about_size(error, base, n_clusters, len(look.sample.weight)), error)


def _look(task: Task, index: int) -> Look | None:
    """Draw the rows to look at; None if there are too few, or their differences overflow."""
    sample = task.prepared.samples[index]
    if len(sample.weight) < FEWEST_NEIGHBOURS:
        return None
    times = task.stream("guidance").standard_exponential(len(sample.weight))
    size = int(np.clip((_WORK / sample.views[0].shape[1]) ** 0.5, SMALLEST_LOOK, ROWS))
    kept, weight = draw_by_weight(times, sample.weight, size)
    rows = as_dense(sample.views[0][kept]).astype(np.float64)
    with np.errstate(over="ignore"):
        reach = np.max(np.abs(rows - np.median(rows, axis=0)), axis=1)
    near = reach <= _FAR * weighted_median(reach, weight)
    kept, rows, share = kept[near], rows[near], weight[near] / np.sum(weight[near])
    mean = share @ rows
    offset = rows - mean
    unit = float(np.max(np.abs(offset)))
    if not 0 < unit < math.inf:
        return None
    return Look(sample, times, task.prepared.sample.n_distinct, kept, offset / unit, share, mean, unit)


def _gram(kernel: Kernel, left: Float64Array, right: Float64Array, bandwidth: float) -> Float64Array:
    return kernel.gram(left, right, max(bandwidth, _SHARPEST))


def about_outliers(look: Look, feature_map: CentredMap, scatter: float) -> tuple[list[str], bool]:
    """Whether plain columns have rows so far off that rounding blurs the others; and whether these are nothing.

    Rows and their centroids are rounded to ``eps`` times their lengths, whose mean square is the scatter: what
    costs change by is ``eps^2`` times it, and outliers may have nearly all of it.
    """
    bulk = look.unit * math.sqrt(look.share @ np.vecdot(look.scaled, look.scaled))
    reach = math.sqrt(scatter) / feature_map.scale
    hidden = bulk**2 <= _NEGLIGIBLE * reach**2
    if float(np.finfo(feature_map.dtype).eps) * reach <= LARGEST_ROUNDING * bulk:
        return [], hidden
    text = (
        f"far outliers: rows are {reach:.2g} from their mean in root mean square, where most lie within "
        f"{bulk:.2g} of each other, and {feature_map.dtype} rounds the one to more than a hundredth of the other. "
        "Leave outliers out, clip them, or use feature_map='nystroem', which does not see how far they are"
    )
    return [text + (", or float64." if feature_map.dtype == "float32" else ".")], hidden


def about_flatness(gram: Float64Array, look: Look, kernel: Kernel, bandwidth: float) -> list[str]:
    """Whether nearly all samples look the same: such a kernel says what plain distances do."""
    different = look.share @ ((gram <= FLAT_VALUE) @ look.share)
    if different > FLAT_SHARE:
        return []
    without = ", or feature_map='identity', which does without a kernel" if kernel.analytic else ""
    return [
        f"bandwidth={bandwidth:.4g} makes the kernel flat: more than {1 - FLAT_SHARE:.0%} of its values are above "
        f"{FLAT_VALUE}, and it says no more than plain distances do. Use {_typical(look, kernel)}{without}."
    ]


def about_loneliness(gram: Float64Array, look: Look, kernel: Kernel, bandwidth: float) -> list[str]:
    """Whether even neighbours look nothing alike: no clusters can be seen then."""
    nearest = weighted_median(np.max(gram - np.diag(np.diagonal(gram)), axis=1), look.share)
    if nearest < ALONE:  # among these few; in all the data neighbours are nearer
        nearest = _nearest_of_many(look, kernel, bandwidth / look.unit)
    if nearest >= ALONE:
        return []
    return [
        f"bandwidth={bandwidth:.4g} is too small to see clusters: the kernel between a sample and its nearest "
        f"neighbour is {nearest:.2g}, where 1 is alike and 0 is not. Use {_typical(look, kernel)}."
    ]


def _nearest_of_many(look: Look, kernel: Kernel, bandwidth: float) -> float:
    """The median kernel of some rows with the nearest of all, as far as a larger draw tells.

    Where there are still more rows, its logarithm is continued as it grew from a quarter of the draw to all of it.
    """
    size = max(len(look.kept), _WORK // (_QUERIES * len(look.mean)))
    others, _ = draw_by_weight(look.times, look.sample.weight, size)  # those that were looked at are among them
    rows = (as_dense(look.sample.views[0][others]).astype(np.float64) - look.mean) / look.unit
    values = _gram(kernel, look.scaled[:_QUERIES], rows, bandwidth)
    values[others == look.kept[:_QUERIES, None]] = 0
    share = look.share[:_QUERIES]
    nearest, of_a_quarter = (weighted_median(np.max(v, axis=1), share) for v in (values, values[:, ::4]))
    if look.n_distinct <= len(others) or of_a_quarter == 1:
        return nearest
    whole, part = math.log(max(nearest, _TINY)), math.log(max(of_a_quarter, _TINY))
    return math.exp(whole * (whole / part) ** math.log(look.n_distinct / len(others), 4))


def about_directions(gram: Float64Array, look: Look, kernel: Kernel, base: BaseMap, bandwidth: float) -> list[str]:
    """Whether the kernel is so local that it has more independent directions than half of the map's outputs.

    There are about ``1 / mean k^2`` of them: as many as there are regions whose samples look nothing alike.
    """
    pairs = look.share * look.share[:, None]
    np.fill_diagonal(pairs, 0)
    effective = float(np.sum(pairs)) / max(float(np.sum(pairs * gram**2)), _TINY)
    few = effective <= _FEWEST_DIRECTIONS or _SPARE * effective <= base.n_outputs
    if few or base.n_components >= look.n_distinct:
        return []
    counted = effective < _MOST_DIRECTIONS
    count = f"about {effective:.0f}" if counted else f"more than {_MOST_DIRECTIONS}"
    size = min(_rounded_up(_SPARE * effective), look.n_distinct)
    larger = f"{base.words.instead}n_components={size}" if counted else "a larger n_components"
    return [
        f"bandwidth={bandwidth:.4g} is too small for {_named(base)}: the kernel has {count} independent "
        f"directions, and each takes two of them. Use {_typical(look, kernel)}, "
        f"or {larger} for clusters as thin as that."
    ]


def _named(base: BaseMap) -> str:
    return f"{base.n_components} {base.words.components}"


def _typical(look: Look, kernel: Kernel) -> str:
    """The bandwidth to use instead."""
    try:
        median = look.unit * median_distance(look.scaled, look.share, kernel)
    except ValueError:  # zero to rounding
        return "one of the order of the distances between samples"
    return f"bandwidth={median:.3g} (the median distance)"


def kernel_error(
    gram: Float64Array, features: Float64Array, share: Float64Array, n_clusters: int
) -> tuple[float, float]:
    r"""How much a map loses of the structure that clusters can show, and how much of that holds on other rows.

    With ``K`` the centred kernel matrix of half of the rows, ``V`` its ``k - 1`` leading eigenvectors and ``U``
    those of the features, relaxed kernel k-means explains ``tr(V^T K V)``, and ``tr(U^T K U)`` by the map: the
    error is the share that is lost. On the other half the same directions explain less, of noise hardly anything.
    """
    halves = np.arange(0, len(gram), 2), np.arange(1, len(gram), 2)
    sums = np.zeros(3)
    for one, other in (halves, halves[::-1]):
        sums += _explained(gram, features, share, (one, other), n_clusters)
    best, by_map, elsewhere = sums.tolist()
    return (max(1 - by_map / best, 0.0), elsewhere / best) if best > 0 else (0.0, 0.0)


def _explained(
    gram: Float64Array,
    features: Float64Array,
    share: Float64Array,
    rows: tuple[NDArray[np.intp], NDArray[np.intp]],
    n_clusters: int,
) -> Float64Array:
    """What the kernel's directions and the map's explain of the first rows, and the kernel's of the others."""
    one, other = rows
    weight, root = share[one] / np.sum(share[one]), np.sqrt(share[one] / np.sum(share[one]))
    mean = gram[:, one] @ weight
    centred = gram - mean - mean[:, None] + weight @ mean[one]
    own = centred[np.ix_(one, one)] * root * root[:, None]
    offset = (features[one] - weight @ features[one]) * root[:, None]
    rank = max(1, min(n_clusters - 1, len(one) // 8))
    values, directions = (part[..., -rank:] for part in np.linalg.eigh(own))
    of_map = np.linalg.eigh(offset @ offset.T)[1][:, -rank:]
    real = values > _SMALLEST_EIGENVALUE * values[-1]
    scores = (centred[np.ix_(other, one)] * root) @ (directions[:, real] / np.sqrt(values[real]))
    elsewhere = share[other] @ np.sum(scores**2, axis=1) / np.sum(share[other])
    return np.array([np.sum(values), np.sum(of_map * (own @ of_map)), elsewhere])


def _about_size(error: float, base: BaseMap, n_clusters: int, n_rows: int) -> str:
    """A larger map: the error falls as one over its size; half as many landmarks as frequencies do as well."""
    size = _rounded_up(base.n_components * error / GOOD_ERROR)
    better = f"n_components={min(size, n_rows) if base.components_are_rows else size}"
    if base.words.instead:
        better += f", or {base.words.instead}n_components={min(-(-size // 2), n_rows)}"
    return (
        f"{_named(base)} are too few for this kernel: they lose {error:.0%} of what {n_clusters} clusters can "
        f"show of it. Use {better}."
    )


def _rounded_up(size: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return math.ceil(size / unit) * unit


def about_columns(look: Look) -> list[str]:
    """Whether a few columns have nearly all the variance, as columns of different units do.

    So have principal components, rightly, and a column that clusters lie along; but those are not correlated.
    Where the other columns are all but lost they need not be; components are then known by order and mean.
    """
    if hasattr(look.sample.views[0], "toarray"):
        return []
    variance = look.share @ look.scaled**2
    n_varied, order = int(np.sum(variance > 0)), np.argsort(-variance, kind="stable")
    shares = np.cumsum(variance[order]) / np.sum(variance)
    count = int(np.searchsorted(shares, DOMINANT)) + 1
    if n_varied < 3 or count > max(1, FEW_COLUMNS * n_varied):
        return []
    low, high = np.quantile(look.scaled[:, order[:count]], [_TAIL, 1 - _TAIL], axis=0)
    middle, rest = float(np.sum(((high - low) / 3.29) ** 2)), float(np.sum(variance[order[count:]]))
    if middle < _WITHOUT_TAILS * (middle + rest):
        return []
    drowned = rest < _DROWNED * np.sum(variance) and not _like_components(look, variance)
    if not drowned and not _correlated(look, order[: min(n_varied, _MOST_COLUMNS)]):
        return []
    which = f"column {order[0]} has" if count == 1 else f"{count} of {len(order)} columns have"
    share = "more than 99.99" if shares[count - 1] > 1 - _DROWNED else f"{100 * shares[count - 1]:.4g}"
    return [
        f"{which} {share}% of the variance, and distances see little else. Scale the "
        "columns, for example with StandardScaler, or with --scale on the command line."
    ]


def _like_components(look: Look, variance: Float64Array) -> bool:
    centred = np.abs(look.mean) <= _CENTRED * look.unit * np.sqrt(variance)
    return bool(np.all(centred | (variance == 0)) and np.all(variance[1:] <= _FALLING * variance[:-1]))


def _correlated(look: Look, columns: NDArray[np.intp]) -> bool:
    """Whether squared correlations are larger than those of independent columns, 1 / n on average.

    Of ranks too: rows that are far in many columns at once make values look correlated.
    """
    part = look.scaled[:, columns]
    return all(
        _mean_squared_correlation(rows, look.share) * len(part) > _CORRELATED for rows in (part, _ranks(part))
    )


def _ranks(rows: Float64Array) -> Float64Array:
    return np.asarray(rankdata(rows, axis=0), dtype=np.float64)


def _mean_squared_correlation(rows: Float64Array, share: Float64Array) -> float:
    offset = rows - share @ rows
    covariance = (offset * share[:, None]).T @ offset
    spread = np.sqrt(np.diagonal(covariance))
    squared = (covariance / np.outer(spread, spread)) ** 2
    return float((np.sum(squared) - len(spread)) / (len(spread) * (len(spread) - 1)))
