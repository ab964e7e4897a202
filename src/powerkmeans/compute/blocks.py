"""Rows cut into blocks: how they are read, and what is made of a block before a function sees it.

Absent rows are set to zero, maps make features of the others, squared lengths go with them, and what has left the
range of its type is told by its row.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from powerkmeans.sources import is_source
from powerkmeans.sources.tensors import is_tensors
from powerkmeans.support.absent import zero_where_absent
from powerkmeans.support.memory import KERNEL_ROWS, SMALLEST_BLOCK
from powerkmeans.types import Array, Block, FeatureMap, KernelRows, Views, array_namespace

# bytes of features per block: a few megabytes stay in cache between the two products of a pass, and are enough
# work for the interpreter not to matter
BLOCK_BYTES = 2**24
LARGEST_BLOCK = 2**14


def rows_per_block(width: int, itemsize: int, *, kernel_rows: bool = False, block_bytes: int | None = None) -> int:
    """How many rows of so many numbers make a block: a constant of the data, however many work on it.

    ``block_bytes`` is what a device takes at once; None for blocks that stay in the cache of a processor.
    """
    rows = (BLOCK_BYTES if block_bytes is None else block_bytes) // (max(1, width) * itemsize)
    least = KERNEL_ROWS if kernel_rows else SMALLEST_BLOCK
    most = LARGEST_BLOCK if block_bytes is None else max(least, rows)
    return int(np.clip(rows // SMALLEST_BLOCK * SMALLEST_BLOCK, least, most))


class RowBlocks:
    """Raw rows of some views in blocks, in order; ``first`` is the number of the first row.

    ``on_device``: for a device, where tensors stay and all rows have one precision, which its products ask for.
    """

    def __init__(self, views: Views, size: int, first: int = 0, *, on_device: bool = False) -> None:
        self.views, self.size, self._first, self._on_device = views, size, first, on_device
        self.present = None if views.present is None else np.ascontiguousarray(views.present.T)
        self.n_rows = int(views.arrays[0].shape[0])

    def __len__(self) -> int:
        return len(range(0, self.n_rows, self.size))

    @property
    def from_host(self) -> bool:
        """Whether rows are in this machine's memory or files, those of some views at least."""
        return not all(is_tensors(view) and view.device.type != "cpu" for view in self.views.arrays)

    def read(self) -> Generator[Block, None, None]:
        """Yield blocks as they are read, absent rows as they come."""
        readers = [self._reader(number) for number in range(len(self.views.arrays))]
        try:
            for index, rows in enumerate(zip(*readers, strict=True)):
                part = slice(index * self.size, min((index + 1) * self.size, self.n_rows))
                present = None if self.present is None else self.present[:, part]
                yield Block(self._first + part.start, rows, (), self.views.weight[part], present)
        finally:  # a file's reader works ahead
            for reader in readers:
                reader.close()

    def take(self, rows: NDArray[np.intp]) -> tuple[Array, ...]:
        """Single rows of every view, absent ones as zeros."""
        taken = tuple(self._taken(number, rows) for number in range(len(self.views.arrays)))
        return taken if self.present is None else tuple(map(zero_where_absent, taken, self.present[:, rows]))

    def _reader(self, number: int) -> Generator[Array, None, None]:
        view = self.views.arrays[number]
        if is_source(view):
            read = view.device_blocks if self._on_device else view.blocks
            rows: Any = read(self.size, None if self.present is None else self.present[number])
        else:
            rows = (view[start : start + self.size] for start in range(0, self.n_rows, self.size))
        with closing(rows):
            yield from (map(self._cast, rows) if self._on_device else rows)

    def _cast(self, rows: Array) -> Array:
        if isinstance(rows, np.ndarray) or hasattr(rows, "indptr"):
            return rows.astype(self.views.dtype, copy=False)
        xp = array_namespace(rows)
        return xp.astype(rows, getattr(xp, self.views.dtype.name), copy=False)

    def _taken(self, number: int, rows: NDArray[np.intp]) -> Array:
        view = self.views.arrays[number]
        if not is_source(view):
            return view[rows]
        present = None if self.present is None else self.present[number]
        if view.any_order:
            return view.take(rows, None if present is None else present[rows])
        order = np.argsort(rows)
        taken = view.take(rows[order], None if present is None else present[rows[order]])
        return taken[np.argsort(order)]


class StoredBlocks:
    """Blocks that are held in memory, with whatever was made of them."""

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def read(self) -> Generator[Block, None, None]:
        """Yield them in order."""
        yield from self._blocks


def zeroed(block: Block) -> Block:
    """The block with absent rows set to zero."""
    if block.present is None:
        return block
    return block._replace(views=tuple(map(zero_where_absent, block.views, _masks(block))))


def mapped(block: Block, maps: tuple[FeatureMap, ...]) -> Block:
    """The block seen through feature maps: features and their squared lengths, zero where a view is absent."""
    xp = array_namespace(block.weight)  # not that of the rows, which may be sparse
    parts = zip(maps, zeroed(block).views, _masks(block), strict=True)
    with np.errstate(invalid="ignore"):  # what is not finite is told below
        pairs = [_features_and_norms(m, rows, block.start, mask, xp) for m, rows, mask in parts]
    features = block._replace(
        views=tuple(rows for rows, _ in pairs), squared_norms=tuple(norm for _, norm in pairs)
    )
    return _finite(features if block.present is None else _without_absent(features), maps)


def _masks(block: Block) -> list[Array]:
    """Which rows each view has, None for all."""
    return [None if block.present is None else block.present[view, :] for view in range(len(block.views))]


def _features_and_norms(
    feature_map: FeatureMap, rows: Array, start: int, present: Array | None, xp: Any
) -> tuple[Array, Array]:
    if feature_map.dual:
        return cast(KernelRows, feature_map).rows_and_norms(rows, start, present)
    features = feature_map(rows, xp)
    return features, xp.linalg.vecdot(features, features)


def _without_absent(block: Block) -> Block:
    xp = array_namespace(block.weight)
    pairs = zip(_masks(block), block.squared_norms, strict=True)
    norms = tuple(xp.where(mask, norm, xp.zeros_like(norm)) for mask, norm in pairs)
    return zeroed(block)._replace(squared_norms=norms)


def _finite(block: Block, maps: tuple[FeatureMap, ...]) -> Block:
    xp = array_namespace(block.weight)
    for norm, feature_map in zip(block.squared_norms, maps, strict=True):
        finite = xp.isfinite(norm)
        if not xp.all(finite):
            raise feature_map.fault(norm.dtype, block.start + int(xp.argmin(xp.astype(finite, xp.int8))))
    return block
