"""Data on which all landmarks agree, and which no graph should decide: two values, too many pieces, one column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.doubts import FAMILIES
from benchmarks.graph_quality import subsample
from benchmarks.study.sets import find_set, load
from scipy.sparse import csr_array
from sklearn.datasets import make_circles, make_moons
from sklearn.preprocessing import StandardScaler

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k
from powerkmeans.estimators.listeners import Printer
from powerkmeans.features.graph import spectrum
from powerkmeans.features.graph.spectrum import WIDE, gaps
from powerkmeans.metrics import clustering_accuracy

MORE_PIECES = "a graph falls into more pieces than there are clusters, and which of them go together is arbitrary"


def line_and_blob(n_line, n_blob, seed):
    """A blob above the middle of a line that is many times as long."""
    rng = np.random.default_rng(seed)
    line = np.c_[20 * rng.random(n_line), rng.normal(0, 0.1, n_line)]
    return np.r_[line, rng.normal((10, 3), 0.3, (n_blob, 2))], np.repeat([0, 1], [n_line, n_blob])


def with_a_column_of_two_values(seed, n=400, present=None):
    """Four clusters in eight columns, and yes or no beside them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, 8)) + 3 * rng.normal(size=(4, 8))[y]
    return StandardScaler().fit_transform(np.c_[X, rng.integers(2, size=n)]), y


def fitted(X, k, **parameters):
    return KernelPowerKMeans(k, random_state=0, advice=False, **parameters).fit(X)


def doubt_about(X, k):
    """Why the default took no graph, if it did not."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Printer, "note", lambda self, text: told.append(text))
        model = KernelPowerKMeans(k, random_state=0, advice=False, verbose=1).fit(X)
    (said,) = [text for text in told if text.startswith("feature_map='auto'")]
    assert said.startswith(f"feature_map='auto': {model.feature_map_}, as ")
    return said.partition(", as ")[2]


def test_gaps_are_ratios_of_distances_from_one():
    values = np.array([1.0, 1.0, 0.9, 0.6, 0.5])
    found = gaps(values, [1, 2, 3, 4, 5, 6])
    assert found == pytest.approx([1, 0.1 / spectrum.NONE, 4, 1.25, 2, 1])


@pytest.mark.parametrize(("n_line", "n_blob"), [(400, 100), (1000, 100)])
@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_clusters_and_no_direction_cuts_through_them(n_line, n_blob, seed):
    """The first mode of a long line is nearly as high as the two of pieces, and the next is not."""
    X, y = line_and_blob(n_line, n_blob, seed)
    model = fitted(X, 2)
    assert model.feature_map_ == "graph"
    assert model.cluster_centers_.shape[1] == 2
    assert clustering_accuracy(y, model.labels_) == 1


def test_rows_that_are_all_equally_far_from_each_other_have_a_spectrum():
    """Half of the eigenvalues are equal there, which the usual way to some of them does not survive."""
    model = fitted(np.eye(60), 5)
    assert np.isfinite(model.cluster_centers_).all()
    assert len(np.unique(model.labels_)) == 5


def test_the_way_to_all_eigenpairs_gives_those_of_the_way_to_some(monkeypatch):
    matrix = np.cov(np.random.default_rng(0).normal(size=(30, 8)).T)
    some = spectrum._dense(matrix.copy(), 5)
    plain = spectrum.eigh

    def failing(matrix, **options):
        if "subset_by_index" in options:
            raise spectrum.LinAlgError("Internal Error.")
        return plain(matrix, **options)

    monkeypatch.setattr(spectrum, "eigh", failing)
    values, vectors = spectrum._dense(matrix.copy(), 5)
    assert values == pytest.approx(some[0], rel=1e-12)
    assert np.abs(np.sum(vectors * some[1], axis=0)) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_two_values_does_not_cut_the_default(seed):
    X, y = with_a_column_of_two_values(seed)
    model = fitted(X, 4)
    assert model.feature_map_ == "nystroem"
    assert clustering_accuracy(y, model.labels_) > 0.97
    assert doubt_about(X, 4) in (
        "next to no neighbours differ in a column of two values, which cuts a graph by itself",
        MORE_PIECES,
    )
    plain = fitted(X[:, :8], 4)
    assert plain.feature_map_ == "graph"
    assert clustering_accuracy(y, plain.labels_) > 0.97


@pytest.mark.parametrize("seed", [101, 109])
def test_a_category_of_four_words_beside_numbers(seed):
    # what one of its columns says, the others say too: without one alone neighbours are as they were
    X, y = FAMILIES["6 numbers, 4 words"](np.random.default_rng(seed))
    model = fitted(X.astype(np.float32), 4)
    assert model.feature_map_ == "nystroem"
    assert clustering_accuracy(y, model.labels_) > 0.97


def test_a_column_of_two_values_in_a_view_that_some_lack():
    X, _ = with_a_column_of_two_values(3)
    views = {"answers": X.copy(), "noise": np.random.default_rng(0).normal(size=(400, 2))}
    views["answers"][:40], views["noise"][40:80] = np.nan, np.nan
    model = MultiViewPowerKMeans(4, random_state=0, advice=False).fit(views)
    assert model.feature_map_[0] == "nystroem"
    views["answers"] = views["answers"][:, :8]
    assert MultiViewPowerKMeans(4, random_state=0, advice=False).fit(views).feature_map_[0] == "graph"


def test_a_column_that_clusters_do_not_follow():
    """It is of a view that counts little: neighbours go by it, and clusters hold both of its values."""
    X, y = with_a_column_of_two_values(3)
    views = {"numbers": X[:, :8].copy(), "answers": np.c_[X[:, 8], np.random.default_rng(0).normal(size=400)]}
    views["numbers"][:40], views["answers"][40:80] = np.nan, np.nan
    model = MultiViewPowerKMeans(4, random_state=0, advice=False).fit(views)
    assert model.feature_map_[0] == "graph"
    assert clustering_accuracy(y[40:], model.labels_[40:]) > 0.95


def test_one_in_five_says_yes():
    X, y = with_a_column_of_two_values(1)
    X[:, 8] = 2.5 * (np.random.default_rng(1).random(400) < 0.2)
    model = fitted(X, 4)
    assert model.feature_map_ == "nystroem"
    assert clustering_accuracy(y, model.labels_) > 0.97


@pytest.mark.parametrize("seed", range(5))
def test_far_groups_of_many_blobs_are_left_to_a_kernel(seed):
    """However wide the gap is that many more neighbours make of them."""
    X, y = FAMILIES["5 groups of 14 blobs, 6-D"](np.random.default_rng(100 + seed))
    model = fitted(X.astype(np.float32), 5)
    assert model.feature_map_ == "nystroem"
    assert clustering_accuracy(y, model.labels_) == 1


def moons_with(flag, scale=1.0):
    X, y = make_moons(600, noise=0.06, random_state=0)
    return np.c_[X, scale * flag(X, y, np.random.default_rng(0))], y


@pytest.mark.parametrize(
    ("flag", "scale"),
    [
        (lambda X, y, rng: y, 1.0),  # which is what the clusters are
        (lambda X, y, rng: y ^ (rng.random(600) < 0.03), 1.0),  # nearly
        (lambda X, y, rng: X[:, 0] > 0.5, 1e-6),  # a thing of the other columns, and of no distance
        (lambda X, y, rng: X[:, 0] > 0.5, 0.2),
        (lambda X, y, rng: rng.random(600) < 0.04, 0.5),  # rare, and followed by no cluster
    ],
    ids=["the clusters", "nearly", "of no distance", "of the other columns", "rare"],
)
def test_a_column_of_two_values_that_is_not_to_blame(flag, scale):
    X, y = moons_with(flag, scale)
    model = fitted(X, 2)
    assert model.feature_map_ == "graph"
    assert clustering_accuracy(y, model.labels_) > 0.95


def test_a_column_of_two_values_that_cuts_moons():
    X, _ = moons_with(lambda X, y, rng: rng.integers(2, size=600), 2.0)
    model = fitted(X, 2)
    assert model.feature_map_ == "nystroem"
    assert choose_k(X, k_max=4, random_state=0).by == "cost"


@pytest.mark.parametrize("spoil", ["a third value", "sparse"])
def test_nearly_two_values_and_sparse_ones(spoil):
    X, _ = with_a_column_of_two_values(0)
    if spoil == "sparse":
        X = csr_array(np.c_[X[:, :8], 2.0 * (X[:, 8] > 0)])
    else:
        X[5, 8] = 0.0
    assert fitted(X, 4).feature_map_ == "nystroem"


def test_many_columns_of_two_values_are_neighbours_as_others():
    """In forty columns neighbours differ in some."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = (rng.random((300, 40)) < np.where(rng.random((3, 40)) < 0.5, 0.2, 0.8)[y]).astype(float)
    for rows in (X, csr_array(X)):
        model = fitted(rows, 3)
        assert model.feature_map_ == "graph"
        assert clustering_accuracy(y, model.labels_) > 0.97


def test_pieces_that_go_together_by_chance_are_left_to_a_kernel():
    """Ten far blobs in four groups: all halves agree on which pieces are joined, and not by how near they are."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        around, group = rng.normal(0, 30, (4, 5)), np.r_[0:4, rng.integers(0, 4, 6)]
        blob = np.repeat(range(10), rng.integers(30, 150, 10))
        X = (around[group] + rng.normal(0, 5, (10, 5)))[blob] + rng.normal(size=(len(blob), 5))
        model = fitted(X, 4)
        graph = fitted(X, 4, feature_map="graph")._fit.model.maps[0].base
        assert graph.n_neighbors > graph.n_wanted
        if model.feature_map_ == "nystroem":
            assert doubt_about(X, 4) == MORE_PIECES
            assert clustering_accuracy(group[blob], model.labels_) == 1
            break
    else:
        pytest.fail("a graph was taken each time")


def test_a_gap_by_chance_may_give_way_to_another():
    """The end of a moon is a piece for ten neighbours; for fifteen there is a gap as wide, between the moons."""
    family = find_set("moons")
    (X,), y = load("moons", Path(), 0, family.inputs)
    rows = subsample(len(y), 0)
    model = fitted(X[rows], 2, feature_map="graph")
    assert clustering_accuracy(y[rows], model.labels_) == 1


@pytest.mark.parametrize(("sizes", "apart"), [((500, 500), 5), ((300, 100), 5), ((400, 400), 6)])
def test_a_single_column_has_ranks_for_neighbours(sizes, apart):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], sizes)
    X = (apart * y + rng.normal(size=len(y)))[:, None]
    model = fitted(X, 2)
    assert model.feature_map_ == "nystroem"
    assert clustering_accuracy(y, model.labels_) > 0.98
    assert doubt_about(X, 2) == "neighbours in a single column tell of ranks alone"


def test_groups_of_a_single_column_that_are_far_apart_are_a_graph():
    rng = np.random.default_rng(0)
    X, y = np.exp(np.repeat([3, 6, 9], 300) + rng.normal(0, 0.25, 900))[:, None], np.repeat([0, 1, 2], 300)
    model = fitted(X, 3)
    assert model.feature_map_ == "graph"
    assert clustering_accuracy(y, model.labels_) > 0.99
    X = np.r_[rng.normal(0, 1, 900), rng.normal(14, 1, 60)][:, None]
    assert fitted(X, 2).feature_map_ == "graph"
    assert sorted(np.bincount(fitted(X, 2).labels_)) == [60, 900]


def test_outliers_are_no_clusters_of_a_single_column():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, 400), rng.normal(8, 1, 400), 500, 520][:, None]
    assert min(np.bincount(fitted(X, 2).labels_)) > 390


@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_a_single_column_of_any_scale(scale):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = scale * (6.0 * y + rng.normal(size=400))[:, None]
    assert clustering_accuracy(y, fitted(X, 2).labels_) > 0.98


def test_shapes_beside_a_clump_keep_their_graph():
    """The clump is a piece that has to be joined, and is too small to matter."""
    X, y = make_circles(600, noise=0.04, factor=0.5, random_state=0)
    X = np.r_[X, np.random.default_rng(0).normal((4, 4), 0.1, (30, 2))]
    model = fitted(X, 2)
    assert model.feature_map_ == "graph"
    assert clustering_accuracy(y, model.labels_[:600]) == 1


def test_a_gap_by_chance_is_spanned_by_more_neighbours():
    """One of three lines falls apart at a thin spot, and two are joined: three pieces, and not the lines."""
    rng = np.random.default_rng(2)
    x = 10 * rng.random((3, 250))
    X = np.c_[x.ravel(), np.repeat([0, 1, 2], 250) + rng.normal(0, 0.08, 750)]
    assert np.bincount(fitted(X, 3, feature_map="graph").labels_).tolist() == [250, 250, 250]


def test_a_gap_that_is_more_than_length():
    """A line that is cut in the middle has one of four."""
    assert WIDE > 4
