"""How many clusters: several criteria side by side, and a recommendation with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.choose.criteria import FEWER_ROWS, agreements, cost_shares, halves, labels_by_half, silhouettes
from powerkmeans.choose.neighbours import NO_GRAPH, Crossings, find_crossings
from powerkmeans.choose.noise import make_cloud
from powerkmeans.choose.path import Shared, Solution, labels_of, make_shared, slow_annealing, solve_all
from powerkmeans.choose.rule import Apart, Criteria, deviations, gaps, recommend
from powerkmeans.choose.splits import stretches
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.estimators.listeners import Printer
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features.graph.alike import agreement
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.problem import make_task
from powerkmeans.fitting.task import Task
from powerkmeans.inputs.settings import Settings, ViewSettings, check_settings
from powerkmeans.inputs.tables import is_several
from powerkmeans.inputs.views import check_several_views, check_single_view
from powerkmeans.models.explain import ViewTable
from powerkmeans.support.draws import affordable_rows, draw_seed
from powerkmeans.support.memory import FEW_ENTRIES
from powerkmeans.support.values import integer, wrong
from powerkmeans.support.warn import warn_caller
from powerkmeans.types import Array, Float64Array, Views

# how often the rows are cut in halves, and how many clouds of noise they are compared with
DRAWS, CLOUDS = 2, 3
# what the table has of neighbours
OF_NEIGHBOURS = ("crossing", "noise_crossing", "spectral_gap")
_SET_HERE = ("n_clusters", "s_init", "init", "n_init", "random_state", "views", "advice")
_SEVERAL = ("entropy", "view_scaling", "view_baseline")
Progress = Callable[[int, int, str], object]


class AnnealingPath(NamedTuple):
    """A slow annealing with one centroid more than ``k_max``: which of them are together at which exponent.

    s : ndarray of shape (n_iter,), the exponents
    groups : ndarray of shape (n_iter, n_centroids), for each the first of those that it has not separated from
    sizes : ndarray of shape (n_centroids,), weight of the samples that each has in the end
    """

    s: Float64Array
    groups: Array
    sizes: Float64Array


@dataclass(frozen=True, eq=False, repr=False)
class KChoice:
    """What :func:`choose_k` found.

    Attributes
    ----------
    k : int
        The recommended number of clusters; 1 if none stands out.
    reason : str
        Why, in plain sentences.
    table : dict of ndarrays
        One entry per number of clusters; ``print`` shows it as text, ``pandas.DataFrame`` takes it.

        - ``k``: the number.
        - ``cost``: what clusters leave of the loss of a single one.
        - ``noise_cost``: what they leave of noise with the same spread.
        - ``gap``: log of the second over the first. Above zero, clusters explain more than they do of noise.
        - ``stability``: mean adjusted Rand index between labels from different halves of the data.
        - ``silhouette``: mean silhouette in feature space, on a sample.
        - ``stretch``: over how much of ``log |s|`` the annealing has as many groups.
        - ``score``: how far the gap lies above the straight line over the range, times the stability.
        - ``crossing``: how often near neighbours in a graph are of different groups, over how often by chance.
        - ``noise_crossing``: the same of noise with the same spread.
        - ``spectral_gap``: how many times as far from one as the last of so many eigenvalues of the graph the one
          behind them is. These three are NaN where no graph is asked, or is too much in pieces.
    by : {"cost", "neighbours"}
        What the number was chosen by: clusters around centres, or groups of any shape that no neighbours join.
    most_stable : int
        The number whose clusters come back best under resampling, whether one stands out or not.
    bend_deviation : float
        Standard deviation that the bend of the gap, the part of ``score`` beside the stability, has for noise;
        bends below five times as much count for nothing.
    path : AnnealingPath
        The annealing behind ``stretch``, for :class:`powerkmeans.plotting.SplitDisplay`.

    """

    k: int
    reason: str
    table: ViewTable
    bend_deviation: float
    path: AnnealingPath
    by: str

    @property
    def most_stable(self) -> int:
        return int(self.table["k"][np.argmax(self.table["stability"])])

    def __repr__(self) -> str:
        return f"KChoice(k={self.k}, reason={self.reason!r})"

    def __str__(self) -> str:
        return f"{self.reason}\n{self.table}"


def choose_k(
    X: Any,
    k_min: int = 2,
    k_max: int = 20,
    *,
    views: Any = None,
    sample_weight: Any = None,
    present: Any = None,
    random_state: Any = None,
    progress: Progress | None = None,
    **estimator_parameters: Any,
) -> KChoice:
    """Recommend a number of clusters, and say why.

    The features are drawn once, of at most 2000 samples (1000 where they are wide), and every number of clusters
    is fitted on them, each from its neighbours' solutions. Four things are measured for each: the cost beside that
    of noise with the same spread, the stability of the labels between halves of the data, the silhouette, and how
    long the annealing rests at as many groups. The recommendation goes by the first two: of the numbers that beat
    noise clearly, the one where the advantage bends most, times the stability. The others are there to compare.

    Costs know clusters around centres. Where the estimator may take a graph, groups of any shape are sought in one
    too. If there are some that next to no neighbours join, and clusters around centres are not these, or none
    stands out, the largest number of them is recommended.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or a list or dict of views
        Samples, as for :class:`KernelPowerKMeans`; several views as for :class:`MultiViewPowerKMeans`, missing
        ones included.
    k_min, k_max : int, default=2 and 20
        The numbers to choose from. Half of the distinct samples must be able to have two clusters more than
        ``k_max``, which is lowered, with a warning, where there are too few.
    views : dict, optional
        Which columns of one table belong to which view; see :class:`MultiViewPowerKMeans`. Without it a table is
        one view.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0.
    present : as in :meth:`MultiViewPowerKMeans.fit`, optional
        Which samples have which views.
    random_state : int, RandomState instance or None, default=None
        Seeds everything.
    progress : callable, optional
        Called as ``progress(done, total, what)`` after each of a dozen steps.
    **estimator_parameters
        Parameters of the estimator that the number is for: ``feature_map``, ``bandwidth``, ``membership`` and so
        on. Costs with ``feature_map="auto"``, ``"graph"`` and ``"exact"`` are those of ``"nystroem"``; with the
        first two a graph is asked besides. ``reference_distance="within"`` is that of the largest number. What
        concerns starts (``init``, ``n_init``, ``s_init``) is not taken, nor is ``advice``.

    Returns
    -------
    KChoice
        The number ``k``, the ``reason``, and the ``table`` of what was measured.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import choose_k
    >>> X, _ = make_blobs(200, centers=4, n_features=5, random_state=0)
    >>> choice = choose_k(X, k_max=6, random_state=0)
    >>> choice.k
    4
    >>> list(choice.table)  # doctest: +ELLIPSIS
    ['k', 'cost', 'noise_cost', 'gap', 'stability', 'silhouette', 'stretch', 'score', 'crossing', ...]

    """
    k_min = integer(2)("k_min", k_min)
    k_max = integer(2)("k_max", k_max)
    if k_max < k_min:
        raise ValueError(f"k_max={k_max} should be >= k_min={k_min}.")
    _check_progress(progress)
    seed = draw_seed(random_state)
    checked, settings, fuses = _checked(X, views, sample_weight, present, estimator_parameters)
    most = _largest(k_min, k_max, len(checked.weight))
    steps = _Steps(progress, settings.verbose, fuses)
    with single_threaded_blas():
        full, shared, numbers = _posed(checked, settings, seed, k_min, most)
        if numbers[-2] < k_max:
            _warn_of_fewer(k_max, numbers[-2], len(shared.rows.weight))
        criteria, path, found = _measured(full, shared, numbers, steps)
        crossings, n_pieces = find_crossings(full, shared, numbers) if fuses else NO_GRAPH
        if fuses:
            steps.done("neighbours")
    apart = None if crossings is None else _apart(crossings, shared, found)
    k, reason, by = recommend(criteria, apart, n_pieces)
    return KChoice(k, reason, _table(criteria, crossings), criteria.bend_deviation, path, by)


def _posed(
    checked: Views, settings: Settings, seed: int, k_min: int, k_max: int
) -> tuple[Task, Shared, list[int]]:
    """The problem on all rows and on features of some, and the numbers to solve it for."""
    # one more on either side, so that both ends of the range can stand out
    numbers = list(range(k_min - 1, k_max + 2))
    full = make_task(checked, replace(settings, n_clusters=numbers[-1]), seed)
    n_rows = max(FEWER_ROWS, affordable_rows(full.problem.splits[-1], FEW_ENTRIES))
    shared = make_shared(full, numbers, n_rows)
    most = _largest(k_min, k_max, len(shared.rows.weight))
    return (full, shared, numbers) if most == k_max else _posed(checked, settings, seed, k_min, most)


def _measured(
    full: Task, shared: Shared, numbers: list[int], steps: _Steps
) -> tuple[Criteria, AnnealingPath, dict[int, Solution]]:
    """All criteria for each number of clusters, the annealing where groups separate, and the clusters."""
    steps.done("features")
    path = _path(shared, numbers[-1])
    steps.done("annealing")
    found = solve_all(shared, numbers)
    steps.done("clusters of all samples")
    stability = _stability(full, shared, numbers, steps)
    noise = _noise_shares(full, shared, numbers, steps)
    shares = cost_shares(shared, found)
    gap_deviation, bend_deviation = deviations(numbers, noise)
    criteria = Criteria(
        numbers=numbers,
        shares=shares,
        noise_shares=np.exp(np.mean(np.log(noise), axis=0)),
        gap=gaps(shares, noise),
        gap_deviation=gap_deviation,
        bend_deviation=bend_deviation,
        stability=stability,
        silhouette=silhouettes(shared, found, full.stream("silhouette")),
        stretch=stretches(path.groups, path.s, numbers),
    )
    steps.done("silhouettes")
    return criteria, path, found


def _apart(crossings: Crossings, shared: Shared, found: dict[int, Solution]) -> Apart | None:
    """The groups that are apart, if any are, beside as many clusters around centres."""
    at = crossings.clearest
    if at is None:
        return None
    k = crossings.numbers[at]
    around = labels_of(shared.with_clusters(k), found[k].parameters)
    alike = agreement(crossings.labels[at], around, shared.rows.weight)
    return Apart(k, float(crossings.crossing[at]), float(crossings.noise[at]), alike, crossings.gap)


def _stability(full: Task, shared: Shared, numbers: list[int], steps: _Steps) -> Float64Array:
    """How much labels from different halves of the rows agree, for each number of clusters."""
    labels = []
    for half in halves(shared.rows, DRAWS, full.stream("halves")):
        labels.append(labels_by_half(shared, half, numbers))
        steps.done("clusters of a half")
    return agreements(labels, shared.rows.weight)


def _noise_shares(full: Task, shared: Shared, numbers: list[int], steps: _Steps) -> Float64Array:
    """What clusters leave of each cloud of noise, (n_clouds, n_numbers)."""
    shares = []
    for index in range(CLOUDS):
        cloud = shared.on_features(make_cloud(full, shared.rows.weight, full.stream("noise", str(index))))
        shares.append(cost_shares(cloud, solve_all(cloud, numbers)))
        steps.done("clusters of noise")
    return np.array(shares)


def _path(shared: Shared, n_centroids: int) -> AnnealingPath:
    task = shared.with_clusters(n_centroids)
    s, groups, last = slow_annealing(task)
    sizes = np.zeros(n_centroids)
    np.add.at(sizes, labels_of(task, last), task.prepared.views.weight)
    return AnnealingPath(s, groups, sizes)


def _table(criteria: Criteria, crossings: Crossings | None) -> ViewTable:
    """The numbers to choose from, without the one more on either side."""
    unasked = np.full(len(criteria.numbers), np.nan)
    of_neighbours = (unasked,) * 3 if crossings is None else (crossings.crossing, crossings.noise, crossings.gap)
    columns = {
        "k": np.array(criteria.numbers),
        "cost": criteria.shares,
        "noise_cost": criteria.noise_shares,
        "gap": criteria.gap,
        "stability": criteria.stability,
        "silhouette": criteria.silhouette,
        "stretch": criteria.stretch,
        "score": criteria.score,
        **dict(zip(OF_NEIGHBOURS, of_neighbours, strict=True)),
    }
    return ViewTable({name: column[1:-1] for name, column in columns.items()})


class _Steps:
    """Tells how far it is, on stderr if verbose and to whoever asked."""

    def __init__(self, progress: Progress | None, verbose: int, fuses: bool) -> None:
        self._progress, self._printer = progress, Printer(verbose)
        self._done, self._total = 0, 4 + 2 * DRAWS + CLOUDS + fuses

    def done(self, what: str) -> None:
        self._done += 1
        self._printer.note(f"{self._done} of {self._total}: {what}")
        if self._progress is not None:
            self._progress(self._done, self._total, what)


def _check_progress(progress: Any) -> None:
    if progress is not None and not callable(progress):
        raise wrong("progress", "callable or None", progress)


def _checked(
    X: Any, views: Any, sample_weight: Any, present: Any, parameters: dict[str, Any]
) -> tuple[Views, Settings, bool]:
    """The views and settings that the estimator of these parameters would fit, and whether it may take a graph."""
    for name in _SET_HERE:
        if name in parameters:
            raise TypeError(f"choose_k decides on {name} itself; leave it out.")
    given = views is not None or present is not None
    several = is_several(X) or given or any(name in parameters for name in _SEVERAL)
    if several:
        estimator = MultiViewPowerKMeans(1, views=views, **parameters)
        checked, _ = check_several_views(estimator, X, sample_weight, present)
    else:
        estimator = KernelPowerKMeans(1, **parameters)
        checked = check_single_view(estimator, X, sample_weight, fitting=True)
    settings = check_settings(estimator.get_params(deep=False), several_views=several)
    by_view = settings.of_views(checked.names)
    fuses = all(MAPS[view.feature_map].fuses for view in by_view)
    return checked, _with_coordinates(settings, by_view), fuses


def _with_coordinates(settings: Settings, by_view: tuple[ViewSettings, ...]) -> Settings:
    """Landmarks in place of graphs and of exact kernels: noise has to be mapped too."""
    if any(view.given for view in by_view):
        raise ValueError(
            "choose_k compares samples with noise of the same spread, and kernel='precomputed' has no samples. "
            "Give it the samples themselves, or coordinates of them (sklearn.decomposition.KernelPCA)."
        )
    kinds = [MAPS[view.feature_map] for view in by_view]
    maps = ["nystroem" if k.dual or k.fuses else view.feature_map for k, view in zip(kinds, by_view, strict=True)]
    return replace(settings, feature_map=maps)


def _largest(k_min: int, k_max: int, n_rows: int) -> int:
    """The largest number that so many rows allow: half of them must be able to have two clusters more."""
    most = n_rows // 2 - 2
    if most < k_min:
        raise ValueError(
            f"To compare {k_min} clusters takes at least {2 * (k_min + 2)} distinct samples, so that half of them "
            f"can have as many and two more; there are {n_rows}."
        )
    return min(k_max, most)


def _warn_of_fewer(asked: int, most: int, n_rows: int) -> None:
    warn_caller(
        f"k_max={asked} is lowered to {most}: half of the {n_rows} distinct samples that are compared must be "
        "able to have two clusters more.",
        DataGuidanceWarning,
    )
