"""Rows drawn by their content alone: of all views together, and distinct ones of each view by itself."""

from __future__ import annotations

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.sampling import multipliers, row_hashes
from powerkmeans.fitting.checkpoints import check_same_rows_drawn
from powerkmeans.fitting.listener import told_part
from powerkmeans.sources import choose_rows
from powerkmeans.support.draws import stream_seed
from powerkmeans.support.memory import FEW_ENTRIES, SPARE_BYTES
from powerkmeans.types import Engine, RowSample, Views

# rows that starts, landmarks and pilots are drawn from
START_ROWS = 50_000


def draw_samples(rows: Engine, views: Views, engine: object, seed: int) -> tuple[RowSample, tuple[RowSample, ...]]:
    """Rows of all views together, and distinct ones of each view by itself."""
    with told_part("rows drawn from all"):
        sample = rows.sample(_sample_size(views), stream_seed(seed, "sample"))
    check_same_rows_drawn(sample)
    if len(sample.weight) == 1:
        weighed = views.weight.all_positive if rows.elsewhere else np.all(views.weight > 0)
        which = "rows" if weighed else "rows of positive weight"
        raise ValueError(
            f"All {which} are equal (n_samples={rows.n_samples}, 1 distinct): there is nothing to cluster."
        )
    samples = split_sample(sample, views.keys)
    for index, part in enumerate(samples):
        if len(part.weight) < 2:  # a view that varies seldom, or that few samples have
            alone = open_engine(engine, views.alone(index))
            samples[index] = alone.sample(_sample_size(views), stream_seed(seed, "sample"))
    return sample, tuple(samples)


def split_sample(sample: RowSample, keys: tuple[str, ...]) -> list[RowSample]:
    """Distinct rows of each view by itself, where it has them, with their total weights.

    They are told to be drawn from as many as all views together have: so many take part in every pass.
    """
    if len(keys) == 1:
        return [sample]
    parts = []
    for index, (key, view) in enumerate(zip(keys, sample.views, strict=True)):
        kept = np.arange(len(sample.weight)) if sample.present is None else sample.present[:, index].nonzero()[0]
        factors, step = [multipliers(view.shape[1], key, 0)], max(1, FEW_ENTRIES // view.shape[1])
        parts_of = (kept[start : start + step] for start in range(0, max(1, len(kept)), step))
        hashes = np.concatenate([row_hashes((view[some],), factors) for some in parts_of])
        _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
        merged = np.bincount(group, weights=sample.weight[kept]).astype(np.float64)
        parts.append(RowSample((choose_rows(view, kept[first]),), merged, n_distinct=sample.n_distinct))
    return parts


def _sample_size(views: Views) -> int:
    return rows_drawn(sum(array.shape[1] * array.dtype.itemsize for array in views.arrays))


def rows_drawn(row_bytes: int) -> int:
    """How many rows of such a size. Not by the memory budget: results do not depend on it."""
    return int(np.clip(SPARE_BYTES // max(1, row_bytes), 1000, START_ROWS))
