"""The feature maps there are, by the names that users give.

Another map is one more module like those here and a line in this table. The table is read when it is needed, so
what is added to it later counts too.
"""

from __future__ import annotations

from powerkmeans.features.maps.base import BaseMap, MapKind
from powerkmeans.features.maps.exact import ExactKind
from powerkmeans.features.maps.fourier import FourierKind
from powerkmeans.features.maps.graph import AutoKind, GraphKind
from powerkmeans.features.maps.identity import IdentityKind
from powerkmeans.features.maps.nystroem import NystroemKind

MAPS: dict[str, MapKind] = {
    "rff": FourierKind(orthogonal=False),
    "orf": FourierKind(orthogonal=True),
    "nystroem": NystroemKind(),
    "auto": AutoKind(),
    "graph": GraphKind(),
    "identity": IdentityKind(),
    "exact": ExactKind(),
}


def classes_by_file_name() -> dict[str, type[BaseMap]]:
    """Classes of maps by what they are called in model files."""
    return {kind.map_class.packing.name: kind.map_class for kind in MAPS.values()}


def sized_maps() -> tuple[str, ...]:
    """The names of maps that have a number of components to choose."""
    return tuple(name for name, kind in MAPS.items() if kind.sized)
