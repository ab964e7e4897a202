"""The statistics form a monoid, and do what they should under permutations."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import make_engine, make_problem, pass_over
from powerkmeans.types import Parameters

seeds = st.integers(0, 2**32 - 1)
memberships = st.sampled_from([("fuzzy", 2.0), ("possibilistic", 2.0), ("possibilistic", 1.4)])
exponents = st.sampled_from([-0.4, -2.0, -30.0, -np.inf])


def setting(seed, membership, n=50, k=4):
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(n, 3)), rng.normal(size=(n, 2))]
    problem = make_problem(views, *membership)
    parameters = Parameters(rng.normal(size=(k, 5)), np.array([0.3, 0.7]))
    return rng, views, rng.uniform(0.1, 3, n), problem, parameters


def assert_same(a, b):
    for field in fields(a):
        assert getattr(a, field.name) == pytest.approx(getattr(b, field.name), rel=1e-10, abs=1e-12), field.name


@given(seeds, memberships, exponents, st.integers(1, 49))
def test_sums_of_two_parts_add_up(seed, membership, s, cut):
    _, views, weight, problem, parameters = setting(seed, membership)
    whole = pass_over(make_engine(views, weight), problem)(parameters, s)
    first = pass_over(make_engine([v[:cut] for v in views], weight[:cut]), problem)(parameters, s)
    second = pass_over(make_engine([v[cut:] for v in views], weight[cut:]), problem)(parameters, s)
    assert_same(first + second, whole)


@given(seeds, memberships, exponents)
def test_weights_equal_repetition(seed, membership, s):
    rng, views, _, problem, parameters = setting(seed, membership)
    weight = rng.integers(0, 4, 50)
    weighted = pass_over(make_engine(views, weight.astype(float)), problem)(parameters, s)
    repeated = pass_over(make_engine([np.repeat(v, weight, axis=0) for v in views]), problem)(parameters, s)
    assert_same(weighted, repeated)


@given(seeds, memberships, exponents)
def test_order_of_rows_does_not_matter(seed, membership, s):
    rng, views, weight, problem, parameters = setting(seed, membership)
    order = rng.permutation(50)
    plain = pass_over(make_engine(views, weight), problem)(parameters, s)
    shuffled = pass_over(make_engine([v[order] for v in views], weight[order]), problem)(parameters, s)
    assert_same(plain, shuffled)


@given(seeds, memberships, exponents)
def test_order_of_clusters_and_features_is_carried_along(seed, membership, s):
    rng, views, weight, problem, parameters = setting(seed, membership)
    clusters, columns = rng.permutation(4), rng.permutation(3)
    plain = pass_over(make_engine(views, weight), problem)(parameters, s)
    both = np.concatenate([columns, [3, 4]])
    shuffled = pass_over(make_engine([views[0][:, columns], views[1]], weight), problem)(
        Parameters(parameters.centers[clusters][:, both], parameters.view_weights), s
    )
    assert shuffled.mass == pytest.approx(plain.mass[clusters])
    assert shuffled.moment == pytest.approx(plain.moment[clusters][:, both])
    assert shuffled.loss == pytest.approx(plain.loss)
