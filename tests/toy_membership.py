"""A membership that the package does not know, for tests of what it takes to add one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Welsch:
    """``h(d) = eta (1 - exp(-d/eta))``, whose slope ``exp(-d/eta)`` is ``u^m``."""

    fuzziness: float = 2.0
    name: ClassVar[str] = "welsch"
    bounded: ClassVar[bool] = True

    def degrees(self, distance, reference, xp):
        return xp.exp(-distance / (reference * self.fuzziness))

    def log_degrees(self, distance, reference, xp):
        return -distance / (reference * self.fuzziness)

    def distances(self, degree, reference, xp):
        return -reference * self.fuzziness * xp.log(degree)

    def attraction(self, degree, xp):
        return degree**self.fuzziness

    def residual(self, degree, xp):
        slope = self.attraction(degree, xp)
        positive = slope > 0
        return 1 - slope + slope * xp.log(xp.where(positive, slope, xp.ones_like(slope)))

    def divergence(self, distance, degree, reference, xp):
        return -reference * xp.expm1(-distance / reference)

    def elasticity(self, distance, degree, reference, xp):
        ratio = distance / reference
        positive = ratio > 0
        ratio = xp.where(positive, ratio, xp.ones_like(ratio))
        return xp.where(positive, ratio / xp.expm1(ratio), xp.ones_like(ratio)), distance / reference
