from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from powerkmeans.objective.membership import Fuzzy, Possibilistic

fuzziness = st.floats(1.05, 5)


@given(st.floats(1e-3, 1e3), st.floats(0.01, 100), st.floats(1.2, 5))
def test_degree_minimises_the_possibilistic_cost(distance, reference, m):
    member = Possibilistic(m)
    d = np.array(distance)
    u = member.degrees(d, reference, np)
    best = minimize_scalar(
        lambda x: x**m * distance + (1 - x) ** m * reference, bounds=(0, 1), method="bounded"
    ).fun
    assert member.divergence(d, u, reference, np) <= best + 1e-9 * (best + 1)


@given(st.floats(1e-12, 1e12), st.floats(1e-6, 1e6), fuzziness)
def test_divergence_is_increasing_and_bounded(distance, reference, m):
    member = Possibilistic(m)
    d = np.array([distance, distance * 1.01])
    with np.errstate(over="ignore", under="ignore"):
        u = member.degrees(d, reference, np)
        h = member.divergence(d, u, reference, np)
    assert np.all((u >= 0) & (u <= 1))
    assert h[0] <= h[1] * (1 + 1e-12)
    assert h[1] <= reference * (1 + 1e-12)


def test_two_is_the_closed_form():
    d = np.array([0.0, 1.0, 4.0])
    member = Possibilistic(2.0)
    u = member.degrees(d, 2.0, np)
    assert u == pytest.approx(2 / (2 + d))
    assert member.divergence(d, u, 2.0, np) == pytest.approx(2 * d / (2 + d))


def test_fuzzy_keeps_the_distance():
    d = np.array([0.5, 2.0])
    member = Fuzzy()
    u = member.degrees(d, 1.0, np)
    assert float(u) == 1.0
    assert member.divergence(d, u, 1.0, np) is d
    assert float(member.residual(u, np)) == 0.0
