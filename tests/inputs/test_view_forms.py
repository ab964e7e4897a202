"""Every form in which people have several views: tables of columns, frames, lists, sparse and mapped arrays."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from view_helpers import ATAC, BOTH, COLUMNS, EXPECTED, RNA, SPECS, Y, model

from helpers import assert_same_fit
from powerkmeans.metrics import clustering_accuracy


def same(found, names=("rna", "atac")):
    assert found.view_names_in_.tolist() == list(names)
    if tuple(names) == ("rna", "atac"):
        assert_same_fit(found, EXPECTED)


@pytest.mark.parametrize("spec", SPECS)
def test_columns_of_an_array(spec):
    found = model(views=SPECS[spec]).fit(BOTH)
    same(found)
    assert found.n_features_in_ == 10
    assert np.array_equal(found.predict(BOTH), found.labels_)
    assert np.array_equal(found.predict({"atac": ATAC, "rna": RNA}), found.labels_)
    assert np.array_equal(found.predict([RNA, ATAC]), found.labels_)


NAMED = {
    "lists": {"rna": COLUMNS[:4], "atac": COLUMNS[4:]},
    "slices": {"rna": slice("r0", "r3"), "atac": slice("a0", None)},
    "positions": {"rna": slice(0, 4), "atac": slice(4, 10)},
}


@pytest.mark.parametrize("spec", NAMED)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame(spec, frame):
    X = frame(dict(zip(COLUMNS, BOTH.T, strict=True)))
    found = model(views=NAMED[spec]).fit(X)
    same(found)
    assert found.feature_names_in_.tolist() == COLUMNS
    assert np.array_equal(found.predict(X), found.labels_)


def test_unused_columns_may_be_anything():
    X = pd.DataFrame(BOTH, columns=COLUMNS)
    X.insert(0, "patient", "someone")
    same(model(views=NAMED["lists"]).fit(X))


def test_prefixed_columns():
    names = [f"rna:{i}" for i in range(4)] + [f"atac:peak:{i}" for i in range(6)]
    same(model().fit(pd.DataFrame(BOTH, columns=names)))
    same(model().fit(pl.DataFrame(dict(zip(names, BOTH.T, strict=True)))))
    shuffled = [5, 0, 9, 1, 2, 6, 3, 4, 7, 8]
    found = model().fit(pd.DataFrame(BOTH, columns=names).iloc[:, shuffled])
    assert found.view_names_in_.tolist() == ["atac", "rna"]
    with pytest.raises(ValueError, match="Column 'rna:0' names a view before its ':', but column 'age' does not"):
        model().fit(pd.DataFrame(BOTH, columns=[*names[:-1], "age"]))


def test_multi_index_columns():
    columns = pd.MultiIndex.from_tuples(
        [("rna", f"g{i}") for i in range(4)] + [("atac", f"p{i}") for i in range(6)]
    )
    X = pd.DataFrame(BOTH, columns=columns)
    found = model().fit(X)
    same(found)
    assert np.array_equal(found.predict(X), found.labels_)


def test_lists_are_views_only_if_they_hold_tables():
    found = model().fit([RNA, ATAC])
    assert found.view_names_in_.tolist() == ["view_0", "view_1"]
    rows = model().fit(RNA.tolist())
    assert rows.view_names_in_.tolist() == ["X"]
    nested = model().fit([RNA.tolist(), ATAC.tolist()])
    assert np.array_equal(nested.labels_, found.labels_)


def test_frames_of_one_sample_order():
    index = [f"sample {i}" for i in range(90)]
    rna, atac = pd.DataFrame(RNA, index=index), pd.DataFrame(ATAC, index=index)
    same(model().fit({"rna": rna, "atac": atac}))
    with pytest.raises(ValueError, match="Row 0 is 'sample 89' in view 'atac' but 'sample 0' in view 'rna'"):
        model().fit({"rna": rna, "atac": atac[::-1]})
    same(model().fit({"rna": rna.reset_index(drop=True), "atac": atac}))


def test_memory_maps_are_read_and_left_alone(tmp_path):
    arrays = {}
    for name, view in {"rna": RNA, "atac": ATAC}.items():
        np.save(tmp_path / f"{name}.npy", view)
        arrays[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    found = model().fit(arrays)
    same(found)
    whole = np.load(_saved(tmp_path / "both.npy", BOTH), mmap_mode="r")
    same(model(views=SPECS["slices"]).fit(whole))
    gappy = RNA.copy()
    gappy[:10] = np.nan
    mapped = np.load(_saved(tmp_path / "gaps.npy", gappy), mmap_mode="r")
    assert np.array_equal(
        model().fit({"rna": mapped, "atac": ATAC}).labels_, model().fit({"rna": gappy, "atac": ATAC}).labels_
    )


def _saved(path, array):
    np.save(path, array)
    return path


def test_input_is_not_changed():
    gaps = RNA.copy()
    gaps[3] = np.nan
    before = gaps.copy(), ATAC.copy()
    model().fit({"rna": gaps, "atac": ATAC}).predict({"rna": gaps, "atac": ATAC})
    assert np.array_equal(gaps, before[0], equal_nan=True)
    assert np.array_equal(ATAC, before[1])


def test_sparse_and_dense_views_together():
    found = model().fit({"rna": sparse.csr_array(np.where(np.abs(RNA) > 1, RNA, 0)), "atac": ATAC})
    assert clustering_accuracy(Y, found.labels_) > 0.95
    present = np.ones((90, 2), dtype=bool)
    present[::7, 0] = False
    X = {"rna": sparse.csr_array(np.where(np.abs(RNA) > 1, RNA, 0)), "atac": ATAC}
    found = model().fit(X, present=present)
    emptied = X["rna"].toarray()
    emptied[::7] = 0
    same_rows = {"rna": sparse.csr_array(emptied), "atac": ATAC}
    assert_same_fit(found, model().fit(same_rows, present=present))


def test_pipelines_cross_validation_and_grid_search():
    views = SPECS["slices"]
    pipeline = make_pipeline(StandardScaler(), model(views=views))
    assert clustering_accuracy(Y, pipeline.fit_predict(BOTH)) > 0.95
    scores = cross_validate(model(views=views), BOTH, cv=3)
    assert np.all(np.isfinite(scores["test_score"]))
    search = GridSearchCV(model(views=views), {"entropy": ["auto", 10.0], "bandwidth": [5.0, [5.0, 6.0]]}, cv=2)
    search.fit(BOTH)
    assert search.best_estimator_.view_names_in_.tolist() == ["rna", "atac"]
    again = clone(search.best_estimator_)
    assert again.views == views


def test_precision_is_that_of_the_widest_view():
    single = model().fit([RNA.astype(np.float32), ATAC.astype(np.float32)])
    assert single.cluster_centers_[0].dtype == np.float32
    assert model().fit([RNA.astype(np.float32), ATAC]).cluster_centers_[0].dtype == np.float64
    assert single.transform([RNA, ATAC]).dtype == np.float32


def test_refit_forgets_the_other_form():
    estimator = model().fit(pd.DataFrame(RNA, columns=list("abcd")))
    assert hasattr(estimator, "feature_names_in_")
    estimator.fit({"rna": RNA, "atac": ATAC})
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 10


def test_columns_of_a_view_keep_their_names_and_order():
    rna, atac = pd.DataFrame(RNA, columns=list("abcd")), pd.DataFrame(ATAC)
    found = model().fit({"rna": rna, "atac": atac})
    with pytest.raises(
        ValueError, match="view 'rna' has the columns of the fit in another order: 'a', 'b', 'c', 'd'"
    ):
        found.predict({"rna": rna[list("dcba")], "atac": atac})
    assert np.array_equal(found.predict({"rna": RNA, "atac": ATAC}), found.labels_)
    names = [f"rna:{c}" for c in "abcd"] + [f"atac:{i}" for i in range(6)]
    table = pd.DataFrame(BOTH, columns=names)
    found = model().fit(table)
    with pytest.raises(ValueError, match="view 'rna' has other columns than in fit"):
        model().fit({"rna": rna, "atac": atac}).predict({"rna": rna.rename(columns={"d": "z"}), "atac": atac})
    with pytest.raises(ValueError, match="view 'atac' has the columns"):
        found.predict({"rna": table[names[:4]], "atac": table[names[:3:-1]]})


def test_single_tables_in_odd_forms():
    dense = model().fit(RNA)
    keyed = model().fit(sparse.dok_array(np.where(np.abs(RNA) > 1, RNA, 0)))
    assert keyed.view_names_in_.tolist() == ["X"]
    masked = np.ma.masked_array(RNA, mask=np.zeros_like(RNA))
    assert np.array_equal(model().fit(masked).labels_, dense.labels_)
    masked[0, 0] = np.ma.masked
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model().fit(masked)
    same(model(views=SPECS["slices"]).fit(BOTH.tolist()))
    with pytest.raises(TypeError, match="X is a lazy frame; call"):
        model().fit(pl.DataFrame({"a:1": [1.0]}).lazy())
    with pytest.raises(TypeError, match="view 'rna' is a lazy frame"):
        model().fit({"rna": pl.DataFrame({"a": [1.0]}).lazy()})


def test_frames_with_ranges_for_an_index():
    shuffled = pd.DataFrame(ATAC).sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="the views must have the same samples in the same order"):
        model().fit({"a": pd.DataFrame(RNA), "b": shuffled})
    both = pd.DataFrame(np.vstack([RNA, RNA]))
    with pytest.raises(ValueError, match="Row 0 is 90 in view 'b' but 45 in view 'a'"):
        model().fit({"a": both.iloc[45:135], "b": both.iloc[90:]})
    unnamed = pd.DataFrame(RNA, index=[np.nan] * 90)
    model().fit({"a": unnamed, "b": unnamed})


@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # views of noise
def test_new_views_take_no_memory_of_their_own():
    wide = sparse.random_array((1000, 20_000), density=0.001, format="csr", random_state=np.random.default_rng(0))
    rna = np.tile(RNA, (13, 1))[:1000]
    few = {"feature_map": "nystroem", "n_components": 48}  # landmarks are dense
    found = model(view_baseline=None, tol=1e3, **few).fit({"wide": wide, "rna": rna})
    tracemalloc.start()
    found.predict({"wide": wide, "rna": rna})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < wide.shape[0] * wide.shape[1] * 8 / 4


def test_indexes_are_compared_by_what_they_say():
    index = pd.Index(np.roll(np.arange(90), 5))
    rna = pd.DataFrame(RNA, index=index)
    same(model().fit({"rna": rna, "atac": pd.DataFrame(ATAC, index=index.astype("Int64"))}))
    with_na = pd.Index([pd.NA, *range(89)], dtype="Int64")
    same(model().fit({"rna": pd.DataFrame(RNA, index=with_na), "atac": pd.DataFrame(ATAC, index=with_na)}))
    for dtype in (object, float):
        reversed_rows = pd.DataFrame(ATAC[::-1], index=pd.Index(range(89, -1, -1), dtype=dtype))
        with pytest.raises(ValueError, match="the views must have the same samples in the same order"):
            model().fit({"rna": pd.DataFrame(RNA), "atac": reversed_rows})


def test_one_sample_as_a_broadcast_row():
    assert EXPECTED.predict({"rna": RNA[0][None], "atac": ATAC[0][None]}) == EXPECTED.labels_[0]
    with pytest.raises(ValueError, match="view 'rna' contains NaN: sample 0 is partly NaN"):
        EXPECTED.predict({"rna": np.ma.array(RNA[0], mask=[0, 1, 0, 0])[None], "atac": ATAC[:1]})
    with pytest.raises(ValueError, match="Complex data not supported"):
        EXPECTED.predict({"rna": (RNA[0] + 1j)[None], "atac": ATAC[:1]})


def test_fit_in_one_form_and_predict_in_another():
    prefixed = pd.DataFrame(BOTH, columns=[f"rna:{c}" for c in "abcd"] + [f"atac:{i}" for i in range(6)])
    levels = prefixed.set_axis(pd.MultiIndex.from_tuples([tuple(c.split(":")) for c in prefixed.columns]), axis=1)
    apart = {"rna": levels["rna"], "atac": levels["atac"]}
    for first in (prefixed, levels, apart):
        found = model().fit(first)
        for second in (prefixed, levels, apart):
            if first is not second and isinstance(first, pd.DataFrame) and isinstance(second, pd.DataFrame):
                continue  # one table must have the columns of the other
            assert np.array_equal(found.predict(second), found.labels_)
    single = pd.DataFrame(RNA, columns=list("abcd"))
    with pytest.raises(ValueError, match="view 'X' has the columns of the fit in another order"):
        model().fit(single).predict({"X": single[list("dcba")]})
    with pytest.raises(ValueError, match="view 'view_0' has the columns of the fit in another order"):
        model().fit([single]).predict([single[list("dcba")]])


@pytest.mark.parametrize("form", [sparse.coo_matrix, sparse.bsr_array, sparse.dok_array])
def test_columns_of_sparse_tables(form):
    found = model(views=SPECS["slices"]).fit(form(np.where(np.abs(BOTH) > 1, BOTH, 0)))
    assert found.view_names_in_.tolist() == ["rna", "atac"]
