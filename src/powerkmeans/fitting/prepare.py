"""From checked views to a problem the solver can take: feature maps, centred features, fixed constants."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from powerkmeans.compute.blocks import zero_where_absent
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.sampling import multipliers, row_hashes
from powerkmeans.features.bandwidth import median_distance, median_rows
from powerkmeans.features.kernels import KERNELS, draw_frequencies
from powerkmeans.features.maps.exact import PRECOMPUTED, CentredKernel, ExactMap, make_exact
from powerkmeans.features.maps.maps import (
    BaseMap,
    CentredMap,
    IdentityMap,
    make_centred,
    make_fourier,
    make_nystroem,
)
from powerkmeans.features.size import check_map_memory, map_bytes, suggest_n_components
from powerkmeans.fitting.explicit import EXPLICIT_ROWS, Explicit, make_explicit
from powerkmeans.fitting.scatter import check_scatter, check_weighted, is_flat, smallest_scatter
from powerkmeans.inputs.settings import Settings, ViewSettings
from powerkmeans.models.answers import WORKING_PER_CLUSTER
from powerkmeans.objective.linearised import ScatterSums, mean_sums, scatter_sums
from powerkmeans.support.draws import draw_by_weight, stream, stream_seed
from powerkmeans.types import Engine, Float64Array, RowSample, Views

START_ROWS = 50_000
ORIGIN_ROWS = 500
# bytes that a sample of rows may take, whatever the memory budget: results do not depend on it
SAMPLE_BYTES = 2**28


class Prepared(NamedTuple):
    """Rows seen through centred feature maps, with what was measured on the way.

    ``views`` are those that say anything; ``scatter`` is that of the scaled features. ``sample`` has rows of all
    views together, ``samples`` distinct ones of each view by itself. ``rows`` is the engine on the raw rows.
    ``own`` are the settings of each view. ``explicit`` has features of sampled rows where a view's kernel is
    exact. ``left_out`` names the views that say nothing.
    """

    rows: Engine
    engine: Engine
    views: Views
    maps: tuple[CentredMap, ...]
    scatter: Float64Array
    sample: RowSample
    samples: tuple[RowSample, ...]
    bandwidths: tuple[float | None, ...]
    notes: tuple[str, ...]
    own: tuple[ViewSettings, ...]
    explicit: Explicit | None = None
    left_out: tuple[str, ...] = ()

    @property
    def splits(self) -> tuple[int, ...]:
        return (0, *np.cumsum([m.n_coordinates for m in self.maps]).tolist())

    @property
    def dual(self) -> tuple[bool, ...]:
        """Which views have a kernel matrix instead of coordinates; empty for none."""
        dual = tuple(isinstance(m, CentredKernel) for m in self.maps)
        return dual if any(dual) else ()

    @property
    def total_weight(self) -> float:
        return float(np.sum(self.views.weight, dtype=np.float64))


def prepare_features(views: Views, settings: Settings, seed: int) -> Prepared:
    """Choose bandwidths, draw the maps, centre and scale the features, and keep them if they fit the budget.

    Views that are constant are left out, and the others taken in the order of their names: sums over views have
    the same bits then in whatever order they are given.
    """
    order = sorted(range(len(views.names)), key=views.names.__getitem__)
    given = settings.of_views(views.names)  # a list of settings goes by the order in which views were given
    views, own = views.select(order), tuple(given[index] for index in order)
    if any(mine.feature_map == "exact" for mine in own):
        views = views._replace(weight=views.weight.astype(np.float64))
    return _prepare(views, own, settings, seed)


def _prepare(views: Views, own: tuple[ViewSettings, ...], settings: Settings, seed: int) -> Prepared:
    rows = open_engine(settings.engine, views)
    sample, samples = _samples(rows, views, settings, seed)
    varied = [len(part.weight) > 1 for part in samples]
    if not all(varied):
        return _prepare_varied(views, varied, own, settings, seed)
    bandwidths = _bandwidths(views, samples, own, settings.engine, seed)
    _check_map_memory(views, samples, own, settings.n_clusters)
    choices = enumerate(zip(samples, bandwidths, own, strict=True))
    maps = tuple(_map(views, index, *choice, settings.n_clusters, seed) for index, choice in choices)
    uncentred = tuple(
        m if isinstance(m, ExactMap) else make_centred(m, np.zeros(m.n_outputs), rows.dtype) for m in maps
    )
    means = _means(seen_through(rows, uncentred, settings, keep=False), [m.n_outputs for m in maps])
    centred = tuple(_centred(m, mean, rows.dtype) for m, mean in zip(maps, means, strict=True))
    scaled = settings.view_scaling is not None or views.present is not None
    # features that will be scaled yet are not stored
    features = seen_through(rows, centred, settings, keep=not scaled)
    sums = features.fold(scatter_sums, None)
    scatter = sums.scatter / sums.weight
    parts = zip(maps, means, scatter, bandwidths, strict=True)
    varied = [not is_flat(*part, np.finfo(rows.dtype)) for part in parts]
    if not all(varied) and len(varied) > 1:
        return _prepare_varied(views, varied, own, settings, seed)
    for name, base, value in zip(views.names, maps, scatter, strict=True):
        check_scatter(name, base, float(value), features)
    scales = _scales(scatter, sums, settings)
    if scaled:
        centred = tuple(m.scaled(float(scale)) for m, scale in zip(centred, scales, strict=True))
        features = seen_through(rows, centred, settings)
    notes = _notes(views, own, bandwidths, settings.n_clusters)
    scatter = scatter * scales**2
    check_weighted(views.names, scatter, float(sums.total), features.dtype)
    measured = centred, scatter, sample, tuple(samples), bandwidths, notes
    prepared = Prepared(rows, features, views, *measured, own)
    if not prepared.dual:
        return prepared
    n_rows = max(EXPLICIT_ROWS, 2 * settings.n_clusters)
    some = subsample(sample, n_rows, stream(seed, "explicit"))
    return prepared._replace(explicit=make_explicit(features, centred, some, views.names))


def _samples(rows: Engine, views: Views, settings: Settings, seed: int) -> tuple[RowSample, list[RowSample]]:
    """Rows of all views together, and distinct ones of each view by itself."""
    sample = rows.sample(_sample_size(views), stream_seed(seed, "sample"))
    if len(sample.weight) == 1:
        which = "rows" if np.all(views.weight > 0) else "rows of positive weight"
        raise ValueError(
            f"All {which} are equal (n_samples={rows.n_samples}, 1 distinct): there is nothing to cluster."
        )
    samples = split_sample(sample, views.keys)
    for index, part in enumerate(samples):
        if len(part.weight) < 2:  # a view that varies seldom, or that few samples have
            alone = open_engine(settings.engine, views.alone(index))
            samples[index] = alone.sample(_sample_size(views), stream_seed(seed, "sample"))
    return sample, samples


def _centred(base: BaseMap | ExactMap, mean: Float64Array, dtype: np.dtype[Any]) -> CentredMap:
    if isinstance(base, ExactMap):
        return CentredKernel(base, mean, dtype.name)
    return make_centred(base, mean, dtype)


def _prepare_varied(
    views: Views, varied: list[bool], own: tuple[ViewSettings, ...], settings: Settings, seed: int
) -> Prepared:
    """Leave out the views that are constant, which say nothing and would explain everything."""
    constant = [name for name, keep in zip(views.names, varied, strict=True) if not keep]
    listed = ", ".join(repr(name) for name in constant)
    if len(constant) == len(varied):
        raise ValueError(
            f"All views are constant, or their kernels are flat ({listed}): there is nothing to cluster. A "
            "bandwidth far larger than the distances between rows flattens a kernel; use bandwidth='median'."
        )
    kept = [i for i, keep in enumerate(varied) if keep]
    rest = views.select(kept)
    if rest.present is not None and not np.all(np.any(rest.present, axis=1)):
        row = int(np.flatnonzero(~np.any(rest.present, axis=1))[0])
        raise ValueError(
            f"Sample {row} has no view but constant ones ({listed}), which say nothing about it; leave it out."
        )
    prepared = _prepare(rest, tuple(own[i] for i in kept), settings, seed)
    return prepared._replace(left_out=(*constant, *prepared.left_out))


def seen_through(
    rows: Engine, maps: tuple[CentredMap | ExactMap, ...], settings: Settings, keep: bool = True
) -> Engine:
    """Rows through maps."""
    return rows.with_features(maps, keep=keep, working=WORKING_PER_CLUSTER * settings.n_clusters)


def _scales(scatter: Float64Array, sums: ScatterSums, settings: Settings) -> Float64Array:
    """What each view's features are multiplied by.

    ``sqrt(kappa_l)`` with ``kappa_l = sum_i v_i / sum_i v_i q_il`` makes views count the same however many of
    their rows are missing; ``view_scaling="scatter"`` divides by the root of the scatter besides.
    """
    kappa = sums.total / sums.cover
    return np.sqrt(kappa if settings.view_scaling is None else kappa / scatter)


def subsample(sample: RowSample, size: int, rng: np.random.Generator) -> RowSample:
    """Draw by weight from a sample; the result depends on the rows' content alone."""
    kept, weight = draw_by_weight(rng.standard_exponential(len(sample.weight)), sample.weight, size)
    present = None if sample.present is None else sample.present[kept]
    rows = None if sample.rows is None else sample.rows[kept]
    return RowSample(tuple(view[kept] for view in sample.views), weight, present, rows=rows)


def split_sample(sample: RowSample, keys: tuple[str, ...]) -> list[RowSample]:
    """Distinct rows of each view by itself, where it has them, with their total weights."""
    if len(keys) == 1:
        return [sample]
    parts = []
    for index, (key, view) in enumerate(zip(keys, sample.views, strict=True)):
        there = np.arange(len(sample.weight)) if sample.present is None else sample.present[:, index].nonzero()[0]
        hashes = row_hashes((view[there],), [multipliers(view.shape[1], key, 0)])
        _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
        merged = np.bincount(group, weights=sample.weight[there]).astype(np.float64)
        parts.append(RowSample((view[there[first]],), merged))
    return parts


def _sample_size(views: Views) -> int:
    row_bytes = sum(array.shape[1] * array.dtype.itemsize for array in views.arrays)
    return int(np.clip(SAMPLE_BYTES // max(1, row_bytes), 1000, START_ROWS))


def _means(engine: Engine, widths: list[int]) -> list[Float64Array]:
    """Weighted mean of the rows, per view."""
    sums = engine.fold(mean_sums, None)
    return np.split(sums.total / np.repeat(sums.weight, widths), np.cumsum(widths)[:-1])


def _origin(sample: RowSample, seed: int) -> Float64Array:
    """A point amid the rows of one view, for numerics alone: kernels do not notice where zero is.

    The median of a few hundred rows, which no outlier moves; zero for sparse rows, which stay sparse.
    """
    (view,) = subsample(sample, ORIGIN_ROWS, stream(seed, "origin")).views
    return np.zeros(view.shape[1]) if hasattr(view, "toarray") else np.median(view.astype(np.float64), axis=0)


def _bandwidths(
    views: Views, samples: list[RowSample], own: tuple[ViewSettings, ...], engine: object, seed: int
) -> tuple[float | None, ...]:
    """One bandwidth a view; None where the map has no kernel."""
    bandwidths: list[float | None] = []
    for index, (sample, mine) in enumerate(zip(samples, own, strict=True)):
        if mine.feature_map == "identity" or mine.kernel == PRECOMPUTED:
            bandwidths.append(None)
        elif mine.bandwidth == "median":
            n_rows = median_rows(KERNELS[mine.kernel], sample.views[0].shape[1])
            drawn = subsample(sample, n_rows, stream(seed, "bandwidth"))
            bandwidths.append(_median(views.names[index], drawn, mine.kernel))
        else:
            by_scale = mine.bandwidth == "scale"
            value = (
                _scale_bandwidth(views.alone(index), mine.kernel, engine) if by_scale else float(mine.bandwidth)
            )
            bandwidths.append(value)
    return tuple(bandwidths)


def _median(name: str, drawn: RowSample, kernel: str) -> float:
    try:
        return median_distance(drawn.views[0], drawn.weight, KERNELS[kernel])
    except ValueError as error:
        raise ValueError(f"view {name!r}: {error}") from None


def _scale_bandwidth(view: Views, kernel: str, engine: object) -> float:
    """``sqrt(2 * total variance)`` of one view."""
    (name,), (array,) = view.names, view.arrays
    if KERNELS[kernel].metric != "euclidean":
        raise ValueError(
            f"view {name!r}: bandwidth='scale' is a Euclidean length, but kernel='laplacian' uses the L1 "
            "distance; use bandwidth='median' or a number."
        )
    rows = open_engine(engine, view)
    (mean,) = _means(rows, [array.shape[1]])
    identity = make_centred(IdentityMap(array.shape[1]), mean, rows.dtype)
    sums = rows.with_features((identity,), keep=False).fold(scatter_sums, None)
    scatter = float(sums.scatter[0] / sums.weight[0])
    if scatter < smallest_scatter(np.finfo(rows.dtype)):
        raise ValueError(f"Squared distances in view {name!r} underflow {rows.dtype}; rescale the data.")
    return float(np.sqrt(2 * scatter))


def _map(
    views: Views,
    index: int,
    sample: RowSample,
    bandwidth: float | None,
    own: ViewSettings,
    n_clusters: int,
    seed: int,
) -> BaseMap | ExactMap:
    """The feature map of one view."""
    if own.feature_map == "exact":
        weight, X = views.alone(index).weight, views.arrays[index]
        X = X if views.present is None else zero_where_absent(X, views.present[:, index])
        origin = _origin(sample, seed) if bandwidth is not None else np.zeros(0)
        return make_exact(origin, X, weight / np.sum(weight), own.kernel, bandwidth)
    if bandwidth is None:
        return IdentityMap(views.arrays[index].shape[1])
    origin, n_components = _origin(sample, seed), _n_components(own, n_clusters)
    if own.feature_map == "nystroem":
        (landmarks,) = subsample(sample, n_components, stream(seed, "landmarks")).views
        return make_nystroem(origin, landmarks, own.kernel, bandwidth)
    orthogonal, rng = own.feature_map == "orf", stream(seed, "frequencies", views.keys[index])
    frequencies = draw_frequencies(KERNELS[own.kernel], len(origin), n_components, orthogonal, rng)
    return make_fourier(origin, frequencies, bandwidth, views.dtype)


def _check_map_memory(
    views: Views, samples: list[RowSample], own: tuple[ViewSettings, ...], n_clusters: int
) -> None:
    needed = {}
    for name, array, sample, mine in zip(views.names, views.arrays, samples, own, strict=True):
        if mine.feature_map not in ("identity", "exact"):
            size = _n_components(mine, n_clusters)
            size = min(size, len(sample.weight)) if mine.feature_map == "nystroem" else size
            needed[name] = map_bytes(mine.feature_map, size, array.shape[1], n_clusters, array.shape[0])
    check_map_memory(needed)


def _n_components(own: ViewSettings, n_clusters: int) -> int:
    """The number of frequencies or landmarks."""
    if not isinstance(own.n_components, str):
        return own.n_components
    frequencies = suggest_n_components(n_clusters)
    return 2 * frequencies if own.feature_map == "nystroem" else frequencies


def _notes(
    views: Views, own: tuple[ViewSettings, ...], bandwidths: tuple[float | None, ...], n_clusters: int
) -> tuple[str, ...]:
    """What to say about the views and what was chosen for them."""
    notes = list[str]()
    for index, (name, mine, bandwidth) in enumerate(zip(views.names, own, bandwidths, strict=True)):
        there = 1.0 if views.present is None else float(np.mean(views.present[:, index]))
        about = f"view {name!r}: {views.arrays[index].shape[1]} columns"
        about += "" if there == 1 else f", in {there:.1%} of the samples"
        if mine.kernel == PRECOMPUTED:
            about = about.replace("columns", "columns of a kernel matrix")
        else:
            about += ", no kernel" if bandwidth is None else f", bandwidth {bandwidth:.4g}"
        notes.append(about)
        if mine.feature_map in ("identity", "exact") or not isinstance(mine.n_components, str):
            continue
        size = _n_components(mine, n_clusters)
        rule = f"ceil(4 log(2k)^3) = {suggest_n_components(n_clusters)} for k={n_clusters}"
        rule += " (Theorem 3, eps = delta = 1/2)"
        if mine.feature_map == "nystroem":
            text = f"{size} landmarks, the outputs of {rule}"
        elif not KERNELS[mine.kernel].analytic:
            text = f"{rule}; the theorem does not cover kernel={mine.kernel!r}"
        else:
            text = rule
        if f"n_components='auto': {text}" not in notes:
            notes.append(f"n_components='auto': {text}")
    return tuple(notes)
