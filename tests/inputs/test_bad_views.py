"""Every way to get several views wrong, and what is said of it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from view_helpers import ATAC, BOTH, COLUMNS, EXPECTED, RNA, model

from powerkmeans import KernelPowerKMeans

ROW_NAN = np.where(np.arange(90)[:, None] == 5, np.nan, ATAC)
NO_VIEW = {"rna": np.where(np.arange(90)[:, None] == 5, np.nan, RNA), "atac": ROW_NAN}
PARTLY = ATAC.copy()
PARTLY[7, 2] = np.nan
INFINITE = ATAC.copy()
INFINITE[3, 1] = np.inf

BAD = {
    "unequal lengths": (
        {"rna": RNA, "atac": ATAC[:80]},
        {},
        "view 'atac' has 80 samples, expected 90 (from view 'rna')",
    ),
    "no views": ([], {}, "X has no views; expected at least one 2-D array"),
    "empty dict": ({}, {}, "X has no views; expected at least one 2-D array"),
    "no views named": (BOTH, {"views": {}}, "views is empty; expected at least one view"),
    "duplicate names": (BOTH, {"views": [("a", [0]), ("a", [1])]}, "views names 'a' twice"),
    "overlap": (BOTH, {"views": {"a": [0, 1], "b": [1, 2]}}, "Column 1 is in the views 'a' and 'b'"),
    "a column twice": (BOTH, {"views": {"a": [0, 0]}}, "Column 0 is in the views 'a', twice"),
    "unknown position": (BOTH, {"views": {"a": [0, 10]}}, "views['a'] has column 10, but X has 10 columns"),
    "unknown slice": (
        BOTH,
        {"views": {"a": slice(0, 11)}},
        "views['a'] has columns up to 11, but X has 10 columns",
    ),
    "names on an array": (
        BOTH,
        {"views": {"a": ["x"]}},
        "names the column 'x', but X is an array without column names",
    ),
    "unknown name": (
        pd.DataFrame(BOTH, columns=COLUMNS),
        {"views": {"a": ["r0", "r9"]}},
        "views['a'] names the column 'r9', which X does not have",
    ),
    "ambiguous name": (
        pd.DataFrame(BOTH, columns=["r0", *COLUMNS[:-1]]),
        {"views": {"a": ["r0"], "b": [4]}},
        "views['a'] names the column 'r0', which X has more than once",
    ),
    "no columns": (BOTH, {"views": {"a": [], "b": [1]}}, "view 'a' has no columns"),
    "short mask": (BOTH, {"views": {"a": [True, False]}}, "views['a'] is a mask of 2 columns, but X has 10"),
    "views and a dict": (
        {"a": RNA},
        {"views": {"a": [0]}},
        "views= chooses columns of one table, but X holds its views apart",
    ),
    "no view at all": (NO_VIEW, {}, "Sample 5 has no view: it is NaN or absent in 'rna', 'atac'"),
    "partly NaN": (
        {"rna": RNA, "atac": PARTLY},
        {},
        "view 'atac' contains NaN: sample 7 is partly NaN (column 2)",
    ),
    "infinite": ({"rna": RNA, "atac": INFINITE}, {}, "Input view 'atac' contains infinity"),
    "a list too short": (
        [RNA, ATAC],
        {"bandwidth": [1.0]},
        "bandwidth has 1 entry, expected 2, one for each of the views",
    ),
    "a list too long": ([RNA, ATAC], {"kernel": ["rbf"] * 3}, "kernel has 3 entries, expected 2"),
    "settings of no view": (
        {"rna": RNA, "atac": ATAC},
        {"n_components": {"dna": 5}},
        "n_components names the view 'dna'; the views are 'rna', 'atac'",
    ),
    "a wrong setting": ([RNA, ATAC], {"bandwidth": [1.0, -1.0]}, "The 'bandwidth[1]' parameter must be"),
    "all missing": ({"rna": RNA, "atac": np.full((90, 2), np.nan)}, {}, "view 'atac' is missing in all samples"),
    "None in fit": ({"rna": RNA, "atac": None}, {}, "view 'atac' is None; in fit every view must have samples"),
    "text": ({"rna": RNA, "atac": np.full((90, 2), "x")}, {}, "view 'atac': could not convert string to float"),
    "no width": ({"rna": RNA, "atac": np.zeros((90, 0))}, {}, "view 'atac': Found array with 0 feature(s)"),
    "entropy": ([RNA, ATAC], {"entropy": 0.0}, "The 'entropy' parameter must be 'auto' or a number > 0"),
    "view_scaling": (
        [RNA, ATAC],
        {"view_scaling": "unit"},
        "The 'view_scaling' parameter must be 'scatter' or None",
    ),
    "view_baseline": (
        [RNA, ATAC],
        {"view_baseline": 1},
        "The 'view_baseline' parameter must be 'gaussian' or None",
    ),
    "too few rows": ([RNA[:2], ATAC[:2]], {}, "n_samples=2 should be >= n_clusters=3"),
    "one dimension": (
        np.arange(10.0),
        {"views": {"a": [0]}},
        "views= chooses columns of a 2-D table, but X has 1 dimension",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    X, parameters, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        model(**parameters).fit(X)


@pytest.mark.parametrize("new", [BOTH[0], BOTH[:, :, None], 3.0], ids=["a row", "a cube", "a number"])
@pytest.mark.parametrize("method", ["predict", "partial_fit"])
def test_new_samples_that_are_no_table_are_told_so(new, method):
    found = model(views={"rna": slice(0, 4), "atac": slice(4, 10)}).fit(BOTH)
    with pytest.raises(ValueError, match=rf"a 2-D table, but X has {np.ndim(new)} dimension"):
        getattr(found, method)(new)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([RNA, "text"], "view 'view_1' must be a 2-D array, got 'text' (str)"),
        ([RNA, 3], "view 'view_1' must be a 2-D array, got 3 (int)"),
        ([RNA, np.zeros(90)], "view 'view_1' must be a 2-D array, got an array of shape (90,)"),
        ({1: RNA}, "View names must be strings, got 1 (int)"),
    ],
)
def test_wrong_types(X, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        model().fit(X)


@pytest.mark.parametrize("views", [5, "rna", ["rna"], {"rna": 1.5}, {"rna": None}, {3: [0]}])
def test_wrong_types_of_views(views):
    with pytest.raises(TypeError, match=r"views must be a dict of columns|must be columns|must be strings"):
        model(views=views).fit(BOTH)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"rna": RNA, "dna": ATAC}, "X has the unknown view 'dna'; the model was fitted on 'rna', 'atac'"),
        ({"rna": RNA}, "X lacks the view 'atac' that the model was fitted on; pass None for a view"),
        ([RNA], "X has 1 views, but the model was fitted on 2: 'rna', 'atac'"),
        (BOTH, "X is one table, but the model was fitted on the views 'rna', 'atac'"),
        (
            {"rna": RNA, "atac": RNA},
            "view 'atac' has 4 features, but MultiViewPowerKMeans is expecting 6 features",
        ),
        ({"rna": None, "atac": None}, "X has no views: all of them are None"),
        (NO_VIEW, "Sample 5 has no view"),
    ],
)
def test_bad_new_data(X, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        EXPECTED.predict(X)


def test_lengths_that_differ_get_advice():
    ids = [f"p{i}" for i in range(90)]
    rna, atac = pd.DataFrame(RNA, index=ids), pd.DataFrame(ATAC, index=ids)
    with pytest.raises(ValueError, match=r"Give all views the union of their samples.*a\.reindex\(ids\)"):
        model().fit({"rna": rna, "atac": atac[:80]})
    with pytest.raises(ValueError, match="Rows are samples: is a table transposed"):
        model().fit({"rna": RNA, "atac": ATAC.T})
    union = rna.index.union(atac.index[:80])
    assert model().fit({"rna": rna.reindex(union), "atac": atac[:80].reindex(union)}).labels_.shape == (90,)


def test_views_in_the_wrong_place():
    with pytest.raises(ValueError, match="y is not used, and looks like a view: pass all views in X"):
        model().fit(RNA, ATAC)
    with pytest.raises(TypeError, match="X holds several views; KernelPowerKMeans takes one table"):
        KernelPowerKMeans(3).fit([RNA, ATAC])
