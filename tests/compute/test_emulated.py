"""The comparison of kernels between processors: it would notice."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

import emulated

EXPECTED = {"float32 mass": np.array([1.0, 2.0]), "float64 nearest index": np.array([3.0, 4.0])}


def test_what_rounding_does_is_allowed():
    assert emulated.worst(EXPECTED, EXPECTED) == 0
    rounded = {**EXPECTED, "float32 mass": np.array([1.0, 2.0 + 1e-6])}
    assert 0 < emulated.worst(rounded, EXPECTED) < 1


@pytest.mark.parametrize(("name", "values"), [("float32 mass", [1, 2.1]), ("float64 nearest index", [4, 3])])
def test_another_answer_is_noticed(name, values):
    assert emulated.worst({**EXPECTED, name: np.array(values, dtype=float)}, EXPECTED) > 1


def test_a_processor_without_its_emulator_is_told():
    assert emulated.Processor("none", ("g++",), ("no-such-emulator",)).lacks == "no-such-emulator"


def test_of_a_wheel_the_library_for_every_processor_is_run(tmp_path, capsys):
    wheel = tmp_path / "p-1-py3-none-linux_aarch64.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name in ("p/cpp/avx2-1-2.so", "p/cpp/baseline-1-2.so"):
            packed.writestr(name, name)
    assert emulated.library_of(wheel, tmp_path).read_text() == "p/cpp/baseline-1-2.so"
    assert emulated.main(["p-1-py3-none-any.whl"]) == 2
    assert "Wheels for x86_64.whl and aarch64.whl can be run" in capsys.readouterr().err
