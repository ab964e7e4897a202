"""The bandwidth of each view: as given, a typical distance of its rows, or their spread."""

from __future__ import annotations

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.features.bandwidth import median_distance, median_rows
from powerkmeans.features.kernels import KERNELS
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.scatter import smallest_scatter, weighted_means
from powerkmeans.inputs.settings import ViewSettings
from powerkmeans.objective.linearised import scatter_sums
from powerkmeans.support.draws import stream, subsample
from powerkmeans.types import RowSample, Views


def choose_bandwidths(
    views: Views, samples: tuple[RowSample, ...], chosen: tuple[ViewSettings, ...], engine: object, seed: int
) -> tuple[float | None, ...]:
    """One bandwidth per view; None where the map needs none."""
    parts = enumerate(zip(samples, chosen, strict=True))
    return tuple(_bandwidth(views.alone(index), sample, one, engine, seed) for index, (sample, one) in parts)


def _bandwidth(view: Views, sample: RowSample, chosen: ViewSettings, engine: object, seed: int) -> float | None:
    if not MAPS[chosen.feature_map].needs_bandwidth(chosen.kernel):
        return None
    if chosen.bandwidth == "median":
        return _median(view.names[0], sample, chosen.kernel, seed)
    if chosen.bandwidth == "scale":
        return _scale(view, chosen.kernel, engine)
    return float(chosen.bandwidth)


def _median(name: str, sample: RowSample, kernel: str, seed: int) -> float:
    """The median distance between some rows of the view."""
    n_rows = median_rows(KERNELS[kernel], sample.views[0].shape[1])
    drawn = subsample(sample, n_rows, stream(seed, "bandwidth"))
    try:
        return median_distance(drawn.views[0], drawn.weight, KERNELS[kernel])
    except ValueError as error:
        raise ValueError(f"view {name!r}: {error}") from None


def _scale(view: Views, kernel: str, engine: object) -> float:
    """``sqrt(2 * total variance)`` of one view."""
    (name,), (array,) = view.names, view.arrays
    if KERNELS[kernel].metric != "euclidean":
        raise ValueError(
            f"view {name!r}: bandwidth='scale' is a Euclidean length, but kernel='laplacian' uses the L1 "
            "distance; use bandwidth='median' or a number."
        )
    rows = open_engine(engine, view)
    (mean,) = weighted_means(rows, [array.shape[1]])
    identity = make_centred(IdentityMap(array.shape[1]), mean, rows.dtype)
    sums = rows.with_features((identity,), keep=False).fold(scatter_sums, None)
    scatter = float(sums.scatter[0] / sums.weight[0])
    if scatter < smallest_scatter(np.finfo(rows.dtype)):
        raise ValueError(f"Squared distances in view {name!r} underflow {rows.dtype}; rescale the data.")
    return float(np.sqrt(2 * scatter))
