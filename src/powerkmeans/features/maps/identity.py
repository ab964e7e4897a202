"""No map: the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from powerkmeans.features.maps.base import BaseMap, MapKind, MapRequest, check_columns
from powerkmeans.features.maps.packing import PRECISIONS, ArrayEntry, Packing, PlainEntry, always
from powerkmeans.features.pairs import as_dense
from powerkmeans.types import Array


@dataclass(frozen=True)
class IdentityMap(BaseMap):
    """The rows themselves: plain (power) k-means."""

    n_components: int  # of columns

    packing: ClassVar[Packing] = Packing(
        "identity",
        always(mean=ArrayEntry("d#", PRECISIONS)),
        {"n_components": PlainEntry(int, low=1)},
        has_bandwidth=lambda entries: False,
        flaw=lambda sizes: None if sizes["p"] == sizes["d"] else "outputs must be as many as the columns",
    )

    @property
    def n_outputs(self) -> int:
        return self.n_components

    def __call__(self, X: Array, xp: Any) -> Array:
        check_columns(X, self.n_components)
        return as_dense(X)


class IdentityKind(MapKind):
    """The columns of a view as they are."""

    map_class = IdentityMap
    sized = False

    def make(self, request: MapRequest) -> IdentityMap:
        return IdentityMap(request.n_columns)

    def needs_bandwidth(self, kernel: str) -> bool:
        return False
