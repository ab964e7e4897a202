"""AnnData and MuData that are refused, and what is said of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sc_helpers import (
    CELLS,
    GAP,
    INFINITE,
    NAN,
    PROTEIN,
    RNA,
    K,
    anndata,
    cluster,
    make_anndata,
    make_mudata,
    mudata,
    pd,
    same_as,
)
from scipy.sparse import csr_matrix

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k
from powerkmeans.support.install import install_line


@pytest.mark.parametrize(
    ("adata", "options", "error", "said"),
    [
        ({}, {"use_rep": "X_pca"}, ValueError, "The AnnData has no representation 'X_pca'; there are 'X'"),
        (
            {"obsm": {"X_scvi": RNA}, "layers": {"counts": RNA}},
            {"use_rep": "counts"},
            ValueError,
            "there are 'X_scvi', 'X', 'layers/counts'",
        ),
        ({}, {"use_rep": "layers/counts"}, ValueError, "no representation 'layers/counts'"),
        ({}, {"use_rep": ["X", "X_pca"]}, ValueError, "no representation 'X_pca'"),
        ({}, {"use_rep": ["X", "X"]}, ValueError, "names a representation twice"),
        ({}, {"use_rep": []}, ValueError, "use_rep is empty"),
        ({}, {"use_rep": {}}, ValueError, "use_rep is empty"),
        ({}, {"use_rep": 3}, TypeError, "use_rep must be None, a name, or a list or dict of names, got 3"),
        ({}, {"use_rep": [3]}, TypeError, "use_rep must be None, a name, or a list or dict of names"),
        (
            {},
            {"use_rep": {None: None}},
            TypeError,
            "use_rep must be by the names of views.*got None",
        ),
        ({}, {"use_rep": {"a": 3}}, TypeError, "Names in use_rep must be strings, got 3"),
        ({}, {"key_added": ""}, ValueError, "key_added must be a name, got ''"),
        ({}, {"key_added": None}, ValueError, "key_added must be a name, got None"),
        ({}, {"n_clusters": 61}, ValueError, "n_samples=60 should be >= n_clusters=61"),
        ({}, {"n_clusters": "3"}, ValueError, "'n_clusters' parameter must be an int"),
        ({}, {"entropy": 1.0}, TypeError, "'entropy' and neither has KernelPowerKMeans, which fits one"),
        (
            {},
            {"resolution": 1.0, "use_rep": ["X"]},
            TypeError,
            "'resolution' and neither has MultiViewPowerKMeans",
        ),
        ({}, {"views": None, "use_rep": ["X"]}, TypeError, "no parameter 'views'"),
        ({}, {"kernel": "precomputed"}, ValueError, "kernel='precomputed' is a matrix of all observations"),
        ({}, {"kernel": {"X": "precomputed"}, "use_rep": ["X"]}, ValueError, "kernel='precomputed' is"),
        ({}, {"kernel": ["precomputed"], "use_rep": ["X"]}, ValueError, "kernel='precomputed' is"),
        (
            {"X": NAN},
            {},
            ValueError,
            r"'X' of the AnnData contains NaN or infinity \(observations: 1, .* 'cell3'\)",
        ),
        ({"X": csr_matrix(NAN)}, {}, ValueError, "the first is 'cell3'"),
        ({"X": INFINITE}, {}, ValueError, "the first is 'cell4'"),
        ({"X": GAP}, {}, ValueError, r"'cell5'\)\. Impute the values or leave the observations out\.$"),
        ({"X": NAN}, {"use_rep": ["X"]}, ValueError, "'cell3'.*a row of nothing but NaN is a missing view"),
        ({"X": csr_matrix(NAN)}, {"use_rep": ["X"]}, ValueError, "'cell3'"),
        ({"X": RNA[:0], "cells": CELLS[:0]}, {}, ValueError, "The AnnData has no observations"),
        ({"X": None}, {}, ValueError, r"no \.X and no obsm\['X_pca'\]; there are none"),
        (
            {"obsm": {"cube": np.zeros((60, 2, 2))}},
            {"use_rep": "cube"},
            ValueError,
            "'cube' of .* has 3 dimensions",
        ),
    ],
)
def test_what_is_refused_of_an_anndata(adata, options, error, said):
    data = (
        make_anndata(**adata)
        if adata.get("X", RNA) is not None
        else anndata.AnnData(obs=pd.DataFrame(index=CELLS))
    )
    before = (list(data.obs), list(data.obsm), list(data.uns))
    with pytest.raises(error, match=said):
        cluster(data, **({"n_clusters": K} | options))
    assert (list(data.obs), list(data.obsm), list(data.uns)) == before


def test_arrays_of_other_kinds_are_refused():
    zarr = pytest.importorskip("zarr")
    adata = make_anndata(obsm={"lazy": zarr.array(RNA)})
    with pytest.raises(TypeError, match=r"'lazy' of the AnnData is a zarr\.Array; expected a NumPy array"):
        cluster(adata, K, use_rep="lazy")


def test_what_is_refused_of_a_mudata():
    mdata = make_mudata()
    for use_rep, error, said in [
        ("X_pca", ValueError, "Modality 'rna' has no representation 'X_pca'; there are 'X'"),
        ({"atac": "X"}, ValueError, "use_rep names the modality 'atac'; there are 'rna', 'protein'"),
        ({}, ValueError, "no modality"),
        (["X"], TypeError, "use_rep of a MuData must be None, a name, or a dict by modality"),
        (3, TypeError, "use_rep of a MuData"),
    ]:
        with pytest.raises(error, match=said):
            cluster(mdata, K, use_rep=use_rep)
    mdata.mod["protein"].X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"'X' of modality 'protein' contains NaN or infinity.*'cell7'"):
        cluster(mdata, K)


def test_observations_without_a_modality_are_refused():
    mdata = make_mudata(slice(0, 45), slice(15, None))
    with pytest.raises(
        ValueError, match="15 observations are in none of the modalities 'rna', the first is 'cell45'"
    ):
        cluster(mdata, K, use_rep={"rna": "X"})


def test_a_mudata_that_was_not_updated_is_refused():
    mdata = make_mudata(slice(0, 45), slice(0, 45))
    mdata.mod["protein"] = make_anndata(PROTEIN, CELLS, "p")
    with pytest.raises(ValueError, match=r"'protein' has the observation 'cell45', which .* Call update\(\)"):
        cluster(mdata, K)


def test_an_empty_modality_is_refused():
    mdata = make_mudata(slice(None), slice(0, 0))
    with pytest.raises(ValueError, match="Modality 'protein' has no observations"):
        cluster(mdata, K)


@pytest.mark.filterwarnings("ignore::UserWarning")  # both packages warn of such names too
def test_repeated_names_are_refused_only_where_names_matter():
    cells = CELLS.copy()
    cells[1] = "cell0"
    adata = make_anndata(cells=cells)
    cluster(adata, K)  # rows of one table need no names
    assert same_as(KernelPowerKMeans(K, random_state=0).fit(RNA), RNA, adata)
    mdata = mudata.MuData({"rna": make_anndata(cells=cells), "protein": make_anndata(PROTEIN, CELLS, "p")})
    with pytest.raises(ValueError, match="has the observation 'cell0' more than once"):
        cluster(mdata, K)


def test_modalities_that_share_variables_are_refused():
    halves = {"a": make_anndata(RNA[:30], CELLS[:30]), "b": make_anndata(RNA[30:], CELLS[30:])}
    with pytest.raises(ValueError, match="share variables"):
        cluster(mudata.MuData(halves, axis=1), K)


def test_nested_modalities_are_refused():
    mdata = make_mudata()
    mdata.mod["inner"] = make_mudata()
    with pytest.raises(TypeError, match="Modality 'inner' is a MuData; expected an AnnData"):
        cluster(mdata, K)


@pytest.mark.parametrize("data", [RNA, [RNA], pd.DataFrame(RNA), None], ids=["array", "list", "frame", "none"])
def test_other_data_is_refused(data):
    kind = type(data).__name__
    line = re.escape(install_line("sc"))
    with pytest.raises(TypeError, match=rf"an AnnData or a MuData, got a {kind}\. Both come with {line};"):
        cluster(data, K)


@pytest.mark.parametrize("form", ["AnnData", "MuData", "of views"])
def test_estimators_and_choose_k_say_who_takes_an_anndata(form):
    data = make_mudata() if form == "MuData" else make_anndata()
    given = {"rna": data, "other": RNA} if form == "of views" else data
    name = "mdata" if form == "MuData" else "adata"
    said = rf"X is an? {type(data).__name__}; use powerkmeans\.sc\.cluster\({name}, n_clusters\), or pass a table"
    calls = [MultiViewPowerKMeans(K).fit, choose_k]
    calls += [] if form == "of views" else [KernelPowerKMeans(K).fit, KernelPowerKMeans(K).partial_fit]
    for call in calls:
        with pytest.raises(TypeError, match=said):
            call(given)
