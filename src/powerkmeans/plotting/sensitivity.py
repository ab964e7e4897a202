"""What settings do to the result: first exponent and price of uneven weights, and the number of features."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.features.maps.registry import sized_maps
from powerkmeans.inputs.settings import AUTO
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.plotting.style import (
    Axes,
    EndLabel,
    Figure,
    bare,
    checked_axes,
    label_ends,
    log_axis,
    one_axes,
    palette_of,
    small,
)
from powerkmeans.support.values import flag, integer, integers, listed, numbers, real, text, word_or, wrong
from powerkmeans.types import Array

Score = Callable[[Array], float]
_AGREEMENT = "agreement with the model's own labels (adjusted Rand)"


class SensitivityDisplay:
    """A score for every pair of ``s_init`` and ``entropy`` (lambda), as a heat map with its numbers.

    Parameters
    ----------
    scores : array-like of shape (n_starts, n_entropies)
        The score of each pair.
    s_init : sequence of float
        First exponents, the rows.
    entropy : sequence of float
        Prices of uneven view weights, the columns.
    score_name : str, default="score"
        What the numbers are.

    Attributes
    ----------
    image_ : AxesImage
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from powerkmeans.plotting import SensitivityDisplay
    >>> display = SensitivityDisplay.from_predictions([[0.8, 0.9], [0.7, 0.9]], s_init=[-5, -20], entropy=[1, 100])
    >>> display.scores.shape
    (2, 2)

    """

    ax_: Axes
    figure_: Figure

    def __init__(self, scores: Any, *, s_init: Any, entropy: Any, score_name: str = "score") -> None:
        self.scores = _checked_scores(scores)
        self.s_init, self.entropy = (_tried(n, v).tolist() for n, v in (("s_init", s_init), ("entropy", entropy)))
        self.score_name = text("score_name", score_name)
        if self.scores.shape != (len(self.s_init), len(self.entropy)):
            raise ValueError(
                f"scores must have a row for each of {len(self.s_init)} values of s_init and a column for each of "
                f"{len(self.entropy)} of entropy. Got the shape {self.scores.shape}."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        s_init: Sequence[float] = (-5.0, -10.0, -15.0, -20.0, -25.0),
        entropy: Sequence[float] = (0.1, 1.0, 10.0, 100.0, 1000.0),
        ax: Any = None,
    ) -> Self:
        """Fit a copy of the estimator for every pair and draw the scores.

        Parameters
        ----------
        estimator : MultiViewPowerKMeans
            The model, fitted or not; it is not changed. ``feature_map="auto"`` is taken as ``"nystroem"``, because
            a graph knows no ``entropy``.
        X : as in the estimator's ``fit``
            Samples.
        y : array-like of shape (n_samples,), optional
            Classes; the score is then the accuracy. Without them it is the adjusted Rand index of the labels with
            those of the estimator as it is: how much the result depends on the two.
        s_init, entropy : sequences of float
            What to try; the defaults are the grid of the paper.
        ax : Axes or None, default=None
            Where to draw.

        Returns
        -------
        SensitivityDisplay

        """
        _check_estimator(estimator, cls.__name__)
        checked_axes(ax)
        if "entropy" not in estimator.get_params():
            raise ValueError(
                "entropy weighs views against each other, and KernelPowerKMeans has one; use MultiViewPowerKMeans."
            )
        s_init, entropy = _tried("s_init", s_init).tolist(), _tried("entropy", entropy).tolist()
        estimator = _with_one_map(estimator)
        score, name = _scoring(estimator, X, y)
        scores = [[score(_labels(estimator, X, s_init=s, entropy=e)) for e in entropy] for s in s_init]
        return cls(scores, s_init=s_init, entropy=entropy, score_name=name).plot(ax)

    @classmethod
    def from_predictions(
        cls, scores: Any, *, s_init: Any, entropy: Any, score_name: str = "score", ax: Any = None
    ) -> Self:
        """Draw scores that are there already; see the class for what each is."""
        return cls(scores, s_init=s_init, entropy=entropy, score_name=score_name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the heat map."""
        size = (0.85 * len(self.entropy) + 1.6, 0.55 * len(self.s_init) + 1.2)
        ax = one_axes(ax, size)
        low, high = float(np.nanmin(self.scores)), float(np.nanmax(self.scores))
        # a range below a tenth would paint rounding in all colours
        low = min(low, high - 0.1)
        image = ax.imshow(self.scores, cmap="cividis", aspect="auto", vmin=low, vmax=high)
        for (row, column), value in np.ndenumerate(self.scores):
            shade = "white" if value < (low + high) / 2 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, fontsize=small(ax))
        ax.set_xticks(range(len(self.entropy)), [f"{e:g}" for e in self.entropy])
        ax.set_yticks(range(len(self.s_init)), [f"{s:g}" for s in self.s_init])
        ax.set(xlabel="λ, the price of uneven weights", ylabel="s₀, the first exponent")
        ax.set_title(self.score_name, fontsize=small(ax, 1.0), loc="left")
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        self.image_, self.ax_, self.figure_ = image, ax, ax.figure
        return self


class DimensionDisplay:
    """A score by the number of features D, with its spread over draws of them.

    Parameters
    ----------
    n_components : sequence of int
        Numbers of frequencies or landmarks.
    scores : array-like of shape (n_sizes, n_draws)
        The score of each draw.
    exact : float or None, default=None
        The score of the exact kernel, drawn as a line.
    suggested : int or None, default=None
        The size that ``n_components="auto"`` takes, marked on the axis.
    score_name : str, default="score"
        What the numbers are.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from powerkmeans.plotting import DimensionDisplay
    >>> display = DimensionDisplay.from_predictions([10, 100], [[0.7, 0.8], [0.9, 0.9]], exact=0.92)
    >>> display.scores.shape
    (2, 2)

    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        n_components: Any,
        scores: Any,
        *,
        exact: float | None = None,
        suggested: int | None = None,
        score_name: str = "score",
    ) -> None:
        self.n_components, self.scores = _sizes(n_components), _checked_scores(scores)
        if len(self.scores) != len(self.n_components):
            raise ValueError(
                f"scores must have a row for each of {len(self.n_components)} sizes in n_components. Got "
                f"{len(self.scores)}."
            )
        self.exact = word_or((None,), real(math.isfinite, "a number"), "a number")("exact", exact)
        self.suggested = word_or((None,), integer(1), "an int >= 1")("suggested", suggested)
        self.score_name = text("score_name", score_name)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        n_components: Sequence[int] = (10, 20, 50, 100, 200, 500),
        n_draws: int = 5,
        exact: bool = False,
        ax: Any = None,
    ) -> Self:
        """Fit copies of the estimator with each number of features and draw the scores.

        Parameters
        ----------
        estimator : KernelPowerKMeans or MultiViewPowerKMeans
            The model, fitted or not; it is not changed. Its feature map must be one that has a size;
            ``feature_map="auto"`` is taken as ``"nystroem"``, so that all sizes are of one map.
        X : as in the estimator's ``fit``
            Samples.
        y : array-like of shape (n_samples,), optional
            Classes; the score is then the accuracy. Without them it is the adjusted Rand index of the labels with
            those of the estimator as it is.
        n_components : sequence of int
            Numbers of features to try.
        n_draws : int, default=5
            Fits of each, with ``random_state`` 0, 1, ...
        exact : bool, default=False
            Whether to fit the exact kernel too, which takes memory for n x n numbers.
        ax : Axes or None, default=None
            Where to draw.

        Returns
        -------
        DimensionDisplay

        """
        _check_estimator(estimator, cls.__name__)
        checked_axes(ax)
        if estimator.feature_map not in sized_maps():
            raise ValueError(
                f"feature_map={estimator.feature_map!r} has no number of features to vary; use one of "
                f"{listed(sized_maps())}."
            )
        estimator = _with_one_map(estimator)
        sizes, exact = _sizes(n_components).tolist(), flag("exact", exact)
        n_draws = integer(1)("n_draws", n_draws)
        score, name = _scoring(estimator, X, y)
        scores = [
            [score(_labels(estimator, X, n_components=size, random_state=seed)) for seed in range(n_draws)]
            for size in sizes
        ]
        exact_score = score(_labels(estimator, X, feature_map="exact")) if exact else None
        once = clone(estimator).set_params(n_components="auto", max_iter=1, s_init=-np.inf, init="random")
        suggested = int(np.max(_fitted(once, X).n_components_))
        return cls(sizes, scores, exact=exact_score, suggested=suggested, score_name=name).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        n_components: Any,
        scores: Any,
        *,
        exact: float | None = None,
        score_name: str = "score",
        ax: Any = None,
    ) -> Self:
        """Draw scores that are there already; see the class for what each is."""
        return cls(n_components, scores, exact=exact, score_name=score_name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw mean and spread over the draws, and the exact kernel as a line."""
        ax = one_axes(ax, (5.4, 3.6))
        palette = palette_of(ax)
        sizes, means, spread = self.n_components, np.mean(self.scores, axis=1), np.std(self.scores, axis=1)
        ax.fill_between(sizes, means - spread, means + spread, color=palette.blue, alpha=0.2, lw=0)
        ax.plot(sizes, means, color=palette.blue, marker="o", ms=5, lw=1.8)
        log_axis(ax, "x")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        n_draws = self.scores.shape[1]
        about = f"random features,\nmean ± deviation\nof {n_draws} draws" if n_draws > 1 else "random features"
        ends = [EndLabel(float(sizes[-1]), float(means[-1]), about, palette.blue)]
        if self.exact is not None:
            ax.axhline(self.exact, color=palette.orange, ls="--", lw=1.4)
            ends.append(EndLabel(float(sizes[-1]), float(self.exact), "exact kernel", palette.orange))
        if self.suggested is not None:
            ax.axvline(self.suggested, color=palette.faint, lw=1, ls=":")
            style = {"transform": ax.get_xaxis_transform(), "color": palette.faint, "fontsize": small(ax)}
            ax.text(self.suggested, 0.02, f" 'auto': {self.suggested}", **style)
        label_ends(ax, ends, gap=3.0)
        ax.set(xlabel="number of features D", ylabel=self.score_name)
        bare(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _checked_scores(scores: Any) -> Array:
    """A table of scores; some may be missing."""
    found = numbers(2, finite=False)("scores", scores)
    if not np.any(np.isfinite(found)) or np.any(np.isinf(found)):
        raise ValueError("scores must hold numbers, and NaN at most where there is none.")
    return found


def _sizes(n_components: Any) -> Array:
    found = integers("n_components", n_components)
    if np.min(found) < 1 or len(set(found.tolist())) < len(found):
        raise wrong("n_components", "a list of different ints >= 1", n_components)
    return found


def _tried(name: str, value: Any) -> Array:
    return numbers(1, finite=False)(name, value)


def _check_estimator(estimator: Any, display: str) -> None:
    if not isinstance(estimator, PowerKMeansBase):
        raise TypeError(f"{display} takes an estimator of powerkmeans, got a {type(estimator).__name__}.")


def _with_one_map(estimator: Any) -> Any:
    """The same with landmarks of a kernel where the choice of a map is left to each fit."""
    choice = estimator.feature_map
    automatic = isinstance(choice, str) and choice == AUTO
    return clone(estimator).set_params(feature_map="nystroem") if automatic else estimator


def _scoring(estimator: Any, X: Any, y: Any) -> tuple[Score, str]:
    """How labels are scored, and what the score is called."""
    if y is not None:
        return lambda labels: clustering_accuracy(y, labels), "accuracy"
    reference = _labels(estimator, X)
    return lambda labels: float(adjusted_rand_score(reference, labels)), _AGREEMENT


def _labels(estimator: Any, X: Any, **changed: Any) -> Array:
    return _fitted(clone(estimator).set_params(**changed), X).labels_


def _fitted(estimator: Any, X: Any) -> Any:
    """The estimator, fitted; that a setting is a bad one is what the picture is to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X)
