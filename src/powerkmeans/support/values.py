"""Checks of single values: every message names the parameter, what it must be, and what it was."""

from __future__ import annotations

import math
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Check = Callable[[str, Any], Any]

# what an array of integers holds
LARGEST = 2**63 - 1
LARGEST_SEED = 2**32 - 1
_DIGITS = 2**12
# what no name of a file holds: a zero byte, and halves of characters, but for those that stand for bytes
_UNWRITABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")


class _Short(reprlib.Repr):
    """Values as messages show them: cut if long, and of some kind if they cannot be shown."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 80

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < _DIGITS else f"an integer of {bits} bits"


_SHORT = _Short()


def shown(value: Any) -> str:
    """A value for a message, whatever it is."""
    return " ".join(_SHORT.repr(value).split())


def wrong(name: str, expected: str, value: Any) -> ValueError:
    """What to raise for a value, in scikit-learn's words."""
    return ValueError(f"The {name!r} parameter must be {expected}. Got {shown(value)} instead.")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the parameter in front of messages that do not name it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b{re.escape(name)}\b", str(error)) and not isinstance(error, OverflowError):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error


@contextmanager
def within_floats(name: str) -> Iterator[None]:
    """Say of an integer that no float holds whose it is."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"{name} holds a number beyond the range of float64: {error}") from error


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, which neither truth values nor spans of time are."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.timedelta64))


def is_number(value: Any) -> bool:
    """Whether a value is a real number and not NaN."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.timedelta64)):
        return False
    return not math.isnan(_as_float(value))


def _as_float(value: Any) -> float:
    """A number as a float; NaN if it is beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.nan


def integer(smallest: int, largest: int = LARGEST) -> Check:
    """An integer from a range."""

    def check(name: str, value: Any) -> int:
        if not is_integer(value) or value < smallest:
            raise wrong(name, f"an int in the range [{smallest}, inf)", value)
        if value > largest:
            raise wrong(name, f"an int in the range [{smallest}, {largest}]", value)
        return int(value)

    return check


def real(allowed: Callable[[float], bool], expected: str) -> Check:
    """A number for which ``allowed`` holds."""

    def check(name: str, value: Any) -> float:
        if not is_number(value) or not allowed(float(value)):
            raise wrong(name, expected, value)
        return float(value)

    return check


def word(*words: str) -> Check:
    """One of some words."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise wrong(name, f"one of {listed(words)}", value)
        return str.__str__(value)

    return check


def word_or(words: tuple[str | None, ...], otherwise: Check, expected: str) -> Check:
    """One of some words, or what another check lets through; None may be among the words."""

    def check(name: str, value: Any) -> Any:
        if value is None and None in words:
            return None
        if isinstance(value, str) and value in words:
            return str.__str__(value)
        try:
            return otherwise(name, value)
        except ValueError:
            raise wrong(name, f"{listed(words)} or {expected}", value) from None

    return check


def word_or_none(one: str) -> Check:
    """A word, or None."""

    def check(name: str, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value == one):
            return None if value is None else one
        raise wrong(name, f"{one!r} or None", value)

    return check


def flag(name: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong(name, "True or False", value)
    return bool(value)


def text(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise wrong(name, "a str", value)
    return str.__str__(value)


def path(name: str, value: Any) -> str:
    """The name of a file."""
    found = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(found, str) or not found or _UNWRITABLE.search(found):
        raise wrong(name, "the path of a file", value)
    return str.__str__(found)


def random_state(name: str, value: Any) -> Any:
    """What numbers can be drawn from: nothing, a seed or a generator."""
    generators = (np.random.RandomState, np.random.Generator)
    if value is None or value is np.random or isinstance(value, generators):
        return value
    if not is_integer(value) or not 0 <= value <= LARGEST_SEED:
        kinds = "an instance of numpy.random.RandomState or numpy.random.Generator"
        raise wrong(name, f"an int in the range [0, {LARGEST_SEED}], {kinds} or None", value)
    return int(value)


def numbers(n_dims: int, *, finite: bool = True) -> Check:
    """An array of numbers."""

    def check(name: str, value: Any) -> NDArray[np.float64]:
        with naming(name):
            found = np.asarray(value)
        if found.dtype.kind not in "biuf" or found.ndim != n_dims or found.size == 0:
            raise wrong(name, f"an array of numbers of {n_dims} dimension{'s' if n_dims > 1 else ''}", value)
        if finite and not np.all(np.isfinite(found)):
            raise ValueError(f"{name} contains NaN or infinity.")
        return found.astype(np.float64)

    return check


def integers(name: str, value: Any) -> NDArray[np.int64]:
    """A list of integers."""
    found = numbers(1)(name, value)
    if not np.array_equal(found, np.round(found)) or np.max(np.abs(found)) > 2**53:
        raise wrong(name, "a list of integers", value)
    return found.astype(np.int64)


def same_length(**given: Any) -> None:
    """Reject arrays of different lengths."""
    (first, values), *others = given.items()
    for name, other in others:
        if other is not None and len(other) != len(values):
            raise ValueError(f"{name} has {len(other)} entries, expected {len(values)} as {first}.")


def listed(words: Iterable[Any]) -> str:
    """Words one after the other, as they are written in code."""
    return ", ".join(repr(one) for one in words)


POSITIVE = real(lambda x: 0 < x < math.inf, "a finite number > 0")
SHARE = real(lambda x: 0 <= x <= 1, "a number between 0 and 1")
