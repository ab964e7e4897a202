"""What the model says of every sample, and which of them the page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.models.answers import apply
from powerkmeans.models.graph_answers import shares_of_views as graph_shares
from powerkmeans.models.model import scoring_membership
from powerkmeans.objective.evidence import labels_and_probabilities, view_shares
from powerkmeans.sources import is_source
from powerkmeans.types import Array, Float64Array, Membership, Views

# points of the map; small clusters are drawn more densely, so that each has about this many of them
MOST_POINTS, POINTS_A_CLUSTER = 5000, 30
# rows of the table, and how many there are at least
MOST_LISTED, FEWEST_LISTED, MOST_BORDERLINE = 500, 50, 100
# a box plot's whisker: this many interquartile ranges above the upper quartile
WHISKER = 1.5

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Samples:
    """One entry per sample: cluster, its probability, the typicality; and what counts as an outlier.

    ``fence`` is the outlier score above which a sample is called one, ``asked`` whether the user has set it; None
    where there are no scores.
    """

    labels: NDArray[np.int32]
    probability: Array
    typicality: Array
    n_clusters: int
    fence: float | None
    asked: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of samples of each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)

    @property
    def outlier(self) -> NDArray[np.bool_]:
        """Which samples are called outliers."""
        if self.fence is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(1 - self.typicality > self.fence)

    def means(self, values: Array) -> Float64Array:
        """Mean of values over the samples of each cluster; NaN where there are none."""
        sums = np.bincount(self.labels, weights=values, minlength=self.n_clusters)
        return np.where(self.sizes > 0, sums / np.maximum(self.sizes, 1), np.nan)


def summarise(estimator: PowerKMeansBase, views: Views, noise_threshold: float | None) -> Samples:
    """Ask the model about all samples, a block of rows at a time; three numbers per sample are kept."""
    model, asked = estimator._fit.model, noise_threshold is not None
    if asked:
        estimator._check_threshold(noise_threshold)
    found = estimator._apply(views, labels_and_probabilities)
    labels, probability = found[:, 0].astype(np.int32), found[:, 1]
    typicality, fence = np.ones_like(probability), None
    if model.scores_outliers:
        typicality = estimator._typicality(views)
        whisker = outlier_fence(typicality, scoring_membership(model))
        fence = whisker if noise_threshold is None else float(noise_threshold)
    return Samples(labels, probability, typicality, len(model.parameters.centers), fence, asked)


def outlier_fence(typicality: Array, membership: Membership) -> float:
    r"""The outlier score at the upper whisker of a box plot of the distances to the nearest centroid.

    Distances are those that have these degrees, over the reference distance. Scores themselves have a ceiling, so
    their own whisker may lie beyond it; squares are skewed, and of a normal column 8 % would lie beyond theirs.
    """
    degree = np.clip(np.asarray(typicality, dtype=np.float64), np.finfo(np.float64).tiny, 1.0)
    distance = membership.distances(degree, 1.0, np) ** 0.5
    lower, upper = np.quantile(distance, [0.25, 0.75])
    whisker = float(upper + WHISKER * (upper - lower))
    # what is equal to rounding is not apart
    whisker += 1e-6 * whisker
    return 1 - float(membership.degrees(np.asarray(whisker**2), 1.0, np))


def drawn_rows(samples: Samples, always: Rows, most: int = MOST_POINTS) -> Rows:
    """Rows for the map: all if there are few, or else a draw within each cluster, and those that are listed."""
    if len(samples) <= most:
        return np.arange(len(samples))
    rng, sizes = np.random.default_rng(0), samples.sizes
    budget = max(most - len(always), most // 2)
    least = np.minimum(sizes, min(POINTS_A_CLUSTER, budget // samples.n_clusters))
    rest = (budget - np.sum(least)) / (len(samples) - np.sum(least))
    quotas = least + np.floor((sizes - least) * rest).astype(np.int64)
    order = rng.permutation(len(samples))
    order = order[np.argsort(samples.labels[order], kind="stable")]
    starts = np.cumsum(sizes) - sizes
    chosen = [order[start : start + quota] for start, quota in zip(starts, quotas, strict=True)]
    return np.unique(np.concatenate([*chosen, always]))


def listed_rows(samples: Samples) -> Rows:
    """Rows for the table, the least typical first; the least certain ones where typicality says nothing."""
    if samples.fence is None:
        key, most = samples.probability, MOST_BORDERLINE
        return np.argsort(key, kind="stable")[:most]
    n_outliers = int(np.sum(samples.outlier))
    most = min(max(n_outliers, FEWEST_LISTED), MOST_LISTED)
    return np.argsort(samples.typicality, kind="stable")[:most]


def take_rows(views: Views, rows: Rows) -> Views:
    """Some samples, which ascend, in all views."""
    present = None if views.present is None else views.present[rows]

    def taken(index: int) -> Any:
        array = views.arrays[index]
        if is_source(array):
            return array.take(rows, None if present is None else present[:, index])
        return array[rows]

    arrays = tuple(taken(index) for index in range(len(views.arrays)))
    return Views(views.names, arrays, np.asarray(views.weight[rows]), present)


def shares_of_views(estimator: PowerKMeansBase, views: Views) -> Float64Array:
    """What each view adds to the distance of a sample from its centroid; NaN where that is nothing."""
    model = estimator._fit.model
    if model.fuses:
        found = graph_shares(model, views, estimator.engine)
    else:
        found = apply(model, views, estimator.engine, view_shares, with_missed=True)
    shares = model.for_all_views(found, np.nan)
    return shares if views.present is None else np.where(views.present, shares, np.nan)
