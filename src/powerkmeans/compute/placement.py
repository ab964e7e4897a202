"""Arrays brought to where rows live, and results back to where models are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from powerkmeans.types import Array, S


def moved(value: Any, move: Callable[[Array], Array]) -> Any:
    """``value`` with every NumPy array in it moved: in tuples, dataclasses and maps, however deep."""
    if isinstance(value, np.ndarray):
        return move(value)
    if isinstance(value, tuple):
        parts = [moved(part, move) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        new = {name: moved(part, move) for name, part in old.items()}
        return value if all(new[name] is part for name, part in old.items()) else replace(value, **new)
    return value


def on_host(array: Any) -> Any:
    """An array of any library as a NumPy array; everything else as it is."""
    if isinstance(array, (np.ndarray, np.generic, float, int)):
        return array
    return np.from_dlpack(array.to_device("cpu") if hasattr(array, "to_device") else array.cpu())


def sums_on_host(sums: S) -> S:
    """Sums of any library as NumPy arrays."""
    return type(sums)(*(on_host(getattr(sums, field.name)) for field in fields(sums)))


def in_float64(sums: S) -> S:
    """A copy to add to."""
    return type(sums)(*(np.array(getattr(sums, field.name), dtype=np.float64) for field in fields(sums)))
