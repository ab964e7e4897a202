"""What the pictures show, where they are drawn, and what they refuse; how they look is for eyes."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from helpers import blobs, make_present
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k, explain_views
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
from powerkmeans.plotting.splits import split_tree
from powerkmeans.plotting.style import plain_ticks, spread_out

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, y = blobs(3, 5, 40)
RNG = np.random.default_rng(0)
VIEWS = {"shape": X, "noise": RNG.normal(size=(120, 4))}
INF = float("inf")


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fuzzy():
    return KernelPowerKMeans(3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def possibilistic():
    return KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)


@pytest.fixture(scope="module")
def several():
    return MultiViewPowerKMeans(3, random_state=0).fit(VIEWS)


@pytest.fixture(scope="module")
def choice():
    return choose_k(X, k_max=5, random_state=0)


def texts(ax):
    return [text.get_text() for text in ax.texts]


# every display on axes of our own, on one that is divided, on a dark style


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
    model = KernelPowerKMeans(3, s_init=-INF, random_state=0).fit(X)
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


# embeddings


def drawn_points(display):
    offsets = [c.get_offsets() for c in display.ax_.collections]
    return np.concatenate(offsets)


def test_embedding_draws_every_sample_once_and_marks_outliers(possibilistic):
    spoiled = np.vstack([X, X.mean(axis=0) + 40, X.mean(axis=0) - 40])
    display = EmbeddingDisplay.from_estimator(possibilistic, spoiled)
    assert drawn_points(display).shape == (122, 2)
    assert set(np.argsort(possibilistic.outlier_score(spoiled))[-2:]) <= set(np.flatnonzero(display.outlier))
    n_outliers = int(np.sum(display.outlier))
    assert display.ax_.get_legend().texts[0].get_text() == f"{n_outliers} outliers"
    assert texts(display.ax_) == ["0", "1", "2"]


def test_embedding_by_pca_keeps_distances_of_the_feature_space(possibilistic):
    display = EmbeddingDisplay.from_estimator(possibilistic, X, method="pca")
    features = possibilistic._fit.model.maps[0](X, np)
    scores = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    expected = scores[0][:, :2] * scores[1][:2]
    assert np.allclose(np.abs(display.points), np.abs(expected), atol=1e-6)
    nearest = [int(np.argmin(np.linalg.norm(display.centers - p, axis=1))) for p in display.points]
    assert np.mean(nearest == possibilistic.labels_) == 1


@pytest.mark.parametrize("feature_map", ["identity", "exact"])
def test_the_plane_of_the_centroids_comes_from_distances_alone(feature_map):
    model = KernelPowerKMeans(3, feature_map=feature_map, random_state=0).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X, method="centroids")
    gaps = np.linalg.norm(display.centers[:, None] - display.centers, axis=2)
    if feature_map == "identity":  # three centroids lie in one plane
        centers = model.cluster_centers_
        assert np.allclose(gaps, np.linalg.norm(centers[:, None] - centers, axis=2))
        directions = np.linalg.svd(centers - centers.mean(axis=0))[2][:2]
        flat = (X - centers.mean(axis=0)) @ directions.T
        assert np.allclose(np.linalg.norm(display.points, axis=1), np.linalg.norm(flat, axis=1))
    nearest = [int(np.argmin(np.linalg.norm(display.centers - p, axis=1))) for p in display.points]
    assert np.array_equal(nearest, model.labels_)


def test_embedding_of_two_clusters_has_the_distance_from_their_line(fuzzy):
    model = KernelPowerKMeans(2, feature_map="identity", random_state=0).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X, method="centroids")
    assert display.ax_.get_ylabel() == "distance from their line"
    distance = model.transform(X)
    assert np.allclose(np.linalg.norm(display.points - display.centers[0], axis=1), distance[:, 0])


def test_embedding_of_exact_kernels_missing_views_and_one_column():
    exact = KernelPowerKMeans(3, feature_map="exact", random_state=0).fit(X)
    assert EmbeddingDisplay.from_estimator(exact, X).ax_.get_xlabel() == "first direction of the centroids"
    with pytest.raises(ValueError, match="feature_map='exact' has no coordinates for method='pca'"):
        EmbeddingDisplay.from_estimator(exact, X, method="pca")
    present = make_present(120, 2, RNG)
    model = MultiViewPowerKMeans(3, random_state=0).fit(VIEWS, present=present)
    assert len(drawn_points(EmbeddingDisplay.from_estimator(model, VIEWS, present=present))) == 120
    line = KernelPowerKMeans(2, feature_map="identity", random_state=0).fit(X[:, :1])
    assert len(drawn_points(EmbeddingDisplay.from_estimator(line, X[:, :1]))) == 120


def test_embedding_of_many_samples_draws_some(fuzzy):
    display = EmbeddingDisplay.from_estimator(fuzzy, X, max_samples=50)
    assert len(drawn_points(display)) == 50
    again = EmbeddingDisplay.from_estimator(fuzzy, X[::-1], max_samples=50)
    assert np.allclose(np.sort(display.points[:, 0]), np.sort(again.points[:, 0]), atol=1e-5)  # by content


def test_embedding_by_umap_needs_it_installed(fuzzy, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"umap is needed for method='umap'.*pip install umap-learn"):
        EmbeddingDisplay.from_estimator(fuzzy, X, method="umap")
    with pytest.raises(ValueError, match="'method' parameter must be one of 'auto', 'pca', 'centroids', 'umap'"):
        EmbeddingDisplay.from_estimator(fuzzy, X, method="tsne")


def test_embedding_by_umap_takes_the_features(fuzzy, monkeypatch):
    class UMAP:
        def __init__(self, random_state):
            assert random_state == 0

        def fit_transform(self, features):
            return features[:, :2]

    module = type(sys)("umap")
    module.UMAP = UMAP
    monkeypatch.setitem(sys.modules, "umap", module)
    display = EmbeddingDisplay.from_estimator(fuzzy, X, method="umap")
    assert np.allclose(display.points, fuzzy._fit.model.maps[0](X, np)[:, :2])
    assert texts(display.ax_) == ["0", "1", "2"]


def test_embedding_from_predictions():
    display = EmbeddingDisplay.from_predictions(X[:, :2], y, outlier=np.arange(120) == 7)
    assert display.ax_.get_legend().texts[0].get_text() == "1 outlier"


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
    one = MultiViewPowerKMeans(3, random_state=0, s_init=-3.0, entropy=100.0).fit(VIEWS)
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
    model = KernelPowerKMeans(3, random_state=0)
    display = DimensionDisplay.from_estimator(model, X, y, n_components=[2, 30], n_draws=2, exact=True)
    assert display.scores.shape == (2, 2)
    assert np.allclose(display.ax_.lines[0].get_ydata(), np.mean(display.scores, axis=1))
    assert display.exact == 1
    assert display.suggested == 48
    assert "exact kernel" in texts(display.ax_)
    with pytest.raises(ValueError, match="feature_map='identity' has no number of features to vary"):
        DimensionDisplay.from_estimator(KernelPowerKMeans(3, feature_map="identity"), X, y)


# splits


GROUPS = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 1], [0, 1, 2, 3]])
EXPONENTS = -np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def test_clusters_part_after_the_last_exponent_together():
    tree = split_tree(GROUPS, EXPONENTS)
    assert tree.size_of_s == 4  # 1 parted from the others at 2, came back, and left with 3 for good
    assert [child.clusters for child in tree.children] == [(0, 2), (1, 3)]
    assert [child.size_of_s for child in tree.children] == [8, 16]
    assert tree.leaves() == [0, 2, 1, 3]


def test_clusters_that_never_meet_or_never_part():
    apart = split_tree(np.array([[0, 1, 2], [0, 1, 1]]), np.array([-1.0, -2.0]))
    assert apart.size_of_s == 1
    assert apart.children[0].clusters == (1, 2)
    stuck = split_tree(np.array([[0, 0, 0], [0, 1, 1], [0, 1, 1]]), np.array([-1.0, -2.0, -INF]))
    assert [child.size_of_s for child in stuck.children] == [INF, INF]


def test_the_tree_is_drawn_without_crossings():
    display = SplitDisplay(GROUPS, EXPONENTS, sizes=[10, 20, 30, 40]).plot()
    ax = display.ax_
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "cluster 0, 10", "cluster 2, 30", "cluster 1, 20", "cluster 3, 40",
    ]  # fmt: skip
    lines = [np.column_stack(line.get_data()) for line in ax.lines]
    upright = [line for line in lines if line[0, 0] == line[1, 0]]
    level = [line for line in lines if line[0, 1] == line[1, 1]]
    assert sorted(line[0, 0] for line in upright) == [4, 8, 16]
    for line in upright:  # no level branch passes through an upright one
        low, high = sorted(line[:, 1])
        through = [b for b in level if low < b[0, 1] < high and b[0, 0] < line[0, 0] < b[1, 0]]
        assert not through
        (stem,) = [b for b in level if b[1, 0] == line[0, 0] and low <= b[0, 1] <= high]  # and one ends there
        assert stem[0, 1] == (low + high) / 2
    assert ax.get_xscale() == "log"


def test_splits_of_a_fitted_model():
    rows, _ = blobs(4, 12, 30, 2.0)
    settings = {"init": "cloud", "anneal_every": 8, "max_iter": 1000, "random_state": 0}
    model = KernelPowerKMeans(4, feature_map="rff", **settings).fit(rows)
    display = SplitDisplay.from_estimator(model)
    assert sorted(display.tree_.leaves()) == [0, 1, 2, 3]
    assert model.s_init_ > -display.tree_.size_of_s > model.s_  # all were together, and parted on the way
    sizes = np.bincount(model.labels_)
    names = {label.get_text() for label in display.ax_.get_yticklabels()}
    assert names == {f"cluster {cluster}, {size}" for cluster, size in enumerate(sizes)}
    assert "moved" not in display.ax_.get_xlabel()
    moved = SplitDisplay(GROUPS, EXPONENTS, sizes=[1] * 4, n_moves=2).plot()
    assert "2 centroids were moved" in moved.ax_.get_xlabel()


def test_splits_of_a_choice_shade_the_number_of_groups(choice):
    display = SplitDisplay.from_choice(choice)
    assert choice.k == 3
    assert texts(display.ax_) == ["3 groups"]
    assert all("cluster" not in label.get_text() for label in display.ax_.get_yticklabels())
    assert len(display.tree_.leaves()) == 6


def test_splits_need_an_annealing_in_which_centroids_part():
    with pytest.warns(ConvergenceWarning, match="collapsed into one"):
        one = KernelPowerKMeans(3, s_init=-0.01, init="cloud", anneal_factor=1.0, random_state=0).fit(
            np.random.default_rng(0).normal(size=(200, 20))
        )
    with pytest.raises(ValueError, match="The centroids did not separate: they were one group to the end"):
        SplitDisplay.from_estimator(one)
    given = KernelPowerKMeans(3, s_init=-5.0, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"The centroids were apart from the start.*init='cloud'"):
        SplitDisplay.from_estimator(given)
    with pytest.raises(ValueError, match="The exponent stayed at s=-1, so nothing tells when clusters separate"):
        SplitDisplay(GROUPS, -np.ones(6), sizes=[1] * 4).plot()
    with pytest.raises(ValueError, match="The fit had no annealing"):
        SplitDisplay.from_estimator(KernelPowerKMeans(3, s_init=-INF, random_state=0).fit(X))
    with pytest.raises(ValueError, match="The model has one cluster"):
        SplitDisplay.from_estimator(KernelPowerKMeans(1, random_state=0).fit(X))


# the choice of k


def test_the_choice_is_drawn_as_its_table_says(choice):
    display = KChoiceDisplay.from_choice(choice)
    cost, stability, silhouette, stretch = display.ax_
    table = choice.table
    assert np.array_equal(cost.lines[0].get_ydata(), table["noise_cost"])
    assert np.array_equal(cost.lines[1].get_ydata(), table["cost"])
    assert np.array_equal(stability.lines[0].get_ydata(), table["stability"])
    assert np.array_equal(silhouette.lines[0].get_ydata(), table["silhouette"])
    assert np.allclose([bar.get_height() for bar in stretch.patches], table["stretch"])
    assert all(ax.lines[-1].get_xdata()[0] == 3 for ax in display.ax_)
    assert cost.get_title(loc="left") == "k = 3 stands out"
    with pytest.raises(TypeError, match="KChoiceDisplay takes as choice what choose_k returned, got a int"):
        KChoiceDisplay.from_choice(3)


# what cannot be drawn


TAKE_X = [MembershipDisplay, EmbeddingDisplay, ViewContributionDisplay]


@pytest.mark.parametrize("display", [ConvergenceDisplay, SplitDisplay, *TAKE_X])
def test_unfitted_and_foreign_estimators_are_rejected(display):
    arguments = (X,) if display in TAKE_X else ()
    with pytest.raises(NotFittedError):
        display.from_estimator(KernelPowerKMeans(3), *arguments)
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
    monkeypatch.setattr("powerkmeans.plotting.style.import_module", absent)
    with pytest.raises(ImportError, match=r"matplotlib is needed to draw.*pip install 'powerkmeans\[plot\]'"):
        ConvergenceDisplay.from_estimator(fuzzy)


def test_importing_the_displays_does_not_import_matplotlib():
    import subprocess

    code = "import sys, powerkmeans.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
    assert len(plain_ticks(1e-3, 1e5)) <= 6
