"""Values that are wrong or odd in some place: some hundred, each made anew for every call."""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
from collections import OrderedDict, UserDict, UserList, deque
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

Factory = Callable[[], Any]


class OwnError(RuntimeError):
    """What a value raises by itself."""


class Word(str):
    """A string that is not quite one."""

    __slots__ = ()


class Odd(str):
    """A string that cannot be shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        raise OwnError("no repr")


class Count(int):
    """An integer that is not quite one."""


class Unshown:
    """Something that cannot be shown."""

    def __repr__(self) -> str:
        raise OwnError("no repr")


class Undecided:
    """Something that is neither true nor false, and equal to nothing."""

    def __bool__(self) -> bool:
        raise OwnError("no truth")

    def __eq__(self, other: object) -> bool:
        raise OwnError("no comparison")

    __hash__ = object.__hash__


class Unsized:
    """Something whose length cannot be told."""

    def __len__(self) -> int:
        raise TypeError("no length")

    def __iter__(self) -> Any:
        raise TypeError("no iteration")


class NoArray:
    """Something that will not become an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("no array")


class Shaped:
    """Something with a shape and nothing else."""

    shape = (24, 3)
    dtype = np.dtype(float)


class Floating:
    """Something that could be made a number, but is none."""

    def __float__(self) -> float:
        return 1.0

    def __index__(self) -> int:
        return 1


def _recursive() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


NUMBERS: list[Any] = [
    0, 1, 2, 3, -1, -2, 24, 25, 1000, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400,
    10**5000, -(2**63), -(10**400), True, False, 0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, -0.5, -1.0, -1.5, -1e300,
    1e-12, 1e-20, 1e-160, 1e-300, 1e-308, 5e-324, -5e-324, 1e-7, 1e10, 1e16, 1e30, 1e155, 1e300, 1.7e308,
    float("nan"), float("inf"), -float("inf"), 1j, complex(2, 0), complex("nan"),
    fractions.Fraction(1, 3), fractions.Fraction(10**400), fractions.Fraction(-5, 2), fractions.Fraction(3),
    decimal.Decimal("2.5"), decimal.Decimal("NaN"), decimal.Decimal(3), decimal.Decimal("1e400"),
    Count(2), Count(-2), np.int8(2), np.int64(-3), np.uint8(255), np.uint64(2**64 - 1), np.float16(2.5),
    np.float32(0.25), np.float64("nan"), np.float64(-2), np.longdouble(2), np.longdouble("1e400"),
    np.complex64(1),
    np.bool_(True), np.bool_(False), np.timedelta64(3, "s"), np.timedelta64("NaT"), np.datetime64("2020-01-01"),
    np.datetime64("NaT"), datetime.timedelta(seconds=3), datetime.date(2020, 1, 1), np.str_("auto"),
    np.bytes_(b"x"),
    np.void(b"abc"),
]  # fmt: skip
TEXTS: list[Any] = [
    "", " ", "auto", "AUTO", "auto ", "median", "scale", "rbf", "rff", "exact", "precomputed", "laplacian",
    "identity", "fuzzy", "global", "within", "scatter", "gaussian", "compiled", "numpy", "cuda", "k-means++",
    "random", "0", "3", "1e3", "nan", "inf", "-1", "None", "True", "a/b", "../x", "x.npy", "x.npz",
    "é", "\u202eabc", "日本語", "🙂", "a\nb", "a\tb", "\x00", "a\x00.npy", "\x1b[31m", "\ud800", "\udc80.npy",
    "%s",    "{0}", "{x!r}", "'quoted'", "<script>", "=1+1", "x" * 5000, b"", b"auto", b"\xff", bytearray(b"auto"),
    memoryview(b"auto"), Word("auto"), Word("rbf"), Word("x"), Odd("auto"),
]  # fmt: skip
_CONTAINERS: list[Factory] = [
    list, tuple, dict, set, frozenset, lambda: [None], lambda: [[]], lambda: [[], []], lambda: [[[]]],
    lambda: (1,),
    lambda: [1], lambda: [1, 2], lambda: [1.5, 2.5], lambda: [1, 2, 3], lambda: [0.5] * 24,
    lambda: list(range(24)),
    lambda: ["a"] * 24, lambda: [None] * 24, lambda: ["auto"], lambda: ["auto", "auto"], lambda: ["rbf", "rbf"],
    lambda: ["rff", "exact"], lambda: ["median", 0], lambda: [True, False], lambda: ["a", 1],
    lambda: [10**400] * 2,
    lambda: [10**400] * 24, lambda: [float("nan")] * 24, lambda: [-1.0] * 24, lambda: [1e400] * 24, _recursive,
    lambda: {"a": 1}, lambda: {"a": "auto"}, lambda: {"a": "rbf", "b": "rbf"}, lambda: {"c": 1.0},
    lambda: {1: 2}, lambda: {None: None}, lambda: {("a", "b"): 1}, lambda: {"a": None}, lambda: {"a": {}},
    lambda: {"a": [0], "b": [1]}, lambda: {"a": [0], "b": [0]}, lambda: {"a": slice(0, 1), "b": slice(1, 3)},
    lambda: {"a": [99]}, lambda: {"a": 1e30}, lambda: {"": 1}, lambda: {Unshown(): 1}, lambda: OrderedDict(a=1.0),
    lambda: UserDict(a=1.0), lambda: UserList([1.0, 2.0]), lambda: MappingProxyType({"a": 1.0}),
    lambda: deque([1, 2]),
    lambda: range(3), lambda: range(24), lambda: {1, 2}, lambda: {"a", "b"}, lambda: slice(None),
    lambda: (i for i in range(24)), lambda: iter([1, 2]), lambda: map(str, range(24)),
    lambda: zip([1], [2], strict=True),
    lambda: [Unshown(), Unshown()], lambda: [Undecided(), Undecided()], lambda: [np.array(1.0), np.array(2.0)],
    lambda: [np.timedelta64(1), np.timedelta64(2)], lambda: [[1, 2], [3]], lambda: [[1, "a"], [2, "b"]],
]  # fmt: skip
_ARRAYS: list[Factory] = [
    lambda: np.array(2), lambda: np.array(2.5), lambda: np.array("auto"), lambda: np.array(None),
    lambda: np.array([]),
    lambda: np.zeros((0, 3)), lambda: np.zeros((3, 0)), lambda: np.array([1]), lambda: np.array([0.5, 1.5]),
    lambda: np.array(["rbf", "rbf"]), lambda: np.array(["median", 1.0], dtype=object), lambda: np.array([2, 3]),
    lambda: np.arange(24), lambda: np.arange(24.0), lambda: np.full(24, np.nan), lambda: np.full(24, np.inf),
    lambda: np.full(24, -1.0), lambda: np.zeros(24), lambda: np.ones(24, dtype=bool), lambda: np.ones(24) * 1j,
    lambda: np.ones((24, 1)), lambda: np.ones((24, 2), dtype=bool), lambda: np.zeros((24, 2)),
    lambda: np.ones((3, 3)),
    lambda: np.full((24, 2), "a"), lambda: np.ones((24, 3)), lambda: np.ones((3, 24)), lambda: np.ones((2, 2, 2)),
    lambda: np.full((24, 3), np.nan), lambda: np.full((3, 3), np.inf), lambda: np.arange(9.0).reshape(3, 3),
    lambda: np.array([None] * 24), lambda: np.array([Unshown()] * 2), lambda: np.array(["a"] * 24),
    lambda: np.array([10**400] * 24), lambda: np.zeros(24, dtype="m8[s]"), lambda: np.zeros(24, dtype="M8[s]"),
    lambda: np.zeros(24, dtype="V4"), lambda: np.zeros(24, dtype=[("a", float)]),
    lambda: np.ones(24, dtype=np.float16),
    lambda: np.ma.masked_array(np.ones(24), mask=[True] * 24),
    lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    lambda: np.ma.masked, lambda: np.matrix([[1.0, 2.0]]), lambda: sparse.csr_array(np.eye(3)),
    lambda: sparse.csr_array((0, 0)), lambda: sparse.coo_array(np.ones((24, 1))),
    lambda: np.rec.array([(1, 2.0)]),
    lambda: np.ones(2**16), lambda: np.broadcast_to(np.ones(1), (24,)), lambda: np.empty((24, 0)),
]  # fmt: skip
_OBJECTS: list[Factory] = [
    lambda: None, object, lambda: object, lambda: int, lambda: print, lambda: len, lambda: lambda *a, **k: None,
    lambda: Ellipsis, lambda: NotImplemented, lambda: np, lambda: np.random, lambda: np.float64,
    lambda: np.nan_to_num,
    Unshown, Undecided, Unsized, NoArray, Shaped, Floating, lambda: Exception("x"), lambda: ValueError,
    lambda: pathlib.Path("x"), lambda: pathlib.Path("no/such/folder/x.npy"),
    lambda: pathlib.PurePosixPath("a\x00b"),
    lambda: SimpleNamespace(shape=(24, 3)), lambda: SimpleNamespace(engine=1), lambda: np.dtype(float),
    lambda: np.random.RandomState(0), lambda: np.random.default_rng(0), lambda: np.random.SeedSequence(0),
    lambda: np.random.PCG64(0), type("Made", (), {}), property,
]  # fmt: skip


def pool() -> list[tuple[str, Factory]]:
    """All values: how each is called, and what makes it."""
    given = [(lambda value=value: value) for value in (*NUMBERS, *TEXTS)]
    factories: list[Factory] = [*given, *_CONTAINERS, *_ARRAYS, *_OBJECTS]
    return [(f"{number}: {described(make())}", make) for number, make in enumerate(factories)]


def described(value: Any) -> str:
    """A value for a line of output, whatever it is."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"{type(value).__name__} of {value.bit_length()} bits"
    try:
        text = repr(value)
    except OwnError:
        text = "unshown"
    return f"{type(value).__name__} {text.encode('ascii', 'backslashreplace').decode()[:60]!s}".replace("\n", " ")
