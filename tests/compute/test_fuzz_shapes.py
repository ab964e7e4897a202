"""The command that sends random shapes to the compiled kernel: it passes, and it would notice."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from benchmarks.fuzz import sanitized, shapes

from powerkmeans.compute.native import compiled
from powerkmeans.compute.native.library import find_target

pytestmark = pytest.mark.skipif(find_target() is None, reason="powerkmeans was installed without a C++ compiler")


def test_random_passes_agree_or_are_refused():
    errors = [shapes.try_case(1, index, find_target()) for index in range(150)]
    assert None in errors
    assert max(error for error in errors if error is not None) <= 1


@pytest.mark.parametrize("name", shapes.ANY)
def test_a_wrong_sum_is_noticed(monkeypatch, capsys, name):
    def wrong(self, block):
        sums = real(self, block)
        setattr(sums, name, getattr(sums, name) * 1.01)
        return sums

    real = compiled.BlockSums.__call__
    monkeypatch.setattr(compiled.BlockSums, "__call__", wrong)
    monkeypatch.setattr(sys, "argv", ["shapes", "--count", "12"])
    assert shapes.main() == 1
    assert "of what is allowed in float" in capsys.readouterr().out


def test_a_wrong_shape_that_is_let_through_is_noticed(monkeypatch):
    monkeypatch.setattr(shapes, "WRONG_SHARE", 1.0)
    for name in ("PassCall", "CommonArguments"):
        monkeypatch.setattr(shapes, name, lambda *given: None)
    assert shapes.try_case(0, 0, find_target()) == math.inf


def test_spoilt_cases_differ_in_one_shape():
    rng = np.random.default_rng(0)
    for _ in range(50):
        block, inputs, maps = shapes.spoilt(rng, shapes.draw_case(rng))
        with pytest.raises(ValueError, match=r"compiled kernel|The map of view"):
            shapes.PassCall(block, shapes.CommonArguments(inputs, maps))


def test_without_sanitizers_one_line_says_so(monkeypatch, capsys):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(sys, "argv", ["sanitized"])
    assert sanitized.main() == 0
    assert capsys.readouterr().out.startswith("not run: this compiler has no sanitizers")
