"""Annotated cells, for Python and the command: what is clustered if nobody says, and what columns are called."""

from __future__ import annotations

from typing import Any

import numpy as np

# of the matrices beside the observations, the one that is taken if it is there
PCA = "X_pca"
# what scanpy reduces by itself when it is told nothing; up to there columns are taken as they are
MANY_COLUMNS = 50
# counts show in a few rows
ROWS_TO_LOOK_AT = 1000


def component_names(matrix: str, n_columns: int) -> list[str]:
    """What the columns of a matrix of ``obsm`` are called: PC1, PC2, ... or umap1, umap2, ..."""
    stem = "PC" if matrix == PCA else matrix.removeprefix("X_")
    return [f"{stem}{place}" for place in range(1, n_columns + 1)]


def about_raw(table: Any, used: str) -> str | None:
    """What to tell whoever said nothing if the columns of ``.X`` have not been prepared; None if they have."""
    few = table[:ROWS_TO_LOOK_AT]
    values = few.data if hasattr(few, "indptr") else few
    counts = values.size > 0 and values.dtype.kind in "uif" and bool(np.all((values >= 0) & (values % 1 == 0)))
    if not counts and table.shape[1] <= MANY_COLUMNS:
        return None
    kind = " and look like counts" if counts else ""
    return (
        f"the {table.shape[1]} columns of .X are {used}{kind}. Prepare them with scanpy.pp (normalize_total, "
        "log1p, pca)"
    )
