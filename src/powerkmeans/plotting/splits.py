"""Which clusters separate at which exponent: the annealing as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from powerkmeans.choose.number import KChoice
from powerkmeans.choose.splits import joined
from powerkmeans.plotting.checks import check_model
from powerkmeans.plotting.style import Axes, Figure, Palette, bare, log_axis, one_axes, palette_of, small
from powerkmeans.support.values import flag, integer, numbers, word_or
from powerkmeans.types import Array

_THINNEST, _THICKEST = 1.2, 5.0


@dataclass(frozen=True)
class Branch:
    """A group of clusters that go together until ``size_of_s`` and then part into ``children``.

    A leaf is one cluster. ``size_of_s`` is |s|: infinite for a leaf, and for clusters that never part.
    """

    clusters: tuple[int, ...]
    size_of_s: float
    children: tuple[Branch, ...] = ()

    def leaves(self) -> list[int]:
        """The clusters from the top of the picture to its bottom."""
        if not self.children:
            return list(self.clusters)
        return [leaf for child in self.children for leaf in child.leaves()]


def split_tree(groups: Array, s: Array) -> Branch:
    """The tree of separations; see :func:`powerkmeans.choose.splits.joined` for where clusters part."""
    n_clusters = groups.shape[1]
    return Branch((0,), np.inf) if n_clusters == 1 else _branches(joined(groups, s), n_clusters)


def _branches(merges: Array, n_clusters: int) -> Branch:
    """Merges of pairs as a tree; what parts at one exponent is one node, larger branches come first."""
    nodes = [Branch((cluster,), np.inf) for cluster in range(n_clusters)]
    for first, second, distance, _ in merges:
        size_of_s = np.inf if distance == 0 else 1 / float(distance)
        children: list[Branch] = []
        for node in (nodes[int(first)], nodes[int(second)]):
            same = node.children and np.isclose(node.size_of_s, size_of_s)
            children += node.children if same else [node]
        children.sort(key=lambda child: (-len(child.clusters), min(child.clusters)))
        clusters = tuple(sorted(c for child in children for c in child.clusters))
        nodes.append(Branch(clusters, size_of_s, tuple(children)))
    return nodes[-1]


class SplitDisplay:
    """The annealing as a tree: from left to right the exponent grows in size and clusters part.

    Branches are as thick as the root of their share of the samples. A long stretch without a split marks a number
    of clusters that the data have at many scales.

    Parameters
    ----------
    groups : ndarray of shape (n_iter, n_clusters)
        For each cluster the first of those that it has not separated from: ``history_["groups"]``.
    s : ndarray of shape (n_iter,)
        The exponents: ``history_["s"]``.
    sizes : array-like of shape (n_clusters,)
        How many samples each cluster has.
    marked : int or None, default=None
        A number of groups to mark: the exponents at which there are as many are shaded.
    n_moves : int, default=0
        Centroids that were moved after the annealing, of which the tree does not know; said below it.
    numbered : bool, default=True
        Whether the clusters' numbers mean something and are written beside their sizes.

    Attributes
    ----------
    tree_ : Branch
        The tree.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.plotting import SplitDisplay
    >>> X, _ = make_blobs(300, centers=4, n_features=10, random_state=0)
    >>> model = KernelPowerKMeans(4, init="cloud", random_state=0).fit(X)
    >>> display = SplitDisplay.from_estimator(model)  # doctest: +SKIP

    """

    tree_: Branch
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        groups: Any,
        s: Any,
        *,
        sizes: Any,
        marked: int | None = None,
        n_moves: int = 0,
        numbered: bool = True,
    ) -> None:
        self.groups, self.s = numbers(2)("groups", groups).astype(int), numbers(1, finite=False)("s", s)
        self.sizes = numbers(1)("sizes", sizes)
        if self.groups.shape != (len(self.s), len(self.sizes)):
            raise ValueError(
                f"groups must have a row for each of the {len(self.s)} entries of s and a column for each of the "
                f"{len(self.sizes)} sizes. Got the shape {self.groups.shape}."
            )
        self.marked = word_or((None,), integer(1), "an int >= 1")("marked", marked)
        self.n_moves, self.numbered = integer(0)("n_moves", n_moves), flag("numbered", numbered)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw how the clusters of a fitted estimator separated.

        A run that starts from spread centroids (``"k-means++"``), or fast, shows only the later splits: those from
        groups that had come together. ``init="cloud"`` with ``anneal_every=8`` and ``max_iter=1000`` shows most.

        Parameters
        ----------
        estimator : fitted KernelPowerKMeans or MultiViewPowerKMeans
            The model.
        ax : Axes or None, default=None
            Where to draw.

        Returns
        -------
        SplitDisplay

        """
        check_model(estimator, cls.__name__)
        history, n_clusters = estimator.history_, estimator.n_clusters
        if n_clusters == 1:
            raise ValueError("The model has one cluster: nothing separates.")
        labels, stream = estimator.labels_, estimator._fit.stream
        unlabelled = len(labels) == 0 and stream is not None  # by its file, or on a cluster
        sizes = stream.sums.sizes if unlabelled else np.bincount(labels, minlength=n_clusters)
        moves = estimator.restarts_[estimator.best_restart_]["n_moves"]
        return cls(history["groups"], history["s"], sizes=sizes, n_moves=moves).plot(ax)

    @classmethod
    def from_choice(cls, choice: KChoice, *, ax: Any = None) -> Self:
        """Draw the annealing of :func:`powerkmeans.choose_k`, with the recommended number of groups shaded.

        Parameters
        ----------
        choice : KChoice
            What :func:`powerkmeans.choose_k` returned.
        ax : Axes or None, default=None
            Where to draw.

        Returns
        -------
        SplitDisplay

        """
        if not isinstance(choice, KChoice):
            raise TypeError(f"choice must be what choose_k returned, got a {type(choice).__name__}.")
        path, marked = choice.path, choice.k if choice.k > 1 else None
        return cls(path.groups, path.s, sizes=path.sizes, marked=marked, numbered=False).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree."""
        annealed = np.isfinite(self.s)
        self._check(annealed)
        self.tree_ = split_tree(self.groups, self.s)
        ax = one_axes(ax, (6.4, 0.26 * len(self.sizes) + 1.3))
        palette = palette_of(ax)
        first, last = np.abs(self.s[annealed][[0, -1]])
        ax.set_xlim(first / (last / first) ** 0.04, last)
        order = self.tree_.leaves()
        self._place = {cluster: place for place, cluster in enumerate(order)}
        self._draw(ax, self.tree_, ax.get_xlim()[0], palette)
        self._mark(ax, palette)
        log_axis(ax, "x")
        ax.set_ylim(len(order) - 0.5, -0.5)
        ax.yaxis.tick_right()
        sizes = {cluster: f"{self.sizes[cluster]:,.0f}" for cluster in order}
        names = [f"cluster {c}, {size}" if self.numbered else size for c, size in sizes.items()]
        ax.set_yticks(range(len(order)), names, fontsize=small(ax))
        ax.tick_params(axis="y", length=0)
        note = f"\n{self.n_moves} centroids were moved after the annealing" if self.n_moves else ""
        ax.set_xlabel(f"|s|, growing{note}")
        bare(ax)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=False, axis="y")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Axes, palette: Palette) -> None:
        """Shade the exponents at which there is the marked number of groups."""
        if self.marked is None or not 2 <= self.marked < len(self.sizes):
            return
        last = ax.get_xlim()[1]
        splits = np.sort(1 / np.maximum(joined(self.groups, self.s)[:, 2], 1 / last))
        begin, end = splits[self.marked - 2 : self.marked]
        if end > begin:
            ax.axvspan(begin, end, color=palette.blue, alpha=0.15, lw=0)
            style = {"color": palette.blue, "fontsize": small(ax), "ha": "center", "va": "bottom"}
            text = f"{self.marked} groups"
            ax.text((begin * end) ** 0.5, 1.0, text, transform=ax.get_xaxis_transform(), **style)

    def _check(self, annealed: Array) -> None:
        if not np.any(annealed):
            raise ValueError("The fit had no annealing (s_init=-inf): there are no exponents to separate at.")
        if np.all(self.groups[annealed][-1] == self.groups[annealed][-1, 0]):
            raise ValueError(
                "The centroids did not separate: they were one group to the end. Use s_init='auto', a more "
                "negative s_init or a larger max_iter."
            )
        if np.ptp(self.s[annealed]) == 0:
            raise ValueError(
                f"The exponent stayed at s={self.s[0]:g}, so nothing tells when clusters separate; use "
                "anneal_factor > 1."
            )
        alone = np.arange(self.groups.shape[1])
        if np.all(self.groups[annealed] == alone):
            raise ValueError(
                "The centroids were apart from the start, so there are no splits to show. Use s_init='auto' with "
                "init='cloud', which starts near the point where all are together."
            )

    def _draw(self, ax: Axes, branch: Branch, begin: float, palette: Palette) -> float:
        """Draw a branch from the exponent ``begin`` on; return its height."""
        last = ax.get_xlim()[1]
        end = min(branch.size_of_s, last)
        share = float(np.sum(self.sizes[list(branch.clusters)]) / np.sum(self.sizes))
        own_colour = self.numbered and len(branch.clusters) == 1
        style = {
            "color": palette.cluster(branch.clusters[0]) if own_colour else palette.ink,
            "lw": _THINNEST + (_THICKEST - _THINNEST) * share**0.5,
            "solid_capstyle": "butt",
        }
        if not branch.children:
            height = float(self._place[branch.clusters[0]])
        else:
            places = [self._draw(ax, child, end, palette) for child in branch.children]
            height = (places[0] + places[-1]) / 2
            ax.plot([end, end], [places[0], places[-1]], color=palette.ink, lw=_THINNEST)
        ax.plot([begin, end], [height, height], **style)
        return height
