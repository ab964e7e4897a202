"""The study of the defaults: its rule on hand-made results, its levels, and a run on tiny data."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks import report
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Store
from benchmarks.study import factors, families, fits, rule, run
from benchmarks.study import page as pages
from benchmarks.study.factors import BEFORE, FACTORS
from benchmarks.study.sets import BUNDLED, CHOSEN_ON, CONFIRMED_ON, DRAWN, SIDES, StudySet, find_set, load


def rows(acc, nmi=None, seconds=1.0):
    return [{"ACC": acc, "NMI": acc if nmi is None else nmi, "cpu_seconds": seconds}]


def ranked(results, kinds):
    return {standing.level: standing for standing in rule.standings(results, kinds)}


def test_ranks_are_averaged_over_scores_and_halves():
    kinds = {"a": "synthetic", "b": "synthetic", "c": "real"}
    results = {
        "x": {"a": rows(0.9, 0.5), "b": rows(0.9), "c": rows(0.2)},
        "y": {"a": rows(0.8, 0.6), "b": rows(0.8), "c": rows(0.3)},
    }
    found = ranked(results, kinds)
    # x: synthetic ranks 1, 2, 1, 1 and real ranks 2, 2
    assert found["x"].rank == pytest.approx((5 / 4 + 2) / 2)
    assert found["y"].rank == pytest.approx((7 / 4 + 1) / 2)
    assert rule.best(found.values()) == ["y"]


def test_equal_means_share_their_ranks_and_time_breaks_the_tie():
    results = {"slow": {"a": rows(0.9001, seconds=3.0)}, "quick": {"a": rows(0.8999, seconds=1.0)}}
    found = ranked(results, {"a": "real"})
    assert found["slow"].rank == found["quick"].rank == 1.5
    assert found["slow"].seconds == pytest.approx(3.0)
    assert rule.best(found.values(), 2) == ["quick", "slow"]


def test_what_did_not_run_everywhere_cannot_win():
    failed = [{"error": "not attempted"}]
    results = {"best": {"a": rows(1.0), "b": failed}, "other": {"a": rows(0.1), "b": rows(0.1)}}
    found = ranked(results, {"a": "real", "b": "real"})
    assert not found["best"].complete
    assert np.isnan(found["best"].rank)
    assert rule.best(found.values(), 2) == ["other"]


def test_what_does_great_harm_on_one_set_cannot_win():
    results = {"stands": {"a": rows(0.9), "b": rows(0.5)}, "bold": {"a": rows(0.7), "b": rows(0.9)}}
    found = rule.standings(results, {"a": "real", "b": "real"}, "stands")
    assert [standing.harm for standing in found] == [0.0, pytest.approx(0.2)]
    assert rule.best(found, 2) == ["stands"]


def test_every_constant_of_a_level_is_one_of_the_library_and_is_put_back():
    named = {name for levels in FACTORS.values() for level in levels.values() for name in level.constants}
    assert len(named) >= 4
    for name in named:
        module, _, attribute = name.rpartition(".")
        before = getattr(importlib.import_module(module), attribute)
        with factors.set_constants({name: -1.0}):
            assert getattr(importlib.import_module(module), attribute) == -1.0
        assert getattr(importlib.import_module(module), attribute) == before


def test_no_set_is_on_both_sides():
    chosen, confirmed = ({data.name for data in side} for side in (CHOSEN_ON, CONFIRMED_ON))
    assert not chosen & confirmed
    assert {"handwritten", "HW2", "Caltech101-7", "LGG", "CIFAR10, part 0", *families.FAMILIES} == chosen
    assert {
        "100leaves",
        "Yale",
        "Caltech101-20",
        "Caltech101-33",
        "CIFAR10, part 1",
        "CIFAR10, part 2",
    } <= confirmed


def test_no_later_set_is_on_both_sides_and_no_draw_has_changed():
    assert len({data.name for side in SIDES.values() for data in side}) == sum(map(len, SIDES.values()))
    assert {data.name for side in SIDES.values() for data in side} >= {*DRAWN, *BUNDLED, "CESC"}
    assert list(DRAWN)[: len(families.FAMILIES)] == list(families.FAMILIES)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_are_the_same_for_every_seed(name):
    views, y = load(name, Path(), 0, find_set(name).inputs)
    again, _ = load(name, Path(), 1, find_set(name).inputs)
    assert np.array_equal(views[0], again[0])
    assert views[0].shape[0] == len(y)


@pytest.mark.parametrize("name", DRAWN)
def test_families_are_draws(name):
    views, y = load(name, Path(), 0, "standardised")
    again, _ = load(name, Path(), 0, "standardised")
    other, _ = load(name, Path(), 1, "standardised")
    assert all(len(view) == len(y) for view in views)
    assert np.array_equal(views[0], again[0])
    assert not np.array_equal(views[0], other[0])
    assert abs(float(np.mean(views[0]))) < 1e-4


def test_a_choice_says_all_that_matters():
    assert factors.text_of(BEFORE) == "before"
    changed = BEFORE | {"map": "nystroem 500", "bandwidth": "0.5 median"}
    assert factors.text_of(changed) == "map: nystroem 500; bandwidth: 0.5 median"
    views = [np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)]
    parameters = factors.parameters(changed, views, 5)
    assert parameters["n_components"] == 500
    assert parameters["feature_map"] == "nystroem"
    median = factors.parameters(BEFORE | {"bandwidth": "1.4 median"}, views, 5)["bandwidth"]
    assert median == pytest.approx(2.8 * parameters["bandwidth"])


def test_local_kernels_are_positive_semi_definite():
    kernel = factors.local_kernel(np.random.default_rng(0).normal(size=(40, 2)))
    assert np.min(np.linalg.eigvalsh(kernel)) > -1e-10


def test_a_study_of_two_small_sets_and_again_from_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    small = {"map": ("rff D", "nystroem 2D"), "start": ("0.9", "1.2")}
    few = {factor: {level: FACTORS[factor][level] for level in levels} for factor, levels in small.items()}
    monkeypatch.setattr(run, "FACTORS", few)
    sets = (StudySet("moons", False, scan_seeds=1, seeds=2), StudySet("spoilt views", True, scan_seeds=1, seeds=2))
    with Pool(partial(fits.measure, folder=tmp_path), lambda: None, 0) as pool:
        study = run.Study(Store("study", fits.KEYS), pool, sets)
        settled, final, choice = study.choose()
    assert [found.factor for found in settled] == ["map", "start"]
    assert choice["map"] in few["map"]
    again = run.Study(Store("study", fits.KEYS), None, sets)
    assert again.choose() == (settled, final, choice)
    monkeypatch.setattr(run, "PEERS", ())
    sides = {"chosen on": (again.beside({"before": BEFORE, "after": choice}, sets, ""), sets)}
    text = pages.page(settled, final, choice, sides)
    assert "### start" in text
    assert "ours, defaults now" in text
    assert "nan" not in text


def test_fewer_rivals_are_no_advantage():
    side = (StudySet("a", False), StudySet("b", False))
    made = {
        "x": [{"data": "a", "ACC": 0.9}, {"data": "b", "ACC": 0.1}],
        "y": [{"data": "a", "ACC": 0.5}],
        "z": [{"data": "a", "ACC": 0.1}, {"data": "b", "ACC": 0.9}],
    }
    ranks = pages.mean_ranks(made, side, "ACC")
    assert ranks == {"x": (2.0, 2), "y": (2.0, 1), "z": (2.0, 2)}
