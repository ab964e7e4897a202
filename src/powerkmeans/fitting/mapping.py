"""The feature map of each view: its size, whether it fits in memory, and the map itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from powerkmeans.compute.engine import open_engine, open_rows
from powerkmeans.compute.passes import search_of
from powerkmeans.features.maps.base import Averaging, BaseMap, MapRequest, Tools
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.features.size import check_map_memory, map_bytes
from powerkmeans.fitting.clustering import cluster_features
from powerkmeans.inputs.metric import COSINE
from powerkmeans.inputs.settings import Settings, ViewSettings
from powerkmeans.sources import in_memory
from powerkmeans.sources.joined import view_offsets
from powerkmeans.support.absent import zero_where_absent
from powerkmeans.types import Block, RowSample, T, Views

# rows that are searched for at a time: enough that bringing landmarks into form for them does not matter
_ROWS = 512


def make_maps(
    views: Views,
    samples: tuple[RowSample, ...],
    bandwidths: tuple[float | None, ...],
    chosen: tuple[ViewSettings, ...],
    settings: Settings,
    seed: int,
) -> tuple[BaseMap, ...]:
    """The maps of all views, if there is memory for them.

    Of views that one map takes together, side by side, there is one sample, but the settings of each.
    """
    n_clusters = settings.n_clusters
    _check_memory(views, samples, chosen, n_clusters)
    tools = Tools(
        partial(_in_blocks, settings.engine),
        partial(cluster_features, settings, seed, moves=False),
        search_of(open_engine(settings.engine, views).passes),
    )
    maps = []
    for index, (sample, bandwidth) in enumerate(zip(samples, bandwidths, strict=True)):
        one, alone = chosen[index], views.alone(index)
        kind = MAPS[one.feature_map]
        request = MapRequest(
            sample=sample._replace(views=tuple(map(in_memory, sample.views))),
            kernel=one.kernel,
            bandwidth=bandwidth,
            n_components=n_components(one, n_clusters) if kind.sized else 0,
            automatic=_is_automatic(one),
            dtype=views.dtype,
            seed=seed,
            key=views.keys[index],
            rows=_in_memory(alone) if kind.dual else alone.arrays[0],
            weight=alone.weight,
            n_clusters=n_clusters,
            n_neighbors=None if isinstance(settings.n_neighbors, str) else settings.n_neighbors,
            offsets=view_offsets(alone.arrays[0]),
            averaging=_averaging(settings, chosen if kind.fuses else (one,), views.names[index]),
            tools=tools,
        )
        maps.append(kind.make(request))
    return tuple(maps)


def _averaging(settings: Settings, chosen: tuple[ViewSettings, ...], view: str) -> Averaging | None:
    """How landmarks of a map are averaged, if they are; ``chosen`` are the settings of its views."""
    if settings.rows_per_landmark == 1:
        return None
    unit = tuple(one.metric == COSINE for one in chosen)
    alone = settings.several and len(unit) == 1
    return Averaging(settings.rows_per_landmark, unit, view if alone else None)


def _in_blocks(engine: object, function: Callable[[Any], T], rows: Any) -> list[T]:
    """A function of consecutive rows for all that are given, by the threads of the engine."""
    views = Views(("X",), (rows,), np.ones(rows.shape[0]))
    return list(open_rows(engine, views).cut(_ROWS).map_blocks(_of_rows, function))


def _of_rows(block: Block, function: Callable[[Any], T]) -> T:
    return function(block.views[0])


def n_components(chosen: ViewSettings, n_clusters: int) -> int:
    """The size that was asked for, or that of ``"auto"``."""
    if isinstance(chosen.n_components, str):
        return MAPS[chosen.feature_map].automatic_size(n_clusters)
    return chosen.n_components


def _is_automatic(chosen: ViewSettings) -> bool:
    return MAPS[chosen.feature_map].sized and isinstance(chosen.n_components, str)


def _most_components(chosen: ViewSettings, n_clusters: int, sample: RowSample) -> int:
    """The most that the size comes to."""
    kind, (n_rows, n_columns) = MAPS[chosen.feature_map], sample.views[0].shape
    size = n_components(chosen, n_clusters)
    if _is_automatic(chosen):
        size = kind.largest_size(n_clusters, sample.n_distinct, n_columns)
    return min(size, n_rows) if kind.map_class.components_are_rows else size


def _in_memory(view: Views) -> Any:
    """The rows of one view, absent ones zero."""
    rows = in_memory(view.arrays[0])
    return rows if view.present is None else zero_where_absent(rows, view.present[:, 0])


def _check_memory(
    views: Views, samples: tuple[RowSample, ...], chosen: tuple[ViewSettings, ...], n_clusters: int
) -> None:
    needed = {}
    for name, array, sample, one in zip(views.names, views.arrays, samples, chosen, strict=False):
        kind = MAPS[one.feature_map]
        if kind.sized:
            size = _most_components(one, n_clusters, sample)
            needed[name] = map_bytes(*kind.outputs_and_numbers(size, array.shape[1]), n_clusters, array.shape[0])
    check_map_memory(needed)


def notes(
    views: Views,
    chosen: tuple[ViewSettings, ...],
    bandwidths: tuple[float | None, ...],
    n_clusters: int,
    maps: tuple[BaseMap, ...] = (),
) -> tuple[str, ...]:
    """What to say about the views and what was chosen for them; ``maps`` are those of single views."""
    lines = list[str]()
    for index, (one, bandwidth) in enumerate(zip(chosen, bandwidths, strict=True)):
        kind, about = MAPS[one.feature_map], _about_view(views.alone(index), one, bandwidth)
        lines.append(about + (_about_components(maps[index]) if maps and kind.sized else ""))
        if _is_automatic(one):
            lines.append(f"n_components='auto': {kind.about_size(n_clusters, one.kernel)}")
    return tuple(dict.fromkeys(lines))  # a rule that views have in common is told once


def _about_components(base: BaseMap) -> str:
    return f", {base.n_components} {base.words.components}"


def _about_view(view: Views, chosen: ViewSettings, bandwidth: float | None) -> str:
    (name,), (array,) = view.names, view.arrays
    covered = 1.0 if view.present is None else float(np.mean(view.present))
    columns = "columns of a kernel matrix" if chosen.given else "columns"
    about = f"view {name!r}: {array.shape[1]} {columns}"
    about += "" if covered == 1 else f", in {covered:.1%} of the samples"
    if chosen.given:
        return about
    return about + (", no kernel" if bandwidth is None else f", bandwidth {bandwidth:.4g}")
