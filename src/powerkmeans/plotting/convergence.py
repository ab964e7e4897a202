"""How a fit went: cost, exponent and view weights along its iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from powerkmeans.plotting.checks import check_model
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
from powerkmeans.support.values import numbers, real, same_length, word, word_or, wrong
from powerkmeans.types import Array

_QUANTITIES = {
    "inertia": "cost of k-means\nin feature space",
    "objective": "objective\nat the exponent s",
    "shift": "largest step\nof a centroid",
}


_EXPONENT = word_or((None,), real(lambda s: s <= 0, "a number <= 0"), "a number <= 0")


def _checked_history(history: Any) -> dict[str, Array]:
    """The columns that are drawn; those of an annealing that never had clusters may be infinite."""
    wanted = ("s", *_QUANTITIES, "view_weights")
    if not isinstance(history, Mapping) or not all(name in history for name in wanted):
        raise wrong("history", f"a fitted estimator's history_, with {', '.join(map(repr, wanted))}", history)
    columns = {
        name: numbers(2 if name == "view_weights" else 1, finite=False)(f"history[{name!r}]", history[name])
        for name in wanted
    }
    same_length(**{f"history[{name!r}]": column for name, column in columns.items()})
    return dict(history) | columns


def _checked_names(names: Any, n_views: int) -> list[str]:
    several = isinstance(names, (list, tuple)) or (isinstance(names, np.ndarray) and names.ndim == 1)
    given = list(names) if several else None
    if given is None or len(given) != n_views or not all(isinstance(name, str) for name in given):
        raise wrong("view_names", f"a sequence of {n_views} str, one per view", names)
    return given


class ConvergenceDisplay:
    """Cost, exponent and view weights along the iterations of a fit.

    Parameters
    ----------
    history : dict of ndarrays
        A fitted estimator's ``history_``.
    view_names : sequence of str
        Names of the views, the columns of ``history["view_weights"]``.
    critical_exponent : float or None, default=None
        Where clusters begin to separate; drawn as a line beside the exponent if it is not zero.

    Attributes
    ----------
    ax_ : ndarray of Axes
        Two panels one above the other, or three if there are several views.
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.plotting import ConvergenceDisplay
    >>> X, _ = make_blobs(300, centers=3, n_features=5, random_state=0)
    >>> model = KernelPowerKMeans(3, random_state=0).fit(X)
    >>> display = ConvergenceDisplay.from_estimator(model)  # doctest: +SKIP

    """

    ax_: Array
    figure_: Figure

    def __init__(
        self, history: dict[str, Array], *, view_names: Any = ("X",), critical_exponent: float | None = None
    ) -> None:
        self.history = _checked_history(history)
        self.view_names = _checked_names(view_names, self.history["view_weights"].shape[1])
        self.critical_exponent = _EXPONENT("critical_exponent", critical_exponent)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, quantity: str = "inertia") -> Self:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : fitted KernelPowerKMeans or MultiViewPowerKMeans
            The model.
        ax : Axes, sequence of Axes or None, default=None
            Where to draw: one Axes, whose place is divided, or one per panel.
        quantity : {"inertia", "objective", "shift"}, default="inertia"
            What the upper panel shows. The objective is that of the exponent of the moment, so it is comparable
            only where the exponent stays.

        Returns
        -------
        ConvergenceDisplay

        """
        check_model(estimator, cls.__name__)
        names, critical = estimator.view_names_in_, estimator.critical_exponent_
        display = cls(estimator.history_, view_names=names, critical_exponent=critical)
        return display.plot(ax, quantity=quantity)

    def plot(self, ax: Any = None, *, quantity: str = "inertia") -> Self:
        """Draw the panels; see :meth:`from_estimator`."""
        quantity = word(*_QUANTITIES)("quantity", quantity)
        several = self.history["view_weights"].shape[1] > 1
        axes = panels(ax, (3 if several else 2, 1), (6.0, 1.9), sharex=True)
        palette = palette_of(axes[0])
        steps = np.arange(1, len(self.history["s"]) + 1)
        axes[0].plot(steps, self.history[quantity], color=palette.blue, lw=1.8)
        axes[0].set_ylabel(_QUANTITIES[quantity])
        if quantity == "shift":
            axes[0].set_yscale("log")
        self._draw_exponent(axes[1], steps, palette)
        if several:
            self._draw_weights(axes[2], steps, palette)
        for panel in axes:
            self._mark_finish(panel, steps, palette)
        axes[-1].set_xlabel("iteration")
        axes[-1].set_xlim(0, len(steps) + 1)
        bare(*axes)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_exponent(self, ax: Axes, steps: Array, palette: Palette) -> None:
        sizes = -self.history["s"]
        annealed = np.isfinite(sizes)
        ax.set_ylabel("|s|, growing")
        if not np.any(annealed):
            ax.set_yticks([])
            ax.text(0.5, 0.5, "s = -∞ throughout", transform=ax.transAxes, ha="center", va="center")
            return
        ax.step(steps[annealed], sizes[annealed], where="post", color=palette.blue, lw=1.8)
        log_axis(ax, "y")
        critical = abs(self.critical_exponent or 0.0)
        if ax.get_ylim()[0] < critical < ax.get_ylim()[1]:
            ax.axhline(critical, color=palette.orange, lw=1, ls="--")
            label_ends(ax, [EndLabel(steps[-1], critical, "clusters begin\nto separate", palette.orange)])

    def _draw_weights(self, ax: Axes, steps: Array, palette: Palette) -> None:
        weights = self.history["view_weights"]
        ends = []
        for view, name in enumerate(self.view_names):
            colour = palette.cluster(view)
            ax.plot(steps, weights[:, view], color=colour, lw=1.8)
            ends.append(EndLabel(float(steps[-1]), float(weights[-1, view]), str(name), palette.ink, colour))
        ax.set_ylim(0, max(1.05 * float(np.max(weights)), 0.1))
        ax.set_ylabel("view weight")
        label_ends(ax, ends)

    def _mark_finish(self, ax: Axes, steps: Array, palette: Palette) -> None:
        """Where k-means steps take over."""
        hard = np.flatnonzero(np.isinf(self.history["s"]))
        if not 0 < len(hard) < len(steps):
            return
        start = steps[hard[0]] - 0.5
        ax.axvspan(start, steps[-1] + 0.5, color=palette.faint, alpha=0.15, lw=0)
        if ax.get_ylabel() == "|s|, growing":
            style = {"rotation": 90, "color": palette.faint, "fontsize": small(ax, 0.75)}
            ax.text(start + 0.5, 0.04, "k-means steps", transform=ax.get_xaxis_transform(), va="bottom", **style)
