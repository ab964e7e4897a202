"""From criteria to a recommendation, by a rule that is fixed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from powerkmeans.types import Float64Array

# clusters must beat noise by this many standard deviations of what noise itself varies by
SIGNIFICANT = 4.0
# a stretch shorter than this factor of |s| marks nothing
_LONG = float(np.log(1.5))


def gaps(shares: Float64Array, noise: Float64Array) -> tuple[Float64Array, float]:
    """How far below noise the cost is, in logarithms, and the standard deviation that noise has of it.

    Parameters
    ----------
    shares : (n_numbers,), what clusters leave of the loss
    noise : (n_clouds, n_numbers), what they leave of each cloud

    """
    logs = np.log(noise)
    deviation = float(np.sqrt(np.mean(np.var(logs, axis=0, ddof=1)) * (1 + 1 / len(logs))))
    return np.mean(logs, axis=0) - np.log(shares), deviation


def bends(numbers: list[int], gap: Float64Array) -> Float64Array:
    """How far the gap lies above the straight line between the first and the last number."""
    k = np.asarray(numbers, dtype=np.float64)
    return gap - (gap[0] + (gap[-1] - gap[0]) * (k - k[0]) / (k[-1] - k[0]))


class Criteria(NamedTuple):
    """What was measured for each number of clusters, those to choose from and one more on either side.

    shares : what clusters leave of the loss; noise_shares : of clouds without clusters, the geometric mean
    deviation : how much the gap varies between clouds
    """

    numbers: list[int]
    shares: Float64Array
    noise_shares: Float64Array
    gap: Float64Array
    deviation: float
    stability: Float64Array
    silhouette: Float64Array
    stretch: Float64Array

    @property
    def score(self) -> Float64Array:
        """The bend of the gap times the stability."""
        return bends(self.numbers, self.gap) * np.clip(self.stability, 0, 1)


def recommend(criteria: Criteria) -> tuple[int, str]:
    """The number of clusters to take, 1 if none stands out, and why, in plain words.

    Of the numbers whose gap is beyond what noise varies by, the one of the highest score.
    """
    inner = slice(1, -1)
    numbers = criteria.numbers[inner]
    gap, score = criteria.gap[inner], criteria.score[inner]
    clear = gap > SIGNIFICANT * criteria.deviation
    if not np.any(clear & (score > 0)):
        best = int(np.argmax(gap))
        return 1, (
            f"No number of clusters from {numbers[0]} to {numbers[-1]} stands out: they explain no more of the "
            f"data than of noise with the same spread. The best, k={numbers[best]}, leaves "
            f"{_percent(criteria, best)}; noise alone varies by {100 * criteria.deviation:.1f} %."
        )
    best = int(np.argmax(np.where(clear, score, -np.inf)))
    return numbers[best], " ".join(_reasons(criteria, best))


def _reasons(criteria: Criteria, best: int) -> Iterator[str]:
    numbers, at = criteria.numbers[1:-1], best + 1
    yield (
        f"k={numbers[best]} leaves {_percent(criteria, best)}, and beyond it more clusters gain little; under "
        f"resampling its clusters come back with an adjusted Rand index of {criteria.stability[at]:.2f}."
    )
    yield _side_reasons(criteria, numbers, best)
    if best == len(numbers) - 1:
        yield "It is the end of the range: try a larger k_max."
    elif criteria.gap[-2] - criteria.gap[at] > SIGNIFICANT * criteria.deviation:
        yield "Finer clusters still beat noise: there is structure at smaller scales too."


def _side_reasons(criteria: Criteria, numbers: list[int], best: int) -> str:
    """What silhouette and annealing say."""
    parts = []
    silhouette, stretch = criteria.silhouette[1:-1], criteria.stretch[1:-1]
    if np.any(np.isfinite(silhouette)):
        parts.append(f"the silhouette is highest at k={numbers[int(np.nanargmax(silhouette))]}")
    if np.any(stretch > _LONG):
        longest = int(np.nanargmax(stretch))
        parts.append(
            f"the annealing keeps {numbers[longest]} groups over a factor of {np.exp(stretch[longest]):.1f} in |s|"
        )
    else:
        parts.append("the annealing rests at no number of groups")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _percent(criteria: Criteria, best: int) -> str:
    share, noise = criteria.shares[best + 1], criteria.noise_shares[best + 1]
    return (
        f"{100 * share:.3g} % of the cost of one cluster, where noise of the same spread has {100 * noise:.3g} %"
    )
