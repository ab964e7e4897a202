"""Ways to spoil data: views, a share and a generator in, spoilt views and a mask of the spoilt samples out.

They work on the columns as they are; scaling comes after, as it does for anyone who gets data already spoilt.
What a larger share spoils includes what a smaller one does with the same generator, so that a curve over shares
follows one sample and not a new draw at every point.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.methods import Views

DEGREES_OF_FREEDOM = 1.5  # the mean exists, the variance does not
NONE, BACKGROUND, PERMUTED, HEAVY, NOISE_VIEW = (
    "none",
    "background",
    "permuted views",
    "heavy tails",
    "noise view",
)


class Spoilt(NamedTuple):
    """Views after a corruption, and which samples it touched."""

    views: Views
    spoilt: np.ndarray


Corruption = Callable[[Views, float, np.random.Generator], Spoilt]


def chosen(n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """``round(share * n)`` rows in random order; those of a larger share begin with those of a smaller one."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share lies between 0 and 1, not at {share:g}")
    return rng.permutation(n)[: round(share * n)]


def untouched(views: Views, share: float, rng: np.random.Generator) -> Spoilt:
    """The data as they are; the share says nothing."""
    return Spoilt(list(views), np.zeros(len(views[0]), dtype=bool))


def _on_rows(change: Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]) -> Corruption:
    """A corruption that gives the chosen rows of every view new values by themselves."""

    def spoil(views: Views, share: float, rng: np.random.Generator) -> Spoilt:
        of_rows, *of_views = rng.spawn(1 + len(views))
        rows = chosen(len(views[0]), share, of_rows)
        changed = [np.array(view, dtype=np.float64) for view in views]
        for view, stream in zip(changed, of_views, strict=True):
            view[rows] = change(view, rows, stream)
        return Spoilt(changed, _mask(len(views[0]), rows))

    return spoil


def _mask(n: int, rows: np.ndarray) -> np.ndarray:
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


@_on_rows
def background(view: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows uniform in the box from the smallest to the largest value of each column, in place of the chosen ones.

    The number of samples stays, so the share is of the total. A box is the same before and after standardising.
    """
    return rng.uniform(view.min(axis=0), view.max(axis=0), (len(rows), view.shape[1]))


@_on_rows
def heavy_tailed(view: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Student's t added to every column of the chosen rows, in units of the column's standard deviation."""
    noise = rng.standard_t(DEGREES_OF_FREEDOM, (len(rows), view.shape[1]))
    return np.asarray(view[rows] + view.std(axis=0) * noise)


def permuted(views: Views, share: float, rng: np.random.Generator) -> Spoilt:
    """The chosen samples exchange their rows, differently in every view: each view is of another sample.

    View l of a chosen sample is that of the sample l places further in a random order, so no two views of it are
    of the same sample, and every view as a whole keeps its rows. Classes are not looked at: with ten of them, one
    pair of exchanged views in ten still agrees.
    """
    if len(views) < 2:
        raise ValueError("permuted views need two views or more")
    n = len(views[0])
    rows = chosen(n, share, rng)
    if 0 < len(rows) < len(views):
        raise ValueError(f"{len(rows)} samples are too few to exchange {len(views)} views among them")
    changed = [np.array(view, dtype=np.float64) for view in views]
    for shift, (new, old) in enumerate(zip(changed, views, strict=True)):
        new[rows] = old[np.roll(rows, -shift)]
    return Spoilt(changed, _mask(n, rows))


def noise_view(views: Views, share: float, rng: np.random.Generator) -> Spoilt:
    """One more view of Gaussian noise, as wide as the mean view; no sample is spoilt. Share 0: none."""
    width = round(float(np.mean([view.shape[1] for view in views])))
    n = len(views[0])
    more = [rng.normal(size=(n, width))] if share > 0 else []
    return Spoilt([*views, *more], np.zeros(n, dtype=bool))


CORRUPTIONS: dict[str, Corruption] = {
    NONE: untouched,
    BACKGROUND: background,
    PERMUTED: permuted,
    HEAVY: heavy_tailed,
    NOISE_VIEW: noise_view,
}
OF_SAMPLES = (BACKGROUND, PERMUTED, HEAVY)


def corrupt(name: str, views: Views, share: float, seed: int) -> Spoilt:
    """A corruption by name; the draw depends on name and seed, so corruptions of one seed are not alike."""
    return CORRUPTIONS[name](views, share, np.random.default_rng([seed, zlib.crc32(name.encode())]))
