"""The functions of vectors that a pass is made of, compiled by themselves: right to the last digit or two."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

from powerkmeans.compute.native import build
from powerkmeans.compute.native.library import open_library

SOURCE = """
#include "simd.h"
template <class Real>
void each(int64_t n, const Real* x, Real* powers, Real* least, Real* most) {
  for (int64_t i = 0; i < n; i += lanes<Real>) {
    const Vec<Real> value = load(x + i), other = load(x + n - lanes<Real> - i);
    store(powers + i, exp2_of<Real>(value));
    store(least + i, smaller(value, other)), store(most + i, larger(value, other));
  }
}
#define EACH(name, Real) \\
  extern "C" void name(int64_t n, const Real* x, Real* p, Real* l, Real* m) { each<Real>(n, x, p, l, m); }
EACH(each_float32, float)
EACH(each_float64, double)
"""


@pytest.fixture(scope="module", params=list(build.TARGETS))
def functions(request, tmp_path_factory):
    compilers = build.find_compilers()
    if not compilers or open_library(request.param) is None:
        pytest.skip(f"nothing is compiled for {request.param} here")
    folder = tmp_path_factory.mktemp("functions")
    (folder / "each.cpp").write_text(SOURCE)
    flags = [*build.FLAGS, "-fvisibility=default", *build.TARGETS[request.param], f"-I{build.FOLDER}", "-shared"]
    command = [*compilers[0], *flags, str(folder / "each.cpp"), "-o", str(folder / "each.so")]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "each.so"))


def told(functions, x):
    """Powers of two of numbers, and the smaller and larger of vectors and their mirror images."""
    answers = [np.empty_like(x) for _ in range(3)]
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (x, *answers)]
    getattr(functions, f"each_{x.dtype}")(ctypes.c_int64(len(x)), *addresses)
    return answers


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -126), (np.float64, -1022)])
def test_powers_of_two_are_right_to_the_last_digit(functions, dtype, lowest):
    x = np.concatenate([np.linspace(lowest, 0, 80_000), np.linspace(-1, 0, 20_000)]).astype(dtype)
    powers, _, _ = told(functions, x)
    exact = np.exp2(x.astype(np.longdouble))
    assert np.max(np.abs(powers / exact - 1)) < np.finfo(dtype).eps
    whole = np.arange(lowest, 1, dtype=dtype)
    whole = np.resize(whole, len(whole) // 16 * 16 + 16)
    assert np.array_equal(told(functions, whole)[0], np.exp2(whole))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_below_the_normal_numbers_are_zero(functions, dtype):
    x = -np.resize([1075, 5000, 1e30, np.inf], 16).astype(dtype)
    assert np.all(told(functions, x)[0] == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_two_that_cannot_be_compared_the_second_is_taken(functions, dtype):
    x = np.random.default_rng(0).standard_normal(64).astype(dtype)
    x[[3, 9, 60]] = np.nan, np.inf, -np.inf
    _, least, most = told(functions, x)
    lanes = next(n for n in (2, 4, 8, 16) if np.array_equal(least, _chosen(x, n, np.less), equal_nan=True))
    assert np.array_equal(most, _chosen(x, lanes, np.greater), equal_nan=True)


def _chosen(x, lanes, better):
    """Of each vector and the one that is as far from the end: the first where it is better, else the second."""
    other = x.reshape(-1, lanes)[::-1].ravel()
    return np.where(better(x, other), x, other)
