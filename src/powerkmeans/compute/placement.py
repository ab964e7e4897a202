"""Arrays brought to where rows live, and results back: what executors need to move things that hold arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any

from powerkmeans.types import Array


def moved(value: Any, kind: type | tuple[type, ...], move: Callable[[Array], Array]) -> Any:
    """``value`` with every array of some kinds in it moved: in tuples, dataclasses and maps, however deep."""
    if isinstance(value, kind):
        return move(value)
    if isinstance(value, tuple):
        parts = [moved(part, kind, move) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        new = {name: moved(part, kind, move) for name, part in old.items()}
        return value if all(new[name] is part for name, part in old.items()) else replace(value, **new)
    return value


def stacked(parts: Iterator[Array], n_rows: int, empty: Callable[[tuple[int, ...], Any], Array]) -> Array:
    """Arrays one under another in one that ``empty(shape, dtype)`` makes, without holding all of them."""
    first = next(parts)
    out, done = empty((n_rows, *first.shape[1:]), first.dtype), 0
    for part in chain([first], parts):
        out[done : done + len(part)] = part
        done += len(part)
    return out
