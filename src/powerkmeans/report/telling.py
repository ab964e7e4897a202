"""Columns that clusters were not looked for in, but that readers know them by: those that tell clusters apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from powerkmeans.report.markup import count, plain_text
from powerkmeans.report.original import OriginalView
from powerkmeans.types import Float64Array

# columns that the page shows of such a table, all clusters together
MOST_TELLING = 48


@dataclass(frozen=True)
class Beside:
    """Other columns of the samples: genes beside components, for example.

    view : the name of the view that they are of
    table : (n_samples, n_columns), an array or a sparse matrix
    columns : their names
    what : what they are, in a word or two, such as "genes of .X"
    present : which samples have them, None for all
    """

    view: str
    table: Any
    columns: list[str]
    what: str
    present: NDArray[np.bool_] | None = None


def telling_view(beside: Beside, labels: NDArray[np.integer], n_clusters: int) -> tuple[OriginalView, str]:
    """The most telling of the columns as a view of them, and a sentence about what they are."""
    table = csr_array(beside.table) if issparse(beside.table) else np.asarray(beside.table)  # type: ignore[call-overload]
    there = labels if beside.present is None else np.where(beside.present, labels, -1)
    chosen = telling_columns(table, there, n_clusters)
    names = tuple(plain_text(beside.columns[place]) for place in chosen)
    about = (
        f"Columns are {count(len(chosen))} of the {count(len(beside.columns))} {beside.what}: for each cluster "
        "those whose mean differs most from that of all other samples, in units of their standard deviation."
    )
    return OriginalView(beside.view, table[:, chosen], None, names), about


def telling_columns(
    table: Any, labels: NDArray[np.integer], n_clusters: int, most: int = MOST_TELLING
) -> list[int]:
    """Columns in which a cluster differs most from the rest, of every cluster as many; a sparse table stays so."""
    differences = np.abs(_differences(table, labels, n_clusters))
    order = np.argsort(-differences, axis=1, kind="stable")
    # the first of every cluster, then the second, ...
    found = dict.fromkeys(order.T[:MOST_TELLING].ravel().tolist())
    varied = [place for place in found if np.any(differences[:, place] > 0)]
    return sorted(varied[:MOST_TELLING]) or [0]


def _differences(table: Any, labels: NDArray[np.integer], n_clusters: int) -> Float64Array:
    """The mean of each cluster less that of all other rows, in standard deviations, (k, columns)."""
    rows = np.flatnonzero(labels >= 0)
    members = csr_array((np.ones(len(rows)), (labels[rows], rows)), shape=(n_clusters, len(labels)))
    sums, sizes = _dense(members @ table), np.bincount(labels[rows], minlength=n_clusters)[:, None]
    total, n_rows = np.sum(sums, axis=0), len(rows)
    squares = _dense(
        (table.multiply(table) if hasattr(table, "multiply") else np.square(table, dtype=np.float64)).sum(axis=0)
    )
    deviation = np.sqrt(np.maximum(squares / n_rows - (total / n_rows) ** 2, 0))
    rounding = deviation <= 1e-7 * np.sqrt(squares / n_rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (sums / sizes - (total - sums) / (n_rows - sizes)) / deviation
    return np.where(np.isfinite(apart) & ~rounding, apart, 0.0)


def _dense(values: Any) -> Float64Array:
    """A product that may be sparse, as numbers of double precision."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
