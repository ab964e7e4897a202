"""How small is nothing: the two shares below which numbers are not told apart."""

from __future__ import annotations

import math

# a share that is rounding in double precision, after sums of some thousands: of a squared length, an eigenvalue, a
# pivot, a weight
ROUNDING = 1e-12
# a share that is rounding where half of the digits are left: of lengths from expanded squares, and of sums and
# entries that come in single precision
HALF_THE_DIGITS = math.sqrt(ROUNDING)
