"""Every way to say that a sample lacks a view, and answers from some of the views."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from view_helpers import ATAC, BOTH, EXPECTED, MISSING, RNA, SPECS, gaps, model

from helpers import assert_same_fit, objective_rounding, quick
from powerkmeans import explain_views


@pytest.mark.parametrize("form", ["none rows", "object array", "masked array", "pandas", "mask", "mask by name"])
def test_all_ways_to_miss_a_view_are_one(form):
    expected = model().fit(**gaps("nan"))
    found = model().fit(**gaps(form))
    assert_same_fit(found, expected)
    assert np.array_equal(found.predict(**gaps(form)), found.labels_)
    close = objective_rounding(found, expected) / 90  # the score is a mean
    assert found.score(**gaps(form)) == pytest.approx(expected.score(**gaps("nan")), rel=0, abs=close)


def test_table_with_nan_blocks():
    X = BOTH.copy()
    X[MISSING, :4] = np.nan
    found = model(views=SPECS["slices"]).fit(X)
    assert np.array_equal(found.labels_, model().fit(**gaps("nan")).labels_)


@pytest.mark.parametrize("subset", [["rna"], ["atac"], ["rna", "atac"]])
def test_prediction_from_any_views(subset):
    new = {"rna": RNA if "rna" in subset else None, "atac": ATAC if "atac" in subset else None}
    assert np.mean(EXPECTED.predict(new) == EXPECTED.labels_) > 0.95
    assert np.all(np.isfinite(EXPECTED.outlier_score(new)))
    proba = EXPECTED.predict_proba(new)
    assert np.array_equal(np.argmax(proba, axis=1), EXPECTED.predict(new))
    assert proba.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("present", "message"),
    [
        (np.ones((90, 3)), "present must have the shape (n_samples, n_views) = (90, 2), got (90, 3)"),
        (np.full((90, 2), 0.5), "present must hold True where a sample has a view"),
        ({"dna": np.ones(90)}, "present names the view 'dna'; the views are 'rna', 'atac'"),
        ({"rna": np.ones(80)}, "present['rna'] must have one entry for each of the 90 samples"),
        (np.arange(180).reshape(90, 2) > 1, "Sample 0 has no view"),
    ],
)
def test_bad_masks(present, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model().fit({"rna": RNA, "atac": ATAC}, present=present)


def test_present_needs_several_views():
    single = quick(3, random_state=0).fit(RNA)
    with pytest.raises(ValueError, match="present= is for several views"):
        explain_views(single, RNA, present=np.ones((90, 1)))
    with pytest.raises(ValueError, match="The 'bandwidth' parameter must be"):
        quick(3, bandwidth=[1.0]).fit(RNA)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_masks_in_frames_go_by_name(frame):
    there = np.arange(90) % 9 != 0
    by_name = frame({"atac": np.ones(90, dtype=bool), "rna": there})
    found = model().fit({"rna": RNA, "atac": ATAC}, present=by_name)
    assert_same_fit(found, model().fit(**gaps("nan")))


def test_absent_rows_may_hold_anything():
    spoiled = RNA.copy()
    spoiled[MISSING] = np.inf
    spoiled[MISSING[0], 1] = np.nan
    there = ~np.isin(np.arange(90), MISSING)
    found = model().fit({"rna": spoiled, "atac": ATAC}, present={"rna": there})
    assert_same_fit(found, model().fit(**gaps("nan")))


def test_verbose_tells_of_views(capsys):
    model(verbose=1).fit(**gaps("nan"))
    text = capsys.readouterr().err
    assert "view 'rna': 4 columns, in 88.9% of the samples, bandwidth " in text
    assert re.search("mean loss to beat: .*rna 0", text)
    assert re.search("view weights: .*rna 0", text)


def test_a_view_given_as_none_for_all_samples():
    for nothing in (None, [None] * 90, np.full(90, None)):
        labels = EXPECTED.predict({"rna": RNA, "atac": nothing})
        assert np.array_equal(labels, EXPECTED.predict({"rna": RNA, "atac": np.full((90, 6), np.nan)}))


def test_masks_in_frames_must_match_rows_and_views():
    ids = [f"s{i}" for i in range(90)]
    X = {"rna": pd.DataFrame(RNA, index=ids), "atac": pd.DataFrame(ATAC, index=ids)}
    mask = pd.DataFrame({"rna": np.arange(90) > 9, "atac": True}, index=ids)
    model().fit(X, present=mask)
    with pytest.raises(ValueError, match="in view 'present'"):
        model().fit(X, present=mask[::-1])
    with pytest.raises(ValueError, match="present names the view 'RNA'; the views are 'rna', 'atac'"):
        model().fit(X, present=mask.rename(columns=str.upper))


def test_nothing_but_nothing():
    with pytest.raises(ValueError, match="X has no views: all of them are None"):
        EXPECTED.predict([None, None])
    with pytest.raises(ValueError, match="view 'view_0' is None"):
        model().fit([None, None])


def test_explaining_a_view_that_no_sample_has():
    table = explain_views(EXPECTED, {"rna": RNA, "atac": None})
    assert table["coverage"].tolist() == [1.0, 0.0]
    assert np.isnan(table["explained"][1])
    assert np.isnan(table["agreement"][1])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_with_some_of_the_views(frame):
    names = [f"rna:{c}" for c in "abcd"] + [f"atac:{i}" for i in range(6)]
    X = frame(dict(zip(names, BOTH.T, strict=True)))
    found = model().fit(X)
    expected = found.predict({"rna": RNA, "atac": None})
    assert np.array_equal(found.predict(X[names[:4]]), expected)
    assert np.array_equal(found.predict(X[names[3::-1]]), expected)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        found.predict(X[names[:3]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        found.predict(frame(dict(zip([*names[:4], "other"], BOTH.T, strict=False))))
