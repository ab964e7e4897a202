"""Long names, cut so that those which are shown together still look different."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

# characters of a name that are shown beside numbers, and those at its beginning
LONGEST_LABEL, BEGINNING = 20, 6
CUT = "\u2026"


def labels_of(names: Sequence[str], most: int = LONGEST_LABEL) -> dict[str, str]:
    """What stands for each of the names that are too long; different names have different labels.

    The middle is left out. Names that are alike at both ends show the place from which they differ instead.

    >>> labels_of(["ENSG00000000000000000123", "ENSG00000000000000000124", "age"])
    {'ENSG00000000000000000123': 'ENSG00…0000000000123', 'ENSG00000000000000000124': 'ENSG00…0000000000124'}
    """
    long = [name for name in dict.fromkeys(names) if len(name) > most]
    shown = {name: _without_middle(name, most) for name in long}
    by_label = defaultdict[str, list[str]](list)
    for name in dict.fromkeys(names):
        by_label[shown.get(name, name)].append(name)
    for alike in by_label.values():
        if len(alike) > 1:
            shown |= {name: label for name, label in _where_they_differ(alike, most).items() if name in shown}
    taken = Counter(shown.get(name, name) for name in dict.fromkeys(names))
    return {name: label if taken[label] == 1 else name for name, label in shown.items()}


def _without_middle(name: str, most: int) -> str:
    return name[:BEGINNING] + CUT + name[len(name) - (most - BEGINNING - 1) :]


def _where_they_differ(names: list[str], most: int) -> dict[str, str]:
    """Beginnings, and names from a little before the first place at which they differ; else whole ones."""
    letters = enumerate(zip(*names, strict=False))
    differ = next((place for place, those in letters if len(set(those)) > 1), min(map(len, names)))
    start = max(differ - 2, 0)
    wide = most - BEGINNING - 2
    labels = {name: f"{name[:BEGINNING]}{CUT}{name[start : start + wide]}{CUT}" for name in names}
    return labels if len(set(labels.values())) == len(names) else dict(zip(names, names, strict=True))
