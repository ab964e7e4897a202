"""What people have, as named tables: lists, dicts, one table with groups of columns.

Nothing here looks at values; ``views.py`` checks them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import _safe_indexing

from powerkmeans.sources import is_source
from powerkmeans.support.values import shown

SEPARATOR = ":"
# classes that hold tables: what they are, what people call one, and a table in it
_CONTAINERS = {
    ("anndata", "AnnData"): ("an AnnData", "adata", "adata.obsm['X_pca']"),
    ("mudata", "MuData"): ("a MuData", "mdata", "mdata['rna'].obsm['X_pca']"),
}

# where each column name stands; more than once if it is repeated
Places = dict[Any, list[int]]


def is_a(thing: Any, package: str, name: str) -> bool:
    """Whether something is of a class of a package, which is not imported: whoever has such a thing has."""
    module = sys.modules.get(package)
    return module is not None and isinstance(thing, getattr(module, name))


def check_no_container(X: Any) -> None:
    """Reject what holds tables in place of one: the name of a file, an AnnData, a MuData."""
    for (package, kind), (what, given, table) in _CONTAINERS.items():
        if is_a(X, package, kind):
            raise TypeError(
                f"X is {what}; use powerkmeans.sc.cluster({given}, n_clusters), or pass a table of it, such as "
                f"{table}."
            )
    if isinstance(X, os.PathLike) or (isinstance(X, str) and (os.path.splitext(X)[1] or os.path.exists(X))):
        raise TypeError(f"X is the path {os.fspath(X)!r}; open it with powerkmeans.open_source({os.fspath(X)!r}).")


def is_several(X: Any) -> bool:
    """Whether ``X`` holds its views apart: a dict, or a list with a 2-dimensional element.

    A list of rows is one table.
    """
    if isinstance(X, Mapping) and not issparse(X):  # a dictionary-of-keys matrix is a dict too
        return True
    if not isinstance(X, (list, tuple)):
        return False
    return all(item is None for item in X) or any(is_table(item) for item in X)


def is_table(item: Any) -> bool:
    """Whether an object is 2-dimensional; a list of rows is, also with None for some."""
    if hasattr(item, "shape"):
        return len(item.shape) == 2
    if not isinstance(item, (list, tuple)) or len(item) == 0:
        return False
    rows = [row for row in item if row is not None]
    return bool(rows) and all(isinstance(row, (list, tuple)) or np.ndim(row) == 1 for row in rows)


def named_tables(X: Any) -> dict[str, Any]:
    """Name the views of a list or dict; a list's are called view_0, view_1, ..."""
    if len(X) == 0:
        raise ValueError("X has no views; expected at least one 2-D array.")
    if isinstance(X, Mapping):
        for name in X:
            if not isinstance(name, str):
                raise TypeError(f"View names must be strings, got {shown(name)} ({type(name).__name__}).")
        named = dict(X)
    else:
        named = {f"view_{i}": table for i, table in enumerate(X)}
    for name, table in named.items():
        check_no_container(table)
        if isinstance(table, (list, tuple, np.ndarray)) and len(table) and all(row is None for row in table):
            named[name] = None
            continue
        if _is_lazy(table):
            raise TypeError(f"view {name!r} is a lazy frame; call .collect() on it first.")
        if table is not None and not is_table(table) and not _has_none_rows(table):
            raise TypeError(f"view {name!r} must be a 2-D array, got {_described(table)}.")
    return named


def _described(item: Any) -> str:
    shape = getattr(item, "shape", None)
    return f"an array of shape {tuple(shape)}" if shape is not None else f"{item!r:.40} ({type(item).__name__})"


def _has_none_rows(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == object and item.ndim == 1


def filled_rows(table: Any) -> Any:
    """The same table with rows of NaN in place of None, and masked entries as NaN."""
    if isinstance(table, np.ma.MaskedArray):
        return np.ma.filled(table.astype(np.result_type(table.dtype, np.float32)), np.nan)
    if not (isinstance(table, (list, tuple)) or _has_none_rows(table)) or all(row is not None for row in table):
        return table
    width = next((len(row) for row in table if row is not None), 0)
    return [[np.nan] * width if row is None else row for row in table]


def _is_lazy(X: Any) -> bool:
    return hasattr(X, "collect") and not hasattr(X, "shape")


def as_table(X: Any) -> Any:
    """One table with columns to choose from: lists of rows as arrays, sparse matrices by rows."""
    check_no_container(X)
    if _is_lazy(X):
        raise TypeError("X is a lazy frame; call .collect() on it first.")
    if issparse(X):
        return csr_array(X)  # type: ignore[call-overload]
    return np.asarray(filled_rows(X)) if isinstance(X, (list, tuple)) else X


def column_groups(X: Any, views: Any) -> dict[str, list[int]] | None:
    """Which columns of one table each view has; None if the table is one view.

    ``views`` says so, or else the columns' names do: the first level of a MultiIndex, or ``view:`` in front.
    """
    header = column_names(X)
    if views is not None:
        return _given_groups(views, header, count_columns(X))
    if header is None:
        return None
    if getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
        return _grouped(str(name[0]) for name in header)
    prefixed = [isinstance(name, str) and SEPARATOR in name[1:] and name[0] != SEPARATOR for name in header]
    if not any(prefixed):
        return None
    if not all(prefixed):
        plain = header[prefixed.index(False)]
        marked = header[prefixed.index(True)]
        raise ValueError(
            f"Column {marked!r} names a view before its {SEPARATOR!r}, but column {plain!r} does not. Name the "
            "view of every column, or say which columns each view has with views={...}."
        )
    return _grouped(name.split(SEPARATOR, 1)[0] for name in header)


def take_columns(X: Any, columns: list[int]) -> Any:
    """Some columns of a table, as a view on it where they are next to each other."""
    if is_source(X):
        return X.choose(columns)
    if isinstance(X, np.ndarray) and columns == list(range(columns[0], columns[-1] + 1)):
        return X[:, columns[0] : columns[-1] + 1]
    return _safe_indexing(X, columns, axis=1)


def column_names(X: Any) -> list[Any] | None:
    """Names of the columns of a data frame, None for an array."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None or callable(names) else list(names)


def plain_label(view: str, label: Any) -> Any:
    """A column's name without that of its view in front, as a number or a string."""
    if isinstance(label, str):
        return label.removeprefix(f"{view}:")
    if isinstance(label, tuple) and len(label) > 1 and label[0] == view:
        return plain_label(view, label[1:] if len(label) > 2 else label[1])
    return label if isinstance(label, int) else str(label)


def count_columns(X: Any) -> int:
    """How many columns a table has that is cut into views."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"views= chooses columns of a 2-D table, but X has {len(shape)} dimension(s).")
    return int(shape[1])


def _grouped(names: Iterable[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        groups.setdefault(name, []).append(index)
    return groups


def _given_groups(views: Any, header: list[Any] | None, n_columns: int) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    owner: dict[int, str] = {}
    places: Places | None = None if header is None else {}
    for index, column_name in enumerate(header or []):
        places.setdefault(column_name, []).append(index)  # type: ignore[union-attr]
    for name, columns in _pairs(views):
        if name in groups:
            raise ValueError(f"views names {name!r} twice.")
        groups[name] = _indices(name, columns, places, n_columns)
        for column in groups[name]:
            if column in owner:
                shown = column if header is None else repr(header[column])
                whose = f"{owner[column]!r} and {name!r}" if owner[column] != name else f"{name!r}, twice"
                raise ValueError(f"Column {shown} is in the views {whose}; a column belongs to one view.")
            owner[column] = name
    return groups


def _pairs(views: Any) -> list[tuple[str, Any]]:
    """``views`` as (name, columns) pairs, from a dict or from a list of such pairs."""
    pairs = list(views.items()) if isinstance(views, Mapping) else views
    if not isinstance(pairs, (list, tuple)) or not all(
        isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs
    ):
        raise TypeError(
            f"views must be a dict of columns, such as {{'rna': slice(0, 200), 'protein': ['p53', 'akt']}}. "
            f"Got {shown(views)} instead."
        )
    if not pairs:
        raise ValueError("views is empty; expected at least one view.")
    for name, _ in pairs:
        if not isinstance(name, str):
            raise TypeError(f"views: view names must be strings, got {shown(name)} ({type(name).__name__}).")
    return [(name, columns) for name, columns in pairs]


def _indices(name: str, columns: Any, places: Places | None, n_columns: int) -> list[int]:
    """Positions of a view's columns: one column, a slice, a mask, or a list of positions or names."""
    if isinstance(columns, slice):
        indices = _sliced(name, columns, places, n_columns)
    elif isinstance(columns, (str, Integral)):
        indices = [_position(name, columns, places, n_columns)]
    elif isinstance(columns, (Sequence, np.ndarray)) or hasattr(columns, "__iter__"):
        listed = [c.item() if isinstance(c, np.generic) else c for c in columns]
        if listed and all(isinstance(c, bool) for c in listed):
            if len(listed) != n_columns:
                raise ValueError(f"views[{name!r}] is a mask of {len(listed)} columns, but X has {n_columns}.")
            indices = [i for i, chosen in enumerate(listed) if chosen]
        else:
            indices = [_position(name, c, places, n_columns) for c in listed]
    else:
        raise TypeError(
            f"views[{name!r}] must be columns: positions, names or a slice. Got {shown(columns)} instead."
        )
    if not indices:
        raise ValueError(f"views: view {name!r} has no columns.")
    return indices


def _position(name: str, column: Any, places: Places | None, n_columns: int) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        if not -n_columns <= int(column) < n_columns:
            raise ValueError(f"views[{name!r}] has column {column}, but X has {n_columns} columns.")
        return int(column) % n_columns
    if places is None:
        if isinstance(column, str):
            raise ValueError(
                f"views[{name!r}] names the column {column!r}, but X is an array without column names."
            )
        raise TypeError(
            f"views[{name!r}] must be columns: positions, names or a slice. Got {shown(column)} instead."
        )
    found = places.get(column, [])
    if len(found) != 1:
        problem = "which X has more than once" if found else "which X does not have"
        raise ValueError(f"views[{name!r}] names the column {column!r}, {problem}.")
    return found[0]


def _sliced(name: str, columns: slice, places: Places | None, n_columns: int) -> list[int]:
    """A slice of positions, or one from a column's name to another's, the last included as in pandas."""
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = _position(name, start, places, n_columns)
    if isinstance(stop, str):
        stop = _position(name, stop, places, n_columns) + 1
    for bound in (start, stop):
        if isinstance(bound, Integral) and not -n_columns <= int(bound) <= n_columns:
            raise ValueError(f"views[{name!r}] has columns up to {bound}, but X has {n_columns} columns.")
    try:
        return list(range(*slice(start, stop, columns.step).indices(n_columns)))
    except TypeError:
        raise TypeError(f"views[{name!r}] is a slice of {columns!r}, which are not columns.") from None


def common_length(tables: dict[str, Any]) -> int:
    """The number of samples; the rows of data frames must be the same ones in the same order."""
    lengths = {name: t.shape[0] if hasattr(t, "shape") else len(t) for name, t in tables.items() if t is not None}
    if not lengths:
        raise ValueError("X has no views: all of them are None.")
    first, expected = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != expected:
            raise ValueError(
                f"view {name!r} has {length} samples, expected {expected} (from view {first!r})."
                + _advice(tables[first], tables[name])
            )
    check_same_rows(tables)
    return int(expected)


def check_same_rows(tables: dict[str, Any]) -> None:
    """Reject data frames that name their rows and do not have the same ones in the same order."""
    indexed = _row_labels(tables)
    for name, index in indexed.items():
        other = next(iter(indexed))
        pairs = [] if index.equals(indexed[other]) else zip(index, indexed[other], strict=True)
        for row, (first, second) in enumerate(pairs):
            if not _same_label(first, second):
                raise ValueError(
                    f"Row {row} is {_unpacked(first)!r} in view {name!r} but {_unpacked(second)!r} in view "
                    f"{other!r}: the views must have the same samples in the same order. Reindex them to a "
                    "common index."
                )


def _same_label(a: Any, b: Any) -> bool:
    try:
        return a is b or bool(a == b) or (a != a and b != b)  # noqa: PLR0124 (NaN is not itself)
    except TypeError:  # a label that says neither yes nor no, such as pandas' NA
        return type(a) is type(b)


def _unpacked(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _row_labels(tables: dict[str, Any]) -> dict[str, Any]:
    """The rows' names where data frames have them.

    An index that counts from 0 names nothing, unless others are numbers too: then one of them was reordered.
    """
    indexed: dict[str, Any] = {name: t.index for name, t in tables.items() if hasattr(t, "iloc")}
    counted = {n for n, i in indexed.items() if hasattr(i, "start") and (i.start, i.step) == (0, 1)}
    numbered = [n for n, i in indexed.items() if n not in counted and i.inferred_type in ("integer", "floating")]
    return {name: index for name, index in indexed.items() if name not in counted or numbered}


def _advice(first: Any, second: Any) -> str:
    """What may have happened to two tables of different length."""
    if all(hasattr(t, "iloc") for t in (first, second)) and len(first.index.intersection(second.index)):
        return (
            " Give all views the union of their samples, with NaN where one lacks a view: "
            "ids = a.index.union(b.index); a.reindex(ids), b.reindex(ids)."
        )
    if all(hasattr(t, "shape") for t in (first, second)) and {*first.shape} & {*second.shape}:
        return " Rows are samples: is a table transposed?"
    return ""
