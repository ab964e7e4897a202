"""Two views of ninety samples, the fit that every form must end in, and ways to lack a view."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers import quick_views


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n // 3)
    return (
        rng.normal(0, 4, (3, 4))[y] + rng.normal(size=(n, 4)),
        rng.normal(0, 3, (3, 6))[y] + rng.normal(size=(n, 6)),
        y,
    )


RNA, ATAC, Y = data()
BOTH = np.hstack([RNA, ATAC])
COLUMNS = [f"r{i}" for i in range(4)] + [f"a{i}" for i in range(6)]


def model(**parameters):
    return quick_views(**{"n_clusters": 3, "feature_map": "nystroem", "random_state": 0, **parameters})


EXPECTED = model().fit({"rna": RNA, "atac": ATAC})

SPECS = {
    "slices": {"rna": slice(0, 4), "atac": slice(4, None)},
    "lists": {"rna": [0, 1, 2, 3], "atac": list(range(4, 10))},
    "range and array": {"rna": range(4), "atac": np.arange(4, 10)},
    "negative": {"rna": slice(None, 4), "atac": [-6, -5, -4, -3, -2, -1]},
    "masks": {"rna": np.arange(10) < 4, "atac": (np.arange(10) >= 4).tolist()},
    "pairs": [("rna", slice(0, 4)), ("atac", slice(4, 10))],
}

MISSING = np.arange(0, 90, 9)


def gaps(form):
    """The first view with rows missing, written in one of the ways to write it."""
    there = ~np.isin(np.arange(90), MISSING)
    rna = np.where(there[:, None], RNA, np.nan)
    rows = [row if kept else None for row, kept in zip(RNA.tolist(), there, strict=True)]
    objects = np.empty(90, dtype=object)
    objects[:] = rows
    views = {
        "nan": rna,
        "none rows": rows,
        "object array": objects,
        "masked array": np.ma.masked_invalid(rna),
        "pandas": pd.DataFrame(rna).convert_dtypes(),
    }
    X = {"rna": views.get(form, RNA), "atac": ATAC}
    mask = np.column_stack([there, np.ones(90, dtype=bool)])
    masks = {"mask": mask, "mask by name": {"rna": there.astype(int)}}
    return {"X": X, "present": masks[form]} if form in masks else {"X": X}
