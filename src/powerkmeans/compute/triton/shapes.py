"""How kernels are laid out, and what is tried on a card that has less room than the one they were measured on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from powerkmeans.support.install import needed

T = TypeVar("T")
S = TypeVar("S", "Shape", "Shapes")

# rows and columns of the smallest tiles: below, others are faster that read more often
LEAST_ROWS, LEAST_COLUMNS = 32, 128


class Shape(NamedTuple):
    """How a kernel is laid out: rows of a tile, warps, tiles on their way at once, programs for each processor."""

    rows: int
    warps: int
    stages: int
    programs: int = 1

    @property
    def smaller(self) -> Shape | None:
        """What takes less of a processor's memory: fewer tiles on their way, then half of their rows."""
        if self.stages > 1:
            return self._replace(stages=self.stages - 1)
        return self._replace(rows=self.rows // 2) if self.rows > LEAST_ROWS else None


class Shapes(NamedTuple):
    """Those of two kernels that are launched one after the other, and become smaller together.

    columns : how many the second takes at once, whose sums pass through a processor's memory at its end
    """

    first: Shape
    second: Shape
    columns: int

    @property
    def smaller(self) -> Shapes | None:
        if self.columns > LEAST_COLUMNS:
            return self._replace(columns=self.columns // 2)
        first, second = self.first.smaller, self.second.smaller
        none = first is None and second is None
        return None if none else Shapes(first or self.first, second or self.second, self.columns)


# the shape that a kernel was launched with at last, by what it was compiled for; None where no shape had room
_launched: dict[Hashable, Any] = {}


def launch(compiled: Hashable, shape: S, work: Callable[[S], T]) -> T | None:
    """What ``work`` gives with the first of ever smaller shapes that the card has room for; None if there is none.

    How much a kernel takes is known when it is compiled. ``compiled`` names all that it hangs on, so that a pass
    has the same shape, and the same bits, whatever was run before.
    """
    too_large = needed("triton", "gpu").OutOfResources
    tried: S | None = _launched.get(compiled, shape)
    while tried is not None:
        try:
            found = work(tried)
        except too_large:
            tried = tried.smaller
        else:
            _launched[compiled] = tried
            return found
    _launched[compiled] = None
    return None
