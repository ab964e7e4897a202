"""From criteria to a recommendation, by a rule that is fixed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.features.graph.alike import ALIKE
from powerkmeans.types import Float64Array

# a bend must exceed what noise has by this many standard deviations
SIGNIFICANT = 5.0
# what a number is chosen by
BY_COST, BY_NEIGHBOURS = "cost", "neighbours"
# stability below which clusters are those of a sample alone
RECURS = 0.5
# stability of clusters that are parts of groups that are apart, and the gap in the spectrum behind as many
COMES_BACK, KNOWN = 0.9, 2.0
# a stretch shorter than this factor of |s| marks nothing
_LONG = float(np.log(1.5))


def gaps(shares: Float64Array, noise: Float64Array) -> Float64Array:
    """How far below noise the cost is, in logarithms.

    Parameters
    ----------
    shares : (n_numbers,), what clusters leave of the loss
    noise : (n_clouds, n_numbers), what they leave of each cloud

    """
    return np.mean(np.log(noise), axis=0) - np.log(shares)


def bends(numbers: list[int], gap: Float64Array) -> Float64Array:
    """How far the gap lies above the straight line between the first and the last number."""
    k = np.asarray(numbers, dtype=np.float64)
    return gap - (gap[0] + (gap[-1] - gap[0]) * (k - k[0]) / (k[-1] - k[0]))


def deviations(numbers: list[int], noise: Float64Array) -> tuple[float, float]:
    """Standard deviations of the gap and of its bend for data that are noise themselves, over all numbers."""
    rest = np.log(noise) - np.mean(np.log(noise), axis=0)
    bent = np.array([bends(numbers, line) for line in rest])
    # one more cloud against the mean of these
    factor = (1 + 1 / len(noise)) / (len(noise) - 1) / (len(numbers) - 2)
    gap, bend = (float(np.sqrt(factor * np.sum(values[:, 1:-1] ** 2))) for values in (rest, bent))
    return gap, bend


class Criteria(NamedTuple):
    """What was measured for each number of clusters, those to choose from and one more on either side.

    shares : what clusters leave of the loss; noise_shares : of clouds without clusters, the geometric mean
    gap_deviation, bend_deviation : how much the gap and its bend vary for noise
    """

    numbers: list[int]
    shares: Float64Array
    noise_shares: Float64Array
    gap: Float64Array
    gap_deviation: float
    bend_deviation: float
    stability: Float64Array
    silhouette: Float64Array
    stretch: Float64Array

    @property
    def bend(self) -> Float64Array:
        """How far the gap lies above the straight line over the range."""
        return bends(self.numbers, self.gap)

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Where less is left than of noise, with a bend that noise does not have."""
        return (self.gap > 0) & (self.bend > SIGNIFICANT * self.bend_deviation)

    @property
    def recurs(self) -> NDArray[np.bool_]:
        """Where clusters come back under resampling."""
        return self.stability >= RECURS

    @property
    def score(self) -> Float64Array:
        """The bend of the gap times the stability."""
        return self.bend * np.clip(self.stability, 0, 1)


class Apart(NamedTuple):
    """Groups in a graph that next to no neighbours join.

    k : how many
    crossing, noise : how often neighbours are of different groups, over how often by chance, and that of noise
    alike : the adjusted Rand index of them and as many clusters around centres
    gaps : in the spectrum, for each number
    """

    k: int
    crossing: float
    noise: float
    alike: float
    gaps: Float64Array


def recommend(criteria: Criteria, apart: Apart | None = None, n_pieces: int = 0) -> tuple[int, str, str]:
    """The number of clusters to take, 1 if none stands out, why, in plain words, and by what.

    Clusters around centres decide, unless none of them stands out, or they are not the groups that are apart.
    """
    k, reason = by_cost(criteria)
    beyond = _beyond(criteria.numbers[-2], n_pieces)
    if apart is None or (k > 1 and (apart.alike >= ALIKE or _within(criteria, apart, k))):
        return k, " ".join([reason, *beyond]), BY_COST
    return apart.k, " ".join([*_apart_reasons(criteria, apart, k), *beyond]), BY_NEIGHBOURS


def _beyond(most: int, n_pieces: int) -> list[str]:
    """What a graph in more pieces than were compared says."""
    if n_pieces <= most:
        return []
    return [f"Neighbours fall into {n_pieces} groups that nothing joins, more than {most}: try a larger k_max."]


def _within(criteria: Criteria, apart: Apart, k: int) -> bool:
    """Whether so many clusters around centres are parts of groups: as many come back, and the graph knows them."""
    at = criteria.numbers.index(k)
    return k > apart.k and bool(criteria.stability[at] >= COMES_BACK and apart.gaps[at] > KNOWN)


def by_cost(criteria: Criteria) -> tuple[int, str]:
    """The number of clusters around centres, 1 if none stands out, and why.

    Of the numbers that leave less than noise does, with a bend that noise does not have, and whose clusters come
    back under resampling, the one of highest score.
    """
    inner, counts = slice(1, -1), criteria.clear & criteria.recurs
    if not np.any(counts[inner]):
        return 1, _no_reason(criteria)
    best = int(np.argmax(np.where(counts, criteria.score, -np.inf)[inner])) + 1
    return criteria.numbers[best], " ".join(_reasons(criteria, best))


# what a report measures of the clusters of a fit is something else
_OF_NUMBERS = (
    "This compares numbers of clusters; whether those of one number are apart is told by the report of a fit."
)


def _no_reason(criteria: Criteria) -> str:
    first, last = criteria.numbers[1], criteria.numbers[-2]
    best, stable = int(np.argmax(criteria.gap[1:-1])) + 1, most_stable(criteria)
    if first == last:
        return (
            f"{first} clusters do not stand out: {_why_none(criteria, best)}. They {_left(criteria, best)}; under "
            f"resampling they {_return(criteria, best)}. {_OF_NUMBERS}"
        )
    return (
        f"No number of clusters from {first} to {last} stands out: {_why_none(criteria, best)}. The best, "
        f"k={criteria.numbers[best]}, {_left(criteria, best, 's')}. If there must be several, "
        f"k={criteria.numbers[stable]} is the most stable: its clusters {_return(criteria, stable)}. {_OF_NUMBERS}"
    )


def _why_none(criteria: Criteria, best: int) -> str:
    """Why no number is recommended: none beats noise, or those that do have no bend, or are of a sample alone."""
    if criteria.gap[best] <= 0:
        return "they explain no more of the data than of noise with the same spread"
    if criteria.gap[best] <= SIGNIFICANT * criteria.gap_deviation:
        return "what they explain of the data beyond noise with the same spread may be chance"
    if np.any(criteria.clear[1:-1]):
        return "clusters that explain more of the data than of noise do not come back under resampling"
    if len(criteria.numbers) == 3:
        return "they explain more of the data than of noise, but do not mark themselves off from one more or less"
    marks = "they explain more of the data than of noise with the same spread, but none that does marks itself off"
    if best == len(criteria.numbers) - 2 and criteria.gap[best + 1] > criteria.gap[best]:
        return f"{marks}; the advantage is largest at the end of the range and still grows: try a larger k_max"
    return f"{marks} from those beside it"


def _left(criteria: Criteria, at: int, ending: str = "") -> str:
    chance = f"chance alone moves that by {100 * criteria.gap_deviation:.1f} %"
    return f"leave{ending} {_percent(criteria, at)} ({chance})"


def most_stable(criteria: Criteria) -> int:
    """Where among the numbers to choose from clusters come back best under resampling; the first of equals."""
    return int(np.argmax(criteria.stability[1:-1])) + 1


def _reasons(criteria: Criteria, best: int) -> Iterator[str]:
    finer, alone = criteria.gap[best + 1 : -1] - criteria.gap[best], len(criteria.numbers) == 3
    at_end, still = len(finer) == 0, np.any(finer > SIGNIFICANT * criteria.gap_deviation)
    beyond = "" if at_end or still else ", and beyond it more clusters gain little"
    yield (
        f"k={criteria.numbers[best]} leaves {_percent(criteria, best)}{beyond}; under resampling its clusters "
        f"{_return(criteria, best)}."
    )
    if alone:
        return
    yield _side_reasons(criteria)
    if at_end:
        yield "It is the end of the range: a larger k_max tells whether more clusters gain as much."
    elif still:
        yield "Finer clusters beat noise by more: there is structure at smaller scales too."


def _apart_reasons(criteria: Criteria, apart: Apart, by_cost: int) -> Iterator[str]:
    yield (
        f"k={apart.k} groups have next to no near neighbours in common: {_few(apart.crossing)} of those that "
        f"chance would give, where groups of noise of the same spread have {_few(apart.noise)}, and the spectrum "
        "of the graph has a wide gap behind them."
    )
    if apart.alike >= ALIKE:
        yield "Clusters around centres are the same, but by cost no number stands out."
    else:
        others = "no number stands out" if by_cost == 1 else f"it would be k={by_cost}"
        yield (
            f"{apart.k} clusters around centres are others (adjusted Rand index {apart.alike:.2f}), and by cost "
            f"{others}."
        )
    if apart.k == criteria.numbers[-2] and len(criteria.numbers) > 3:
        yield "It is the end of the range: a larger k_max tells whether there are more."
    yield "A fit finds them with feature_map='graph', which the default takes where it is clear."


def _few(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"


def _return(criteria: Criteria, at: int) -> str:
    return f"come back with an adjusted Rand index of {criteria.stability[at]:.3f}"


def _side_reasons(criteria: Criteria) -> str:
    """What silhouette and annealing say."""
    parts, numbers = [], criteria.numbers[1:-1]
    silhouette, stretch = criteria.silhouette[1:-1], criteria.stretch[1:-1]
    if np.any(np.isfinite(silhouette)):
        parts.append(f"the silhouette is highest at k={numbers[int(np.nanargmax(silhouette))]}")
    if np.any(stretch > _LONG):
        longest = int(np.nanargmax(stretch))
        factor = np.exp(stretch[longest])
        parts.append(f"the annealing keeps {numbers[longest]} groups over a factor of {factor:.1f} in |s|")
    else:
        parts.append("the annealing rests at no number of groups")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _percent(criteria: Criteria, at: int) -> str:
    share, noise = 100 * criteria.shares[at], 100 * criteria.noise_shares[at]
    return f"{share:.3g} % of the cost of one cluster, where noise of the same spread has {noise:.3g} %"
