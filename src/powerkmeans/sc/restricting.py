"""Only some of the observations: those of some categories, and the labels that the others keep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.support.values import listed, shown


class Restriction(NamedTuple):
    """Observations to cluster: those that have one of some categories in a column of ``obs``.

    labels : what that column holds, as strings, None where it holds nothing
    rows : which observations have one of the categories
    """

    key: str
    categories: list[str]
    labels: NDArray[Any]
    rows: NDArray[np.bool_]

    def renamed(self, found: Iterable[Any]) -> NDArray[Any]:
        """Labels of all observations, those of the clusters found in some as scanpy's ``leiden`` writes them."""
        labels = self.labels.copy()
        prefix = "-".join(self.categories)
        labels[self.rows] = [f"{prefix},{label}" for label in found]
        return labels


def restriction(obs: Any, restrict_to: Any) -> Restriction | None:
    """Check which observations are wanted: ``(key, categories)``, or None for all of them."""
    if restrict_to is None:
        return None
    key, categories = _checked(restrict_to)
    if key not in obs:
        raise ValueError(f"restrict_to: there is no obs[{shown(key)}]; there are {listed(obs) or 'none'}.")
    column = obs[key]
    values = column.astype(object).to_numpy(copy=True)
    missing = column.isna().to_numpy()
    values[~missing] = [str(value) for value in values[~missing]]
    values[missing] = None
    known = naturally_sorted(values[~missing])
    for category in categories:
        if category not in known:
            raise ValueError(
                f"restrict_to: no observation is {shown(category)} in obs[{key!r}]; there are {listed(known)}."
            )
    return Restriction(key, categories, values, np.isin(values.astype(str), categories) & ~missing)


def _checked(restrict_to: Any) -> tuple[str, list[str]]:
    if not isinstance(restrict_to, (tuple, list)) or len(restrict_to) != 2 or not isinstance(restrict_to[0], str):
        raise TypeError(
            "restrict_to must be None or the name of a column of obs with a list of categories, such as "
            f"('leiden', ['0', '3']), got {shown(restrict_to)}."
        )
    key, categories = restrict_to
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise TypeError(f"restrict_to: categories must be a list of strings, got {shown(categories)}.")
    categories = list(categories)
    if not categories:
        raise ValueError("restrict_to names no category.")
    for category in categories:
        if not isinstance(category, str):
            raise TypeError(f"restrict_to: categories must be strings, {str(category)!r} instead of {category!r}.")
    return key, [str(category) for category in categories]


def naturally_sorted(labels: Iterable[str]) -> list[str]:
    """Each label once, numbers in them by their size: 2 before 10."""

    def parts(label: str) -> list[Any]:
        return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", label))]

    return sorted({str(label) for label in labels}, key=parts)
