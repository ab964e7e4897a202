"""From checked views to a problem the solver can take: feature maps, centred features, fixed constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypedDict

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.features.maps.base import BaseMap
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.bandwidths import choose_bandwidths
from powerkmeans.fitting.explicit import make_explicit
from powerkmeans.fitting.listener import told_part
from powerkmeans.fitting.mapping import make_maps, notes
from powerkmeans.fitting.prepared import Prepared
from powerkmeans.fitting.samples import draw_samples
from powerkmeans.fitting.scatter import check_scatter, check_weighted, is_flat, weighted_means
from powerkmeans.inputs.metric import COSINE
from powerkmeans.inputs.settings import Settings, ViewSettings
from powerkmeans.models.answers import WORKING_PER_CLUSTER
from powerkmeans.objective.linearised import ScatterSums, scatter_sums
from powerkmeans.support.draws import STATISTIC_ROWS, stream, subsample
from powerkmeans.types import Engine, FeatureMap, Float64Array, Views

# what a listener hears of a pass that makes features, whoever keeps them
ROWS_MAPPED = "all rows mapped"

Prepare = Callable[[Views, tuple[ViewSettings, ...], Settings, int], Prepared]


class Centred(NamedTuple):
    """Centred maps that are not scaled yet, the means, and rows mapped by them with the sums of their squares."""

    maps: tuple[CentredMap, ...]
    means: list[Float64Array]
    engine: Engine
    sums: ScatterSums

    @property
    def scatter(self) -> Float64Array:
        return self.sums.scatter / self.sums.weight


def prepare_views(views: Views, chosen: tuple[ViewSettings, ...], settings: Settings, seed: int) -> Prepared:
    """Choose bandwidths, draw a map for each view, centre and scale the features, and keep them within the budget.

    Views that are constant are left out.
    """
    rows = open_engine(settings.engine, views)
    sample, samples = draw_samples(rows, views, settings.engine, seed)
    varied = [len(part.weight) > 1 for part in samples]
    if not all(varied):
        return without_constant(prepare_views, views, varied, chosen, settings, seed)
    with told_part("maps made"):
        bandwidths = choose_bandwidths(views, samples, chosen, settings.engine, seed)
        maps = make_maps(views, samples, bandwidths, chosen, settings, seed)
    with told_part(ROWS_MAPPED):
        centred = centre(rows, maps, views, settings)
    varied = _varied(centred, maps, bandwidths)
    # of a single view messages go by its map, but rows that point one way differ by rounding in any
    if not all(varied) and (len(varied) > 1 or chosen[0].metric == COSINE):
        return without_constant(prepare_views, views, varied, chosen, settings, seed)
    for name, base, value in zip(views.names, maps, centred.scatter.tolist(), strict=True):
        check_scatter(name, base, value, centred.engine)
    prepared = Prepared(
        views=views,
        sample=sample,
        samples=samples,
        bandwidths=bandwidths,
        notes=notes(views, chosen, bandwidths, settings.n_clusters, maps),
        view_settings=chosen,
        used=views.names,
        examined=samples,
        **_scale(rows, centred, views, settings),
    )
    return _with_explicit(prepared, settings.n_clusters, seed) if prepared.dual else prepared


class _Scaled(TypedDict):
    engine: Engine
    maps: tuple[CentredMap, ...]
    scatter: Float64Array


def centre(rows: Engine, maps: tuple[BaseMap, ...], views: Views, settings: Settings) -> Centred:
    """Take the mean off the features; those that will be scaled yet are not stored."""
    raw = through_maps(rows, tuple(m.before_centring(rows.dtype) for m in maps), settings, keep=False)
    means = weighted_means(raw, [m.n_outputs for m in maps])
    centred = tuple(make_centred(m, mean, rows.dtype) for m, mean in zip(maps, means, strict=True))
    features = through_maps(rows, centred, settings, keep=not _scales_features(views, settings))
    return Centred(centred, means, features, features.fold(scatter_sums, None))


def _varied(centred: Centred, maps: tuple[BaseMap, ...], bandwidths: tuple[float | None, ...]) -> list[bool]:
    """Which views vary by more than rounding."""
    limits = np.finfo(centred.engine.dtype)
    parts = zip(maps, centred.means, centred.scatter.tolist(), bandwidths, strict=True)
    return [not is_flat(*part, limits) for part in parts]


def _scales_features(views: Views, settings: Settings) -> bool:
    return settings.view_scaling is not None or views.present is not None


def _scale(rows: Engine, centred: Centred, views: Views, settings: Settings) -> _Scaled:
    """Make views comparable, and reject weights that their features leave no room for."""
    scales, maps, features = _scales(centred, settings), centred.maps, centred.engine
    if _scales_features(views, settings):
        maps = tuple(m.scaled(float(scale)) for m, scale in zip(maps, scales, strict=True))
        with told_part(f"{ROWS_MAPPED} and scaled"):
            features = through_maps(rows, maps, settings)
    scatter = centred.scatter * scales**2
    check_weighted(views.names, scatter, float(centred.sums.total), features.dtype)
    return {"engine": features, "maps": maps, "scatter": scatter}


def _scales(centred: Centred, settings: Settings) -> Float64Array:
    """What each view's features are multiplied by.

    ``sqrt(kappa_l)`` with ``kappa_l = sum_i v_i / sum_i v_i q_il`` makes views count the same however many of
    their rows are missing; ``view_scaling="scatter"`` divides by the root of the scatter besides.
    """
    kappa = centred.sums.total / centred.sums.cover
    return np.sqrt(kappa if settings.view_scaling is None else kappa / centred.scatter)


def without_constant(
    prepare: Prepare,
    views: Views,
    varied: list[bool],
    chosen: tuple[ViewSettings, ...],
    settings: Settings,
    seed: int,
) -> Prepared:
    """Leave out the views that are constant, which say nothing and would explain everything."""
    constant = [name for name, keep in zip(views.names, varied, strict=True) if not keep]
    listed = ", ".join(repr(name) for name in constant)
    if len(constant) == len(varied):
        raise _all_constant(listed, chosen)
    kept = [i for i, keep in enumerate(varied) if keep]
    rest = views.select(kept)
    if rest.present is not None and not np.all(np.any(rest.present, axis=1)):
        row = int(np.argmin(np.asarray(np.any(rest.present, axis=1))))
        raise ValueError(
            f"Sample {row} has no view but constant ones ({listed}), which say nothing about it; leave it out."
        )
    prepared = prepare(rest, tuple(chosen[i] for i in kept), settings, seed)
    return prepared._replace(left_out=(*constant, *prepared.left_out))


def _all_constant(listed: str, chosen: tuple[ViewSettings, ...]) -> ValueError:
    parallel = any(one.metric == COSINE for one in chosen)
    said = "metric='cosine' sees no difference between rows that point one way"
    if MAPS[chosen[0].feature_map].fuses:
        more = f": {said}" if parallel else ""
        return ValueError(f"All views are constant ({listed}), so there is nothing to cluster{more}.")
    return ValueError(
        f"All views are constant, or their kernels are flat ({listed}): there is nothing to cluster. A "
        "bandwidth far larger than the distances between rows flattens a kernel; use bandwidth='median'"
        f"{f'; {said}' if parallel else ''}."
    )


def _with_explicit(prepared: Prepared, n_clusters: int, seed: int) -> Prepared:
    """Add features of sampled rows where a view has only a kernel matrix."""
    some = subsample(prepared.sample, max(STATISTIC_ROWS, 2 * n_clusters), stream(seed, "explicit"))
    return prepared._replace(explicit=make_explicit(prepared.engine, prepared.maps, some, prepared.views.names))


def through_maps(rows: Engine, maps: tuple[FeatureMap, ...], settings: Settings, keep: bool = True) -> Engine:
    """Rows mapped to features."""
    return rows.with_features(maps, keep=keep, working=WORKING_PER_CLUSTER * settings.n_clusters)
