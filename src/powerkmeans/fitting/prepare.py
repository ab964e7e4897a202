"""From checked views to a problem the solver can take: feature maps, centred features, fixed constants."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.features.maps.base import BaseMap
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.bandwidths import choose_bandwidths
from powerkmeans.fitting.explicit import Explicit, make_explicit
from powerkmeans.fitting.mapping import make_maps, notes
from powerkmeans.fitting.samples import draw_samples
from powerkmeans.fitting.scatter import check_scatter, check_weighted, is_flat, weighted_means
from powerkmeans.inputs.metric import COSINE, with_metrics
from powerkmeans.inputs.settings import Settings, ViewSettings
from powerkmeans.models.answers import WORKING_PER_CLUSTER
from powerkmeans.objective.linearised import ScatterSums, scatter_sums
from powerkmeans.support.draws import STATISTIC_ROWS, stream, subsample
from powerkmeans.types import Engine, FeatureMap, Float64Array, RowSample, Views


class Prepared(NamedTuple):
    """Rows mapped by centred feature maps, with what was measured on the way.

    ``views`` are those that say anything; ``scatter`` is that of the scaled features. ``sample`` has rows of all
    views together, ``samples`` distinct ones of each view by itself.
    ``explicit`` has features of sampled rows where a view's kernel is exact. ``left_out`` names the views that say
    nothing.
    """

    engine: Engine
    views: Views
    maps: tuple[CentredMap, ...]
    scatter: Float64Array
    sample: RowSample
    samples: tuple[RowSample, ...]
    bandwidths: tuple[float | None, ...]
    notes: tuple[str, ...]
    view_settings: tuple[ViewSettings, ...]
    explicit: Explicit | None = None
    left_out: tuple[str, ...] = ()

    @property
    def splits(self) -> tuple[int, ...]:
        return (0, *np.cumsum([m.n_coordinates for m in self.maps]).tolist())

    @property
    def dual(self) -> tuple[bool, ...]:
        """Which views have a kernel matrix instead of coordinates; empty for none."""
        dual = tuple(m.dual for m in self.maps)
        return dual if any(dual) else ()

    @property
    def total_weight(self) -> float:
        return float(np.sum(self.views.weight, dtype=np.float64))


class _Centred(NamedTuple):
    """Centred maps that are not scaled yet, the means, and rows mapped by them with the sums of their squares."""

    maps: tuple[CentredMap, ...]
    means: list[Float64Array]
    engine: Engine
    sums: ScatterSums

    @property
    def scatter(self) -> Float64Array:
        return self.sums.scatter / self.sums.weight


def prepare_features(views: Views, settings: Settings, seed: int) -> Prepared:
    """Choose bandwidths, draw the maps, centre and scale the features, and keep them if they fit the budget.

    Views that are constant are left out, and the others taken in the order of their names: sums over views have
    the same bits then in whatever order they are given. Metrics are applied here, and rows are never scaled again.
    """
    order = sorted(range(len(views.names)), key=views.names.__getitem__)
    given = settings.of_views(views.names)  # a list of settings goes by the order in which views were given
    chosen = tuple(given[index] for index in order)
    views = with_metrics(views.select(order), tuple(one.metric for one in chosen))
    if any(MAPS[one.feature_map].dual for one in chosen):
        views = views._replace(weight=views.weight.astype(np.float64))
    return _prepare(views, chosen, settings, seed)


def _prepare(views: Views, chosen: tuple[ViewSettings, ...], settings: Settings, seed: int) -> Prepared:
    rows = open_engine(settings.engine, views)
    sample, samples = draw_samples(rows, views, settings.engine, seed)
    varied = [len(part.weight) > 1 for part in samples]
    if not all(varied):
        return _without_constant(views, varied, chosen, settings, seed)
    bandwidths = choose_bandwidths(views, samples, chosen, settings.engine, seed)
    maps = make_maps(views, samples, bandwidths, chosen, settings.n_clusters, seed)
    centred = _centre(rows, maps, views, settings)
    varied = _varied(centred, maps, bandwidths)
    # of a single view messages go by its map, but rows that point one way differ by rounding in any
    if not all(varied) and (len(varied) > 1 or chosen[0].metric == COSINE):
        return _without_constant(views, varied, chosen, settings, seed)
    for name, base, value in zip(views.names, maps, centred.scatter.tolist(), strict=True):
        check_scatter(name, base, value, centred.engine)
    prepared = Prepared(
        views=views,
        sample=sample,
        samples=samples,
        bandwidths=bandwidths,
        notes=notes(views, chosen, bandwidths, settings.n_clusters),
        view_settings=chosen,
        **_scale(rows, centred, views, settings),
    )
    return _with_explicit(prepared, settings.n_clusters, seed) if prepared.dual else prepared


class _Scaled(TypedDict):
    engine: Engine
    maps: tuple[CentredMap, ...]
    scatter: Float64Array


def _centre(rows: Engine, maps: tuple[BaseMap, ...], views: Views, settings: Settings) -> _Centred:
    """Take the mean off the features; those that will be scaled yet are not stored."""
    raw = through_maps(rows, tuple(m.before_centring(rows.dtype) for m in maps), settings, keep=False)
    means = weighted_means(raw, [m.n_outputs for m in maps])
    centred = tuple(make_centred(m, mean, rows.dtype) for m, mean in zip(maps, means, strict=True))
    features = through_maps(rows, centred, settings, keep=not _scales_features(views, settings))
    return _Centred(centred, means, features, features.fold(scatter_sums, None))


def _varied(centred: _Centred, maps: tuple[BaseMap, ...], bandwidths: tuple[float | None, ...]) -> list[bool]:
    """Which views vary by more than rounding."""
    limits = np.finfo(centred.engine.dtype)
    parts = zip(maps, centred.means, centred.scatter.tolist(), bandwidths, strict=True)
    return [not is_flat(*part, limits) for part in parts]


def _scales_features(views: Views, settings: Settings) -> bool:
    return settings.view_scaling is not None or views.present is not None


def _scale(rows: Engine, centred: _Centred, views: Views, settings: Settings) -> _Scaled:
    """Make views comparable, and reject weights that their features leave no room for."""
    scales, maps, features = _scales(centred, settings), centred.maps, centred.engine
    if _scales_features(views, settings):
        maps = tuple(m.scaled(float(scale)) for m, scale in zip(maps, scales, strict=True))
        features = through_maps(rows, maps, settings)
    scatter = centred.scatter * scales**2
    check_weighted(views.names, scatter, float(centred.sums.total), features.dtype)
    return {"engine": features, "maps": maps, "scatter": scatter}


def _scales(centred: _Centred, settings: Settings) -> Float64Array:
    """What each view's features are multiplied by.

    ``sqrt(kappa_l)`` with ``kappa_l = sum_i v_i / sum_i v_i q_il`` makes views count the same however many of
    their rows are missing; ``view_scaling="scatter"`` divides by the root of the scatter besides.
    """
    kappa = centred.sums.total / centred.sums.cover
    return np.sqrt(kappa if settings.view_scaling is None else kappa / centred.scatter)


def _without_constant(
    views: Views, varied: list[bool], chosen: tuple[ViewSettings, ...], settings: Settings, seed: int
) -> Prepared:
    """Leave out the views that are constant, which say nothing and would explain everything."""
    constant = [name for name, keep in zip(views.names, varied, strict=True) if not keep]
    listed = ", ".join(repr(name) for name in constant)
    if len(constant) == len(varied):
        parallel = "; metric='cosine' sees no difference between rows that point one way"
        raise ValueError(
            f"All views are constant, or their kernels are flat ({listed}): there is nothing to cluster. A "
            "bandwidth far larger than the distances between rows flattens a kernel; use bandwidth='median'"
            f"{parallel if any(one.metric == COSINE for one in chosen) else ''}."
        )
    kept = [i for i, keep in enumerate(varied) if keep]
    rest = views.select(kept)
    if rest.present is not None and not np.all(np.any(rest.present, axis=1)):
        row = int(np.flatnonzero(~np.any(rest.present, axis=1))[0])
        raise ValueError(
            f"Sample {row} has no view but constant ones ({listed}), which say nothing about it; leave it out."
        )
    prepared = _prepare(rest, tuple(chosen[i] for i in kept), settings, seed)
    return prepared._replace(left_out=(*constant, *prepared.left_out))


def _with_explicit(prepared: Prepared, n_clusters: int, seed: int) -> Prepared:
    """Add features of sampled rows where a view has only a kernel matrix."""
    some = subsample(prepared.sample, max(STATISTIC_ROWS, 2 * n_clusters), stream(seed, "explicit"))
    return prepared._replace(explicit=make_explicit(prepared.engine, prepared.maps, some, prepared.views.names))


def through_maps(rows: Engine, maps: tuple[FeatureMap, ...], settings: Settings, keep: bool = True) -> Engine:
    """Rows mapped to features."""
    return rows.with_features(maps, keep=keep, working=WORKING_PER_CLUSTER * settings.n_clusters)
