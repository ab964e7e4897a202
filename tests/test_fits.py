"""Results of some fits stay what they were (see ``fits.py``)."""

from __future__ import annotations

import numpy as np
import pytest

from fits import FITS, fitted, recorded

BEFORE = recorded()


def test_all_are_recorded():
    assert list(FITS) == list(BEFORE)
    assert len(FITS) == 33


@pytest.mark.parametrize("name", FITS)
def test_a_fit_gives_what_it_gave(name):
    before, now = BEFORE[name], fitted(name)
    assert now.labels == before.labels
    assert now.sizes == before.sizes
    # sums of single precision carry its rounding, and a run that stops by ``tol`` carries it on
    rounding = 1e-4 if "float32" in name else 1e-7
    for field in ("objective", "inertia", "view_weights"):
        then = getattr(before, field)
        # where every row is a centroid, nothing but the rounding of its features is left
        np.testing.assert_allclose(getattr(now, field), then, rtol=rounding, atol=1e-12, err_msg=field)
