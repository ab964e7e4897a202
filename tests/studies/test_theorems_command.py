from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import report
from benchmarks.theorems import __main__ as command
from benchmarks.theorems import (
    consistency,
    descent,
    every_partition,
    excess_risk,
    page,
    partitions,
    relative_error,
)
from benchmarks.theorems.costs import (
    cluster_rows,
    cost_ratios,
    frequencies,
    frequency_costs,
    kernel_gaps,
    partition_cost,
    whole_size,
)
from benchmarks.theorems.population import Population, features_gram, minimiser, shares
from benchmarks.theorems.sets import Plan, line, standardised, twins
from benchmarks.theorems.verdicts import (
    Outcome,
    Share,
    Slope,
    Statement,
    Table,
    Verdict,
    all_hold,
    approach_verdict,
    fit_slope,
    most_verdict,
    rate_verdict,
    share_verdict,
)
from scipy.special import stirling2

from oracle import fourier_features, power_mean, squared_distance
from powerkmeans import suggest_n_components

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(20, 3))
LABELS = np.concatenate([np.arange(4), RNG.integers(4, size=16)])
BANDWIDTH = 1.7


def kernel_by_hand(x, y, bandwidth=BANDWIDTH):
    return math.exp(-squared_distance(x, y) / (2 * bandwidth**2))


def kernel_cost_by_hand(rows, labels):
    """sum_x ||phi(x) - mean||^2 by the kernel trick, sample by sample."""
    total = 0.0
    for i in range(len(rows)):
        mates = [j for j in range(len(rows)) if labels[j] == labels[i]]
        cross = sum(kernel_by_hand(rows[i], rows[j]) for j in mates) / len(mates)
        own = sum(kernel_by_hand(rows[a], rows[b]) for a in mates for b in mates) / len(mates) ** 2
        total += kernel_by_hand(rows[i], rows[i]) - 2 * cross + own
    return total


def feature_cost_by_hand(rows, labels, omega):
    """The definition: squared distances of mapped rows to the mean of their cluster."""
    phi = fourier_features(rows, omega)
    centers = {
        label: np.mean([phi[i] for i in range(len(rows)) if labels[i] == label], axis=0) for label in labels
    }
    return sum(squared_distance(phi[i], centers[labels[i]]) for i in range(len(rows)))


def test_partition_costs_are_those_of_the_definition():
    assert partition_cost(kernel_gaps(ROWS, BANDWIDTH), LABELS) == pytest.approx(kernel_cost_by_hand(ROWS, LABELS))
    omega = frequencies("rff", 3, 9, np.random.default_rng(1)) / BANDWIDTH
    other = np.arange(20) % 3
    costs = frequency_costs(ROWS, omega, cluster_rows([LABELS, other]))
    for place, labels in enumerate((LABELS, other)):
        for size in (1, 4, 9):
            by_hand = feature_cost_by_hand(ROWS, labels, omega[:, :size])
            assert np.mean(costs[place, :size]) == pytest.approx(by_hand)


def test_ratios_are_costs_in_the_first_frequencies_over_the_exact_one():
    draws = [frequencies(name, 3, 12, np.random.default_rng(2)) / BANDWIDTH for name in ("rff", "orf")]
    exact = np.array([kernel_cost_by_hand(ROWS, LABELS)])
    ratios = cost_ratios(ROWS, iter(draws), [LABELS], exact, [2, 12])
    for draw, omega in enumerate(draws):
        for place, size in enumerate((2, 12)):
            by_hand = feature_cost_by_hand(ROWS, LABELS, omega[:, :size]) / exact[0]
            assert ratios[draw, place, 0] == pytest.approx(by_hand)


def test_costs_near_zero_keep_their_digits():
    """Of two rows at distance r the ratio is mean((omega.u)^2) up to r^2, however small the cost."""
    rows, direction = np.array([[0.3, 0.1], [0.3 + 6e-5, 0.1 + 8e-5]]), np.array([0.6, 0.8])
    omega = frequencies("rff", 2, 7, np.random.default_rng(3))
    exact = np.array([partition_cost(kernel_gaps(rows, 1.0), np.zeros(2, dtype=int))])
    ratio = cost_ratios(rows, iter([omega]), [np.zeros(2, dtype=int)], exact, [7])
    assert ratio[0, 0, 0] == pytest.approx(np.mean((direction @ omega) ** 2), rel=1e-5)


def test_no_partition_has_more_than_twice_the_variance_over_d():
    data = line()
    (row, *_) = relative_error.measure_setting(
        replace(relative_error.setting(data, "flat", "rff"), sizes=(11, 43, 108, 431)),
        400,
        np.random.default_rng(0),
    )
    assert row["variance"] == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 2), (6, 3), (7, 6), (5, 5)])
def test_all_partitions_are_all_and_each_once(n, k):
    found = [tuple(labels) for labels in partitions.all_partitions(n, k)]
    assert len(found) == len(set(found)) == stirling2(n, k, exact=True)
    assert all(len(set(labels)) == k for labels in found)


def test_weights_of_pairs_give_the_costs():
    few = ROWS[:6]
    gaps, every = kernel_gaps(few, BANDWIDTH), list(partitions.all_partitions(6, 3))
    costs = partitions.pair_weights(every) @ gaps[np.triu_indices(6, 1)]
    assert costs == pytest.approx([partition_cost(gaps, labels) for labels in every])


def test_worst_errors_are_those_of_the_worst_partition():
    rows = every_partition.Rows("six", ROWS[:6] / BANDWIDTH, 3)
    worst = every_partition.worst_errors(rows, "rbf", [5, 20], 3, np.random.default_rng(7))
    omega = frequencies("rff", 3, 20 * 3, np.random.default_rng(7)) / BANDWIDTH
    for draw in range(3):
        for place, size in enumerate((5, 20)):
            own = omega[:, 20 * draw : 20 * draw + size]
            ratios = [
                feature_cost_by_hand(ROWS[:6], labels, own) / kernel_cost_by_hand(ROWS[:6], labels)
                for labels in partitions.all_partitions(6, 3)
            ]
            assert worst[draw, place] == pytest.approx(max(abs(ratio - 1) for ratio in ratios))


def test_search_finds_the_most_extreme_partition():
    few = ROWS[:8]
    exact = kernel_gaps(few, BANDWIDTH)
    phase = few @ frequencies("rff", 3, 6, np.random.default_rng(5)) / BANDWIDTH
    random = 1 - (np.sin(phase) @ np.sin(phase).T + np.cos(phase) @ np.cos(phase).T) / 6
    every = list(partitions.all_partitions(8, 2))
    ratios = [partition_cost(random, labels) / partition_cost(exact, labels) for labels in every]
    for upwards, most in ((True, max(ratios)), (False, min(ratios))):
        ends = [partitions.extreme_ratio(exact, random, start, upwards=upwards) for start in every[:20]]
        assert (max(ends) if upwards else min(ends)) == pytest.approx(most)
    start = every[3]
    unmoved = partitions.extreme_ratio(exact, random, start, upwards=True, sweeps=0)
    assert unmoved == pytest.approx(partition_cost(random, start) / partition_cost(exact, start))


def test_blind_partitions_have_all_clusters_and_tiny_ones():
    data = twins()
    kinds = partitions.blind(data, np.random.default_rng(0))
    assert all(len(np.unique(labels)) == data.k for labels in kinds.values())
    assert np.bincount(kinds["single rows and the rest"]).tolist() == [1] * 4 + [196]
    assert np.bincount(kinds["pairs and the rest"]).tolist() == [2] * 4 + [192]


def test_the_smallest_size_that_does():
    errors = np.array([[0.9, 0.1, 0.6, 0.1], [0.9, 0.1, 0.1, 0.1]])
    assert relative_error.size_needed((1, 2, 3, 4), errors, 0.5, 0.4) == 4
    assert relative_error.size_needed((1, 2, 3, 4), errors, 0.5, 0.5) == 2
    assert relative_error.size_needed((1, 2, 3, 4), errors, 0.05, 0.5) is None


def test_sizes_of_the_theorems():
    assert whole_size(10, 0.5, 0.5) == math.ceil(4 * (math.log(20) ** 3 + math.log(2) ** 3 + 256))
    assert suggest_n_components(10, 0.5, 0.5) == 108
    assert excess_risk.size_asked(300, 2, 3) == math.ceil(200 * math.log(200))


def test_slope_of_a_power_law_and_its_error():
    n = np.array([32.0, 64, 128, 256, 512])
    exact = fit_slope(n, 3 * n**-0.7, 0.1 * n**-0.7)
    assert exact.slope == pytest.approx(-0.7)
    assert exact.at(n) == pytest.approx(3 * n**-0.7)
    u = np.log(n)
    assert exact.error == pytest.approx(0.1 / 3 / math.sqrt(np.sum((u - u.mean()) ** 2)))


def test_error_of_a_slope_covers_the_truth():
    rng, n, hits, slopes = np.random.default_rng(0), np.array([32.0, 64, 128, 256, 512, 1024]), 0, []
    for _ in range(400):
        draws = n[:, None] ** -0.5 * rng.exponential(size=(6, 30))
        slope = fit_slope(n, draws.mean(axis=1), draws.std(axis=1, ddof=1) / math.sqrt(30))
        hits += abs(slope.slope + 0.5) <= 2 * slope.error
        slopes.append((slope.slope, slope.error))
    found, errors = np.array(slopes).T
    assert 0.9 <= hits / 400 <= 0.995
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.35)


def test_scatter_about_the_line_counts_where_it_is_larger():
    n = [10.0, 100.0, 1000.0, 10000.0]
    assert fit_slope(n, [1.0, 1.0, 0.1, 0.1], [1e-6] * 4).error > 0.1


def test_shares_decide_only_where_the_interval_does():
    assert Share("", 60, 60, 0.9).bounds == pytest.approx((0.01 ** (1 / 60), 1.0))
    low, high = Share("", 45, 60, 0.5).bounds
    assert low < 0.75 < high
    assert Share("", 45, 60, 0.5).outcome is Outcome.HOLDS
    assert Share("", 20, 60, 0.5).outcome is Outcome.FAILS
    assert Share("", 0, 60, 0.5).outcome is Outcome.FAILS
    assert Share("", 31, 60, 0.5).outcome is Outcome.OPEN
    assert Share("", 10, 10, 0.9).outcome is Outcome.OPEN


def test_one_failure_fails_all_and_decides():
    good, bad, unclear = Share("good", 60, 60, 0.5), Share("bad", 5, 60, 0.5), Share("unclear", 30, 60, 0.5)
    assert share_verdict("x", [good]).outcome is Outcome.HOLDS
    failed = share_verdict("x", [good, unclear, bad])
    assert failed.outcome is Outcome.FAILS
    assert "1 of 3 cases; the worst, bad: 5 of 60 draws" in failed.number
    assert share_verdict("x", [bad]).number.startswith("bad: 5 of 60 draws within = 0.083")
    assert share_verdict("x", [good, unclear]).outcome is Outcome.OPEN
    assert share_verdict("x", []).outcome is Outcome.OPEN


def test_a_false_claim_does_not_hold():
    """Two frequencies do not keep costs within a tenth in nine of ten draws, and the verdict says so."""
    data = line()
    exact = np.array([partition_cost(kernel_gaps(data.X, data.median), data.y)])
    rng = np.random.default_rng(0)
    omegas = (frequencies("rff", 1, 2, rng) / data.median for _ in range(60))
    errors = np.abs(cost_ratios(data.X, omegas, [data.y], exact, [2]) - 1)
    verdict = share_verdict("too few", [Share("a line", int(np.sum(errors <= 0.1)), 60, 0.9)])
    assert verdict.outcome is Outcome.FAILS
    assert not all_hold([verdict])


@pytest.mark.parametrize(
    ("slope", "error", "outcome"),
    [
        (-1.0, 0.07, Outcome.HOLDS),
        (-1.0, 0.2, Outcome.HOLDS),
        (-0.45, 0.05, Outcome.HOLDS),
        (-0.45, 0.3, Outcome.OPEN),
        (-0.3, 0.05, Outcome.FAILS),
        (0.1, 0.2, Outcome.FAILS),
    ],
)
def test_rates(slope, error, outcome):
    assert rate_verdict("x", Slope(slope, error, 0.0), -0.5).outcome is outcome


def test_approach_asks_for_a_slope_and_for_half():
    assert approach_verdict("x", [1.0, 0.3], Slope(-0.5, 0.1, 0)).outcome is Outcome.HOLDS
    assert approach_verdict("x", [1.0, 0.6], Slope(-0.5, 0.1, 0)).outcome is Outcome.OPEN
    assert approach_verdict("x", [1.0, 0.3], Slope(-0.1, 0.1, 0)).outcome is Outcome.OPEN
    assert approach_verdict("x", [1.0, 2.0], Slope(0.5, 0.1, 0)).outcome is Outcome.FAILS


def test_only_verdicts_that_count_decide():
    good, bad = Verdict("a", Outcome.HOLDS, "1"), Verdict("b", Outcome.FAILS, "2", counts=False)
    assert all_hold([good, bad])
    assert str(bad) == "b: does not hold here (beyond what is claimed); 2"
    assert not all_hold([good, Verdict("c", Outcome.OPEN, "3")])
    assert most_verdict("x", 2.0, 1.0, "").outcome is Outcome.FAILS


def small_population():
    return Population("two", np.concatenate([ROWS, ROWS + 4]), 2)


def test_risks_are_those_of_the_definition():
    population, rows = small_population(), np.array([0, 3, 3, 25, 30])
    W = np.random.default_rng(0).dirichlet(np.ones(5), 2).T
    h = population.bandwidth
    total = {-2.0: 0.0, -np.inf: 0.0}
    for x in population.X:
        own = []
        for j in range(2):
            cross = sum(W[a, j] * kernel_by_hand(x, population.X[rows[a]], h) for a in range(5))
            within = sum(
                W[a, j] * W[b, j] * kernel_by_hand(population.X[rows[a]], population.X[rows[b]], h)
                for a in range(5)
                for b in range(5)
            )
            own.append(1 - 2 * cross + within)
        total[-2.0] += power_mean(own, -2.0)
        total[-np.inf] += min(own)
    for s, value in total.items():
        assert population.risk(rows, W, s) == pytest.approx(value / len(population.X))


def test_the_optimum_is_a_fixed_point_that_nothing_beats():
    population, everyone = small_population(), np.arange(40)
    W, risk = population.optimum(-3.0)
    assert np.sum(W, axis=0) == pytest.approx([1, 1])
    assert shares(population.distances(everyone, W), -3.0) == pytest.approx(W, abs=1e-6)
    target = excess_risk.Target.of(population, -3.0)
    assert target.excess(everyone, population.gram, 0) == pytest.approx(0, abs=1e-10)
    for seed in range(5):
        rows = np.random.default_rng(seed).integers(40, size=12)
        assert target.excess(rows, population.gram[np.ix_(rows, rows)], seed) > -1e-12
    other = np.random.default_rng(0).dirichlet(np.ones(40), 2).T
    assert population.risk(everyone, other, -3.0) > risk


def test_inner_products_of_features_approach_the_kernel():
    population = small_population()
    gram = features_gram(population.X, population.bandwidth, 3000, np.random.default_rng(0))
    assert np.diagonal(gram) == pytest.approx(np.ones(40))
    assert np.max(np.abs(gram - population.gram)) < 0.1
    W = minimiser(gram, 2, -5.0, ["k-means++"], [0])
    exact = population.optimum(-5.0)[0]
    assert min(consistency.column_distance(W, V) for V in (exact, exact[:, ::-1])) < 0.05


def test_distances_of_memberships():
    p = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert consistency.matched_distance(p, p[:, ::-1]) == 0
    assert consistency.matched_distance(p, np.array([[1.0, 0], [1.0, 0], [1.0, 0]])) == pytest.approx(0.5)
    assert consistency.column_distance(np.array([[1.0, 0.5], [0, 0.5]]), np.array([[0, 0.5], [1.0, 0.5]])) == 1


def test_descent_is_seen_and_so_is_a_rise():
    rng = np.random.default_rng(0)
    cases = [descent.random_case(rng) for _ in range(40)]
    assert {case.problem.membership.name for case in cases} == {"fuzzy", "possibilistic"}
    assert max(descent.largest_rise(case) for case in cases) <= descent.ROUNDING
    assert max(descent.largest_rise(case, step=descent.TOO_LONG) for case in cases) > 1e-3
    soft = [case for case in cases if case.problem.membership.name == "possibilistic"]
    assert max(descent.largest_rise(case, renew=descent.renewed) for case in soft) > 1e-3


def test_few_classes_are_numbered_anew():
    data = standardised("x", RNG.normal(size=(30, 2)), np.repeat([3, 7, 9], 10))
    assert data.k == 3
    assert sorted(set(data.y.tolist())) == [0, 1, 2]


def test_pages_keep_their_prose(tmp_path):
    statement = Statement("thing", "A thing", "it is", [Table("how |x|", ["a"], [["1 | 2"]])], [])
    path = tmp_path / "theorems.md"
    path.write_text(f"# Title\n\nbefore\n\n{page.section('thing', 'old')}\n\nafter\n")
    for _ in range(2):
        page.write_page(path, [statement])
    text = path.read_text()
    assert text.startswith("# Title\n\nbefore\n\n<!-- thing: begin")
    assert "old" not in text
    assert text.count("1 \\| 2") == 1
    assert text.index("1 \\| 2") < text.index("after") < text.index("<!-- verdicts: begin")


def test_quick_run_end_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("POWERKMEANS_DATA", str(tmp_path / "no such folder"))
    assert command.main(["--quick", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "Every verdict that counts holds." in told
    verdicts = [line for line in told.splitlines() if line.startswith("VERDICT")]
    assert any("k = 1: does not hold here (beyond what is claimed)" in line for line in verdicts)
    rows = [json.loads(line) for line in (tmp_path / "results" / "theorems_quick.jsonl").read_text().splitlines()]
    written = [row for row in rows[1:] if row["measured"] == "verdict"]
    assert {row["statement"] for row in written} == set(command.STATEMENTS)
    assert [f"VERDICT  {row['about']}: {row['outcome']}" for row in written] == [
        line.split(";")[0].removesuffix(" (beyond what is claimed)") for line in verdicts
    ]
    text = (tmp_path / "theorems.md").read_text()
    assert all(f"<!-- {name}: end -->" in text for name in command.STATEMENTS)
    pytest.importorskip("matplotlib")
    pictures = {f"theorem_{name}.png" for name in command.PICTURES}
    assert {path.name for path in tmp_path.glob("*.png")} == pictures
    assert command.main(["--quick", "--again", "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "theorems.md").read_text() == text
    assert {path.name for path in (tmp_path / "again").glob("*.png")} == pictures
    again = capsys.readouterr().out
    assert command.shortened({"a": [1.23456789, "b", 3]}) == {"a": [1.234568, "b", 3]}
    assert again.split("written to")[0].strip() == told.split("written to")[0].strip()


def test_a_verdict_that_fails_is_the_exit_code(monkeypatch, capsys):
    bad = Statement("descent", "t", "c", [], [Verdict("a", Outcome.FAILS, "1")])
    monkeypatch.setitem(command.STATEMENTS, "descent", (lambda plan: [], lambda rows: bad))
    assert command.main(["--quick", "--only", "descent"]) == 1
    assert "VERDICT  a: does not hold here; 1" in capsys.readouterr().out


def test_real_data_are_used_where_a_folder_is_named(tmp_path):
    from benchmarks.theorems.sets import data_sets

    for name, classes in (("HW2", 10), ("100leaves", 40)):
        y = np.repeat(np.arange(classes), 8)
        np.savez(tmp_path / f"{name}.npz", view_0=RNG.normal(size=(len(y), 4)), y=y)
    assert "HW2" not in {data.name for data in data_sets(Plan())}
    found = {data.name: data for data in data_sets(Plan(folder=tmp_path))}
    assert found["HW2"].k == 10
    assert found["100leaves"].k == 30
