"""The critical exponent: predicted growth against the measured one, and what a start there is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import blobs, make_present, make_views
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, critical_exponent
from powerkmeans.fitting import collapse as collapse_module
from powerkmeans.fitting.collapse import Collapse, find_collapse
from powerkmeans.fitting.problem import make_task
from powerkmeans.fitting.starts import Start, place
from powerkmeans.inputs.settings import check_settings
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.objective.updates import updated
from powerkmeans.solver.critical import growth_rate
from powerkmeans.solver.schedules import Geometric
from powerkmeans.types import Parameters


def task_on(X, weight=None, **parameters):
    parameters = {"feature_map": "nystroem"} | parameters
    settings = check_settings(KernelPowerKMeans(4, **parameters).get_params())
    weight = np.ones(len(X)) if weight is None else weight
    return make_task(make_views([X], weight), settings, seed=0)


def measured_growth(task, collapse, s):
    """Displace four centroids along the most unstable direction and see what one iteration makes of it."""
    matrix = (1 - s) * collapse.sharp + collapse.flat
    direction = np.linalg.eigh(matrix)[1][:, -1]
    direction = direction if collapse.basis is None else collapse.basis @ direction
    signs = 1e-5 * np.sqrt(task.problem.scatter[0]) * np.array([1.0, -1.0, 2.0, -2.0])
    offset = signs[:, None] * direction / collapse.column_scale
    start = Parameters(collapse.point + offset, collapse.view_weights)
    moved = updated(start, task.run_pass(start, s), task.problem)
    return float(np.mean((moved.centers - collapse.point) * collapse.column_scale @ direction / signs))


@pytest.mark.parametrize("s", [-0.5, -1.0, -2.0, -4.0, -8.0])
@pytest.mark.parametrize("feature_map", ["rff", "identity"])
@pytest.mark.parametrize(
    ("membership", "fuzziness"), [("fuzzy", 2.0), ("possibilistic", 2.0), ("possibilistic", 1.5)]
)
def test_growth_is_as_predicted(s, feature_map, membership, fuzziness):
    X, _ = blobs(4, 8, 60, 2.0)
    weight = np.random.default_rng(0).uniform(0.2, 2, len(X))
    task = task_on(X, weight, feature_map=feature_map, membership=membership, fuzziness=fuzziness)
    collapse = find_collapse(task)
    predicted = growth_rate(s, collapse.sharp, collapse.flat)
    assert measured_growth(task, collapse, s) == pytest.approx(predicted, rel=0.01)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("scaling", ["scatter", None])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_growth_with_several_views_and_missing_ones(missing, scaling, membership):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 60)
    arrays = [rng.normal(0, 2, (4, d))[y] + rng.normal(size=(240, d)) for d in (8, 3, 12)]
    present = make_present(240, 3, rng, missing) if missing else None
    estimator = MultiViewPowerKMeans(4, membership=membership, view_scaling=scaling, feature_map="identity")
    settings = check_settings(estimator.get_params(), several_views=True)
    task = make_task(make_views(arrays, rng.uniform(0.2, 2, 240), present), settings, seed=0)
    collapse = find_collapse(task)
    for s in (-0.5, -2.0, -8.0):
        predicted = growth_rate(s, collapse.sharp, collapse.flat)
        assert measured_growth(task, collapse, s) == pytest.approx(predicted, rel=0.01)


@pytest.mark.parametrize(
    ("membership", "fuzziness"), [("fuzzy", 2.0), ("possibilistic", 2.0), ("possibilistic", 3.0)]
)
def test_growth_is_one_at_the_critical_exponent(membership, fuzziness):
    task = task_on(blobs(4, 8, 60, 2.0)[0], membership=membership, fuzziness=fuzziness)
    collapse = find_collapse(task)
    assert collapse.critical < 0
    assert measured_growth(task, collapse, collapse.critical) == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_leading_subspace_agrees_with_whole_moments(membership, monkeypatch):
    task = task_on(blobs(4, 8, 100, 2.0)[0], membership=membership, n_components=100)
    whole = find_collapse(task)
    monkeypatch.setattr(collapse_module, "FULL_MOMENTS", 99)
    leading = find_collapse(task)
    assert leading.basis is not None
    assert leading.critical == pytest.approx(whole.critical, rel=1e-3)
    values, vectors = whole.leading(3)
    other_values, other_vectors = leading.leading(3)
    assert other_values == pytest.approx(values, rel=1e-3)
    assert np.abs(np.sum(vectors * other_vectors, axis=0)) == pytest.approx(1.0, abs=1e-2)


def test_public_function_is_the_closed_form():
    X = np.random.default_rng(0).normal(size=(300, 12)) * np.linspace(1, 2, 12)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    z = X - np.average(X, axis=0, weights=weight)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    largest = np.linalg.eigvalsh((weight[:, None] * z).T @ z / weight.sum())[-1]
    found = critical_exponent(X, sample_weight=weight)
    assert found == pytest.approx(1 - 1 / (2 * largest))
    assert critical_exponent(X.astype(np.float32), sample_weight=weight) == pytest.approx(found, rel=1e-4)
    assert critical_exponent(X, membership="possibilistic") < 0


@pytest.mark.parametrize("n_columns", [1, 2])
def test_lines_and_planes_have_none(n_columns):
    X = np.random.default_rng(0).normal(size=(100, n_columns))
    assert critical_exponent(X) == 0.0
    model = KernelPowerKMeans(3, feature_map="identity", init="cloud", random_state=0).fit(X)
    assert model.s_init_ == -0.5


def test_auto_does_not_collapse_on_narrow_kernels_where_minus_five_does():
    accuracies = []
    for seed in range(3):
        X, y = blobs(4, 10, 60, 1.0, seed=seed)
        X = X / np.std(X)
        settings = {"feature_map": "rff", "bandwidth": 0.5, "n_components": 300, "random_state": 0}
        with pytest.warns(ConvergenceWarning, match="All 4 centroids collapsed into one"):
            fixed = KernelPowerKMeans(4, s_init=-5.0, **settings).fit(X)
        assert len(np.unique(fixed.labels_)) == 1
        auto = KernelPowerKMeans(4, **settings).fit(X)
        assert auto.critical_exponent_ < -10
        assert len(np.unique(auto.labels_)) == 4
        accuracies.append(clustering_accuracy(y, auto.labels_))
    assert np.mean(accuracies) > 0.8


def test_the_start_of_the_history_is_the_multiple_of_the_critical_exponent():
    X, _ = blobs(4, 8, 60, 2.0)
    model = KernelPowerKMeans(4, random_state=0).fit(X)
    starts = {r["init"]: r["s_init"] for r in model.restarts_}
    assert starts["cloud"] == pytest.approx(min(0.8 * model.critical_exponent_, -0.5))
    assert starts["k-means++"] == pytest.approx(min(1.2 * model.critical_exponent_, -0.5))


def test_flat_spectra_beyond_whole_moments():
    X = np.random.default_rng(0).normal(size=(1200, 520))
    z = X - X.mean(axis=0)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    expected = 1 - 1 / (2 * np.linalg.eigvalsh(z.T @ z / len(z))[-1])
    assert critical_exponent(X) == pytest.approx(expected, rel=0.005)


def test_signs_of_directions_follow_a_fixed_vector():
    rng = np.random.default_rng(3)
    generic = np.random.default_rng(0).standard_normal(30)
    ones = np.ones(30)
    for _ in range(5):
        root = rng.normal(size=(30, 30))
        collapse = Collapse(ones, ones[:1], ones, generic, root @ root.T, np.eye(30), np.zeros((30, 30)), None)
        values, vectors = collapse.leading(10)
        assert np.all(np.diff(values) <= 0)
        assert np.all(generic @ vectors > 0)
        assert root @ root.T @ vectors == pytest.approx(vectors * values)


def test_the_cloud_is_a_tenth_of_the_spread():
    X = np.random.default_rng(0).normal(size=(400, 6)) * [4, 3, 2, 1, 1, 1]
    task = task_on(X, feature_map="identity")
    task = replace(task, settings=replace(task.settings, n_clusters=400))
    start = place(Start("cloud", -1.0, Geometric(-1.0)), task, find_collapse(task), np.random.default_rng(0))
    assert np.std(start.centers, axis=0) == pytest.approx(0.1 * np.std(X, axis=0), rel=0.2)


def test_runs_wait_past_the_critical_exponent():
    X, _ = blobs(4, 8, 60, 4.0)
    model = KernelPowerKMeans(4, random_state=0, tol=1e3).fit(X)
    for restart in model.restarts_:
        assert restart["s"] <= 1.5 * model.critical_exponent_


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize(("n", "rank"), [(20, 20), (100, 100), (300, 3)])
def test_few_rows_or_directions_in_many_columns(n, rank, membership, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 700)) if rank < n else rng.normal(size=(n, 700))
    found = critical_exponent(X, membership=membership)
    assert critical_exponent(X[::-1].copy(), membership=membership) == pytest.approx(found, rel=1e-6, abs=1e-9)
    monkeypatch.setattr(collapse_module, "FULL_MOMENTS", 1000)
    assert found == pytest.approx(critical_exponent(X, membership=membership), rel=1e-5, abs=1e-6)
