"""Where the pictures are drawn: axes that are given or divided, light and dark paper, labels and ticks."""

from __future__ import annotations

import numpy as np
import pytest
from plotting_helpers import VIEWS, X

from powerkmeans.plotting import (
    ConvergenceDisplay,
    DimensionDisplay,
    EmbeddingDisplay,
    KChoiceDisplay,
    MembershipDisplay,
    SensitivityDisplay,
    SplitDisplay,
    ViewContributionDisplay,
)
from powerkmeans.plotting.style import plain_ticks, spread_out

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")


def draw_all(possibilistic, several, choice, ax=None):
    """One of each display; those of several panels divide the axes they are given."""
    own = (lambda: None) if ax is None else ax
    yield ConvergenceDisplay.from_estimator(several, ax=own())
    yield MembershipDisplay.from_estimator(possibilistic, X, ax=own())
    yield EmbeddingDisplay.from_estimator(possibilistic, X, ax=own())
    yield ViewContributionDisplay.from_estimator(several, VIEWS, ax=own())
    yield SensitivityDisplay.from_predictions(np.eye(2), s_init=[-1, -2], entropy=[1, 10], ax=own())
    yield DimensionDisplay.from_predictions([10, 20], [[0.5, 0.7], [0.6, 0.8]], exact=0.9, ax=own())
    yield SplitDisplay([[0, 0], [0, 1]], [-1.0, -2.0], sizes=[3, 4]).plot(own())
    yield KChoiceDisplay.from_choice(choice, ax=own())


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_every_display_draws_on_light_and_dark_paper(style, possibilistic, several, choice, tmp_path):
    with plt.style.context(style):
        for display in draw_all(possibilistic, several, choice):
            axes = np.ravel(display.ax_)
            assert all(ax.figure is display.figure_ for ax in axes)
            assert all(ax.has_data() for ax in axes)
            display.figure_.savefig(tmp_path / "picture.png", dpi=30)


def test_given_axes_are_used(possibilistic, several, choice):
    def place():
        return plt.figure().subplots(1, 2)[1]

    for display in draw_all(possibilistic, several, choice, ax=place):
        for ax in np.ravel(display.ax_):
            assert ax.figure is display.figure_
            assert ax.get_position().x0 > 0.4  # in the right half, where the given axes were
        assert len(plt.get_fignums()) == 1
        plt.close("all")


def test_axes_without_a_grid_are_divided_too(choice):
    figure = plt.figure()
    display = KChoiceDisplay.from_choice(choice, ax=figure.add_axes((0.5, 0.5, 0.4, 0.4)))
    assert all(ax.get_position().x0 >= 0.49 for ax in display.ax_)


def test_one_axes_a_panel(several):
    axes = plt.figure().subplots(3, 1)
    assert list(ConvergenceDisplay.from_estimator(several, ax=axes).ax_) == list(axes)
    with pytest.raises(ValueError, match=r"3 panels to draw: pass as ax one Axes, .*, or 3 of them. Got 2."):
        ConvergenceDisplay.from_estimator(several, ax=axes[:2])


def test_ink_and_colours_follow_the_background(several):
    shades = {}
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            display = ConvergenceDisplay.from_estimator(several)
            line, label = display.ax_[0].lines[0], display.ax_[2].texts[0]
            shades[style] = [np.mean(matplotlib.colors.to_rgb(c)) for c in (line.get_color(), label.get_color())]
    assert shades["default"][0] < shades["dark_background"][0]
    assert shades["default"][1] < 0.3
    assert shades["dark_background"][1] > 0.7


def test_the_users_text_colour_is_kept_where_it_can_be_read(several):
    with plt.rc_context({"text.color": "#003300"}):
        assert ConvergenceDisplay.from_estimator(several).ax_[2].texts[0].get_color() == "#003300"
    with plt.rc_context({"text.color": "white"}):  # on white
        assert ConvergenceDisplay.from_estimator(several).ax_[2].texts[0].get_color() != "#ffffff"


def test_transparent_axes_take_the_colour_of_the_figure(several):
    with plt.rc_context({"axes.facecolor": "none", "figure.facecolor": "black", "text.color": "white"}):
        assert ConvergenceDisplay.from_estimator(several).ax_[2].texts[0].get_color() == "#ffffff"


# labels and ticks


def test_labels_are_moved_apart_and_no_farther():
    placed = spread_out(np.array([0.1, 0.11, 0.12, 0.8]), 0.1)
    assert np.all(np.diff(placed) >= 0.1 - 1e-12)
    assert placed[3] == 0.8
    assert np.mean(placed[:3]) == pytest.approx(0.11)
    assert spread_out(np.array([0.2, 0.5]), 0.1).tolist() == [0.2, 0.5]


def test_ticks_are_few_and_round():
    assert plain_ticks(0.9, 4.1) == [1, 1.5, 2, 3, 4]
    assert plain_ticks(0.61, 0.87) == [0.65, 0.7, 0.75, 0.8, 0.85]
    assert plain_ticks(0.5, 25) == [0.5, 1, 2, 5, 10, 20]
    assert plain_ticks(0.72, 1.5) == pytest.approx([0.8, 1.0, 1.2, 1.4])
    assert len(plain_ticks(1e-3, 1e5)) <= 6
