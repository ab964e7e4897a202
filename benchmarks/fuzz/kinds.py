"""What each parameter must be, told without the library's own checks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kind:
    """What a parameter must be.

    forbidden : whether a value is wrong for certain, so that a call that takes it has missed it
    valid : values that must be taken
    named : whether messages must name the parameter; data have scikit-learn's own messages
    file : whether what the system says of files is an answer too
    long : whether a value is right, but makes a call take longer than anyone waits; it is not tried
    """

    forbidden: Callable[[Any], bool]
    valid: tuple[Any, ...] = ()
    named: bool = True
    file: bool = False
    long: Callable[[Any], bool] = lambda value: False


def _integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.timedelta64))


def _number(value: Any) -> bool:
    if not isinstance(value, Real) or isinstance(value, (bool, np.timedelta64)):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def _word_of(value: Any, words: tuple[Any, ...]) -> bool:
    return (value is None and None in words) or (isinstance(value, str) and value in words)


def count(least: int, *words: Any, valid: tuple[Any, ...] = ()) -> Kind:
    def forbidden(value: Any) -> bool:
        return not (_word_of(value, words) or (_integer(value) and value >= least))

    return Kind(forbidden, (*words, *(valid or (least, np.int64(least + 1)))))


def number(allowed: Callable[[float], bool], *words: Any, valid: tuple[Any, ...]) -> Kind:
    def forbidden(value: Any) -> bool:
        return not (_word_of(value, words) or (_number(value) and allowed(float(value))))

    return Kind(forbidden, (*words, *valid))


def words(*known: Any, valid: tuple[Any, ...] | None = None) -> Kind:
    return Kind(lambda value: not _word_of(value, known), known if valid is None else valid)


def a_view(one: Kind, names: tuple[str, ...], *valid: Any) -> Kind:
    """One value for all views, or a list or dict of one per view."""

    def forbidden(value: Any) -> bool:
        if isinstance(value, Mapping):
            return any(view not in names or one.forbidden(own) for view, own in value.items())
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
            return len(value) != len(names) or any(one.forbidden(_plain(own)) for own in value)
        return one.forbidden(value)

    return Kind(forbidden, (*one.valid, *valid))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.timedelta64) else value


def data(*valid: Any, named: bool = True) -> Kind:
    """Arrays and tables, of which so much is right that nothing is forbidden here."""
    return Kind(lambda value: False, valid, named=named)


def _is_seed(value: Any) -> bool:
    if value is None or value is np.random or isinstance(value, (np.random.RandomState, np.random.Generator)):
        return True
    return _integer(value) and 0 <= value < 2**32


FLAG = Kind(lambda value: not isinstance(value, (bool, np.bool_)), (True, False, np.bool_(False)))
TEXT = Kind(lambda value: not isinstance(value, str), ("x", "é"))
TEXT_OR_NONE = Kind(lambda value: value is not None and not isinstance(value, str), ("x", None))
SEED = Kind(lambda value: not _is_seed(value), (None, 0, 2**32 - 1, np.int64(3), np.random.RandomState(0)))
FILE = Kind(lambda value: not isinstance(value, (str, os.PathLike)), file=True)
OPTIONAL_FILE = Kind(lambda value: value is not None and FILE.forbidden(value), (None,), file=True)
SHARE = number(lambda x: 0 <= x <= 1, valid=(0, 0.5, np.float32(1)))
OPTIONAL_SHARE = number(lambda x: 0 <= x <= 1, None, valid=(0.5,))
IGNORED = Kind(lambda value: False, (None,), named=False)
