"""What a fit has prepared before it poses a problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powerkmeans.compute.passes import fastest
from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.fitting.explicit import Explicit
from powerkmeans.inputs.settings import ViewSettings
from powerkmeans.types import Engine, FeatureMap, Float64Array, RowSample, Views


class Prepared(NamedTuple):
    """Rows mapped by centred feature maps, with what was measured on the way.

    views : those that say anything; features as their rows where a map that fuses views has been applied already
    scatter : that of the scaled features
    sample, samples : rows of all views together, and distinct ones of each view by itself
    explicit : features of sampled rows where a view's kernel is exact
    left_out : the names of views that say nothing
    used : the names of views that maps are made of; several of a map that fuses
    examined : distinct rows of each used view as they were given
    given : used views as they were given, where ``views`` are not
    fitted_maps : what new rows are seen through, where that is not what ``views`` are
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
    used: tuple[str, ...] = ()
    examined: tuple[RowSample, ...] = ()
    given: Views | None = None
    fitted_maps: tuple[CentredMap, ...] = ()

    @property
    def maps_of_rows(self) -> tuple[CentredMap, ...]:
        """What rows as they are given are seen through."""
        return self.fitted_maps or self.maps

    @property
    def fastest_maps(self) -> tuple[FeatureMap, ...]:
        """The maps as the engine applies them, for rows that are not its own."""
        return tuple(fastest(m, self.engine.passes) for m in self.maps)

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
        return self.views.total_weight
