"""The beginning of a stream: chunks are collected until there are enough rows to begin with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse, vstack

from powerkmeans.types import Array, Views
from powerkmeans.views import Layout


@dataclass(frozen=True)
class Collected:
    """Rows of a stream so far, and how many of them the model in use was fitted to."""

    views: Views
    layout: Layout | None
    n_fitted: int = 0

    @property
    def n_rows(self) -> int:
        return len(self.views.weight)

    def with_chunk(self, views: Views, layout: Layout | None) -> Collected:
        """Append a chunk, which must be of the same make."""
        mine, its = self.views, views
        widths = [tuple(int(array.shape[1]) for array in v.arrays) for v in (mine, its)]
        labels = [None if part is None else part.labels for part in (self.layout, layout)]
        if mine.names == its.names == ("X",) and widths[0] != widths[1]:
            raise ValueError(
                f"X has {widths[1][0]} features, but MultiViewPowerKMeans is expecting {widths[0][0]} features as "
                "input."
            )
        if mine.names != its.names or widths[0] != widths[1] or labels[0] != labels[1]:
            raise ValueError(
                f"This chunk has the views {_described(its)}, but the stream began with {_described(mine)}."
            )
        dtype = np.result_type(mine.dtype, its.dtype)
        arrays = tuple(_stacked(a, b) for a, b in zip(mine.arrays, its.arrays, strict=True))
        weight = np.concatenate([mine.weight, its.weight]).astype(dtype)
        return Collected(Views(mine.names, arrays, weight, _joined_masks(mine, its)), self.layout, self.n_fitted)


def _stacked(a: Array, b: Array) -> Array:
    return vstack([a, b], format="csr") if issparse(a) or issparse(b) else np.concatenate([a, b])


def _joined_masks(a: Views, b: Views) -> Array | None:
    if a.present is None and b.present is None:
        return None
    masks = [np.ones((len(v.weight), len(v.names)), bool) if v.present is None else v.present for v in (a, b)]
    return np.concatenate(masks)


def _described(views: Views) -> str:
    parts = zip(views.names, views.arrays, strict=True)
    return ", ".join(f"{name!r} ({array.shape[1]} columns)" for name, array in parts)
