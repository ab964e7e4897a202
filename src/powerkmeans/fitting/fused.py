"""A map that takes all views together: made and applied once, and the rest of the fit sees its few features."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.options import keeps_files, kept_here
from powerkmeans.compute.rows import kept_bytes
from powerkmeans.features.maps.base import BaseMap
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.features.pairs import as_dense
from powerkmeans.fitting.listener import told, told_part
from powerkmeans.fitting.mapping import make_maps, notes
from powerkmeans.fitting.prepare import ROWS_MAPPED, centre, through_maps, without_constant
from powerkmeans.fitting.prepared import Prepared
from powerkmeans.fitting.samples import draw_samples, split_sample
from powerkmeans.fitting.scatter import check_range, check_scatter, check_weighted, is_flat
from powerkmeans.inputs.settings import Settings, ViewSettings
from powerkmeans.sources import join_views
from powerkmeans.sources.scratch import scratch_folder, written_aside
from powerkmeans.support.draws import affordable_rows, stream, subsample
from powerkmeans.types import Array, Block, Engine, Float64Array, RowSample, Views

# rows whose features are added up in float64 at a time
_ADDED_ROWS = 2**16


def prepare_fused(views: Views, chosen: tuple[ViewSettings, ...], settings: Settings, seed: int) -> Prepared:
    """Make the map of all views, and apply it to all rows if there is room for what it gives."""
    settings, joined = replace(settings, view_scaling=None), join_views(views)
    rows = open_engine(settings.engine, joined)
    sample, _ = draw_samples(rows, joined, settings.engine, seed)
    examined = _raw_samples(views, sample, settings)
    varied = [_varies(name, part, views.dtype) for name, part in zip(views.names, examined, strict=True)]
    if not all(varied):
        return without_constant(prepare_fused, views, varied, chosen, settings, seed)
    with told_part("graph built"):
        (base,) = make_maps(joined, (sample,), (None,), chosen, settings, seed)
    mapped = _way(rows, base, settings)
    if mapped in (_stored, _stored_there):
        sample = sample._replace(views=())  # their features take the place of the rows, and these are in the way
    with told_part(ROWS_MAPPED):
        prepared = mapped(rows, base, sample, settings)
    name, scatter = joined.names[0], float(prepared.scatter[0])
    check_scatter(name, base, scatter, prepared.engine)
    check_weighted((name,), prepared.scatter, prepared.total_weight, prepared.engine.dtype)
    return prepared._replace(
        notes=notes(views, chosen, (None,) * len(chosen), settings.n_clusters),
        view_settings=chosen,
        used=views.names,
        examined=tuple(examined),
        given=views,
    )


def _varies(name: str, sample: RowSample, dtype: np.dtype[Any]) -> bool:
    """Whether the rows of one view differ by more than rounding; an error if their squares leave float64."""
    some = subsample(sample, affordable_rows(sample.views[0].shape[1]), stream(0, "constant"))
    if len(some.weight) < 2:
        return False
    rows = as_dense(some.views[0]).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.mean(rows, axis=0)
        scatter = float(np.mean(np.vecdot(rows - mean, rows - mean)))
    check_range(name, scatter, len(rows), np.dtype(np.float64))
    return not is_flat(IdentityMap(len(mean)), mean, scatter, None, np.finfo(dtype))


def _way(
    rows: Engine, base: BaseMap, settings: Settings
) -> Callable[[Engine, BaseMap, RowSample, Settings], Prepared]:
    """How rows are mapped: once if there is room for all features, in memory or else in a file.

    A device has a centred copy besides.
    """
    needed = kept_bytes(rows.n_samples, base.n_outputs, 1, rows.dtype.itemsize)
    if rows.on_device:
        return _stored_there if rows.room_for(2 * needed) else _mapped_in_passes
    if rows.elsewhere:
        return _mapped_in_passes
    return _stored if kept_here(needed, settings.engine) else _stored_aside


def _stored(rows: Engine, base: BaseMap, sample: RowSample, settings: Settings) -> Prepared:
    """Features of all rows, less their mean, in place of the rows."""
    features = rows.with_features((base.before_centring(rows.dtype),), keep=False).map_rows(_features, None)
    weight = rows.views.weight
    mean = _weighted_mean(features, weight)
    features -= mean.astype(features.dtype)
    views = Views(rows.views.names, (features,), weight)
    identity = make_centred(IdentityMap(base.n_outputs), np.zeros(base.n_outputs), rows.dtype)
    some = sample._replace(views=(features[sample.rows],), present=None)
    return Prepared(
        engine=through_maps(open_engine(settings.engine, views), (identity.base,), settings),  # without a copy
        views=views,
        maps=(identity,),
        scatter=np.array([_weighted_mean(np.vecdot(features, features), weight)]),
        sample=some,
        samples=(some,),
        bandwidths=(None,),
        notes=(),
        view_settings=(),
        fitted_maps=(make_centred(base, mean, rows.dtype),),
    )


def _stored_there(rows: Engine, base: BaseMap, sample: RowSample, settings: Settings) -> Prepared:
    """Features of all rows in place of the rows, where a device has them."""
    plain = rows.with_features((base.before_centring(rows.dtype),), keep=False)
    return _in_place_of_rows(plain.table(_features, None), rows, base, sample, settings)


def _stored_aside(rows: Engine, base: BaseMap, sample: RowSample, settings: Settings) -> Prepared:
    """The same in a temporary file, if there may be one and the disk takes it: to read them is much quicker."""
    shape = rows.n_samples, base.n_outputs
    folder = folder_aside(shape, rows.dtype, settings.engine)
    features = None if folder is None else _written_aside(rows, base, folder)
    if features is None:
        told("features of all rows are not kept: every pass makes them anew")
        return _mapped_in_passes(rows, base, sample, settings)
    told(f"features of all rows: in a temporary file in {folder}")
    return _in_place_of_rows(features, rows, base, sample, settings)


def _written_aside(rows: Engine, base: BaseMap, folder: str) -> Array | None:
    plain = rows.with_features((base.before_centring(rows.dtype),), keep=False)
    with closing(plain.map_blocks(_features, None)) as parts:
        return written_aside(parts, (rows.n_samples, base.n_outputs), rows.dtype, folder)


def folder_aside(shape: tuple[int, int], dtype: np.dtype[Any], choice: object) -> str | None:
    """Where features go that memory has no room for; None if no file may hold them, or none can."""
    return scratch_folder(shape[0] * shape[1] * dtype.itemsize) if keeps_files(choice) else None


def _in_place_of_rows(
    features: Array, rows: Engine, base: BaseMap, sample: RowSample, settings: Settings
) -> Prepared:
    """The rest of a fit sees features, which are centred in its passes, in place of the rows."""
    views = Views(rows.views.names, (features,), rows.views.weight)
    there = open_engine(settings.engine, views)
    centred = centre(there, (IdentityMap(base.n_outputs),), views, settings)
    assert sample.rows is not None
    some = sample._replace(views=there.take(sample.rows)[0], present=None)
    return Prepared(
        engine=centred.engine,
        views=views,
        maps=centred.maps,
        scatter=centred.scatter,
        sample=some,
        samples=(some,),
        bandwidths=(None,),
        notes=(),
        view_settings=(),
        fitted_maps=(make_centred(base, centred.means[0], rows.dtype),),
    )


def _mapped_in_passes(rows: Engine, base: BaseMap, sample: RowSample, settings: Settings) -> Prepared:
    """Features that every pass takes from the rows again."""
    centred = centre(rows, (base,), rows.views, settings)
    return Prepared(
        engine=centred.engine,
        views=rows.views,
        maps=centred.maps,
        scatter=centred.scatter,
        sample=sample,
        samples=(sample,),
        bandwidths=(None,),
        notes=(),
        view_settings=(),
    )


def _features(block: Block, _: None) -> Array:
    return block.views[0]


def _weighted_mean(values: Array, weight: Array) -> Float64Array:
    share, n_rows = weight.astype(np.float64) / np.sum(weight, dtype=np.float64), len(weight)
    parts = (slice(start, start + _ADDED_ROWS) for start in range(0, n_rows, _ADDED_ROWS))
    return np.sum([share[part] @ values[part].astype(np.float64) for part in parts], axis=0)


def _raw_samples(views: Views, sample: RowSample, settings: Settings) -> list[RowSample]:
    """The sampled rows as views had them, each by itself."""
    if len(views.names) == 1:
        return [sample]
    assert sample.rows is not None
    if _lie_side_by_side(views, sample.views[0]):
        rows, present = _columns(views, sample.views[0])
    else:
        rows, present = open_engine(settings.engine, views).take(sample.rows)
    return split_sample(RowSample(rows, sample.weight, present, sample.n_distinct), views.keys)


def _lie_side_by_side(views: Views, joined: Array) -> bool:
    """Whether rows that were drawn of all views are those of each as it had them."""
    return isinstance(joined, np.ndarray) and all(array.dtype == joined.dtype for array in views.arrays)


def _columns(views: Views, joined: Array) -> tuple[tuple[Array, ...], NDArray[np.bool_] | None]:
    """The columns of each view, without a copy of what may take as much as all else, and which rows have it."""
    ends = np.cumsum([int(array.shape[1]) for array in views.arrays])
    *parts, marks = np.split(joined, ends, axis=1)
    return tuple(parts), None if views.present is None else marks > 0
