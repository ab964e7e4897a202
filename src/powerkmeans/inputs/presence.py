"""Which samples have which views: told by a mask, or by rows that are all NaN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.inputs.tables import check_same_rows, column_names
from powerkmeans.inputs.tensors import numbers_here
from powerkmeans.sources.tensors import is_tensors
from powerkmeans.support.values import listed, shown
from powerkmeans.types import Array

# missing rows are searched for in pieces, so that a file larger than memory is never held at once
ROWS_AT_ONCE = 8192


def absent_rows(name: str, array: Array, expected: Array) -> Array:
    """Which rows are all NaN; one that is partly NaN or infinite, and expected to be there, is an error."""
    absent = np.zeros(array.shape[0], dtype=bool)
    if _sum_is_finite(array):
        return absent
    for start in range(0, array.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        n_nan, n_infinite, column = _count_odd(array[rows])
        absent[rows] = n_nan == array.shape[1]
        for row in np.flatnonzero((n_infinite > 0) & expected[rows]):
            raise ValueError(
                f"Input view {name!r} contains infinity or a value too large for {array.dtype!r} (sample "
                f"{start + row})."
            )
        for row in np.flatnonzero((n_nan > 0) & ~absent[rows] & expected[rows]):
            raise ValueError(
                f"view {name!r} contains NaN: sample {start + row} is partly NaN (column {column[row]}). "
                "A sample has a view whole or not at all: impute the value, or set the whole row to NaN."
            )
    return absent


def _sum_is_finite(array: Array) -> bool:
    if is_tensors(array):
        return bool(array.tensor.sum(dtype=float).isfinite())
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(array.data if hasattr(array, "indptr") else array, dtype=np.float64)))


def _count_odd(rows: Array) -> tuple[Array, Array, Array]:
    """Per row the numbers of NaN and of infinities, and the column of the first NaN."""
    if not hasattr(rows, "indptr"):
        nan = np.isnan(rows)
        return np.sum(nan, axis=1), np.sum(np.isinf(rows), axis=1), np.argmax(nan, axis=1)
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    nan = np.isnan(rows.data)
    first = np.zeros(rows.shape[0], dtype=int)
    first[owner[nan][::-1]] = rows.indices[nan][::-1]
    counts = [np.bincount(owner[odd], minlength=rows.shape[0]) for odd in (nan, np.isinf(rows.data))]
    return counts[0], counts[1], first


def check_present(present: Any, tables: dict[str, Any], n_samples: int) -> NDArray[np.bool_]:
    """Which samples have which views, (n, L); all, unless told otherwise."""
    names = tuple(tables)
    if present is None:
        return np.ones((n_samples, len(names)), dtype=bool)
    present = numbers_here(present, "present")
    if hasattr(present, "iloc") and len(present) == n_samples:
        check_same_rows({**tables, "present": present})
    labels = column_names(present)
    if isinstance(present, Mapping) or (labels is not None and any(isinstance(label, str) for label in labels)):
        present = _by_name(present, list(present) if labels is None else labels, names, n_samples)
    mask = np.asarray(present)
    if mask.shape != (n_samples, len(names)):
        expected = (n_samples, len(names))
        raise ValueError(f"present must have the shape (n_samples, n_views) = {expected}, got {mask.shape}.")
    plain = mask.dtype.kind in "biuf" or all(isinstance(value, (bool, np.bool_)) for value in mask.flat)
    if not plain or not np.all((mask == 0) | (mask == 1)):
        raise not_a_mask()
    return mask.astype(bool)


def _by_name(present: Any, given: Any, names: tuple[str, ...], n_samples: int) -> Array:
    """Columns that are named, in the order of the views; a view that has none is complete."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"present names the view {shown(unknown[0])}; the views are {listed(names)}.")
    columns = [np.asarray(present[name]) if name in given else np.ones(n_samples) for name in names]
    wrong = [name for name, column in zip(names, columns, strict=True) if column.shape != (n_samples,)]
    if wrong:
        raise ValueError(f"present[{wrong[0]!r}] must have one entry for each of the {n_samples} samples.")
    return np.stack(columns, axis=1)


def check_coverage(names: tuple[str, ...], mask: NDArray[np.bool_], weight: Array | None) -> None:
    """Every sample has a view and, in fit, every view has a sample of positive weight."""
    bare = np.flatnonzero(~np.any(mask, axis=1))
    if len(bare):
        raise no_view(int(bare[0]), names)
    if weight is None:
        return
    for name, column in zip(names, mask.T, strict=True):
        if not np.any(column & (weight > 0)):
            raise missing_in_all(name)


def not_a_mask() -> ValueError:
    """What to raise for a mask that holds anything else."""
    return ValueError("present must hold True where a sample has a view and False where not.")


def no_view(sample: int, names: tuple[str, ...]) -> ValueError:
    """What to raise for a sample without a view."""
    return ValueError(
        f"Sample {sample} has no view: it is NaN or absent in {listed(names)}, or not present. Leave it out."
    )


def missing_in_all(name: str) -> ValueError:
    """What to raise for a view without a sample."""
    return ValueError(f"view {name!r} is missing in all samples (of positive weight). Leave it out.")
