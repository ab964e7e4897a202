"""What scikit-learn refuses in a table, told with the place and the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from powerkmeans.inputs.tables import column_names

_FILL = (
    "Fill them in a pipeline, make_pipeline(SimpleImputer(), StandardScaler(), estimator) with scikit-learn's "
    "SimpleImputer or KNNImputer, or leave those rows out."
)
_ENCODE = "Make numbers of categories with scikit-learn's OneHotEncoder in a ColumnTransformer, or leave them out."


@contextmanager
def telling_of_cells(X: Any) -> Iterator[None]:
    """Say of missing cells and words where they are, and what to do about them."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        if "contains NaN" in said and not issparse(X):
            raise ValueError(f"Input X contains NaN: {_about_gaps(X)} {_FILL}") from error
        if "could not convert string to float" in said:
            raise ValueError(f"{said}.{_about_words(X)} {_ENCODE}") from error
        raise


def _about_gaps(X: Any) -> str:
    values = X.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(X, "iloc") else X
    missing = np.isnan(np.asarray(values, dtype=np.float64))
    rows = np.flatnonzero(np.any(missing, axis=1))
    place = int(np.argmax(missing[rows[0]]))
    header = column_names(X)
    column = place if header is None else repr(header[place])
    count = f"{len(rows)} of {len(missing)} rows"
    return f"{count} have missing cells, the first is row {rows[0]} (column {column})."


def _about_words(X: Any) -> str:
    """The columns of a data frame that hold words."""
    kinds = getattr(X, "dtypes", None)
    if column_names(X) is None or kinds is None:
        return ""
    words = [repr(name) for name, kind in zip(column_names(X) or [], kinds, strict=True) if _holds_words(kind)]
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    return f" Columns of words: {', '.join(words[:5])}{more}." if words else ""


def _holds_words(kind: Any) -> bool:
    return str(kind).lower() in ("object", "str", "string", "category", "categorical")
