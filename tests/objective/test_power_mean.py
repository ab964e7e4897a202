from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import power_mean as literal_mean
from oracle import power_mean_gradient as literal_gradient
from powerkmeans.objective.power_mean import power_mean

positive = st.floats(1e-3, 1e3)
values = st.lists(positive, min_size=1, max_size=8)
exponents = st.floats(-80, -0.05)


def column(y, dtype=np.float64):
    return np.array(y, dtype=dtype)[:, None]


@given(values, st.floats(-20, -0.05))
def test_matches_the_literal_form(y, s):
    mean, gradient = power_mean(column(y), s, np)
    assert mean[0] == pytest.approx(literal_mean(y, s), rel=1e-10)
    assert gradient[:, 0] == pytest.approx(literal_gradient(y, s), rel=1e-9, abs=1e-300)


@given(values, exponents)
def test_gradient_times_arguments_is_the_mean(y, s):
    mean, gradient = power_mean(column(y), s, np)
    assert gradient[:, 0] @ np.array(y) == pytest.approx(mean[0], rel=1e-12)


@given(values, exponents, st.sampled_from([1e-30, 1e-8, 1e8, 1e30]))
def test_scale_invariance(y, s, scale):
    mean, gradient = power_mean(column(y), s, np)
    scaled_mean, scaled_gradient = power_mean(column(y) * scale, s, np)
    assert scaled_mean[0] == pytest.approx(mean[0] * scale, rel=1e-10)
    assert scaled_gradient == pytest.approx(gradient, rel=1e-10, abs=1e-300)


@given(values, exponents)
def test_gradients_sum_to_at_least_one(y, s):
    _, gradient = power_mean(column(y), s, np)
    assert np.sum(gradient) >= 1 - 1e-12


@given(positive, st.integers(1, 9), exponents)
def test_equal_arguments_share_one(y, k, s):
    mean, gradient = power_mean(column([y] * k), s, np)
    assert mean[0] == pytest.approx(y)
    assert gradient[:, 0] == pytest.approx([1 / k] * k)


@pytest.mark.parametrize("s", [-1e-3, -0.5, -1.0, -30.0, -200.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_zeros_take_the_limit(s, dtype):
    mean, gradient = power_mean(column([0.0, 2.0, 0.0, 5.0], dtype), s, np)
    assert mean[0] == 0
    assert gradient[1, 0] == gradient[3, 0] == 0
    assert np.all(np.isfinite(gradient))
    if s <= -0.5:
        assert gradient[[0, 2], 0] == pytest.approx((2 / 4) ** (1 / s) / 2, rel=1e-5)


def test_zero_is_the_limit_of_small_values():
    _, at_zero = power_mean(column([0.0, 1.0, 3.0]), -2.0, np)
    _, near = power_mean(column([1e-12, 1.0, 3.0]), -2.0, np)
    assert at_zero == pytest.approx(near, abs=1e-9)


def test_minus_infinity_is_the_minimum_and_ties_share():
    mean, gradient = power_mean(np.array([[3.0, 1.0], [3.0, 2.0], [4.0, 5.0]]), -math.inf, np)
    assert mean.tolist() == [3.0, 1.0]
    assert gradient.tolist() == [[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("s", [-1e-4, -0.1, -1.0, -50.0, -1e4])
def test_float32_stays_finite_and_right(s, scale):
    y = np.random.default_rng(0).uniform(0.1, 10, (20, 50)) * scale
    mean, gradient = power_mean(y.astype(np.float32), s, np)
    assert mean.dtype == gradient.dtype == np.float32
    assert np.all(np.isfinite(mean))
    exact_mean, exact_gradient = power_mean(y, s, np)
    tolerance = 1e-5 * max(1.0, abs(s))  # what rounds a ratio is multiplied by s in its power
    assert mean == pytest.approx(exact_mean, rel=tolerance)
    assert gradient == pytest.approx(exact_gradient, rel=tolerance, abs=1e-7)


@pytest.mark.parametrize("s", [-1e-30, -1e-15, -1e-7, -1e-3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_limit_for_vanishing_exponents_is_the_geometric_mean(s, dtype):
    y = np.random.default_rng(0).uniform(0.1, 10, (20, 50))
    mean, gradient = power_mean(y.astype(dtype), s, np)
    logarithms = np.log(y)
    # M_s = G exp(s var(log y) / 2 + O(s^2)), and rounding of 20 logarithms and their sum
    tolerance = 40 * np.finfo(dtype).eps + abs(s) * np.max(np.var(logarithms, axis=0))
    geometric = np.exp(np.mean(logarithms, axis=0))
    assert mean == pytest.approx(geometric, rel=tolerance)
    assert gradient == pytest.approx(geometric / (20 * y), rel=tolerance + 10 * abs(s))
