"""From checked views to a problem the solver can take: feature maps, centred features, fixed constants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powerkmeans.engines import open_engine
from powerkmeans.features.bandwidth import median_distance, median_rows
from powerkmeans.features.dimension import suggest_n_components
from powerkmeans.features.kernels import KERNELS, draw_frequencies
from powerkmeans.features.maps import (
    BaseMap,
    CentredMap,
    IdentityMap,
    make_centred,
    make_fourier,
    make_nystroem,
)
from powerkmeans.objective.collapse import mean_sums, scatter_sums
from powerkmeans.settings import Settings
from powerkmeans.streams import stream, stream_seed, thin
from powerkmeans.types import Engine, Float64Array, RowSample
from powerkmeans.views import Views

START_ROWS = 50_000
ORIGIN_ROWS = 500
# numbers that a pass holds for each row and cluster: distances, powers, pulls
WORKING_PER_CLUSTER = 4
SAMPLE_BYTES = 2**28
# a mean squared distance below this share of the squared norms is rounding, not structure
FLAT = 1e-12


class Prepared(NamedTuple):
    """Rows seen through centred feature maps, with what was measured on the way."""

    engine: Engine
    maps: tuple[CentredMap, ...]
    scatter: Float64Array
    sample: RowSample
    bandwidths: tuple[float | None, ...]
    notes: tuple[str, ...]

    @property
    def splits(self) -> tuple[int, ...]:
        return (0, *np.cumsum([m.n_outputs for m in self.maps]).tolist())


def prepare_features(views: Views, settings: Settings, seed: int) -> Prepared:
    """Choose bandwidths, draw the maps, centre the features, and keep them if they fit the budget."""
    rows = open_engine(settings.engine, views.arrays, views.weight)
    sample = rows.sample(_sample_size(views), stream_seed(seed, "sample"))
    if len(sample.weight) == 1:
        which = "rows" if np.all(views.weight > 0) else "rows of positive weight"
        raise ValueError(
            f"All {which} are equal (n_samples={rows.n_samples}, 1 distinct): there is nothing to cluster."
        )
    bandwidths = _bandwidths(rows, sample, settings, seed)
    maps, notes = _maps(views, sample, bandwidths, settings, seed)
    means = _means(rows.with_features(maps, keep=False), [m.n_outputs for m in maps])
    centred = tuple(make_centred(m, mean, rows.dtype) for m, mean in zip(maps, means, strict=True))
    features = rows.with_features(centred, keep=True, working=WORKING_PER_CLUSTER * settings.n_clusters)
    sums = features.fold(scatter_sums, None)
    scatter = sums.scatter / sums.weight
    for name, base, value in zip(views.names, maps, scatter, strict=True):
        _check_scatter(name, base, float(value), features)
    return Prepared(features, centred, scatter, sample, bandwidths, notes)


def subsample(sample: RowSample, size: int, rng: np.random.Generator) -> RowSample:
    """Draw by weight from a sample; the result depends on the rows' content alone."""
    kept, weight = thin(rng.standard_exponential(len(sample.weight)), sample.weight, size)
    return RowSample(tuple(view[kept] for view in sample.views), weight)


def _sample_size(views: Views) -> int:
    row_bytes = sum(array.shape[1] * array.dtype.itemsize for array in views.arrays)
    return int(np.clip(SAMPLE_BYTES // max(1, row_bytes), 1000, START_ROWS))


def _means(engine: Engine, widths: list[int]) -> list[Float64Array]:
    """Weighted mean of the rows, per view."""
    sums = engine.fold(mean_sums, None)
    return np.split(sums.total / sums.weight, np.cumsum(widths)[:-1])


def _origins(sample: RowSample, seed: int) -> list[Float64Array]:
    """A point amid the rows of each view, for numerics alone: kernels do not notice where zero is.

    The median of a few hundred rows, which no outlier moves; zero for sparse rows, which stay sparse.
    """
    drawn = subsample(sample, ORIGIN_ROWS, stream(seed, "origin"))
    return [
        np.zeros(view.shape[1]) if hasattr(view, "toarray") else np.median(view.astype(np.float64), axis=0)
        for view in drawn.views
    ]


def _bandwidths(rows: Engine, sample: RowSample, settings: Settings, seed: int) -> tuple[float | None, ...]:
    """One bandwidth a view; None where the map has no kernel."""
    kernel, widths = KERNELS[settings.kernel], [view.shape[1] for view in sample.views]
    if settings.feature_map == "identity":
        return (None,) * len(widths)
    if not isinstance(settings.bandwidth, str):
        return (float(settings.bandwidth),) * len(widths)
    if settings.bandwidth == "scale":
        if kernel.metric != "euclidean":
            raise ValueError(
                "bandwidth='scale' is a Euclidean length, but kernel='laplacian' uses the L1 distance; "
                "use bandwidth='median' or a number."
            )
        means = zip(widths, _means(rows, widths), strict=True)
        identity = tuple(make_centred(IdentityMap(width), mean, rows.dtype) for width, mean in means)
        sums = rows.with_features(identity, keep=False).fold(scatter_sums, None)
        return tuple(np.sqrt(2 * sums.scatter / sums.weight).tolist())
    n_rows = median_rows(kernel, max(widths))
    drawn = subsample(sample, n_rows, stream(seed, "bandwidth"))
    return tuple(median_distance(view, drawn.weight, kernel) for view in drawn.views)


def _maps(
    views: Views,
    sample: RowSample,
    bandwidths: tuple[float | None, ...],
    settings: Settings,
    seed: int,
) -> tuple[tuple[BaseMap, ...], tuple[str, ...]]:
    n_components, notes = _n_components(settings)
    origins = _origins(sample, seed)
    maps: list[BaseMap] = []
    for index, (name, origin, bandwidth) in enumerate(zip(views.names, origins, bandwidths, strict=True)):
        dtype = views.arrays[index].dtype
        if bandwidth is None:
            maps.append(IdentityMap(len(origin)))
        elif settings.feature_map == "nystroem":
            landmarks = subsample(sample, n_components, stream(seed, "landmarks"))
            maps.append(make_nystroem(origin, landmarks.views[index], settings.kernel, bandwidth))
        else:
            orthogonal = settings.feature_map == "orf"
            rng = stream(seed, "frequencies", name)
            kernel = KERNELS[settings.kernel]
            frequencies = draw_frequencies(kernel, len(origin), n_components, orthogonal, rng)
            maps.append(make_fourier(origin, frequencies, bandwidth, dtype))
    return tuple(maps), notes


def _n_components(settings: Settings) -> tuple[int, tuple[str, ...]]:
    """The number of frequencies or landmarks, and what to say about the choice."""
    if not isinstance(settings.n_components, str):
        return settings.n_components, ()
    if settings.feature_map == "identity":
        return 0, ()
    frequencies = suggest_n_components(settings.n_clusters)
    rule = f"ceil(4 log(2k)^3) = {frequencies} for k={settings.n_clusters} (Theorem 3, eps = delta = 1/2)"
    if settings.feature_map == "nystroem":
        return 2 * frequencies, (f"n_components='auto': {2 * frequencies} landmarks, the outputs of {rule}",)
    if not KERNELS[settings.kernel].analytic:
        rule += f"; the theorem does not cover kernel={settings.kernel!r}"
    return frequencies, (f"n_components='auto': {rule}",)


def _check_scatter(name: str, base: BaseMap, scatter: float, engine: Engine) -> None:
    """Reject features that carry nothing, or whose squares leave the range of their type."""
    limits = np.finfo(engine.dtype)
    if isinstance(base, IdentityMap):
        if scatter * engine.n_samples * 8 > float(limits.max):
            raise ValueError(f"Squared distances in view {name!r} overflow {engine.dtype}; rescale the data.")
        if scatter < float(limits.tiny) * 1e6:
            raise ValueError(f"Squared distances in view {name!r} underflow {engine.dtype}; rescale the data.")
        return
    if scatter < FLAT:
        raise ValueError(
            f"The kernel is flat on view {name!r}: all features are equal to rounding. "
            "The bandwidth is far larger than the distances between rows; use bandwidth='median'."
        )
