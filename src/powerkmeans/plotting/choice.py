"""The criteria for a number of clusters, side by side."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from powerkmeans.choose.number import KChoice
from powerkmeans.plotting.style import (
    Axes,
    EndLabel,
    Figure,
    Palette,
    bare,
    label_ends,
    log_axis,
    palette_of,
    panels,
    small,
)
from powerkmeans.types import Array

# the least upper ends of the axes of stability, silhouette and stretch
_LEAST = (1.05, 0.3, 0.7)


class KChoiceDisplay:
    """What :func:`powerkmeans.choose_k` measured: cost beside noise, stability, silhouette, annealing.

    Parameters
    ----------
    choice : KChoice
        What :func:`powerkmeans.choose_k` returned.

    Attributes
    ----------
    ax_ : ndarray of Axes
        Four panels, two by two.
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import choose_k
    >>> from powerkmeans.plotting import KChoiceDisplay
    >>> X, _ = make_blobs(200, centers=4, n_features=5, random_state=0)
    >>> choice = choose_k(X, k_max=8, random_state=0)  # doctest: +SKIP
    >>> display = KChoiceDisplay.from_choice(choice)  # doctest: +SKIP

    """

    ax_: Array
    figure_: Figure

    def __init__(self, choice: KChoice) -> None:
        if not isinstance(choice, KChoice):
            raise TypeError(
                f"KChoiceDisplay takes as choice what choose_k returned, got a {type(choice).__name__}."
            )
        self.choice = choice

    @classmethod
    def from_choice(cls, choice: KChoice, *, ax: Any = None) -> Self:
        """Draw what :func:`powerkmeans.choose_k` returned.

        Parameters
        ----------
        choice : KChoice
            What :func:`powerkmeans.choose_k` returned.
        ax : Axes, sequence of Axes or None, default=None
            Where to draw: one Axes, whose place is divided, or four.

        Returns
        -------
        KChoiceDisplay

        """
        return cls(choice).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the four panels, with the recommended number marked in each."""
        table, numbers = self.choice.table, self.choice.table["k"]
        axes = panels(ax, (2, 2), (3.6, 2.3), sharex=True)
        palette = palette_of(axes[0])
        self._draw_cost(axes[0], palette)
        for panel, column in ((axes[1], "stability"), (axes[2], "silhouette")):
            panel.plot(numbers, table[column], color=palette.blue, marker="o", ms=3.5, lw=1.6)
        axes[1].set_ylabel("stability\n(adjusted Rand)")
        axes[2].set_ylabel("silhouette")
        axes[3].bar(numbers, np.nan_to_num(table["stretch"]), color=palette.blue, width=0.7)
        axes[3].set_ylabel("rest of the annealing\n(log |s|)")
        # from zero, and high enough that what is small looks small
        for panel, column, least in zip(axes[1:], ("stability", "silhouette", "stretch"), _LEAST, strict=True):
            values = np.nan_to_num(table[column])
            panel.set_ylim(min(0.0, 1.1 * float(np.min(values))), max(least, 1.1 * float(np.max(values))))
        for panel in axes:
            self._mark(panel, palette)
        for panel in axes[2:]:
            panel.set_xlabel("number of clusters k")
            panel.set_xticks(numbers[:: max(1, round(len(numbers) / 8))])
        self._title(axes[0], palette)
        bare(*axes)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_cost(self, ax: Axes, palette: Palette) -> None:
        """The cost of the data beside that of noise; what lies between the two is the gap."""
        table, numbers = self.choice.table, self.choice.table["k"]
        ax.fill_between(numbers, table["cost"], table["noise_cost"], color=palette.blue, alpha=0.12, lw=0)
        ax.plot(numbers, table["noise_cost"], color=palette.faint, lw=1.6)
        ax.plot(numbers, table["cost"], color=palette.blue, marker="o", ms=3.5, lw=1.6)
        log_axis(ax, "y")
        ax.set_ylabel("share of the cost\nthat is left")
        last = float(numbers[-1])
        noise = EndLabel(last, float(table["noise_cost"][-1]), "noise of the\nsame spread", palette.faint)
        label_ends(ax, [noise, EndLabel(last, float(table["cost"][-1]), "data", palette.blue)], gap=2.2)

    def _mark(self, ax: Axes, palette: Palette) -> None:
        if self.choice.k > 1:
            ax.axvline(self.choice.k, color=palette.orange, lw=1.2, ls="--", zorder=0)

    def _title(self, ax: Axes, palette: Palette) -> None:
        k = self.choice.k
        text = f"k = {k} stands out" if k > 1 else "no number stands out"
        ax.set_title(text, color=palette.orange, fontsize=small(ax, 1.0), loc="left")
