"""What a fit tells its user: one warning, with what was measured and a way out that works."""

from __future__ import annotations

import re
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, open_source
from powerkmeans.advice import kernel as kernel_module
from powerkmeans.advice.views import explained_shares
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features import map_error
from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.map_error import kernel_error
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.models.answers import model_statistics
from powerkmeans.types import Views


def raw(name):
    return getattr(datasets, f"load_{name}")(return_X_y=True)[0]


def standardised(name):
    return StandardScaler().fit_transform(raw(name))


WINE, DIGITS = standardised("wine"), standardised("digits")


def told(model, X, category=DataGuidanceWarning, **fit):
    """The text of the only warning of a fit, or nothing."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X, **fit)
    assert len(record) <= 1, [str(one.message) for one in record]
    if not record:
        return ""
    assert record[0].category is category
    assert record[0].filename == __file__
    return str(record[0].message)


QUICK = {"random_state": 0, "anneal_factor": 1.5}


def kernel(n_clusters, **settings):
    return KernelPowerKMeans(n_clusters, **({"feature_map": "nystroem"} | QUICK | settings))


def several(n_clusters=3, **settings):
    return MultiViewPowerKMeans(n_clusters, **(QUICK | settings))


def suggested(text, name="bandwidth", where="Use "):
    """The number that a warning asks to set a parameter to."""
    found = re.search(rf"{name}=([0-9.e+-]*[0-9])", text[text.index(where) :])
    assert found, text
    return float(found[1])


def three_views(n_samples=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_samples)
    good = {name: 4 * rng.normal(size=(3, 8))[y] + rng.normal(size=(n_samples, 8)) for name in ("a", "b")}
    return good | {"noise": rng.normal(size=(n_samples, 8))}


@pytest.mark.parametrize("feature_map", ["auto", "rff", "orf", "nystroem", "identity"])
@pytest.mark.parametrize(("name", "n_clusters"), [("iris", 3), ("wine", 3), ("breast_cancer", 2), ("digits", 10)])
def test_nothing_is_said_about_standardised_data(name, n_clusters, feature_map):
    assert told(kernel(n_clusters, feature_map=feature_map), standardised(name)) == ""


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_nothing_is_said_about_blobs(membership):
    for n_features, centers in [(2, 4), (10, 3), (10, 20)]:
        X, _ = make_blobs(1000, n_features=n_features, centers=centers, random_state=0)
        assert told(kernel(centers, membership=membership), X) == ""


@pytest.mark.parametrize("n_samples", [300, 6000])
def test_nothing_is_said_about_thin_shapes_with_a_kernel_of_their_width(n_samples):
    for make in (make_moons, make_circles):
        X, _ = make(n_samples, noise=0.05, random_state=0)
        for feature_map in ("nystroem", "exact") if n_samples < 1000 else ("nystroem",):
            assert told(kernel(2, feature_map=feature_map, n_components=250, bandwidth=0.2), X) == ""


def test_nothing_is_said_about_good_views():
    X = three_views()
    del X["noise"]
    assert told(several(feature_map="nystroem"), X) == ""
    assert told(several(feature_map="identity"), X) == ""


def test_a_flat_kernel():
    text = told(kernel(3, bandwidth=1000.0), WINE)
    assert re.match(r"bandwidth=1000 makes the kernel flat: more than 95% of its values are above 0\.99", text)
    median = suggested(text)
    assert median == pytest.approx(kernel(3).fit(WINE).bandwidth_, rel=0.1)
    assert told(kernel(3, bandwidth=median), WINE) == ""
    assert "feature_map='identity'" in text
    assert told(kernel(3, bandwidth=1000.0, feature_map="identity"), WINE) == ""
    assert "identity" not in told(kernel(3, bandwidth=1e4, kernel="matern12", feature_map="nystroem"), WINE)
    # three times the median is wide, but not flat
    assert told(kernel(3, bandwidth=3 * median), WINE) == ""


@pytest.mark.parametrize("feature_map", ["rff", "nystroem", "exact"])
def test_a_kernel_that_is_an_identity(feature_map):
    model = kernel(3, bandwidth=0.5, feature_map=feature_map)
    text = told(model, WINE)
    assert text.startswith(
        "bandwidth=0.5 is too small to see clusters: the kernel between a sample and its nearest"
    )
    nearest = float(re.search(r"neighbour is ([0-9.e+-]*[0-9])", text)[1])
    assert nearest < 0.2
    assert told(model.set_params(bandwidth=suggested(text)), WINE) == ""


@pytest.mark.parametrize(("name", "unit"), [("laplacian", "L1"), ("matern32", ""), ("rational_quadratic", "")])
def test_other_kernels_are_looked_at_in_their_own_metric(name, unit):
    model = kernel(3, kernel=name, feature_map="nystroem", bandwidth=0.01)
    text = told(model, WINE)
    assert "too small" in text
    euclidean = suggested(told(kernel(3, bandwidth=0.1), WINE))
    assert (suggested(text) > 2 * euclidean) == bool(unit)
    assert told(model.set_params(bandwidth=suggested(text)), WINE) == ""


@pytest.mark.parametrize("work", [2**25, 2**14])
def test_neighbours_are_looked_for_among_many_rows(work, monkeypatch):
    """In a sample of a thin shape neighbours are far; in all the data they are not."""
    for module in (kernel_module, map_error):
        monkeypatch.setattr(module, "WORK", work)
    X, _ = make_circles(3000, noise=0.002, factor=0.5, random_state=0)
    settings = {"feature_map": "nystroem", "s_init": -float("inf"), "n_init": 1}
    assert told(kernel(2, bandwidth=0.01, n_components=1500, **settings), X) == ""
    assert "too small to see clusters" in told(kernel(2, bandwidth=0.0002, n_components=50, **settings), X)


def test_a_kernel_with_more_directions_than_the_map():
    X, _ = make_blobs(3000, centers=5, n_features=2, random_state=0)
    for feature_map in ("nystroem", "rff"):
        model = kernel(5, bandwidth=0.1, feature_map=feature_map)
        text = told(model, X)
        assert re.match(
            r"bandwidth=0.1 is too small for \d+ (landmarks|frequencies): the kernel has about \d+", text
        )
        assert told(model.set_params(bandwidth=suggested(text)), X) == ""


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("feature_map", ["nystroem", "rff"])
def test_a_larger_map_for_a_kernel_with_many_directions(feature_map, name):
    """Thin shapes need their bandwidth; the number of components that is named does for it."""
    X, y = make_moons(1000, noise=0.05, random_state=0)
    assert "is too small for 22 landmarks" in told(
        kernel(2, feature_map="nystroem", n_components=22, bandwidth=0.2), X
    )
    few = {"n_components": 22} if feature_map == "nystroem" else {}
    few |= {"random_state": 1, "anneal_factor": 1.04}
    model = kernel(2, bandwidth=0.11, feature_map=feature_map, kernel=name, **few)
    text = told(model, X)
    assert "is too small for" in text
    assert text.endswith(" for clusters as thin as that.")
    assert ("feature_map='nystroem' with" in text) == (feature_map == "rff")
    model.set_params(feature_map="nystroem", n_components=int(suggested(text, "n_components")))
    assert told(model, X) == ""
    assert clustering_accuracy(y, model.labels_) > 0.95


@pytest.mark.parametrize(("feature_map", "size"), [("rff", 4), ("orf", 4), ("nystroem", 3)])
@pytest.mark.parametrize(("X", "n_clusters"), [(WINE, 3), (DIGITS, 10)], ids=["wine", "digits"])
def test_a_map_that_is_too_small(feature_map, size, X, n_clusters):
    model = kernel(n_clusters, feature_map=feature_map, n_components=size, random_state=2)
    text = told(model, X)
    what = "landmarks" if feature_map == "nystroem" else "frequencies"
    lost = re.match(
        rf"{size} {what} are too few for this kernel: they lose (\d+)% of what {n_clusters} clusters", text
    )
    assert 15 <= int(lost[1]) < 100
    assert told(model.set_params(n_components=int(suggested(text, "n_components"))), X) == ""
    if feature_map != "nystroem":
        landmarks = int(suggested(text, "n_components", "feature_map='nystroem'"))
        assert told(model.set_params(feature_map="nystroem", n_components=landmarks), X) == ""


def test_the_error_of_a_map_is_noted_in_any_case(capsys):
    kernel(3, feature_map="nystroem", verbose=1).fit(WINE)
    assert re.search(r"view 'X': kernel error 0\.00\d, which is large above 0\.15", capsys.readouterr().err)


def test_the_error_of_a_map_falls_with_its_size():
    rng = np.random.default_rng(0)
    X = DIGITS[:200]
    share, bandwidth = np.full(200, 1 / 200), 10.0
    exact = KERNELS["rbf"].gram(X, X, bandwidth)
    values, vectors = np.linalg.eigh(exact)
    assert kernel_error(exact, vectors * np.sqrt(np.maximum(values, 0)), share, 10)[0] == pytest.approx(
        0, abs=1e-9
    )
    errors = []
    for size in (30, 120, 480):
        phases = [X @ rng.normal(size=(64, size)) / bandwidth for _ in range(8)]
        maps = [np.concatenate([np.sin(p), np.cos(p)], axis=1) for p in phases]
        errors.append(np.mean([kernel_error(exact, features, share, 10)[0] for features in maps]))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.4)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.4)
    assert kernel_error(np.ones((64, 64)), np.ones((64, 3)), np.full(64, 1 / 64), 3) == (0.0, 0.0)


def test_noise_has_no_structure_that_a_map_could_lose():
    X = np.random.default_rng(0).normal(size=(500, 200))
    assert told(kernel(3, feature_map="nystroem"), X) == ""
    assert told(kernel(3, feature_map="nystroem", n_components=5), X) == ""
    for n_clusters in (3, 10):
        assert told(kernel(n_clusters, feature_map="nystroem", n_components=5), X[:, :40]) == ""


def test_structure_that_is_mostly_noise_can_be_lost():
    """Words of three topics: what other rows have of the leading directions is little, but not by chance."""
    rng, truth = np.random.default_rng(0), np.arange(600) % 3
    topics, common = rng.dirichlet(np.full(1000, 0.1), 3), rng.dirichlet(np.full(1000, 0.3))
    X = np.stack([rng.multinomial(40, 0.35 * topics[topic] + 0.65 * common) for topic in truth]).astype(float)
    few = {"feature_map": "nystroem", "metric": "cosine", "n_components": 10}
    assert "10 landmarks are too few for this kernel" in told(kernel(3, **few), X)
    without = np.stack([rng.multinomial(40, common) for _ in truth]).astype(float)
    assert told(kernel(3, **few), without) == ""


def test_unscaled_columns_are_told_by_their_names():
    pytest.importorskip("pandas")
    wine, cancer = (getattr(datasets, f"load_{name}")(as_frame=True).data for name in ("wine", "breast_cancer"))
    quick = {"n_init": 1, "max_iter": 30, "tol": 1.0}  # for time alone
    assert "column 'proline' has 99.77% of" in told(kernel(3, **quick), wine)
    assert "2 of 30 columns ('worst area', 'mean area') have" in told(kernel(2, **quick), cancer)
    several = MultiViewPowerKMeans(3, feature_map="nystroem", **(QUICK | quick))
    assert "view 'b': column 'proline' has" in told(several, {"a": WINE[:, :4], "b": wine.iloc[:, 4:]})


def test_unscaled_columns():
    X = raw("wine")
    text = told(kernel(3), X)
    assert text.startswith(
        "column 12 has 99.77% of the variance, and distances see little else. Scale the columns"
    )
    assert told(kernel(3), StandardScaler().fit_transform(X)) == ""
    assert told(kernel(3, feature_map="identity"), X) == text
    text = told(kernel(2, feature_map="nystroem"), raw("breast_cancer"))
    assert re.match(r"2 of 30 columns have 9[89]\.\d+% of the variance", text)
    named = told(several(views={"left": slice(0, 6), "right": slice(6, 13)}), X)
    assert "view 'right': column 6 has more than 99.99% of" in named
    assert "view 'left'" not in named.replace("(weight", "")


def test_columns_that_are_rightly_uneven():
    rng = np.random.default_rng(0)
    scores = PCA().fit_transform(raw("wine"))
    assert np.var(scores[:, 0]) > 0.99 * np.sum(np.var(scores, axis=0))
    along = rng.normal(size=(500, 5))
    along[:250, 0] += 30
    mixed = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5))
    spoiled = mixed.copy()
    spoiled[3, 0] = 1e3
    for X in (scores, along, spoiled, mixed[:, :2] * [1, 1e3], sparse.csr_array(raw("wine"))):
        assert "variance" not in told(kernel(2, feature_map="nystroem"), X)
    assert "column 0 has" in told(kernel(2, feature_map="nystroem"), mixed * [1e3, 1, 1, 1, 1])


def test_principal_components_with_heavy_tails():
    """Rows that are far in all directions at once do not make columns correlated."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        far = np.sqrt(2.5 / rng.chisquare(2.5, size=(5000, 1)))
        X = PCA().fit_transform(rng.normal(size=(5000, 50)) * far * 0.5 ** (np.arange(50) / 2))
        assert told(kernel(3, feature_map="identity", n_init=1), X) == ""


def test_columns_that_drown_the_others_need_not_be_correlated():
    rng = np.random.default_rng(0)
    people = np.column_stack([rng.normal(40, 12, 500), rng.lognormal(10.5, 0.6, 500), rng.poisson(1.5, 500)])
    stamps = np.column_stack([rng.normal(size=(500, 3)), 1.6e9 + 3e7 * rng.random(500)])
    for X, column in ((people, 1), (stamps, 3), (stamps[:, ::-1], 0)):
        assert f"column {column} has more than 99.99% of the variance" in told(kernel(3), X)
        assert told(kernel(3), StandardScaler().fit_transform(X)) == ""
        assert told(kernel(3), PCA().fit_transform(X)) == ""


def test_a_view_without_information():
    X = three_views()
    model = several(feature_map="nystroem")
    text = told(model, X)
    weight = model.view_weights_[2]
    assert text.startswith(
        f"view 'noise' (weight {weight:.3f}) has nothing to do with the clusters: they explain 0."
    )
    assert "and chance 0.33%. Check it, or leave it out." in text
    assert told(model, {name: X[name] for name in ("a", "b")}) == ""
    swapped = {"a": X["a"], "b": np.random.default_rng(1).permutation(X["b"]), "noise": X["b"]}
    assert "view 'b' (weight" in told(several(feature_map="exact", membership="fuzzy"), swapped)
    # with so few samples chance explains too much to tell
    assert told(several(feature_map="nystroem"), three_views(150)) == ""


def test_explained_shares_are_those_of_the_partition():
    X = three_views()
    views = Views(tuple(X), tuple(X.values()), np.ones(600))
    settings = check_settings(several(feature_map="identity", membership="fuzzy").get_params(), several_views=True)
    with pytest.warns(DataGuidanceWarning, match="view 'noise'"):
        found = several(feature_map="identity", membership="fuzzy", s_init=-float("inf")).fit(X)
    model = found._fit.model
    final = model_statistics(model, views, "auto")
    shares = explained_shares(model.parameters, final, make_task(views, settings, 0).problem)
    for view, share in zip(X.values(), shares, strict=True):
        means = np.stack([view[found.labels_ == j].mean(axis=0) for j in range(3)])
        within = np.sum((view - means[found.labels_]) ** 2)
        assert share == pytest.approx(1 - within / np.sum((view - view.mean(axis=0)) ** 2), rel=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1e-6, "makes outliers of nearly all samples"),
        (1e-3, "makes outliers of nearly all"),
        (1e3, "no sample is an"),
    ],
)
def test_reference_distances_out_of_proportion(given, said):
    model = kernel(3, feature_map="nystroem", membership="possibilistic", reference_distance=given)
    text = told(model, WINE)
    assert text.startswith(f"reference_distance={given!r} ")
    assert said in text
    typical, bound = np.mean(model.typicality(WINE)), float(re.search(r"typicality is ([0-9.e-]*[0-9])", text)[1])
    assert typical < bound < 0.2 if given < 1 else typical > bound - 1e-4 > 0.98
    assert told(model.set_params(reference_distance="global"), WINE) == ""
    for choice in ("median", "within"):
        assert told(model.set_params(reference_distance=choice), WINE) == ""


def test_collapse_tells_where_clusters_separate():
    X, _ = make_blobs(300, centers=4, n_features=10, cluster_std=3, random_state=0)
    model = kernel(4, bandwidth=8.0, s_init=-0.1, max_iter=20, n_components=300)
    text = told(model, X, ConvergenceWarning)
    assert text.startswith("All 4 centroids collapsed into one: s went from -0.1 to ")
    auto = kernel(4, bandwidth=8.0, n_components=300)
    assert told(auto, X) == ""
    assert suggested(text, "s", "begin to at s") == pytest.approx(auto.critical_exponent_, rel=1e-3)


def test_one_warning_for_everything():
    X = three_views()
    X = {**X, "blank": np.ones((600, 2)), "units": X["a"] @ np.diag([1e3, 1, 1, 1, 1, 1, 1, 1])}
    settings = {"bandwidth": {"a": 1e4, "b": 0.01}, "feature_map": "nystroem", "reference_distance": 1e3}
    first, *rest = told(several(**settings), X).split("\n- ")
    assert first.startswith("view 'blank' is constant, or its kernel is flat, and gets the weight 0")
    assert [text.split(":")[0] for text in rest][:3] == ["view 'a'", "view 'b'", "view 'units'"]
    assert [key for text in rest for key in ("flat", "too small", "variance", "no sample") if key in text]
    assert rest[-1].startswith("reference_distance=1000.0 is so large")
    cut = told(several(**settings, max_iter=2), X, ConvergenceWarning)
    assert cut.startswith("The annealing did not converge in max_iter=2")
    assert "view 'blank' is constant" in cut
    two = {"a": X["a"], "b": X["b"], "c": np.ones((600, 2)), "d": np.zeros((600, 1))}
    assert told(several(feature_map="nystroem"), two).startswith("views 'c', 'd' are constant, or their kernels")


def test_fewer_clusters_than_asked_for_is_told_beside_the_rest():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 10, axis=0)
    text = told(kernel(6), X, ConvergenceWarning)
    assert text.endswith(
        "(4) found smaller than n_clusters (6). There are only 4 distinct rows. Use n_clusters=4."
    )
    assert told(kernel(4), X) == ""


def test_rows_that_differ_are_not_blamed_for_fewer_clusters():
    model = kernel(3, feature_map="nystroem", n_components=48, bandwidth=0.5, n_init=1, max_iter=60)
    model.set_params(anneal_factor=1.04)
    fewer, *others = told(model, WINE, ConvergenceWarning).split("\n- ")
    assert re.fullmatch(
        r"Number of distinct clusters \((\d)\) found smaller than n_clusters \(3\)\. What is said below may be "
        r"why; if not, use n_clusters=\1\.",
        fewer,
    )
    assert told(model.set_params(bandwidth=suggested(others[-1])), WINE) == ""


@pytest.mark.parametrize(
    ("X", "settings"),
    [
        (WINE, {"bandwidth": 0.5}),
        (WINE, {"bandwidth": 1000.0}),
        (DIGITS, {"n_components": 6, "feature_map": "rff"}),
        (raw("wine"), {}),
    ],
    ids=["small", "large", "few", "units"],
)
def test_the_order_of_rows_does_not_matter(X, settings):
    order = np.random.default_rng(1).permutation(len(X))
    text = told(kernel(3, **settings), X)
    assert text != ""
    assert told(kernel(3, **settings), X[order]) == text
    count = 1 + np.arange(len(X)) % 3
    weighted = told(kernel(3, **settings), X, sample_weight=count)
    assert told(kernel(3, **settings), np.repeat(X, count, axis=0)) == weighted


def test_names_and_order_of_views_do_not_matter():
    X = three_views()
    settings = {"bandwidth": {"a": 1e4}, "feature_map": "nystroem"}
    texts = told(several(**settings), X).split("\n- ")
    turned = told(several(**settings), dict(reversed(X.items()))).split("\n- ")
    assert sorted(texts) == sorted(turned)


def test_guidance_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataGuidanceWarning)
        model = kernel(3, bandwidth=0.5).fit(WINE)
    assert issubclass(DataGuidanceWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataGuidanceWarning):
            model.fit(WINE)
    assert model.predict(WINE).shape == (178,)  # and the model is whole


def test_values_near_the_end_of_the_range_are_looked_at_without_overflow():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X /= np.max(np.abs(X))
    for scale in (1e300, 1e-300):
        assert "too small to see clusters" in told(
            kernel(2, feature_map="exact", bandwidth=1e-3 * scale), X * scale
        )
    huge = X / np.max(np.abs(X)) * 1.7e308  # differences overflow
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")  # scikit-learn adds the values up
        kernel(2, bandwidth=1e308).fit(huge)


def test_sparse_rows_and_float32():
    X = np.where(DIGITS > 0.5, DIGITS, 0)
    dense = told(kernel(10, bandwidth=0.3), X)
    assert "too small to see clusters" in dense
    assert "too small to see clusters" in told(kernel(10, bandwidth=0.3), sparse.csr_array(X))
    moved = (WINE + 1e5).astype(np.float32)
    assert told(kernel(3), moved) == ""
    assert "flat" in told(kernel(3, bandwidth=100.0), moved)


def test_few_rows_say_nothing():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1e4, 1, 1]
    assert told(kernel(2, n_components=1), X) == ""


@pytest.mark.parametrize("far", [1e6, 1e12, 1e100])
def test_a_far_row_does_not_make_the_others_look_alike(far):
    assert told(kernel(3), np.vstack([WINE, np.full(WINE.shape[1], far)])) == ""


def test_light_rows_do_not_speak_for_heavy_ones():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (10, 2)), rng.normal(0, 1000, (2000, 2))])
    weight = np.concatenate([np.full(10, 1e5), np.ones(2000)])
    assert told(kernel(2, tol=1.0), X, sample_weight=weight) == ""


@pytest.mark.parametrize("n_rows", [10, 30, 60])
@pytest.mark.parametrize("feature_map", ["nystroem", "rff"])
@pytest.mark.parametrize("bandwidth", [1e-8, 1e-2])
def test_bandwidths_that_are_too_small_are_told_of_few_rows_too(bandwidth, feature_map, n_rows):
    X, _ = make_blobs(n_rows, 5, centers=3, random_state=0)
    assert "is too small to see clusters" in told(kernel(3, feature_map=feature_map, bandwidth=bandwidth), X)
    assert told(kernel(3, feature_map=feature_map), X) == ""


def test_exact_kernels_that_rounding_decides_are_an_error():
    X, _ = make_blobs(30, 5, centers=3, random_state=0)
    with pytest.raises(ValueError, match=r"bandwidth=1e-08 is so small beside the extent of the rows"):
        KernelPowerKMeans(3, feature_map="exact", bandwidth=1e-8).fit(X)


def directions(n=120):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(3, 8))[np.arange(n) % 3] + 0.2 * rng.normal(size=(n, 8))) * rng.uniform(1, 9, (n, 1))


@pytest.mark.parametrize(
    ("feature_map", "form"),
    [
        *product(["nystroem", "identity", "exact", "graph"], [np.asarray, sparse.csr_array]),
        ("nystroem", sparse.csr_matrix),
    ],
)
def test_rows_without_a_direction(feature_map, form):
    rows, model = directions(), kernel(3, feature_map=feature_map, metric="cosine")
    assert told(model, form(rows)) == ""
    rows[[7, 30, 31]] = 0
    text = told(model, form(rows))
    assert text.startswith(
        "3 rows, first row 7, are zero and have no direction: metric='cosine' takes such rows to"
    )
    rows[[7, 31]] = 1
    assert told(model, form(rows)).startswith("row 30 is zero and has no direction")
    assert told(model.set_params(advice=False), form(rows)) == ""
    assert told(kernel(3, feature_map=feature_map), form(rows)) == ""


def test_rows_without_a_direction_are_told_by_view(tmp_path):
    rows = directions()
    rows[[5, 6]], other = 0, directions()[:, ::-1].copy()
    other[3] = 0
    present = np.ones((len(rows), 2), dtype=bool)
    present[5, 1] = False  # an absent row is none of zeros
    np.save(tmp_path / "rows.npy", rows)
    for words in (rows, open_source(tmp_path / "rows.npy")):
        model = several(metric={"words": "cosine"})
        text = told(model, {"plain": other, "words": words}, present=present)
        assert text.count("no direction") == 1
        assert "view 'words': row 6 is zero and has no direction" in text
