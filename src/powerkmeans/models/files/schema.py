"""The words that the table of a model file is written in: what a value must be, and how large arrays are.

Sizes go by letters. The first to have a letter fixes it, and all others must agree: see ``Scope``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.models.files.archive import Member
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.text import LARGEST_INTEGER
from powerkmeans.types import Array

ALL = math.inf


def largest(dtype: Any) -> float:
    """The largest number whose square, and sums of it over many rows, stay inside the type."""
    return float(np.finfo(dtype).max) ** 0.5 / 2**5


def smallest(dtype: Any) -> float:
    """The smallest positive number whose square is one too."""
    return float(np.finfo(dtype).tiny) ** 0.5 * 2**5


class Scope:
    """What is known while a file is checked: its version, and sizes by their letters."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.sizes: dict[str, int] = {}

    def bind(self, letter: str, size: int, where: str) -> None:
        """Fix a size, or hold it to what it is; ``k+1`` is one more than ``k``."""
        name, _, more = letter.partition("+")
        size -= int(more or 0)
        if size < 0 or self.sizes.setdefault(name, size) != size:
            raise Flaw(f"{where} has {size + int(more or 0)} entries, but {letter} is {self.sizes.get(name, 0)}")


Check = Callable[[Any, str, Scope], None]


def integer(low: int, high: int = LARGEST_INTEGER) -> Check:
    """An integer in a range."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise Flaw(f"{where} must be an integer from {low} to {high}, got {_short(value)}")

    return check


def number(low: float = -ALL, high: float = ALL, *, word: str | None = None, above: float = -ALL) -> Check:
    """A finite number in a range, above a bound if one is given, or the word for one infinity."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if word is not None and isinstance(value, str) and value == word:
            return
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not plain or not math.isfinite(value) or not low <= value <= high or not value > above:
            raise Flaw(f"{where} is {_short(value)}, which is no number that it can be")

    return check


def text(value: Any, where: str, scope: Scope) -> None:
    """A text."""
    if not isinstance(value, str):
        raise Flaw(f"{where} must be a text, got {_short(value)}")


def flag(value: Any, where: str, scope: Scope) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise Flaw(f"{where} must be true or false, got {_short(value)}")


def anything(value: Any, where: str, scope: Scope) -> None:
    """What is checked elsewhere."""


def one_of(*words: Any) -> Check:
    """One of some words."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, str) or value not in words:
            raise Flaw(f"{where} must be one of {', '.join(map(repr, words))}, got {_short(value)}")

    return check


def optional(inner: Check) -> Check:
    """The same, or null."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if value is not None:
            inner(value, where, scope)

    return check


def listed(inner: Check, size: str | None = None) -> Check:
    """A list of as many as a letter says."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, list):
            raise Flaw(f"{where} must be a list, got {_short(value)}")
        if size is not None:
            scope.bind(size, len(value), where)
        for index, item in enumerate(value):
            inner(item, f"{where}[{index}]", scope)

    return check


def record(entries: Mapping[str, Check], lacking: Collection[str] = (), later: Collection[str] = ()) -> Check:
    """A dict of these entries and no others; some may be lacking, and ``later`` ones in files of version 1."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, dict):
            raise Flaw(f"{where} must be a dict, got {_short(value)}")
        may_lack = {*lacking, *(later if scope.version == 1 else ())}
        for name in value:
            if name not in entries:
                raise Flaw(f"{where} has the unknown entry {_short(name)}")
        for name, inner in entries.items():
            if name in value:
                inner(value[name], f"{where}.{name}", scope)
            elif name not in may_lack:
                raise Flaw(f"{where}.{name} is missing")

    return check


def mapping(inner: Check) -> Check:
    """A dict of any names."""

    def check(value: Any, where: str, scope: Scope) -> None:
        if not isinstance(value, dict):
            raise Flaw(f"{where} must be a dict, got {_short(value)}")
        for name, item in value.items():
            inner(item, f"{where}.{name}", scope)

    return check


class Numbers(NamedTuple):
    """An array: its shape by letters, its types, and the range of what it holds.

    Where no bound is given, squares must stay inside the type; ``below`` is a letter whose size is above all. Only
    where ``low`` is ``-ALL`` may an array hold an infinity, and that one alone.
    """

    shape: str
    types: str = "float64"
    low: float | None = None
    high: float | None = None
    below: str | None = None

    def check_shape(self, name: str, member: Member, scope: Scope) -> None:
        """Hold what a member announces to the table, before it is unpacked."""
        letters = self.shape.split()
        if len(member.shape) != len(letters):
            raise Flaw(f"{name!r} has {len(member.shape)} dimensions, expected {len(letters)}")
        if member.dtype.name not in self.types.split():
            raise Flaw(f"{name!r} holds {member.dtype.name}, expected {' or '.join(self.types.split())}")
        for letter, size in zip(letters, member.shape, strict=True):
            scope.bind(letter, size, repr(name))

    def check_values(self, name: str, array: Array, scope: Scope) -> None:
        """Hold the numbers to their range."""
        if array.dtype.kind == "b" or array.size == 0:
            return
        bound = largest(array.dtype) if array.dtype.kind == "f" else ALL
        low = -bound if self.low is None else self.low
        high = bound if self.high is None else self.high
        high = high if self.below is None else scope.sizes[self.below] - 1
        if not (float(np.min(array)) >= low and float(np.max(array)) <= high):  # NaN is neither
            raise Flaw(f"{name!r} holds numbers outside [{low:g}, {high:g}]")


def _short(value: Any) -> str:
    return f"{value!r:.40}"
