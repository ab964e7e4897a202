"""Which columns of a table are used, and what their values become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np

from powerkmeans.support.values import naming, shown

# what users pass as ``columns``, once it has been looked at
Columns = tuple[str | int, ...] | None

FLOAT32: np.dtype[Any] = np.dtype(np.float32)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)


def as_columns(columns: Any) -> Columns:
    """``columns`` as a tuple of names and positions."""
    if columns is None:
        return None
    listable = isinstance(columns, Iterable) and getattr(columns, "ndim", 1) == 1
    if not listable or isinstance(columns, (str, bytes)):
        raise TypeError(
            f"columns must be a list of names or positions, such as [0, 2]. Got {shown(columns)} instead."
        )
    with naming("columns"):
        listed = [c.item() if isinstance(c, np.generic) else c for c in columns]
    for column in listed:
        if isinstance(column, bool) or not isinstance(column, (str, Integral)):
            raise TypeError(
                f"columns must hold names or positions, but {shown(column)} is a {type(column).__name__}."
            )
    return tuple(c if isinstance(c, str) else int(c) for c in listed)


def positions(columns: Columns, name: str, header: Sequence[str] | None, n_columns: int) -> tuple[int, ...]:
    """Where the chosen columns of the table ``name`` stand; all of them if none were chosen."""
    if columns is None:
        return tuple(range(n_columns))
    if not columns:
        raise ValueError(f"{name}: columns is empty; choose at least one column, or leave columns out to use all.")
    places = None if header is None else {label: place for place, label in enumerate(header)}
    found: dict[int, str | int] = {}
    for column in columns:
        position = _position(column, name, places, n_columns)
        if position in found:
            raise ValueError(f"{name}: columns has column {column!r} twice.")
        found[position] = column
    return tuple(found)


def _position(column: str | int, name: str, places: dict[str, int] | None, n_columns: int) -> int:
    if isinstance(column, int):
        if not -n_columns <= column < n_columns:
            raise ValueError(f"{name} has {n_columns} columns, so there is no column {shown(column)}.")
        return column % n_columns
    if places is None:
        raise ValueError(
            f"columns: {name} has no column names, so there is no column {shown(column)}; give positions instead."
        )
    if column not in places:
        known = ", ".join(repr(label) for label in islice(places, 6)) + (", ..." if len(places) > 6 else "")
        raise ValueError(f"columns: {name} has no column {shown(column)}; it has {known}.")
    return places[column]


def float_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The precision in which an array's values are used; a TypeError if they are no real numbers."""
    if dtype.kind not in "biuf":
        what = "Python objects" if dtype.hasobject else f"{dtype} values"
        raise TypeError(f"{name} holds {what}, not real numbers. Save it as float32 or float64.")
    return FLOAT32 if dtype.kind == "f" and dtype.itemsize <= 4 else FLOAT64


def check_size(name: str, n_rows: int, n_columns: int) -> None:
    """Reject a table without rows or columns."""
    if n_rows == 0 or n_columns == 0:
        raise ValueError(f"{name} has no {'rows' if n_columns else 'columns'}; there is nothing to cluster.")


def check_table(name: str, shape: tuple[int, ...]) -> None:
    """Reject an array that is not a table, or an empty one."""
    if len(shape) != 2:
        raise ValueError(
            f"{name} is an array of shape {tuple(shape)}; expected 2 dimensions, one row per sample. "
            "Reshape it first."
        )
    check_size(name, shape[0], shape[1])
