"""From checked views to features: one map for each view, or one for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powerkmeans.features.graph.neighbours import TOO_FEW
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.fused import prepare_fused
from powerkmeans.fitting.prepare import prepare_views
from powerkmeans.fitting.prepared import Prepared
from powerkmeans.fitting.scatter import OutOfRangeError
from powerkmeans.inputs.metric import with_metrics
from powerkmeans.inputs.settings import AUTO, Settings, ViewSettings
from powerkmeans.types import Views


def prepare_features(views: Views, settings: Settings, seed: int) -> Prepared:
    """Make the maps and apply them; a note tells of averages in place of rows."""
    prepared, least = _prepared(views, settings, seed), settings.rows_per_landmark
    averaged = f"rows_per_landmark={least}: landmarks are means of {least} rows or more, and fewer for it"
    return prepared if least == 1 else prepared._replace(notes=(*prepared.notes, averaged))


def _prepared(views: Views, settings: Settings, seed: int) -> Prepared:
    """The maps, applied.

    Views are taken in the order of their names: sums over views have the same bits then in whatever order they are
    given. Metrics are applied here, and rows are never scaled again.
    """
    order = sorted(range(len(views.names)), key=views.names.__getitem__)
    given = settings.of_views(views.names)  # a list of settings goes by the order in which views were given
    chosen = tuple(given[index] for index in order)
    views = with_metrics(views.select(order), tuple(one.metric for one in chosen))
    if any(MAPS[one.feature_map].dual for one in chosen):
        views = views._replace(weight=views.weight.astype(np.float64))
    if not MAPS[chosen[0].feature_map].fuses:
        return prepare_views(views, chosen, settings, seed)
    if chosen[0].feature_map != AUTO:
        return prepare_fused(views, chosen, settings, seed)
    return _clearer(views, chosen, settings, seed)


def _clearer(views: Views, chosen: tuple[ViewSettings, ...], settings: Settings, seed: int) -> Prepared:
    """The graph, or landmarks where it tells nothing; with a note that says why."""
    try:
        prepared = prepare_fused(views, chosen, settings, seed)
    except OutOfRangeError:  # a kernel takes distances in bandwidths
        return _landmarks(views, chosen, settings, seed, "squared distances leave the range of float64")
    base = prepared.maps_of_rows[0].base
    if base.n_components <= TOO_FEW:
        few = f"{base.n_components} landmarks are too few for a graph"
        return _landmarks(views, chosen, settings, seed, few)
    said = (
        f"a graph and its halves agree on {base.agreement:.2f} of the clusters, and {base.purity:.2f} of the "
        "neighbours are of a row's own, beyond chance"
    )
    if base.doubt is not None or not base.judged.clear:
        said = base.doubt or said
        del prepared, base  # before as much is drawn and kept again
        return _landmarks(views, chosen, settings, seed, said)
    return prepared._replace(notes=(*prepared.notes, f"feature_map='auto': graph, as {said}"))


def _landmarks(
    views: Views, chosen: tuple[ViewSettings, ...], settings: Settings, seed: int, reason: str
) -> Prepared:
    prepared = prepare_views(views, tuple(replace(one, feature_map="nystroem") for one in chosen), settings, seed)
    return prepared._replace(notes=(*prepared.notes, f"feature_map='auto': nystroem, as {reason}"))
