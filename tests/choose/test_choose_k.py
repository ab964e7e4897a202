"""Choosing the number of clusters: what is found, what each criterion is, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

from helpers import blobs, make_present, make_views, rounding
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k
from powerkmeans.choose import number as choose_module
from powerkmeans.choose.criteria import agreements, cost_shares, halves, silhouette, silhouettes
from powerkmeans.choose.noise import make_cloud
from powerkmeans.choose.path import labels_of, make_shared, slow_annealing, solve_all
from powerkmeans.choose.rule import Criteria, bends, by_cost, deviations, gaps
from powerkmeans.choose.splits import joined, stretches
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features.graph.alike import agreement
from powerkmeans.fitting.moves import one_less, one_more
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.types import Parameters, RowSample

RNG = np.random.default_rng(0)
COLUMNS = ["k", "cost", "noise_cost", "gap", "stability", "silhouette", "stretch", "score"]
OF_A_GRAPH = ["crossing", "noise_crossing", "spectral_gap"]


def task_on(*arrays, k=6, present=None, **parameters):
    several, parameters = len(arrays) > 1, {"feature_map": "nystroem"} | parameters
    estimator = (MultiViewPowerKMeans if several else KernelPowerKMeans)(k, **parameters)
    settings = check_settings(estimator.get_params(), several_views=several)
    return make_task(make_views(arrays, present=present), settings, seed=0)


@pytest.fixture(scope="module")
def found():
    """Four clear clusters."""
    X, _ = make_blobs(120, centers=4, n_features=6, random_state=1)
    return choose_k(X, k_max=5, random_state=0)


# the whole


def test_clear_clusters_are_found_and_all_criteria_agree(found):
    assert found.k == 4
    assert list(found.table) == [*COLUMNS, *OF_A_GRAPH]
    assert found.by == "cost"
    assert found.table["k"].tolist() == [2, 3, 4, 5]
    for column in ("gap", "stability", "silhouette", "stretch", "score"):
        assert found.table[column][2] == np.max(found.table[column])
    assert "k=4 leaves" in found.reason
    assert "The silhouette is highest at k=4" in found.reason
    assert "the annealing keeps 4 groups" in found.reason
    assert str(found).startswith(found.reason)
    assert repr(found) == f"KChoice(k=4, reason={found.reason!r})"
    assert np.all(np.diff(found.table["cost"]) <= 0)
    assert np.allclose(found.table["gap"], np.log(found.table["noise_cost"] / found.table["cost"]))
    with pytest.raises(AttributeError):
        found.k = 5


def test_nothing_stands_out_of_noise():
    noise = np.random.default_rng(3).uniform(size=(200, 3))
    choice = choose_k(noise, k_max=6, random_state=0)
    assert choice.k == 1
    assert choice.reason.startswith("No number of clusters from 2 to 6 stands out")
    stability = choice.table["stability"]
    assert choice.most_stable == choice.table["k"][np.argmax(stability)]
    assert (
        f"If there must be several, k={choice.most_stable} is the most stable: its clusters come back with an "
        f"adjusted Rand index of {np.max(stability):.3f}. This compares"
    ) in choice.reason


def test_several_views_with_gaps_and_noise():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=100)
    views = {"a": 4 * rng.normal(size=(3, 5))[y] + rng.normal(size=(100, 5)), "b": rng.normal(size=(100, 4))}
    views["a"][::10], views["b"][5::10] = 1e6, np.nan  # what a sample holds that lacks the view does not matter
    present = {"a": np.arange(100) % 10 > 0, "b": np.full(100, True)}
    assert choose_k(views, k_max=5, present=present, random_state=0).k == 3


def test_one_table_with_views_is_the_same_as_its_views_apart():
    X, _ = blobs(3, 6, 20)
    apart = choose_k({"a": X[:, :4], "b": X[:, 4:]}, k_max=3, random_state=0)
    together = choose_k(X, k_max=3, views={"a": slice(0, 4), "b": [4, 5]}, random_state=0)
    # columns of one table lie otherwise in memory; the cost is a share of the scatter, after at most 300
    # passes over at most 60 landmarks per view
    assert apart.table["cost"] == pytest.approx(together.table["cost"], rel=0, abs=rounding(60, 2 * 60, 300))


def test_the_same_seed_gives_the_same_bits_and_the_order_of_rows_does_not_matter(found):
    X, _ = make_blobs(120, centers=4, n_features=6, random_state=1)
    again = choose_k(X, k_max=5, random_state=0)
    shuffled = choose_k(X[RNG.permutation(120)], k_max=5, random_state=0)
    for column in (*COLUMNS, *OF_A_GRAPH):
        assert np.array_equal(found.table[column], again.table[column])
        # where groups part, rounding grows
        rounding = 0.1 if column == "stretch" else 1e-9
        assert np.allclose(found.table[column], shuffled.table[column], rtol=1e-6, atol=rounding)


def test_weights_equal_repetition():
    X, _ = blobs(3, 4, 20)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = choose_k(X, k_max=4, sample_weight=weight, random_state=0)
    repeated = choose_k(np.repeat(X, weight, axis=0), k_max=4, random_state=0)
    for column in ("cost", "noise_cost", "stability", *OF_A_GRAPH):
        assert np.allclose(weighted.table[column], repeated.table[column], rtol=1e-6, atol=1e-9)


def test_progress_and_verbose_tell_every_step(capsys):
    X, _ = blobs(3, 4, 20)
    told = []
    choose_k(X, k_max=3, random_state=0, verbose=1, progress=lambda *step: told.append(step))
    assert [step[0] for step in told] == list(range(1, 13))
    assert {step[1] for step in told} == {12}
    assert told[0][2] == "features"
    assert "[powerkmeans] 12 of 12: neighbours" in capsys.readouterr().err


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(choose_module, "affordable_rows", lambda *_: 60)
    monkeypatch.setattr(choose_module, "FEWER_ROWS", 60)
    X, _ = blobs(3, 4, 60)
    choice = choose_k(X, k_max=4, random_state=0)
    assert np.sum(choice.path.sizes) == pytest.approx(180)
    assert choice.k == 3


@pytest.mark.parametrize("feature_map", ["identity", "nystroem", "exact"])
def test_every_feature_map_but_a_given_kernel(feature_map):
    X, _ = blobs(3, 4, 20)
    assert choose_k(X, k_max=4, feature_map=feature_map, random_state=0).k == 3


@pytest.mark.filterwarnings("error")
def test_a_range_beyond_the_distinct_samples_is_cut_with_a_warning():
    X, _ = blobs(3, 4, 4)
    with pytest.warns(DataGuidanceWarning, match=r"k_max=20 is lowered to 4: half of the 12 distinct") as caught:
        cut = choose_k(np.repeat(X, 5, axis=0), random_state=0)
    assert len(caught) == 1
    assert cut.table["k"].tolist() == [2, 3, 4]
    asked = choose_k(np.repeat(X, 5, axis=0), k_max=4, random_state=0)
    assert np.array_equal(cut.table["score"], asked.table["score"])


# what is refused


def test_wrong_calls_say_what_is_wrong():
    X, _ = blobs(3, 4, 20)
    with pytest.raises(ValueError, match=r"The 'k_min' parameter must be an int in the range \[2, inf\). Got 1"):
        choose_k(X, 1)
    with pytest.raises(ValueError, match="k_max=4 should be >= k_min=5"):
        choose_k(X, 5, 4)
    with pytest.raises(TypeError, match="choose_k decides on n_clusters itself"):
        choose_k(X, n_clusters=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bandwith'"):
        choose_k(X, bandwith=2)
    with pytest.raises(
        ValueError, match=r"To compare 29 clusters takes at least 62 distinct samples.*there are 60"
    ):
        choose_k(X, 29, 40)
    with pytest.raises(ValueError, match="kernel='precomputed' has no samples"):
        choose_k(X @ X.T, k_max=3, feature_map="exact", kernel="precomputed")
    with pytest.raises(ValueError, match="NaN"):
        choose_k(np.where(X > 0, np.nan, X), k_max=3)
    with pytest.raises(ValueError, match="present"):
        choose_k({"a": X, "b": X}, k_max=3, present={"a": [True]})


# solutions


def test_costs_fall_with_the_number_and_are_those_of_a_fit():
    X, _ = blobs(5, 6, 40, 2.0)
    shared = make_shared(task_on(X, k=7, feature_map="identity"), list(range(1, 8)), 1000)
    solutions = solve_all(shared, list(range(1, 8)))
    losses = [solutions[k].loss for k in range(1, 8)]
    assert np.all(np.diff(losses) < 0)
    assert losses[0] == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2))
    for k in (2, 5, 7):
        fitted = KernelPowerKMeans(k, feature_map="identity", random_state=0).fit(X)
        assert losses[k - 1] <= 1.01 * fitted.inertia_
    shares = cost_shares(shared, solutions)
    assert shares[0] == pytest.approx(1)
    assert np.allclose(shares, np.array(losses) / losses[0])


def test_no_number_is_worse_than_one_more_with_a_centroid_dropped():
    X = np.random.default_rng(1).normal(size=(120, 3))
    numbers = list(range(1, 9))
    shared = make_shared(task_on(X, k=8, feature_map="identity"), numbers, 1000)
    solutions = solve_all(shared, numbers)
    for k in numbers[:-1]:
        task = shared.with_clusters(k)
        dropped = task.descend(one_less(task, solutions[k + 1].parameters, shared.rows))
        assert solutions[k].value <= task.hard_objective(dropped)[0] * (1 + 1e-9)


def test_centroids_are_added_and_dropped_where_it_costs_least():
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [10.0, 4.0]], 10, axis=0) + 0.1 * RNG.normal(size=(30, 2))
    shared = make_shared(task_on(X, k=4, feature_map="identity"), [1, 2, 3, 4], 1000)
    task, mean = shared.with_clusters(3), np.mean(X, axis=0)
    two = Parameters(np.array([[0.0, 0.0], [10.0, 2.0]]) - mean, np.ones(1))
    three = one_more(task, two, shared.rows).centers + mean
    assert np.allclose(three[np.lexsort(np.round(three).T[::-1])], [[0, 0], [10, 0], [10, 4]], atol=0.2)
    four = Parameters(np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 3.9], [10.0, 4.1]]) - mean, np.ones(1))
    left = one_less(task, four, shared.rows).centers + mean
    assert left.shape == (3, 2)
    assert np.allclose(left[:2], [[0, 0], [10, 0]])


def test_features_are_those_of_a_fit_and_drawn_once():
    X, _ = blobs(3, 4, 20)
    full = task_on(X)
    shared = make_shared(full, [1, 2, 3], 1000)
    mapped = full.prepared.maps[0](X, np)
    assert np.allclose(np.sort(shared.rows.views[0], axis=0), np.sort(mapped, axis=0))
    assert shared.with_clusters(2).prepared is shared.with_clusters(3).prepared


def test_baselines_go_by_the_number_of_clusters():
    views = [RNG.normal(size=(150, 3)), RNG.normal(size=(150, 8))]
    full = task_on(*views, k=8)
    shared = make_shared(full, list(range(1, 9)), 1000)
    assert np.allclose(shared.baselines[8], full.problem.baseline)
    exact = make_task(make_views(views), replace(full.settings, n_clusters=4), seed=0).problem.baseline
    assert np.allclose(shared.baselines[4], exact, rtol=0.05)
    falls = np.array([shared.baselines[k] for k in range(2, 9)])
    assert np.all(np.diff(falls, axis=0) < 0)


# noise


def test_noise_has_the_spread_of_the_data_and_no_clusters():
    rows = RNG.normal(size=(400, 4)) @ np.array([[3, 1, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.5]])
    full = task_on(rows, feature_map="identity")
    cloud = make_cloud(full, np.ones(20_000), np.random.default_rng(0)).views[0]
    covariance = np.cov(rows.T, ddof=0)
    assert np.allclose(cloud.T @ cloud / len(cloud), covariance, atol=0.15)
    coordinates = cloud @ np.linalg.eigh(covariance)[1]
    width = np.ptp(coordinates, axis=0) / np.std(coordinates, axis=0)
    assert np.allclose(width, 2 * np.sqrt(3), rtol=0.02)  # that of a uniform cloud


def test_noise_keeps_the_correlation_of_views_and_fills_gaps():
    latent = RNG.normal(size=(300, 1))
    views = [latent + 0.1 * RNG.normal(size=(300, 1)), np.hstack([latent, RNG.normal(size=(300, 1))])]
    full = task_on(*views, feature_map="identity", view_baseline=None)
    cloud = make_cloud(full, np.ones(5000), np.random.default_rng(0))
    assert abs(np.corrcoef(cloud.views[0][:, 0], cloud.views[1][:, 0])[0, 1]) > 0.95
    assert [np.mean(np.sum(view**2, axis=1)) for view in cloud.views] == pytest.approx(list(full.problem.scatter))
    present = make_present(300, 2, np.random.default_rng(0))
    gappy = make_cloud(
        task_on(*views, present=present, feature_map="identity", view_baseline=None), np.ones(100), RNG
    )
    assert gappy.present is None
    assert all(np.all(np.isfinite(view)) for view in gappy.views)


# criteria


def test_silhouette_is_that_of_scikit_learn():
    X, y = blobs(3, 4, 20, 2.0)
    y[-1] = 3  # one alone
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    assert silhouette(distance, y, np.ones(60)) == pytest.approx(silhouette_score(X, y))
    assert silhouette(distance, y, np.full(60, 0.1)) == pytest.approx(silhouette_score(X, y))
    assert np.isnan(silhouette(distance, np.zeros(60, int), np.ones(60)))


def test_silhouettes_are_of_the_feature_space_and_of_complete_rows():
    X, _ = blobs(3, 4, 20)
    shared = make_shared(task_on(X, feature_map="identity"), [1, 2, 3], 1000)
    solutions = solve_all(shared, [1, 2, 3])
    values = silhouettes(shared, solutions, RNG)
    labels = labels_of(shared.with_clusters(3), solutions[3].parameters)
    assert np.isnan(values[0])
    assert values[2] == pytest.approx(silhouette_score(shared.rows.views[0], labels))
    rows = shared.rows._replace(present=np.arange(60)[:, None] < 30)
    partly = silhouettes(replace(shared, task=shared.task.on_features(rows)), {2: solutions[2]}, RNG)
    labels = labels_of(shared.with_clusters(2), solutions[2].parameters)[:30]
    assert partly[0] == pytest.approx(silhouette_score(rows.views[0][:30], labels))


def test_halves_share_out_the_rows():
    rows = RowSample((np.arange(10.0)[:, None],), np.arange(1.0, 11.0), np.ones((10, 1), dtype=bool))
    parts = list(halves(rows, 2, np.random.default_rng(0)))
    assert [len(part.weight) for part in parts] == [5, 5, 5, 5]
    for first, second in (parts[:2], parts[2:]):
        assert sorted([*first.views[0][:, 0], *second.views[0][:, 0]]) == list(range(10))
        assert np.array_equal(first.weight, first.views[0][:, 0] + 1)
    assert not np.array_equal(parts[0].weight, parts[2].weight)


def test_agreement_is_over_all_pairs_of_halves():
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    mean = agreements([[a, a], [a, b], [a, a]], np.ones(4))
    assert mean[0] == 1
    assert mean[1] == pytest.approx((1 + 2 * agreement(a, b, np.ones(4))) / 3)


# the annealing


GROUPS = np.array([[0, 0, 0], [0, 1, 1], [0, 0, 0], [0, 1, 1], [0, 1, 2]])
EXPONENTS = -np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def test_stretches_lie_between_the_last_times_together():
    assert joined(GROUPS, EXPONENTS)[:, 2].tolist() == [1 / 8, 1 / 4]
    found = stretches(GROUPS, EXPONENTS, [1, 2, 3, 4])
    assert np.allclose(found[:2], [np.log(4), np.log(2)])
    assert np.all(np.isnan(found[2:]))


def test_clusters_that_never_part_stay_to_the_end():
    together = stretches(GROUPS[:4], EXPONENTS[:4], [1, 2])
    assert np.allclose(together, [np.log(4), np.log(2)])


def test_the_slow_annealing_begins_together_and_rests_at_the_clusters():
    X, _ = blobs(4, 10, 40, 1.0)
    s, groups, _ = slow_annealing(task_on(X, k=7, feature_map="identity"))
    assert len(np.unique(groups[5])) == 1
    assert len(np.unique(groups[-1])) == 7
    assert np.all(np.diff(s) <= 0)
    assert np.nanargmax(stretches(groups, s, list(range(1, 8)))[1:]) == 2


# the rule


def criteria(gap, stability=1.0, deviation=0.005):
    numbers = list(range(1, len(gap) + 1))
    flat = np.ones(len(gap))
    shares = 1 / np.array(numbers)
    noise = shares * np.exp(gap)
    spread = (2 * deviation, deviation)
    return Criteria(numbers, shares, noise, np.array(gap), *spread, stability * flat, 0.5 * flat, 0 * flat)


def test_the_gap_and_what_it_is_for_noise():
    noise = np.array([[1.0, 0.5, 0.25], [1.0, 0.6, 0.25], [1.0, 0.4, 0.25]])
    gap = gaps(np.array([1.0, 0.25, 0.1]), noise)
    assert gap[0] == 0
    assert gap[1] == pytest.approx(np.mean(np.log(noise[:, 1])) - np.log(0.25))
    expected = np.sqrt(np.var(np.log(noise[:, 1]), ddof=1) * 4 / 3)
    assert deviations([1, 2, 3], noise) == pytest.approx((expected, expected))
    slope = np.exp(np.array([[0, 0.1, 0.2], [0, -0.1, -0.2]]))
    assert deviations([1, 2, 3], slope) == pytest.approx((np.sqrt(0.02 * 3 / 2), 0))


def test_the_bend_is_measured_from_the_straight_line():
    assert np.allclose(bends([1, 2, 3], np.array([0.0, 0.5, 1.0])), 0)
    assert np.allclose(bends([1, 2, 3, 4, 5], np.array([0, 1, 1, 1, 1.0])), [0, 0.75, 0.5, 0.25, 0])


def test_the_largest_bend_is_chosen_where_noise_is_beaten():
    k, reason = by_cost(criteria([0, 0.2, 0.6, 0.65, 0.7, 0.75]))
    assert k == 3
    assert "Finer clusters beat noise by more" in reason
    assert "the annealing rests at no number of groups" in reason
    assert by_cost(criteria([0, 0.2, 0.6, 0.55, 0.5, 0.45]))[1].count("Finer") == 0


def test_stability_weighs_the_bend():
    gap = [0, 0.1, 0.5, 0.65, 0.6, 0.5]
    assert by_cost(criteria(gap))[0] == 4
    stability = np.array([1, 1, 1, 0.4, 0.4, 0.4])
    assert by_cost(criteria(gap, stability))[0] == 3


def test_both_ends_of_the_range_can_be_chosen():
    assert by_cost(criteria([0, 0.9, 0.5, 0.4, 0.3]))[0] == 2
    k, reason = by_cost(criteria([0, 0.1, 0.2, 0.9, 0.8]))
    assert k == 4
    assert "It is the end of the range: a larger k_max tells" in reason


def test_what_noise_varies_by_does_not_count():
    k, reason = by_cost(criteria([0, 0.02, 0.03, 0.02, 0.01]))
    assert k == 1
    assert reason.startswith("No number of clusters from 2 to 4 stands out: what they explain of the data beyond")
    assert "This compares numbers of clusters; whether those of one number are apart" in reason
    assert by_cost(criteria([0, 0.02, 0.03, 0.02, 0.01], deviation=0.001))[0] == 3
    assert by_cost(criteria([0, -0.5, -0.3, -0.8, -0.9]))[0] == 1


def test_an_advantage_that_only_grows_marks_no_number():
    k, reason = by_cost(criteria([0, 0.1, 0.2, 0.3, 0.4]))
    assert k == 1
    assert "the advantage is largest at the end of the range and still grows: try a larger k_max" in reason


def test_clusters_that_do_not_come_back_mark_no_number():
    bend = [0, 0.2, 0.6, 0.5, 0.4]
    assert by_cost(criteria(bend, 0.5))[0] == 3
    k, reason = by_cost(criteria(bend, 0.49))
    assert k == 1
    assert "clusters that explain more of the data than of noise do not come back under resampling" in reason
    assert by_cost(criteria(bend, np.array([1, 1, 0.4, 1, 1])))[0] == 4  # the next best that does


def test_of_a_single_number_nothing_is_compared():
    k, reason = by_cost(criteria([0, 0.9, 0.5]))
    assert k == 2
    assert "silhouette" not in reason
    assert "range" not in reason
    assert "one more or less" in by_cost(criteria([0, 0.2, 0.4]))[1]


# sentences by what has to hold for each to be true
TRUE_IF = {
    "they explain no more of the data than of noise": lambda c, at: np.max(c.gap[1:-1]) <= 0,
    "may be chance": lambda c, at: 0 < np.max(c.gap[1:-1]) <= 5 * c.gap_deviation,
    "they explain more of the data than of noise": lambda c, at: np.max(c.gap[1:-1]) > 5 * c.gap_deviation,
    "do not come back": lambda c, at: np.max(c.stability[c.clear]) < 0.5,
    "still grows": lambda c, at: c.gap[-1] > c.gap[-2] == np.max(c.gap[1:-1]),
    "beyond it more clusters gain little": lambda c, at: (
        at < len(c.gap) - 2 and np.max(c.gap[at + 1 : -1]) <= c.gap[at] + 5 * c.gap_deviation
    ),
    "a larger k_max tells": lambda c, at: at == len(c.gap) - 2,
    "Finer clusters beat noise by more": lambda c, at: (
        np.max(c.gap[at + 1 : -1]) > c.gap[at] + 5 * c.gap_deviation
    ),
}
# of each line one sentence is said, and of the last two at most one
ONE_OF = [
    (
        "they explain no more of the data than of noise",
        "may be chance",
        "they explain more of the data than of noise",
    ),
    ("beyond it more clusters gain little", "a larger k_max tells", "Finer clusters beat noise by more"),
]


@pytest.mark.parametrize(
    "gap",
    [
        [0, -0.1, -0.2, -0.3, -0.4],  # below noise
        [0, 0.01, 0.03, 0.02, 0.01],  # above it, by chance
        [0, 0.1, 0.2, 0.3, 0.4],  # grows to the end and beyond
        [0.4, 0.3, 0.2, 0.1, 0.0],  # falls
        [0.2, 0.1, 0.15, 0.2, 0.2],  # highest at the end, and no more beyond
        [0, 0.2, 0.6, 0.67, 0.7],  # a bend, and finer structure
        [0, 0.2, 0.9, 0.4, 0.95, 0.3, 0.2],  # ... that ends within the range
        [0, 0.1, 0.2, 0.9, 0.8],  # a bend at the end
        [0, 0.9, 0.5, 0.4, 0.3],  # and at the beginning
        [0, 0.9, 0.5],  # one number that stands out
        [0, -0.1, -0.2],  # and one that does not
    ],
)
def test_what_is_said_holds_and_excludes_nothing_else_that_is_said(gap):
    stability = np.linspace(0.2, 0.9, len(gap))
    c = criteria(gap, stability)
    k, reason = by_cost(c)
    at = c.numbers.index(k)
    said = [sentence for sentence in TRUE_IF if sentence in reason]
    assert [sentence for sentence in said if not TRUE_IF[sentence](c, at)] == []
    if k == 1 or len(gap) > 3:
        assert sum(sentence in reason for sentence in ONE_OF[k > 1]) == 1
    assert ("stands out" in reason or "do not stand out" in reason) == (k == 1)
    if k == 1 and len(gap) > 3:
        assert f"k={c.numbers[-2]} is the most stable: its clusters come back with" in reason
        assert f"{stability[-2]:.3f}. This compares" in reason
