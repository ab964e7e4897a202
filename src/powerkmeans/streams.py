"""Random streams: one integer seeds the fit, and every purpose draws from a generator of its own.

A stream is named by words ("frequencies", the view's name), so adding a consumer or a view never
changes what the others draw. The global generator is never touched.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """Return the generator for one purpose of the fit seeded by ``seed``."""
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in purpose)])


def stream_seed(seed: int, *purpose: str) -> int:
    """Return an integer seed for one purpose, for things that take a seed instead of a generator."""
    return int(stream(seed, *purpose).integers(2**63))


def draw_seed(random_state: Any) -> int:
    """The one integer that seeds a fit. ``None`` takes fresh entropy and leaves the global generator alone."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))
