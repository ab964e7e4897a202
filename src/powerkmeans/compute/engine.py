"""Rows in memory, worked on in blocks by threads, summed in float64 in a fixed order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import fields
from itertools import islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.blocks import overflow_error
from powerkmeans.compute.options import NumpyOptions, engine_options
from powerkmeans.compute.sampling import Candidates, Distinct, multipliers, row_hashes, zero_where_absent
from powerkmeans.sources import Source
from powerkmeans.support.draws import thin
from powerkmeans.types import Array, Block, FeatureMap, KernelRows, P, RowSample, S, T, Views

# bytes of features a block: a few megabytes stay in cache between the two products of a pass, and are
# enough work for the interpreter not to matter
BLOCK_BYTES = 2**24
SMALLEST_BLOCK, LARGEST_BLOCK = 32, 2**14
# rows of a kernel matrix are as wide as there are samples, and so are the sums of a block of them
KERNEL_ROWS = 512
# blocks a thread that are read before they are needed
BLOCKS_AHEAD = 4
# a sample of a file goes by all hashes if these many bytes a row fit the budget, else by those of this many times
# as many candidates
BYTES_A_HASH, CANDIDATES = 64, 4
# a label, and the numbers that labels are put in order by
BYTES_A_LABEL = 16


class _Workers:
    """Threads of an engine and of those made from it by ``with_features``; they end with the last of these."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._size = 0

    def of(self, size: int) -> ThreadPoolExecutor:
        if self._pool is None or self._size < size:
            self._pool, self._size = ThreadPoolExecutor(size, "powerkmeans"), size
        return self._pool


class RowEngine:
    """Fixed blocks of rows; the same bits for any number of threads."""

    def __init__(
        self,
        views: Views,
        options: NumpyOptions,
        maps: tuple[FeatureMap, ...] | None = None,
        working: int = 0,
        workers: _Workers | None = None,
    ) -> None:
        self._workers = workers or _Workers()
        self._views = views
        self._present = None if views.present is None else np.ascontiguousarray(views.present.T)
        self._options = options
        self._maps = maps
        self._features: list[tuple[tuple[Array, ...], tuple[Array, ...]]] | None = None
        self.kernel = options.kernel
        self.n_samples = int(views.arrays[0].shape[0])
        self.dtype = views.dtype
        width = sum(m.n_outputs for m in maps) if maps else sum(v.shape[1] for v in views.arrays)
        rows = BLOCK_BYTES // (max(1, width, working) * self.dtype.itemsize)
        kernel_rows = any(m.dual for m in maps or ())
        smallest = KERNEL_ROWS if kernel_rows else SMALLEST_BLOCK
        self.block_rows = int(np.clip(rows // 32 * 32, smallest, LARGEST_BLOCK))
        kept = kept_bytes(self.n_samples, width, len(views.arrays), self.dtype.itemsize)
        self._fits = kernel_rows or kept <= options.memory_budget

    def with_features(self, maps: tuple[FeatureMap, ...], keep: bool, working: int = 0) -> RowEngine:
        """The same rows seen through feature maps, stored if asked for and within the memory budget.

        ``working`` is how many numbers a row the functions to come will hold besides the features.
        """
        mapped = RowEngine(self._views, self._options, maps, working, self._workers)
        if keep and mapped._fits:
            mapped._features = list(mapped._in_order(mapped._mapped))
        return mapped

    @property
    def stored(self) -> bool:
        """Whether features are held in memory."""
        return self._features is not None

    def fold(self, function: Callable[[Block, P], S], parameters: P) -> S:
        """Sum ``function(block, parameters)`` over all blocks in float64, in the order of the rows."""
        with closing(self.map_blocks(function, parameters)) as parts:
            total = _in_float64(next(parts))
            for part in parts:
                total += part
        return total

    def map_rows(self, function: Callable[[Block, P], Array], parameters: P) -> Array:
        """Stack ``function(block, parameters)``, one row a sample."""
        with closing(self.map_blocks(function, parameters)) as parts:
            first = next(parts)
            out = np.empty((self.n_samples, *first.shape[1:]), dtype=first.dtype)
            out[: len(first)] = first
            for index, part in enumerate(parts, start=1):
                start = index * self.block_rows
                out[start : start + len(part)] = part
        return out

    def map_blocks(self, function: Callable[[Block, P], T], parameters: P) -> Generator[T, None, None]:
        """Yield ``function(block, parameters)`` in the order of the rows."""
        return self._in_order(lambda index, raw: function(self._block(index, raw), parameters))

    def sample(self, size: int, seed: int) -> RowSample:
        """Draw up to ``size`` distinct rows by weight, from their content alone.

        Rows of weight 0 are never drawn and equal rows are one, with their weights added, so weights equal
        repetition. The draw goes by a hash of the content, so it does not depend on the order of the rows.
        """
        exact = not self._from_sources or self.n_samples * BYTES_A_HASH <= self._options.memory_budget
        found = self._distinct(seed, size, self.n_samples if exact else CANDIDATES * size)
        kept, stands_for = thin(found.times, found.weight, size)
        chosen = found.rows[kept]
        present = None if self._present is None else self._present[:, chosen]
        views = tuple(self._taken(index, chosen) for index in range(len(self._views.arrays)))
        if present is not None:
            views = tuple(map(zero_where_absent, views, present))
        return RowSample(views, stands_for, None if present is None else present.T, found.n_distinct, chosen)

    def _taken(self, index: int, rows: NDArray[np.intp]) -> Array:
        view = self._views.arrays[index]
        if not isinstance(view, Source):
            return view[rows]
        order = np.argsort(rows)
        present = None if self._present is None else self._present[index, rows[order]]
        return view.take(rows[order], present)[np.argsort(order)]

    @property
    def _from_sources(self) -> bool:
        return any(isinstance(view, Source) for view in self._views.arrays)

    @property
    def _n_blocks(self) -> int:
        return -(-self.n_samples // self.block_rows)

    def _rows(self, index: int) -> slice:
        return slice(index * self.block_rows, min((index + 1) * self.block_rows, self.n_samples))

    def _block(self, index: int, raw: tuple[Array, ...]) -> Block:
        rows, present = self._rows(index), self._present_rows(index)
        if self._features is not None:
            views, norms = self._features[index]
        elif self._maps is not None:
            views, norms = self._mapped(index, raw)
        else:
            views, norms = self._zeroed(raw, present), ()
        return Block(rows.start, views, norms, self._views.weight[rows], present)

    def _present_rows(self, index: int) -> Array | None:
        return None if self._present is None else self._present[:, self._rows(index)]

    def _zeroed(self, raw: tuple[Array, ...], present: Array | None) -> tuple[Array, ...]:
        return raw if present is None else tuple(map(zero_where_absent, raw, present))

    def _mapped(self, index: int, raw: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        assert self._maps is not None
        present = self._present_rows(index)
        with np.errstate(invalid="ignore"):
            start, parts = self._rows(index).start, zip(self._maps, self._zeroed(raw, present), strict=True)
            there = [None] * len(self._maps) if present is None else list(present)
            pairs = [_rows_and_norms(m, view, start, o) for (m, view), o in zip(parts, there, strict=True)]
            views = self._zeroed(tuple(rows for rows, _ in pairs), present)
            norms = tuple(norm for _, norm in pairs)
            norms = norms if present is None else tuple(map(np.where, present, norms, [0] * len(norms)))
        for norm in norms:
            if not np.all(np.isfinite(norm)):
                row = index * self.block_rows + int(np.flatnonzero(~np.isfinite(norm))[0])
                raise overflow_error(self.dtype, row)
        return views, norms

    def _distinct(self, seed: int, size: int, most: int) -> Candidates:
        """Distinct rows to draw ``size`` from: all, or the heavy ones and ``most`` others."""
        named = zip(self._views.keys, self._views.arrays, strict=True)
        columns = [multipliers(view.shape[1], key, seed) for key, view in named]

        def hashes(index: int, raw: tuple[Array, ...]) -> NDArray[np.uint64]:
            present = self._present_rows(index)
            return row_hashes(self._zeroed(raw, present), columns, present)

        found = Distinct(size, most)
        for index, part in enumerate(self._in_order(hashes)):
            rows = self._rows(index)
            found.add(part, rows.start, np.asarray(self._views.weight[rows], dtype=np.float64))
        return found.candidates()

    def _raw_blocks(self) -> Generator[tuple[int, tuple[Array, ...]], None, None]:
        """Numbers of blocks and their raw rows, which are not needed where features are stored."""
        if self._features is not None:
            yield from ((index, ()) for index in range(self._n_blocks))
            return
        readers = [self._reader(index) for index in range(len(self._views.arrays))]
        try:
            yield from enumerate(zip(*readers, strict=True))
        finally:  # a file's reader works ahead
            for reader in readers:
                reader.close()

    def _reader(self, number: int) -> Generator[Array, None, None]:
        view = self._views.arrays[number]
        if isinstance(view, Source):
            yield from view.blocks(self.block_rows, None if self._present is None else self._present[number])
        else:
            yield from (view[self._rows(index)] for index in range(self._n_blocks))

    def _in_order(self, task: Callable[[int, tuple[Array, ...]], T]) -> Generator[T, None, None]:
        """Yield ``task(index, raw rows)`` in the order of blocks, worked on by threads, a few tasks ahead."""

        def quiet(item: tuple[int, tuple[Array, ...]]) -> T:
            # infinities and underflow are legitimate limits in the equations; NaN and 0-division are not
            with np.errstate(over="ignore", under="ignore"), single_threaded_blas():
                return task(*item)

        with single_threaded_blas() as allowed, closing(self._raw_blocks()) as waiting:
            n_threads = min(self._options.n_threads or allowed, self._n_blocks)
            if n_threads == 1:
                yield from map(quiet, waiting)
                return
            pool = self._workers.of(n_threads)
            running = deque(pool.submit(quiet, item) for item in islice(waiting, BLOCKS_AHEAD * n_threads))
            try:
                while running:
                    result = running.popleft().result()
                    running.extend(pool.submit(quiet, item) for item in islice(waiting, 1))
                    yield result
            finally:  # nothing goes on behind an error
                for ahead in running:
                    ahead.cancel()
                wait(running)


def kept_bytes(n_samples: int, width: int, n_views: int, itemsize: int) -> int:
    """Bytes of what is kept of all rows where features are: these, a squared length a view, and a label."""
    return n_samples * ((width + n_views) * itemsize + BYTES_A_LABEL)


def _rows_and_norms(feature_map: FeatureMap, X: Array, start: int, present: Array | None) -> tuple[Array, Array]:
    if feature_map.dual:
        return cast(KernelRows, feature_map).rows_and_norms(X, start, present)
    features = feature_map(X, np)
    return features, np.vecdot(features, features)


def _in_float64(sums: S) -> S:
    return type(sums)(*(np.array(getattr(sums, f.name), dtype=np.float64) for f in fields(sums)))


def open_engine(choice: object, views: Views) -> RowEngine:
    """Open the engine that ``choice`` names on the given rows."""
    return RowEngine(views, engine_options(choice))
