"""What is told of samples and of views, written out sample by sample; some samples lack a view."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers import make_present, make_problem
from oracle import power_mean_gradient, squared_distance, typicality
from powerkmeans.objective import block as blocks
from powerkmeans.objective import evidence
from powerkmeans.types import Block, Parameters

S, M = -2.5, 1.7
ALPHA = np.array([0.35, 0.65])


def setting(membership="possibilistic", k=4, s=S):
    rng = np.random.default_rng(3)
    views = [rng.normal(size=(40, 3)), rng.normal(size=(40, 2))]
    present = make_present(40, 2, rng, 0.4)
    views = [view * present[:, [index]] for index, view in enumerate(views)]
    problem = make_problem(views, membership, M, reference=[2.0, 1.5])
    parameters = Parameters(rng.normal(size=(k, 5)), ALPHA)
    norms = tuple(np.vecdot(view, view) for view in views)
    block = Block(0, tuple(views), norms, rng.uniform(0.5, 2, 40), present.T)
    return block, blocks.prepare(parameters, s, problem, np.dtype(float)), parameters.centers, problem


def literal(block, centers, problem):
    """For each sample: plain distances by view and cluster, cover by view, distances over views, reference."""
    told = []
    for i in range(40):
        has = [bool(block.present[view, i]) for view in range(2)]
        cover = [2 * has[view] / sum(has) for view in range(2)]
        plain = [
            [squared_distance(block.views[v][i], center[part]) for center in centers]
            for v, part in enumerate(problem.view_slices)
        ]
        total = [sum(ALPHA[v] * cover[v] * plain[v][j] for v in range(2)) for j in range(len(centers))]
        eta = sum(ALPHA[v] * cover[v] * problem.reference_distance[v] for v in range(2))
        told.append((has, cover, plain, total, eta))
    return told


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_labels_memberships_distances_and_typicality(membership):
    block, inputs, centers, problem = setting(membership)
    samples = literal(block, centers, problem)
    degrees = [
        [1.0 if membership == "fuzzy" else typicality(d, eta, M) for d in total] for *_, total, eta in samples
    ]
    pulls = []
    for u, (*_, total, eta) in zip(degrees, samples, strict=True):
        y = [u_j**M * d + (1 - u_j) ** M * eta for u_j, d in zip(u, total, strict=True)]
        g = [w * u_j**M for w, u_j in zip(power_mean_gradient(y, S), u, strict=True)]
        pulls.append([one / sum(g) for one in g])
    distances = np.array([total for *_, total, _ in samples])
    labels = np.argmin(distances, axis=1)
    assert np.array_equal(blocks.block_labels(block, inputs), labels)
    assert blocks.block_distances(block, inputs) == pytest.approx(np.sqrt(distances))
    assert blocks.block_probabilities(block, inputs) == pytest.approx(np.array(pulls))
    assert blocks.block_typicality(block, inputs) == pytest.approx(np.max(degrees, axis=1))
    assert blocks.block_outlier_scores(block, inputs) == pytest.approx(1 - np.max(degrees, axis=1))
    both = np.stack([labels, np.array(pulls)[np.arange(40), labels]], axis=1)
    assert evidence.labels_and_probabilities(block, inputs) == pytest.approx(both)


@pytest.mark.parametrize("k", [1, 4])
def test_what_each_view_says_of_the_clusters(k):
    block, inputs, centers, problem = setting(k=k)
    names = ("count", "share", "within", "total", "agreement", "silhouette")
    sums = {name: [0.0, 0.0] for name in names}
    explained, shares = 0.0, np.zeros((40, 2))
    for i, (has, cover, plain, total, _) in enumerate(literal(block, centers, problem)):
        v, cluster = block.weight[i], int(np.argmin(total))
        lengths = [sum(x**2 for x in block.views[view][i]) for view in range(2)]
        explained += v * (sum(ALPHA[view] * cover[view] * lengths[view] for view in range(2)) - total[cluster])
        for view in range(2):
            own = plain[view][cluster]
            other = min([d for j, d in enumerate(plain[view]) if j != cluster], default=own)
            a, b = math.sqrt(own), math.sqrt(other)
            shares[i, view] = ALPHA[view] * cover[view] * own
            added = (1, 0, own, lengths[view], float(own <= other), (b - a) / max(a, b))
            for name, value in zip(names, added, strict=True):
                sums[name][view] += v * has[view] * value
            sums["share"][view] += v * shares[i, view]
    found = evidence.view_evidence(block, inputs)
    for name in names:
        assert getattr(found, name) == pytest.approx(np.array(sums[name])), name
    assert float(evidence.explained_scatter(block, inputs).value) == pytest.approx(explained)
    assert evidence.view_shares(block, inputs) == pytest.approx(shares)


def test_a_sample_on_its_centroid_and_on_another_has_no_margin():
    at = np.array([0.0, 0.0, 4.0, 1.0])
    found = evidence._margin(at, np.array([0.0, 4.0, 1.0, 1.0]), np)
    assert found.tolist() == [0.0, 1.0, -0.5, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_a_pass_keep_two_thirds_of_their_digits(dtype):
    rng = np.random.default_rng(0)
    rows = (1e4 + rng.normal(size=(20, 6))).astype(dtype)
    centers = np.concatenate([rows[:3], rows[3:6] + dtype(0.5)])
    problem = make_problem([rows.astype(np.float64)])
    inputs = blocks.prepare(Parameters(centers.astype(np.float64), np.ones(1)), -3.0, problem, np.dtype(dtype))
    block = Block(0, (rows,), (np.vecdot(rows, rows),), np.ones(20, dtype))
    exact = np.sum((rows.astype(np.longdouble)[:, None] - centers.astype(np.longdouble)) ** 2, axis=2)
    found = blocks.block_distances(block, inputs).astype(np.longdouble) ** 2
    assert np.all(found[[0, 1, 2], [0, 1, 2]] == 0)
    assert np.all(np.abs(found - exact) <= 10 * np.finfo(dtype).eps ** (2 / 3) * exact)


STEEP = [(9, -1.0, None), (10, -1.0, 1 / 8), (2, -0.99, 1 / 8), (65, -2.0, None), (66, -2.0, 1 / 8)]


@pytest.mark.parametrize(("k", "s", "share"), STEEP)
def test_where_pulls_would_multiply_rounding_differences_are_taken_sooner(k, s, share):
    inputs = setting(k=k, s=s)[1]
    assert inputs.resolution == pytest.approx(np.finfo(float).eps ** (1 / 3) if share is None else share)
