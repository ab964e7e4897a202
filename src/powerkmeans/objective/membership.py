"""What the membership makes of a distance: fuzzy keeps it, possibilistic bounds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from powerkmeans.types import Array, Membership, device_of


@dataclass(frozen=True)
class Fuzzy:
    """Every sample counts fully: ``u = 1`` and ``h(d) = d``."""

    fuzziness: float = 2.0
    name: ClassVar[str] = "fuzzy"
    bounded: ClassVar[bool] = False

    def degrees(self, distance: Array, reference: Array, xp: Any) -> Array:
        return xp.ones((), dtype=distance.dtype, device=device_of(distance))

    def log_degrees(self, distance: Array, reference: Array, xp: Any) -> Array:
        return xp.zeros((), dtype=distance.dtype, device=device_of(distance))

    def distances(self, degree: Array, reference: Array, xp: Any) -> Array:
        return xp.zeros_like(degree)

    def attraction(self, degree: Array, xp: Any) -> Array:
        return degree

    def residual(self, degree: Array, xp: Any) -> Array:
        return 1 - degree

    def divergence(self, distance: Array, degree: Array, reference: Array, xp: Any) -> Array:
        return distance

    def elasticity(self, distance: Array, degree: Array, reference: Array, xp: Any) -> tuple[Array, Array]:
        return degree, 1 - degree


@dataclass(frozen=True)
class Possibilistic:
    r"""Typicality ``u`` falls with the distance, so a far sample pulls on nothing.

    .. math::
        h(d) = \min_u\; u^m d + (1-u)^m \eta, \qquad
        u = \frac{1}{1 + (d/\eta)^{1/(m-1)}}

    (paper: eq:new distance, eq:step1). ``h`` is increasing, concave and bounded by ``eta``; ``h = u^(m-1) d``.
    """

    fuzziness: float = 2.0
    name: ClassVar[str] = "possibilistic"
    bounded: ClassVar[bool] = True

    def degrees(self, distance: Array, reference: Array, xp: Any) -> Array:
        ratio = distance / reference
        if self.fuzziness != 2:
            ratio = ratio ** (1 / (self.fuzziness - 1))
        return 1 / (1 + ratio)

    def log_degrees(self, distance: Array, reference: Array, xp: Any) -> Array:
        beside = {"dtype": distance.dtype, "device": device_of(distance)}
        smallest = xp.asarray(xp.finfo(distance.dtype).smallest_normal, **beside)
        ratio = xp.log(xp.maximum(distance, smallest)) - xp.log(xp.asarray(reference, **beside))
        return -xp.logaddexp(xp.zeros_like(ratio), ratio / (self.fuzziness - 1))

    def distances(self, degree: Array, reference: Array, xp: Any) -> Array:
        return reference * (1 / degree - 1) ** (self.fuzziness - 1)

    def attraction(self, degree: Array, xp: Any) -> Array:
        return degree * degree if self.fuzziness == 2 else degree**self.fuzziness

    def residual(self, degree: Array, xp: Any) -> Array:
        return self.attraction(1 - degree, xp)

    def divergence(self, distance: Array, degree: Array, reference: Array, xp: Any) -> Array:
        return self.attraction(degree, xp) * distance + self.residual(degree, xp) * reference

    def elasticity(self, distance: Array, degree: Array, reference: Array, xp: Any) -> tuple[Array, Array]:
        """``u`` and ``m (1 - u) / (m - 1)``."""
        return degree, self.fuzziness / (self.fuzziness - 1) * (1 - degree)


# by the name that users write, made with the fuzziness that they give
MEMBERSHIPS: dict[str, Callable[[float], Membership]] = {m.name: m for m in (Fuzzy, Possibilistic)}


def make_membership(name: str, fuzziness: float) -> Membership:
    """Return the membership called ``name``."""
    return MEMBERSHIPS[name](fuzziness)
