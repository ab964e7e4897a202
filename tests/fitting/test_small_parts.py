"""Parts of a fit whose loss would show in no cluster of an easy table."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import blobs, quick
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.fitting import baseline, fused
from powerkmeans.fitting.listener import SILENT

ROWS = blobs(3, 4, size=30, seed=2)[0]


@pytest.mark.parametrize("n_rows", [1, 7, 8, 20])
def test_means_are_weighted_and_added_in_pieces(monkeypatch, n_rows):
    monkeypatch.setattr(fused, "_ADDED_ROWS", 8)
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=(n_rows, 3)), rng.uniform(0.5, 3, size=n_rows)
    np.testing.assert_allclose(
        fused._weighted_mean(values, weight), np.average(values, axis=0, weights=weight), rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize("spare", [0, 1])
def test_a_view_of_few_values_is_held_against_itself(monkeypatch, spare):
    """Up to two values a cluster: a cloud would be no worse explained than the view itself."""
    k, drawn = 3, []
    draw = baseline._gaussian_features
    monkeypatch.setattr(baseline, "_gaussian_features", lambda *given: drawn.append(1) or draw(*given))
    few = np.linspace(-4, 4, 2 * k + spare)[np.arange(len(ROWS)) % (2 * k + spare)][:, None]
    MultiViewPowerKMeans(k, feature_map="identity", random_state=0, anneal_factor=1.5, advice=False).fit(
        [ROWS, few]
    )
    assert len(drawn) == 1 + spare  # the rows of blobs, and the values that are one too many


def test_the_code_of_the_passes_is_told(capfd):
    quick(3, engine="numpy", verbose=1).fit(ROWS)
    assert "kernel: numpy" in "".join(capfd.readouterr()).lower()


def test_nobody_stops_a_run():
    assert SILENT.iteration(None) is False
