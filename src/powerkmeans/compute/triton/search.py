"""The landmarks nearest to rows that are on a card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.neighbours import Neighbours, in_tiles
from powerkmeans.features.graph.neighbours import smallest as as_written
from powerkmeans.features.maps.graph import embedded
from powerkmeans.support.tensors import torch_module
from powerkmeans.types import Array, array_namespace

# columns that one program looks at, and how many of them it finds one after another
MOST_COLUMNS, MOST_FOUND = 2**13, 64
# columns of a group, and how many columns a warp keeps in its registers
GROUP, COLUMNS_OF_WARP = 8, 2**11


@dataclass(frozen=True)
class CardSearch:
    """Finds them as ``features.graph.neighbours`` does, but for the choice of the smallest distances."""

    def __call__(self, rows: Any, landmarks: Landmarks, count: int) -> Neighbours | None:
        """None for rows of NumPy, which are on no card."""
        if not hasattr(rows, "is_cuda"):
            return None
        return in_tiles(rows, landmarks, count, array_namespace(rows), smallest)

    def embedded(self, rows: Any, landmarks: Landmarks, count: int, loading: Any) -> Array | None:
        """Coordinates in the graph, as ``features.maps.graph`` has them."""
        found = self(rows, landmarks, count)
        return None if found is None else embedded(found, loading, array_namespace(rows))


def smallest(values: Any, count: int, xp: Any) -> Any:
    """Where the ``count`` smallest values of each row are, the smallest first."""
    n_rows, n_columns = values.shape
    if n_columns > MOST_COLUMNS or count > MOST_FOUND or n_rows == 0:
        return as_written(values, count, xp)
    from powerkmeans.compute.triton.select import smallest_columns  # noqa: PLC0415 - compiled on the way

    found = values.new_empty((n_rows, count), dtype=torch_module().int64)
    groups, most = _power(-(-n_columns // GROUP)), _power(count)
    smallest_columns[(n_rows,)](
        values.contiguous(), found, n_columns, count, groups, GROUP, most,
        num_warps=max(1, groups * GROUP // COLUMNS_OF_WARP),
    )  # fmt: skip
    return found


def _power(number: int) -> int:
    """The power of two that has room for so many."""
    return 1 << (number - 1).bit_length()
