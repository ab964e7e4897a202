"""The tree of clusters that part as the exponent falls."""

from __future__ import annotations

import numpy as np
import pytest
from plotting_helpers import INF, X, texts
from sklearn.exceptions import ConvergenceWarning

from helpers import blobs
from powerkmeans import KernelPowerKMeans
from powerkmeans.plotting import SplitDisplay
from powerkmeans.plotting.splits import split_tree

plt = pytest.importorskip("matplotlib.pyplot")

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


def test_splits_of_a_fitted_model(tmp_path):
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
    model.save(tmp_path / "model.npz", labels=False)
    unlabelled = SplitDisplay.from_estimator(KernelPowerKMeans.load(tmp_path / "model.npz"))
    assert unlabelled.sizes.tolist() == sizes.tolist()
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
    given = KernelPowerKMeans(3, feature_map="nystroem", s_init=-5.0, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"The centroids were apart from the start.*init='cloud'"):
        SplitDisplay.from_estimator(given)
    with pytest.raises(ValueError, match="The exponent stayed at s=-1, so nothing tells when clusters separate"):
        SplitDisplay(GROUPS, -np.ones(6), sizes=[1] * 4).plot()
    with pytest.raises(ValueError, match="The fit had no annealing"):
        SplitDisplay.from_estimator(KernelPowerKMeans(3, s_init=-INF, random_state=0).fit(X))
    with pytest.raises(ValueError, match="The model has one cluster"):
        SplitDisplay.from_estimator(KernelPowerKMeans(1, random_state=0).fit(X))
