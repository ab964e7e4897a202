"""A little of ``benchmarks.gpu --parts sweep``, by PyTorch's functions on the processor."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import gpu_sweep
from benchmarks.gpu_sweep import LAYOUTS, drawn, laid_out, passed

SHAPES = drawn(40, seed=1)


@pytest.mark.parametrize("case", SHAPES, ids=range(len(SHAPES)))
def test_drawn_shapes_give_the_sums(case):
    found = passed(case, device="cpu")
    assert found["code"] == "torch"
    assert found["within"], found


def test_wrong_sums_are_noticed(monkeypatch):
    plain = next(case for case in SHAPES if case.precision == "float32" and case.s >= -5)
    run_pass = gpu_sweep.run_pass
    monkeypatch.setattr(gpu_sweep, "run_pass", lambda *arguments: run_pass(*arguments) * 1.01)
    assert not passed(plain, device="cpu")["within"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_the_same_however_they_lie(layout):
    rows = np.random.default_rng(0).standard_normal((5, 3))
    found = laid_out(rows, layout, "cpu").double().numpy()
    assert np.allclose(found, rows, rtol=2.0**-8, atol=0)
