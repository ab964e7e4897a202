"""What each view contributes to a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from powerkmeans.estimators.explain import explain_views
from powerkmeans.plotting.checks import check_model
from powerkmeans.plotting.style import Figure, Palette, bare, palette_of, panels, small
from powerkmeans.support.values import numbers, same_length, wrong
from powerkmeans.types import Array

# columns of the table and what their panels are called
_COLUMNS = {
    "weight": "weight",
    "distance_share": "share of\nthe distances",
    "explained": "explained by\nthe clusters",
    "agreement": "agreement\nalone",
    "silhouette": "silhouette\nalone",
}


class ViewContributionDisplay:
    """Weight, share of the distances, and how well each view shows the clusters, one panel each.

    Parameters
    ----------
    table : mapping of columns
        What :func:`powerkmeans.explain_views` returned, which also says what each column is.

    Attributes
    ----------
    ax_ : ndarray of Axes
        Five panels side by side.
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import MultiViewPowerKMeans
    >>> from powerkmeans.plotting import ViewContributionDisplay
    >>> shape, _ = make_blobs(200, centers=3, n_features=10, random_state=0)
    >>> X = {"shape": shape, "noise": np.random.default_rng(0).normal(size=(200, 10))}
    >>> model = MultiViewPowerKMeans(3, random_state=0).fit(X)
    >>> display = ViewContributionDisplay.from_estimator(model, X)  # doctest: +SKIP

    """

    ax_: Array
    figure_: Figure

    def __init__(self, table: Mapping[str, Array]) -> None:
        if not isinstance(table, Mapping):
            raise wrong("table", "what explain_views returned", table)
        lacking = [name for name in ("view", *_COLUMNS) if name not in table]
        if lacking:
            raise ValueError(f"The table has no column {lacking[0]!r}; pass what explain_views returned.")
        values = {name: numbers(1, finite=False)(f"table[{name!r}]", table[name]) for name in _COLUMNS}
        same_length(**{"table['view']": table["view"]}, **{f"table[{n!r}]": v for n, v in values.items()})
        self.table = table

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, sample_weight: Any = None, present: Any = None, ax: Any = None
    ) -> Self:
        """Draw what each view contributes to a fitted estimator.

        Parameters
        ----------
        estimator : fitted MultiViewPowerKMeans or KernelPowerKMeans
            The model.
        X : as in the estimator's ``fit``
            Samples.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0.
        present : as in :meth:`MultiViewPowerKMeans.fit`, optional
            Which samples have which views.
        ax : Axes, sequence of Axes or None, default=None
            Where to draw: one Axes, whose place is divided, or one per panel.

        Returns
        -------
        ViewContributionDisplay

        """
        check_model(estimator, cls.__name__)
        table = explain_views(estimator, X, sample_weight=sample_weight, present=present)
        return cls.from_predictions(table, ax=ax)

    @classmethod
    def from_predictions(cls, table: Mapping[str, Array], *, ax: Any = None) -> Self:
        """Draw a table that :func:`powerkmeans.explain_views` returned."""
        return cls(table).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one panel per column, views by their weight from the top."""
        order = np.argsort(-np.asarray(self.table["weight"], dtype=np.float64), kind="stable")
        height = 0.34 * len(order) + 0.9
        axes = panels(ax, (1, len(_COLUMNS)), (1.75, height), sharey=True)
        palette = palette_of(axes[0])
        for panel, (column, title) in zip(axes, _COLUMNS.items(), strict=True):
            values = np.asarray(self.table[column], dtype=np.float64)[order]
            self._draw(panel, values, palette, palette.blue if column == "weight" else palette.faint)
            panel.set_title(title, fontsize=small(panel, 1.0), loc="left")
            panel.tick_params(axis="y", length=0, labelleft=panel is axes[0])
        axes[0].set_yticks(range(len(order)), [str(self.table["view"][i]) for i in order])
        axes[0].set_ylim(len(order) - 0.5, -0.5)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw(self, ax: Any, values: Array, palette: Palette, colour: str) -> None:
        """Bars from zero with their numbers."""
        known = np.where(np.isnan(values), 0, values)
        ax.barh(range(len(values)), known, color=colour, height=0.62)
        ax.axvline(0, color=palette.ink, lw=0.8)
        low, high = min(0.0, float(np.min(known))), max(float(np.max(known)), 0.05)
        width = high - low
        for place, (value, length) in enumerate(zip(values, known, strict=True)):
            text = "none" if np.isnan(value) else f"{value:.2f}"
            ax.text(max(length, 0) + 0.04 * width, place, text, va="center", fontsize=small(ax), color=palette.ink)
        ax.set_xlim(low, high + 0.45 * width)
        ax.set_xticks([])
        bare(ax)
        ax.spines[["left", "bottom"]].set_visible(False)
