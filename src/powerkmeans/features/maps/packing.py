"""How a map lies in a model file, as tables: what numbers and words it has beside its arrays, and which arrays.

Sizes of arrays go by letters: ``d#`` columns of the view, ``p#`` outputs of the map, and any others that the map
has use for, such as ``r#`` of its components. The first array to have a letter fixes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PRECISIONS = "float32 float64"


class PlainEntry(NamedTuple):
    """A value beside the arrays: an int or float from ``low`` on, a flag, or one of some words.

    Of floats that are ``positive`` the squares are, too. One that is ``squared`` is a square, and above zero.
    """

    kind: type
    low: int = 0
    positive: bool = False
    words: tuple[str, ...] = ()
    squared: bool = False


class ArrayEntry(NamedTuple):
    """An array: its shape by letters, its types, and what it may hold; without bounds, what has finite squares."""

    shape: str
    types: str = "float64"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Packing:
    """What a map is called in files, its entries and its arrays, all by the names of the map's fields.

    arrays : those of a map with such entries; ``mean`` is that of the centred map
    has_bandwidth : whether a map with such entries does
    flaw : what is wrong with sizes, by their letters without ``#``, that fit the table one by one
    """

    name: str
    arrays: Callable[[Mapping[str, Any]], Mapping[str, ArrayEntry]]
    entries: Mapping[str, PlainEntry] = field(default_factory=dict)
    has_bandwidth: Callable[[Mapping[str, Any]], bool] = lambda entries: True
    flaw: Callable[[Mapping[str, int]], str | None] = lambda sizes: None


def always(**arrays: ArrayEntry) -> Callable[[Mapping[str, Any]], Mapping[str, ArrayEntry]]:
    """The same arrays whatever the entries are."""
    return lambda entries: arrays
