"""Means of every column in every cluster, in original units, from one reading of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from powerkmeans.report.names import labels_of
from powerkmeans.report.original import BLOCK_NUMBERS, OriginalView
from powerkmeans.report.samples import Samples
from powerkmeans.types import Float64Array, Views

# means that the page holds; columns beyond are left out, the least telling first
MOST_CELLS = 400_000


@dataclass(frozen=True)
class Profiles:
    """Columns of all views side by side (p of them), k clusters.

    view : (p,) which view a column is of
    name : names of the columns
    means : (k, p), NaN where a cluster has no value
    overall, deviation : (p,) mean and standard deviation over all samples
    explained : (p,) the share of a column's variance that lies between clusters
    """

    view: NDArray[np.intp]
    name: list[str]
    means: Float64Array
    overall: Float64Array
    deviation: Float64Array
    explained: Float64Array

    @property
    def order(self) -> NDArray[np.intp]:
        """Columns from the most telling to the least."""
        return np.argsort(-self.explained, kind="stable")

    def standardised(self, values: Float64Array, clusters: Any, columns: slice) -> Float64Array:
        """How far values are from their clusters' means, in standard deviations of the column."""
        scale = np.where(self.deviation > 0, self.deviation, np.inf)[columns]
        return np.asarray((values - self.means[clusters][:, columns]) / scale)


def profile(views: list[OriginalView], samples: Samples, checked: Views) -> Profiles:
    """Read all rows of all views that have columns."""
    kept = [(index, view) for index, view in enumerate(views) if view.has_columns]
    parts = [_moments(view, samples, _present_in(checked, index)) for index, view in kept]
    empty = np.zeros((samples.n_clusters, 0)), np.zeros(0), np.zeros(0), np.zeros(0)
    means, overall, deviation, explained = (
        np.concatenate([empty[i], *(part[i] for part in parts)], axis=-1) for i in range(4)
    )
    owner = [np.full(len(view.columns), index, dtype=np.intp) for index, view in kept]
    return Profiles(
        view=np.concatenate([np.zeros(0, dtype=np.intp), *owner]),
        name=[name for _, view in kept for name in view.columns],
        means=means,
        overall=overall,
        deviation=deviation,
        explained=explained,
    )


def _present_in(checked: Views, index: int) -> NDArray[np.bool_] | None:
    return None if checked.present is None else checked.present[:, index]


def _moments(
    view: OriginalView, samples: Samples, present: NDArray[np.bool_] | None
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Means by cluster, mean, standard deviation and share of the variance between clusters, of each column.

    Sums are taken about the mean of the first rows, so that squares keep their digits.
    """
    width, k = len(view.columns), samples.n_clusters
    n_rows = max(BLOCK_NUMBERS // max(width, 1), 32)
    sums, counts, squares = np.zeros((k, width)), np.zeros((k, width)), np.zeros(width)
    shift, start = None, 0
    for block in view.blocks(n_rows):
        rows = slice(start, start + len(block))
        start = rows.stop
        known = np.isfinite(block)
        if present is not None:
            known &= present[rows, None]
        if shift is None:
            shift = np.sum(block, axis=0, where=known) / np.maximum(np.sum(known, axis=0), 1)
        centred = np.where(known, block - shift, 0)
        member = _members(samples.labels[rows], k)
        sums += member @ centred
        counts += member @ known.astype(np.float64)
        squares += np.einsum("ij,ij->j", centred, centred)
    assert shift is not None
    return _summary(sums, counts, squares, shift)


def _members(labels: NDArray[np.int32], n_clusters: int) -> csr_array:
    """1 where a row belongs to a cluster, (k, b)."""
    shape = (len(labels), n_clusters)
    return csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=shape).T.tocsr()


def _summary(
    sums: Float64Array, counts: Float64Array, squares: Float64Array, shift: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    known = np.sum(counts, axis=0)
    total = np.where(known > 0, known, np.nan)
    mean = np.sum(sums, axis=0) / total
    variance = np.maximum(squares / total - mean**2, 0)  # NaN where there is no value at all
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    between = np.nansum(counts * (means - mean) ** 2, axis=0) / total
    # what is left of equal values after rounding is no variance
    variance[variance <= 1e-29 * (mean + shift) ** 2] = 0
    explained = np.divide(between, variance, out=np.zeros_like(variance), where=variance > 0)
    return means + shift, mean + shift, np.sqrt(variance), np.minimum(explained, 1.0)


def most_columns(profiles: Profiles) -> int:
    """How many columns the page holds."""
    return min(len(profiles.name), max(MOST_CELLS // len(profiles.means), 1))


def profile_data(profiles: Profiles) -> dict[str, Any]:
    """The profiles as the page reads them: the most telling columns first, digits as far as they matter."""
    chosen = profiles.order[: most_columns(profiles)]
    decimals = [decimals_of(profiles.deviation[c], profiles.overall[c]) for c in chosen]

    def rounded(value: float, digits: int) -> float | None:
        return round(float(value), digits + 2) if math.isfinite(value) else None

    pairs = list(zip(chosen.tolist(), decimals, strict=True))
    names = [profiles.name[c] for c in chosen]
    return {
        "n": len(profiles.name),
        "name": names,
        "label": labels_of(names),
        "view": profiles.view[chosen].tolist(),
        "decimals": decimals,
        "overall": [rounded(profiles.overall[c], d) for c, d in pairs],
        "deviation": [rounded(profiles.deviation[c], d) for c, d in pairs],
        "explained": [round(float(profiles.explained[c]), 4) for c in chosen],
        "means": [[rounded(value, d) for value in profiles.means[:, c]] for c, d in pairs],
    }


def decimals_of(deviation: float, mean: float) -> int:
    """Decimals that tell values apart: two digits of the standard deviation, or three of a constant."""
    scale = deviation if deviation > 0 else abs(mean) / 10
    return int(np.clip(1 - math.floor(math.log10(scale)), -12, 18)) if 0 < scale < math.inf else 0
