"""The data in their original units: named columns of each view, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.inputs.tables import (
    as_table,
    column_groups,
    column_names,
    filled_rows,
    is_several,
    is_table,
    named_tables,
    plain_label,
)
from powerkmeans.report.markup import plain_text
from powerkmeans.sources import Source, is_source
from powerkmeans.support.values import naming, shown, text
from powerkmeans.types import Float64Array

# numbers of a block: eight megabytes
BLOCK_NUMBERS = 2**20
# a view's table, and where its columns are in it; None for all of them
Placed = tuple[Any, list[int] | None]


@dataclass(frozen=True)
class OriginalView:
    """Columns of one view.

    ``positions`` are those of its columns in the table, None if they are all of them. ``has_columns`` is false
    for a matrix of kernels, whose columns are samples.
    """

    name: str
    table: Any
    positions: list[int] | None
    columns: tuple[str, ...]
    has_columns: bool = True

    def blocks(self, n_rows: int) -> Iterator[Float64Array]:
        """Yield consecutive blocks of rows as float64."""
        if is_source(self.table):
            yield from (block.astype(np.float64) for block in self._chosen(self.table).blocks(n_rows))
            return
        length = len_of(self.table)
        yield from (self._numbers(slice(start, start + n_rows)) for start in range(0, length, n_rows))

    def take(self, rows: Any) -> Float64Array:
        """Read the given rows, which ascend."""
        return (
            self._chosen(self.table).take(rows).astype(np.float64)
            if is_source(self.table)
            else self._numbers(rows)
        )

    def _chosen(self, source: Source) -> Source:
        return source if self.positions is None else source.choose(self.positions)

    def _numbers(self, rows: Any) -> Float64Array:
        part = self.table.iloc[rows] if hasattr(self.table, "iloc") else self.table[rows]
        try:
            values = _float64(part)
        except (TypeError, ValueError) as error:
            whose = "" if self.name == "X" else f" of view {self.name!r}"
            raise ValueError(
                f"The report needs numbers, but a column{whose} holds something else: {error}"
            ) from None
        return values if self.positions is None else values[:, self.positions]


def _float64(part: Any) -> Float64Array:
    if hasattr(part, "toarray"):
        return np.asarray(part.toarray(), dtype=np.float64)
    if hasattr(part, "iloc"):
        return np.asarray(part.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(part.to_numpy() if hasattr(part, "to_numpy") else part, dtype=np.float64)


def holds_numbers(table: Any) -> bool:
    """Whether the first row of a table is one of numbers, or of gaps."""
    part = table.iloc[:1] if hasattr(table, "iloc") else table[:1]
    try:
        _float64(part)
    except (TypeError, ValueError):
        return False
    return True


def len_of(table: Any) -> int:
    """Number of rows."""
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def original_views(
    estimator: PowerKMeansBase, X: Any, original: Any, feature_names: Any, n_samples: int
) -> list[OriginalView]:
    """The views of ``original``, or of ``X`` where there is none, in the order of the model's."""
    with naming("original"):
        model, found = estimator._fit.model, _placed(estimator, X if original is None else original)
    fitted = found if original is None else _placed(estimator, X)
    with naming("feature_names"):
        given = _given_names(feature_names, found)
    views = []
    for index, (name, width) in enumerate(zip(model.view_names, model.view_widths, strict=True)):
        kernel = _is_kernel(estimator, name)
        _check_shape(name, found[name], n_samples, None if kernel else width)
        columns = given.get(name) or _own_names(estimator, index, [found[name], fitted[name]])
        views.append(OriginalView(name, *found[name], columns, has_columns=not kernel or original is not None))
    return views


def _check_shape(view: str, placed: Placed, n_samples: int, width: int | None) -> None:
    rows, found = len_of(placed[0]), _width(placed)
    whose = "original" if view == "X" else f"original: view {view!r}"
    if rows != n_samples:
        raise ValueError(f"{whose} has {rows} samples, expected {n_samples} as in X.")
    if width is not None and found != width:
        raise ValueError(f"{whose} has {found} columns, expected {width}: the columns of X, in other units.")


def _is_kernel(estimator: Any, view: str) -> bool:
    kernel = estimator.kernel
    if isinstance(kernel, Mapping):
        kernel = kernel.get(view)
    elif not isinstance(kernel, str):
        kernel = list(kernel)[estimator._fit.model.view_names.index(view)]
    return bool(kernel == PRECOMPUTED)


def _placed(estimator: Any, X: Any) -> dict[str, Placed]:
    """Each view's table and where its columns are in it."""
    names, layout = estimator._fit.model.view_names, estimator._layout
    if is_several(X):
        tables = named_tables(X)
        if not isinstance(X, Mapping):
            tables = dict(zip(names, tables.values(), strict=False))
        lacking = [name for name in names if tables.get(name) is None]
        if lacking:
            raise ValueError(f"original lacks the view {lacking[0]!r} of the fit.")
        return {name: (_table(tables[name]), None) for name in names}
    table = _table(as_table(X))
    if not is_table(table) or not (is_source(table) or hasattr(table, "__getitem__")):
        raise TypeError(f"original must be a 2-D table, or tables by view. Got {shown(X)} instead.")
    columns = None if layout is None else layout.columns or column_groups(table, None)
    if columns is None and len(names) > 1:
        raise ValueError("original is one table, but the model has several views; pass a dict or a list of them.")
    if columns is None:
        return {names[0]: (table, None)}
    missing = [name for name in names if name not in columns]
    width = int(table.shape[1])
    if missing or any(position >= width for positions in columns.values() for position in positions):
        raise ValueError(
            f"original has other columns than X: {width} of them. Pass all columns of X, in other units."
        )
    return {name: (table, columns[name]) for name in names}


def _table(table: Any) -> Any:
    """A table whose rows can be taken."""
    if issparse(table):
        return csr_array(table)  # type: ignore[call-overload]
    table = filled_rows(table)
    return np.asarray(table, dtype=np.float64) if isinstance(table, (list, tuple)) else table


def _own_names(estimator: Any, view: int, tables: Sequence[Placed]) -> tuple[str, ...]:
    """Names of a view's columns: the first that are known, or else numbers."""
    name, layout = estimator._fit.model.view_names[view], estimator._layout
    for table, positions in tables:
        header = column_names(table)
        if header is not None:
            labels = header if positions is None else [header[position] for position in positions]
            return tuple(plain_text(plain_label(name, label)) for label in labels)
    if layout is not None and layout.labels[view] is not None:
        return tuple(plain_text(label) for label in layout.labels[view])
    if layout is None and hasattr(estimator, "feature_names_in_"):
        return tuple(plain_text(label) for label in estimator.feature_names_in_)
    table, positions = tables[0]
    return tuple(f"x{i}" for i in (range(table.shape[1]) if positions is None else positions))


def _given_names(feature_names: Any, found: dict[str, Placed]) -> dict[str, tuple[str, ...]]:
    """Names that were passed: a dict or a list of one list per view, or one list over all columns."""
    if feature_names is None:
        return {}
    if isinstance(feature_names, Mapping):
        groups = {text("feature_names", view): list(names) for view, names in feature_names.items()}
    else:
        listed = list(feature_names)
        nested = bool(listed) and all(not isinstance(item, (str, bytes)) and np.ndim(item) == 1 for item in listed)
        groups = dict(zip(found, map(list, listed), strict=False)) if nested else _cut(listed, found)
    for view, names in groups.items():
        if view not in found:
            raise ValueError(
                f"feature_names names the view {view!r}; the views are {', '.join(map(repr, found))}."
            )
        if len(names) != _width(found[view]):
            raise ValueError(
                f"feature_names has {len(names)} names for view {view!r}, which has {_width(found[view])} columns."
            )
    return {view: tuple(plain_text(name) for name in names) for view, names in groups.items()}


def _cut(names: list[Any], found: dict[str, Placed]) -> dict[str, list[Any]]:
    """One list of names, as many as the views or the table they are cut from have columns."""
    table, positions = next(iter(found.values()))
    if positions is not None and len(names) == table.shape[1]:
        return {view: [names[position] for position in positions or []] for view, (_, positions) in found.items()}
    widths = [_width(placed) for placed in found.values()]
    if len(names) != sum(widths):
        raise ValueError(f"feature_names has {len(names)} names, but there are {sum(widths)} columns.")
    bounds = np.cumsum([0, *widths])
    return {view: names[bounds[i] : bounds[i + 1]] for i, view in enumerate(found)}


def _width(placed: Placed) -> int:
    table, positions = placed
    return int(table.shape[1]) if positions is None else len(positions)
