"""Cells with two modalities, as arrays, AnnData and MuData."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import powerkmeans
from helpers import blobs

try:
    import anndata
    import mudata
    import pandas as pd
except ImportError as missing:
    pytest.skip(f"needs the extra 'sc': {missing}", allow_module_level=True)

K = 3
RNA, TRUTH = blobs(K, 6, 20, 0.7)
PROTEIN = blobs(K, 4, 20, 0.7, seed=1)[0]
CELLS = np.array([f"cell{i}" for i in range(len(RNA))])
QUICK = {"anneal_factor": 1.4}  # for time alone
cluster = functools.partial(powerkmeans.sc.cluster, **QUICK)
kernel = functools.partial(powerkmeans.KernelPowerKMeans, **QUICK)
several = functools.partial(powerkmeans.MultiViewPowerKMeans, **QUICK)


def make_anndata(X=RNA, cells=CELLS, prefix="gene", **fields):
    adata = anndata.AnnData(X.copy(), obs=pd.DataFrame(index=pd.Index(cells)), **fields)
    adata.var_names = [f"{prefix}{i}" for i in range(adata.n_vars)]
    return adata


def make_mudata(rna=slice(None), protein=slice(None), order=None):
    """Two modalities with some of the cells each, in the order given by the slices; cells as in order."""
    modalities = {
        "rna": make_anndata(RNA[rna], CELLS[rna]),
        "protein": make_anndata(PROTEIN[protein], CELLS[protein], "p"),
    }
    mdata = mudata.MuData(modalities)
    return mdata if order is None else mdata[order].copy()


def same_as(model, X, data, key="power_kmeans"):
    """Whether what was written is what the fitted estimator answers, to the bit: both see C-ordered rows."""
    assert data.obs[key].dtype == "category"
    np.testing.assert_array_equal(data.obs[key].astype(str), model.labels_.astype(str))
    np.testing.assert_array_equal(data.obsm[f"{key}_memberships"], model.predict_proba(X))
    return True


NAN, INFINITE, GAP = RNA.copy(), RNA.copy(), RNA.copy()
NAN[3, 2], INFINITE[4, 0], GAP[5] = np.nan, np.inf, np.nan
