"""How raw rows become the rows that distances are taken between: centred, and above the noise edge where asked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from powerkmeans.features.pairs import as_dense
from powerkmeans.support.draws import STATISTIC_ROWS
from powerkmeans.types import Array, Float64Array


@dataclass(frozen=True)
class Placing:
    """Rows less an origin, or their principal components.

    Several views lie side by side, then one column for each that is one where it is present.

    origin : (d,), what is subtracted, for numerics alone; zero for rows that stay sparse
    offsets : columns at which views begin and end
    projection : (d, c), each view's directions in its rows, padded with zeros to the same number; None for all
    """

    origin: Array
    offsets: tuple[int, ...]
    projection: Array | None = None

    @property
    def placed_offsets(self) -> tuple[int, ...]:
        """Where views begin and end among the columns that come out."""
        if self.projection is None:
            return self.offsets
        return tuple(view * int(self.projection.shape[1]) for view in range(len(self.offsets)))

    def __call__(self, X: Any, xp: Any) -> Any:
        if self.projection is None:
            if hasattr(X, "toarray") and not xp.any(self.origin != 0):
                return X.astype(xp.float64)
            return xp.astype(as_dense(X), xp.float64, copy=False) - self.origin
        end = self.offsets[-1]
        parts = [self._projected(X, a, b, xp) for a, b in pairwise(self.offsets)]
        if X.shape[1] > end:
            parts.append(xp.astype(as_dense(X[:, end:]), xp.float64))
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)

    def _projected(self, X: Any, start: int, end: int, xp: Any) -> Array:
        assert self.projection is not None
        rows = xp.astype(as_dense(X[:, start:end]), xp.float64, copy=False) - self.origin[start:end]
        return rows @ self.projection[start:end, :]


def origin_of(rows: Any, offsets: tuple[int, ...]) -> Float64Array:
    """A point amid the rows: the median of some, by view of those that have it; zero for sparse rows."""
    origin = np.zeros(rows.shape[1])
    if hasattr(rows, "toarray"):
        return origin
    some = rows[:: max(1, rows.shape[0] // STATISTIC_ROWS)]
    for view, (start, end) in enumerate(pairwise(offsets)):
        part = some[:, start:end] if len(offsets) == 2 else some[some[:, offsets[-1] + view] > 0, start:end]
        if len(part):
            origin[start:end] = np.median(part.astype(np.float64), axis=0)
    return origin
