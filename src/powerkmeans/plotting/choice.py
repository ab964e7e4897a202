"""The criteria for a number of clusters, side by side."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from powerkmeans.choose.number import KChoice
from powerkmeans.choose.rule import BY_NEIGHBOURS
from powerkmeans.features.graph.spectrum import WIDE
from powerkmeans.plotting.style import (
    Axes,
    EndLabel,
    Figure,
    Palette,
    bare,
    checked_axes,
    label_ends,
    log_axis,
    palette_of,
    panels,
    small,
)
from powerkmeans.types import Array

# the least upper ends of the axes of stability, silhouette and stretch
_LEAST = (1.05, 0.3, 0.7)
# shares below this are drawn there, as logarithms of nothing have no place
_LEAST_SHARE = 1e-4


class KChoiceDisplay:
    """What :func:`powerkmeans.choose_k` measured: cost beside noise, stability, silhouette, annealing, neighbours.

    Parameters
    ----------
    choice : KChoice
        What :func:`powerkmeans.choose_k` returned.

    Attributes
    ----------
    ax_ : ndarray of Axes
        Four panels, two by two; six where a graph was asked, unless four were given.
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
            Where to draw: one Axes, whose place is divided, or one for each panel.

        Returns
        -------
        KChoiceDisplay

        """
        return cls(choice).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels, with the recommended number marked in each."""
        table, numbers = self.choice.table, self.choice.table["k"]
        asked, given = bool(np.any(np.isfinite(table["crossing"]))), len(checked_axes(ax))
        asked = given == 6 or (asked and given != 4)
        axes = panels(ax, (3 if asked else 2, 2), (3.6, 2.3), sharex=True)
        palette = palette_of(axes[0])
        self._draw_beside_noise(axes[0], palette, ("cost", "noise_cost"))
        axes[0].set_ylabel("share of the cost\nthat is left")
        if asked:
            self._draw_neighbours(axes[4:], palette)
        for panel, column in ((axes[1], "stability"), (axes[2], "silhouette")):
            panel.plot(numbers, table[column], color=palette.blue, marker="o", ms=3.5, lw=1.6)
        axes[1].set_ylabel("stability\n(adjusted Rand)")
        axes[2].set_ylabel("silhouette")
        axes[3].bar(numbers, np.nan_to_num(table["stretch"]), color=palette.blue, width=0.7)
        axes[3].set_ylabel("rest of the annealing\n(log |s|)")
        # from zero, and high enough that what is small looks small
        for panel, column, least in zip(axes[1:4], ("stability", "silhouette", "stretch"), _LEAST, strict=True):
            values = np.nan_to_num(table[column])
            panel.set_ylim(min(0.0, 1.1 * float(np.min(values))), max(least, 1.1 * float(np.max(values))))
        for panel in axes:
            self._mark(panel, palette)
        for panel in axes[-2:]:
            panel.set_xlabel("number of clusters k")
            panel.set_xticks(numbers[:: max(1, round(len(numbers) / 8))])
        self._title(axes[0], palette)
        bare(*axes)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_neighbours(self, axes: Array, palette: Palette) -> None:
        """How often neighbours cross, and the gap in the spectrum, beside the one it takes."""
        axes[0].set_ylabel("neighbours of\ndifferent groups")
        axes[1].set_ylabel("gap in the spectrum")
        numbers, gap = self.choice.table["k"], self.choice.table["spectral_gap"]
        if not np.any(np.isfinite(gap)):
            for ax in axes:
                ax.text(
                    0.5, 0.5, "no graph", transform=ax.transAxes, ha="center", va="center", color=palette.faint
                )
                ax.set_yticks([])
            return
        self._draw_beside_noise(axes[0], palette, ("crossing", "noise_crossing"))
        axes[1].plot(numbers, np.full(len(numbers), WIDE), color=palette.faint, lw=1.6, marker=self._lonely)
        axes[1].plot(numbers, gap, color=palette.blue, marker="o", ms=3.5, lw=1.6)
        log_axis(axes[1], "y")
        label_ends(axes[1], [EndLabel(float(numbers[-1]), WIDE, "what it takes", palette.faint)], gap=2.2)

    @property
    def _lonely(self) -> str:
        """A marker for a line of a single number, which would not be seen."""
        return "o" if len(self.choice.table["k"]) == 1 else ""

    def _draw_beside_noise(self, ax: Axes, palette: Palette, columns: tuple[str, str]) -> None:
        """A column of the data beside that of noise, by ratios: what lies between the two is the gap."""
        numbers = self.choice.table["k"]
        data, noise = (np.maximum(self.choice.table[name], _LEAST_SHARE) for name in columns)
        less = data <= noise
        ax.fill_between(numbers, data, noise, where=less, interpolate=True, color=palette.blue, alpha=0.12, lw=0)
        ax.plot(numbers, noise, color=palette.faint, lw=1.6, marker=self._lonely)
        ax.plot(numbers, data, color=palette.blue, marker="o", ms=3.5, lw=1.6)
        log_axis(ax, "y")
        last = float(numbers[-1])
        of_noise = EndLabel(last, float(noise[-1]), "noise of the\nsame spread", palette.faint)
        label_ends(ax, [of_noise, EndLabel(last, float(data[-1]), "data", palette.blue)], gap=2.2)

    def _mark(self, ax: Axes, palette: Palette) -> None:
        if self.choice.k > 1:
            ax.axvline(self.choice.k, color=palette.orange, lw=1.2, ls="--", zorder=0)

    def _title(self, ax: Axes, palette: Palette) -> None:
        k = self.choice.k
        by = " by its neighbours" if self.choice.by == BY_NEIGHBOURS else ""
        text = f"k = {k} stands out{by}" if k > 1 else "no number stands out"
        ax.set_title(text, color=palette.orange, fontsize=small(ax, 1.0), loc="left")
