"""The beginning of a stream: chunks are collected until there are enough rows to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse, vstack

from powerkmeans.inputs.views import Layout
from powerkmeans.types import Array, Views


@dataclass(frozen=True)
class Collected:
    """Rows of a stream so far, and how many of them the model in use was fitted to.

    Chunks are joined when they are fitted, not as they come, so that no row is copied for each chunk after it.
    """

    chunks: tuple[Views, ...]
    n_rows: int
    layout: Layout | None
    n_fitted: int = 0

    def with_chunk(self, views: Views, layout: Layout | None) -> Collected:
        """Append a chunk, which must be of the same make."""
        _check_same_make(self.chunks[0], views, self.layout, layout)
        return replace(self, chunks=(*self.chunks, views), n_rows=self.n_rows + len(views.weight))

    def joined(self) -> Collected:
        """The same rows as one chunk."""
        return self if len(self.chunks) == 1 else replace(self, chunks=(_joined(self.chunks),))


def collect(views: Views, layout: Layout | None, n_fitted: int = 0) -> Collected:
    """Begin with one chunk."""
    return Collected((views,), len(views.weight), layout, n_fitted)


def owned(views: Views) -> Views:
    """The same rows in memory of their own: callers read the next chunk into theirs."""
    return views._replace(arrays=tuple(array.copy() for array in views.arrays))


def _check_same_make(first: Views, its: Views, layout: Layout | None, its_layout: Layout | None) -> None:
    widths = [tuple(int(array.shape[1]) for array in views.arrays) for views in (first, its)]
    labels = [None if part is None else part.labels for part in (layout, its_layout)]
    if first.names == its.names == ("X",) and widths[0] != widths[1]:
        raise ValueError(
            f"X has {widths[1][0]} features, but MultiViewPowerKMeans is expecting {widths[0][0]} features as "
            "input."
        )
    if first.names != its.names or widths[0] != widths[1] or labels[0] != labels[1]:
        raise ValueError(
            f"This chunk has the views {_described(its)}, but the stream began with {_described(first)}."
        )


def _joined(chunks: Sequence[Views]) -> Views:
    arrays = tuple(_stacked(parts) for parts in zip(*(chunk.arrays for chunk in chunks), strict=True))
    dtype = np.result_type(*(chunk.dtype for chunk in chunks))
    weight = np.concatenate([chunk.weight for chunk in chunks]).astype(dtype)
    return Views(chunks[0].names, arrays, weight, _joined_masks(chunks))


def _stacked(parts: Sequence[Array]) -> Array:
    return vstack(parts, format="csr") if any(issparse(part) for part in parts) else np.concatenate(parts)


def _joined_masks(chunks: Sequence[Views]) -> Array | None:
    if all(chunk.present is None for chunk in chunks):
        return None
    return np.concatenate([_mask(chunk) for chunk in chunks])


def _mask(chunk: Views) -> Array:
    return np.ones((len(chunk.weight), len(chunk.names)), bool) if chunk.present is None else chunk.present


def _described(views: Views) -> str:
    parts = zip(views.names, views.arrays, strict=True)
    return ", ".join(f"{name!r} ({array.shape[1]} columns)" for name, array in parts)
