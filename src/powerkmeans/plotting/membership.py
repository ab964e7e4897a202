"""How surely samples belong to their clusters, and how typical they are of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from powerkmeans.plotting.checks import check_model, has_typicality
from powerkmeans.plotting.style import Axes, Figure, Palette, bare, palette_of, panels, small
from powerkmeans.support.values import flag, integers, numbers, same_length, word_or
from powerkmeans.types import Array

# the space between clusters, as a share of all samples, and the smallest that gets a label of its own
_SPACE, _LABELLED = 0.02, 0.012
# steps of a band; more would not be seen
_MOST_STEPS = 1000


class MembershipDisplay:
    """Memberships and typicalities, sorted within each cluster.

    A cluster is a band as high as it has samples. In the left panel the band reaches as far right as each sample's
    membership of its cluster: what falls short of 1 lies between clusters. In the right panel it is the
    typicality: what falls short lies far from all of them. A line marks the median.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The cluster of each sample, from 0 on.
    membership : array-like of shape (n_samples,)
        Each sample's membership of its cluster, in [0, 1].
    typicality : array-like of shape (n_samples,) or None, default=None
        How typical each sample is of it, in [0, 1]; None leaves the panel out.

    Attributes
    ----------
    ax_ : ndarray of Axes
        One panel, or two if there are typicalities.
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.plotting import MembershipDisplay
    >>> X, _ = make_blobs(300, centers=3, random_state=0)
    >>> model = KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)
    >>> display = MembershipDisplay.from_estimator(model, X)  # doctest: +SKIP

    """

    ax_: Array
    figure_: Figure

    def __init__(self, labels: Any, membership: Any, typicality: Any = None) -> None:
        self.labels, self.membership = integers("labels", labels), numbers(1)("membership", membership)
        self.typicality = None if typicality is None else numbers(1)("typicality", typicality)
        same_length(labels=self.labels, membership=self.membership, typicality=self.typicality)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, present: Any = None, typicality: bool | None = None, ax: Any = None
    ) -> Self:
        """Draw the memberships of samples under a fitted estimator.

        Parameters
        ----------
        estimator : fitted KernelPowerKMeans or MultiViewPowerKMeans
            The model.
        X : as in the estimator's ``predict``
            Samples.
        present : as in :meth:`MultiViewPowerKMeans.predict`, optional
            Which samples have which views.
        typicality : bool or None, default=None
            Whether to draw typicalities too; None does if the model has them.
        ax : Axes, sequence of Axes or None, default=None
            Where to draw: one Axes, whose place is divided, or one per panel.

        Returns
        -------
        MembershipDisplay

        """
        check_model(estimator, cls.__name__)
        typicality = word_or((None,), flag, "True or False")("typicality", typicality)
        if typicality and not has_typicality(estimator):
            raise ValueError(
                f"membership={estimator.membership!r} has no typicality: every sample counts in full. Fit with "
                "membership='possibilistic', or leave typicality=None."
            )
        more = {} if present is None else {"present": present}
        shares = estimator.predict_proba(X, **more)
        shown = has_typicality(estimator) if typicality is None else typicality
        return cls.from_predictions(shares, estimator.typicality(X, **more) if shown else None, ax=ax)

    @classmethod
    def from_predictions(cls, probabilities: Any, typicality: Any = None, *, ax: Any = None) -> Self:
        """Draw what ``predict_proba`` and ``typicality`` returned.

        Parameters
        ----------
        probabilities : array-like of shape (n_samples, n_clusters)
            Memberships; the largest is that of the sample's cluster.
        typicality : array-like of shape (n_samples,), optional
            How typical each sample is of its cluster.
        ax : Axes, sequence of Axes or None, default=None
            Where to draw.

        Returns
        -------
        MembershipDisplay

        """
        shares = numbers(2)("probabilities", probabilities)
        return cls(np.argmax(shares, axis=1), np.max(shares, axis=1), typicality).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one band per cluster, in one panel or two."""
        drawn = [("membership of its cluster", self.membership)]
        if self.typicality is not None:
            drawn.append(("typicality", self.typicality))
        axes = panels(ax, (1, len(drawn)), (4.2, 4.2), sharey=True)
        palette = palette_of(axes[0])
        for panel, (name, values) in zip(axes, drawn, strict=True):
            self._draw(panel, values, palette)
            panel.set(xlabel=name, xlim=(0, 1))
        axes[0].set_yticks(*self._ticks(), fontsize=small(axes[0]))
        for panel in axes:
            panel.tick_params(axis="y", length=0, labelleft=panel is axes[0])
            panel.invert_yaxis() if not panel.yaxis_inverted() else None
        bare(*axes)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _bands(self) -> list[tuple[int, Array, float]]:
        """For each cluster with samples its number, its samples, and where it begins from the top."""
        space, place, bands = _SPACE * len(self.labels), 0.0, []
        for cluster in np.unique(self.labels):
            members = np.flatnonzero(self.labels == cluster)
            bands.append((int(cluster), members, place))
            place += len(members) + space
        return bands

    def _draw(self, ax: Axes, values: Array, palette: Palette) -> None:
        for cluster, members, place in self._bands():
            size, ordered = len(members), np.sort(values[members])[::-1]
            # every sample is one step high, so that a cluster of one is seen
            edges = np.linspace(0, size, min(size, _MOST_STEPS) + 1).astype(int)
            lengths = ordered[np.minimum(edges, size - 1)]
            ax.fill_betweenx(place + edges, 0, lengths, step="post", color=palette.cluster(cluster), lw=0)
            middle = float(np.median(ordered))
            ax.plot([middle] * 2, [place, place + size], color=palette.ink, lw=1, alpha=0.7)

    def _ticks(self) -> tuple[list[float], list[str]]:
        places, names = [], []
        for cluster, members, place in self._bands():
            if len(members) >= _LABELLED * len(self.labels):
                places.append(place + len(members) / 2)
                names.append(f"cluster {cluster}, {len(members):,}")
        return places, names
