"""Arrays that objects are made of, whichever library they are of."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

M = TypeVar("M")


def moved(made: M, xp: Any, device: Any) -> M:
    """The same frozen object with its arrays in another library, or on another device."""
    named = ((field.name, getattr(made, field.name)) for field in fields(made))  # type: ignore[arg-type]
    arrays = {name: xp.asarray(value, device=device) for name, value in named if hasattr(value, "shape")}
    return replace(made, **arrays)  # type: ignore[type-var]


def check_columns(X: Any, n_columns: int) -> None:
    """Rows of one column would be stretched to any width without a word."""
    if X.shape[1] != n_columns:
        raise ValueError(f"The rows have {X.shape[1]} columns, but the map was made for {n_columns}.")
