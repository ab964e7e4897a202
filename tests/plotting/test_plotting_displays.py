"""What the pictures show, and what they refuse; how they look is for eyes."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from plotting_helpers import INF, VIEWS, X, texts, y
from sklearn.exceptions import NotFittedError

from helpers import quick, quick_views
from powerkmeans import explain_views
from powerkmeans.metrics import clustering_accuracy
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
from powerkmeans.support.install import install_line

plt = pytest.importorskip("matplotlib.pyplot")


# convergence


def test_convergence_shows_cost_exponent_and_weights(several):
    cost, exponent, weights = ConvergenceDisplay.from_estimator(several).ax_
    history = several.history_
    assert np.array_equal(cost.lines[0].get_ydata(), history["inertia"])
    annealed = np.isfinite(history["s"])
    assert np.array_equal(exponent.lines[0].get_ydata(), -history["s"][annealed])
    assert exponent.get_yscale() == "log"
    drawn = np.column_stack([line.get_ydata() for line in weights.lines[:2]])
    assert np.array_equal(drawn, history["view_weights"])
    assert set(texts(weights)) == {"shape", "noise"}
    assert weights.get_xlabel() == "iteration"


def test_convergence_of_one_view_has_two_panels_and_other_quantities(fuzzy):
    display = ConvergenceDisplay.from_estimator(fuzzy, quantity="objective")
    assert len(display.ax_) == 2
    assert np.array_equal(display.ax_[0].lines[0].get_ydata(), fuzzy.history_["objective"])
    assert display.plot(quantity="shift").ax_[0].get_yscale() == "log"
    with pytest.raises(ValueError, match="'quantity' parameter must be one of 'inertia', 'objective', 'shift'"):
        display.plot(quantity="loss")


def test_convergence_of_k_means_says_that_there_is_no_exponent():
    model = quick(3, s_init=-INF, random_state=0).fit(X)
    assert "s = -∞ throughout" in texts(ConvergenceDisplay.from_estimator(model).ax_[1])


# memberships


def test_membership_bands_are_the_sorted_memberships(possibilistic):
    display = MembershipDisplay.from_estimator(possibilistic, X)
    left, right = display.ax_
    shares, typical = possibilistic.predict_proba(X), possibilistic.typicality(X)
    assert [len(left.collections), len(right.collections)] == [3, 3]
    for cluster in range(3):
        mine = possibilistic.labels_ == cluster
        for ax, values in ((left, np.max(shares, axis=1)), (right, typical)):
            outline = ax.collections[cluster].get_paths()[0].vertices
            assert np.max(outline[:, 0]) == pytest.approx(np.max(values[mine]))
            assert np.ptp(outline[:, 1]) == pytest.approx(np.sum(mine))
            assert ax.lines[cluster].get_xdata()[0] == pytest.approx(np.median(values[mine]))
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [f"cluster {cluster}, 40" for cluster in range(3)]


def test_membership_bands_of_many_samples_have_few_steps():
    values = np.linspace(0.4, 1, 50_001)
    band = MembershipDisplay(np.zeros(50_001, int), values).plot().ax_[0].collections[0].get_paths()[0].vertices
    assert len(band) < 5000
    assert np.ptp(band[:, 1]) == 50_001
    assert np.max(band[:, 0]) == 1


def test_memberships_of_a_fuzzy_model_have_no_typicality(fuzzy):
    assert len(MembershipDisplay.from_estimator(fuzzy, X).ax_) == 1
    with pytest.raises(ValueError, match="membership='fuzzy' has no typicality"):
        MembershipDisplay.from_estimator(fuzzy, X, typicality=True)


def test_memberships_from_predictions():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    display = MembershipDisplay.from_predictions(shares, [0.5, 0.6, 0.7])
    assert display.labels.tolist() == [0, 1, 0]
    assert display.membership.tolist() == [0.9, 0.8, 0.6]
    with pytest.raises(ValueError, match="'probabilities' parameter must be an array of numbers of 2 dimensions"):
        MembershipDisplay.from_predictions(shares[0])
    with pytest.raises(ValueError, match="typicality has 1 entries, expected 3 as labels"):
        MembershipDisplay.from_predictions(shares, [0.5])


# contributions of views


def test_contributions_are_those_of_explain_views(several):
    display = ViewContributionDisplay.from_estimator(several, VIEWS)
    table = explain_views(several, VIEWS)
    order = np.argsort(-table["weight"])
    for ax, column in zip(display.ax_, ("weight", "distance_share", "explained", "agreement"), strict=False):
        assert np.allclose([bar.get_width() for bar in ax.patches], table[column][order])
        assert texts(ax) == [f"{value:.2f}" for value in table[column][order]]
    names = [label.get_text() for label in display.ax_[0].get_yticklabels()]
    assert names == [table["view"][i] for i in order]
    with pytest.raises(ValueError, match="The table has no column 'view'"):
        ViewContributionDisplay.from_predictions({"weight": [1.0]})


# sensitivity and number of features


def test_sensitivity_fits_every_pair_and_leaves_the_estimator_alone(several):
    before = several.get_params()
    grid = {"s_init": [-3.0, -6.0], "entropy": [1.0, 100.0, INF]}
    display = SensitivityDisplay.from_estimator(several, VIEWS, y, **grid)
    assert display.scores.shape == (2, 3)
    one = quick_views(3, random_state=0, s_init=-3.0, entropy=100.0).fit(VIEWS)
    assert display.scores[0, 1] == clustering_accuracy(y, one.labels_)
    assert np.array_equal(display.image_.get_array(), display.scores)
    assert texts(display.ax_)[1] == f"{display.scores[0, 1]:.2f}"
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["1", "100", "inf"]
    assert several.get_params() == before


def test_sensitivity_without_classes_is_agreement_with_the_model(several):
    display = SensitivityDisplay.from_estimator(several, VIEWS, s_init=[-3.0], entropy=[100.0])
    assert "adjusted Rand" in display.ax_.get_title(loc="left")
    assert -0.5 <= display.scores[0, 0] <= 1


def test_sensitivity_needs_several_views_and_a_score_a_pair(fuzzy):
    with pytest.raises(ValueError, match="entropy weighs views against each other, and KernelPowerKMeans has one"):
        SensitivityDisplay.from_estimator(fuzzy, X, y)
    with pytest.raises(
        ValueError, match="a row for each of 1 values of s_init and a column for each of 2 of entropy"
    ):
        SensitivityDisplay.from_predictions([[1.0]], s_init=[-1], entropy=[1, 2])


def test_score_by_number_of_features():
    model = quick(3, feature_map="nystroem", random_state=0)
    display = DimensionDisplay.from_estimator(model, X, y, n_components=[2, 30], n_draws=2, exact=True)
    assert display.scores.shape == (2, 2)
    assert np.allclose(display.ax_.lines[0].get_ydata(), np.mean(display.scores, axis=1))
    assert display.exact == 1
    assert display.suggested == len(X)
    assert "exact kernel" in texts(display.ax_)
    with pytest.raises(ValueError, match="feature_map='identity' has no number of features to vary"):
        DimensionDisplay.from_estimator(quick(3, feature_map="identity"), X, y)


# the choice of k


def test_the_choice_is_drawn_as_its_table_says(choice):
    display = KChoiceDisplay.from_choice(choice)
    cost, stability, silhouette, stretch, crossing, gap = display.ax_
    table = choice.table
    assert np.array_equal(cost.lines[0].get_ydata(), table["noise_cost"])
    assert np.array_equal(cost.lines[1].get_ydata(), table["cost"])
    assert np.array_equal(stability.lines[0].get_ydata(), table["stability"])
    assert np.array_equal(silhouette.lines[0].get_ydata(), table["silhouette"])
    assert np.allclose([bar.get_height() for bar in stretch.patches], table["stretch"])
    assert np.array_equal(crossing.lines[0].get_ydata(), table["noise_crossing"])
    assert np.array_equal(crossing.lines[1].get_ydata(), np.maximum(table["crossing"], 1e-4))
    assert np.array_equal(gap.lines[1].get_ydata(), table["spectral_gap"])
    assert all(ax.lines[-1].get_xdata()[0] == 3 for ax in display.ax_)
    assert cost.get_title(loc="left") == "k = 3 stands out"
    unasked = {name: np.full(len(table["k"]), np.nan) for name in ("crossing", "noise_crossing", "spectral_gap")}
    assert len(KChoiceDisplay.from_choice(replace(choice, table=table | unasked)).ax_) == 4
    four = plt.figure().subplots(2, 2)
    assert list(KChoiceDisplay.from_choice(choice, ax=four).ax_) == list(four.ravel())
    by_neighbours = KChoiceDisplay.from_choice(replace(choice, by="neighbours"))
    assert by_neighbours.ax_[0].get_title(loc="left") == "k = 3 stands out by its neighbours"
    with pytest.raises(TypeError, match="KChoiceDisplay takes as choice what choose_k returned, got a int"):
        KChoiceDisplay.from_choice(3)


# what cannot be drawn


TAKE_X = [MembershipDisplay, EmbeddingDisplay, ViewContributionDisplay]


@pytest.mark.parametrize("display", [ConvergenceDisplay, SplitDisplay, *TAKE_X])
def test_unfitted_and_foreign_estimators_are_rejected(display):
    arguments = (X,) if display in TAKE_X else ()
    with pytest.raises(NotFittedError):
        display.from_estimator(quick(3), *arguments)
    with pytest.raises(TypeError, match=f"{display.__name__} takes an estimator of powerkmeans, got a str"):
        display.from_estimator("model", *arguments)


@pytest.mark.parametrize("display", [SensitivityDisplay, DimensionDisplay])
def test_displays_that_fit_take_unfitted_estimators_of_ours_alone(display):
    with pytest.raises(TypeError, match=f"{display.__name__} takes an estimator of powerkmeans"):
        display.from_estimator("model", X, y)


def test_without_matplotlib_the_error_has_the_line_that_installs_it(fuzzy, monkeypatch):
    def absent(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError("No module named 'matplotlib'")
        return real(name, *rest, **more)

    real = importlib.import_module
    monkeypatch.setattr("powerkmeans.support.install.import_module", absent)
    line = re.escape(install_line("plot"))
    with pytest.raises(ImportError, match=rf"matplotlib is needed to draw.*Install it: {line}$"):
        ConvergenceDisplay.from_estimator(fuzzy)


def test_importing_the_displays_does_not_import_matplotlib():
    import subprocess

    code = "import sys, powerkmeans.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
