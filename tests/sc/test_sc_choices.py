"""What of the data is clustered: components, layers, observations of some categories; and how many clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sc_helpers import (
    CELLS,
    NAN,
    PROTEIN,
    RNA,
    K,
    anndata,
    cluster,
    kernel,
    make_anndata,
    make_mudata,
    pd,
    same_as,
)

import powerkmeans
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.choose import number

WIDE = np.hstack([RNA, np.random.default_rng(5).normal(0, 9, RNA.shape)])
COARSE = np.repeat(["0", "1", "10"], 20)


def grouped(**fields):
    adata = make_anndata(**fields)
    adata.obs["coarse"] = pd.Categorical(COARSE)
    return adata


def test_the_first_components():
    adata = make_anndata(obsm={"X_pca": WIDE})
    cluster(adata, K, n_pcs=6)
    assert same_as(kernel(K, random_state=0).fit(RNA), RNA, adata)
    views = adata.uns["power_kmeans"]["views"]
    assert views[["representation", "n_columns"]].to_numpy().tolist() == [["X_pca", 6]]


def test_the_first_components_of_several_views():
    adata = make_anndata(obsm={"X_pca": WIDE, "place": WIDE[:, :2]})
    cluster(adata, K, use_rep=["X_pca", "place"], n_pcs={"X_pca": 6}, feature_map="identity")
    assert adata.uns["power_kmeans"]["views"]["n_columns"].tolist() == [6, 2]
    mdata = make_mudata()
    for modality, table in (("rna", RNA), ("protein", PROTEIN)):
        mdata.mod[modality].obsm["X_pca"] = table
    cluster(mdata, K, n_pcs=2, feature_map="identity")
    assert mdata.uns["power_kmeans"]["views"]["n_columns"].tolist() == [2, 2]


def test_a_layer():
    adata = make_anndata(layers={"shifted": RNA[::-1].copy()}, obsm={"X_pca": PROTEIN})
    cluster(adata, K, layer="shifted")
    assert same_as(kernel(K, random_state=0).fit(RNA[::-1]), RNA[::-1].copy(), adata)
    assert adata.uns["power_kmeans"]["views"]["representation"].tolist() == ["layers/shifted"]
    mdata = make_mudata()
    for modality in mdata.mod.values():
        modality.layers["twice"] = 2 * modality.X
    cluster(mdata, K, layer="twice", feature_map="identity")
    assert mdata.uns["power_kmeans"]["views"]["representation"].tolist() == ["layers/twice"] * 2


def test_some_observations_are_named_as_by_leiden(tmp_path):
    adata = grouped(X=NAN)  # that of cell 3, which is not clustered, does not matter
    cluster(adata, 2, restrict_to=("coarse", ["10", "1"]))
    model = kernel(2, random_state=0).fit(RNA[20:])
    found = adata.obs["power_kmeans_R"]
    assert found[:20].tolist() == ["0"] * 20
    assert found[20:].tolist() == [f"10-1,{label}" for label in model.labels_]
    assert found.cat.categories.tolist() == ["0", "10-1,0", "10-1,1"]
    memberships = adata.obsm["power_kmeans_R_memberships"]
    assert np.all(np.isnan(memberships[:20]))
    np.testing.assert_array_equal(memberships[20:], model.predict_proba(RNA[20:]))
    assert adata.obs["power_kmeans_R_outlier_score"].isna().tolist() == [True] * 20 + [False] * 40
    adata.write_h5ad(tmp_path / "cells.h5ad")
    told = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["power_kmeans_R"]["restrict_to"]
    assert (told["key"], told["categories"].tolist()) == ("coarse", ["10", "1"])


def test_some_observations_of_a_column_with_gaps_and_numbers():
    adata = make_anndata()
    adata.obs["batch"] = pd.array([2] * 20 + [10] * 30 + [None] * 10, dtype="Int64")
    cluster(adata, 2, restrict_to=("batch", ["2"]), key_added="mine", feature_map="identity")
    assert adata.obs["mine"].isna().tolist() == [False] * 50 + [True] * 10
    assert adata.obs["mine"].cat.categories.tolist() == ["2,0", "2,1", "10"]


def test_some_observations_of_a_mudata():
    mdata = make_mudata(slice(0, 45), slice(15, None), order=np.random.default_rng(0).permutation(60))
    rows = mdata.obs_names.isin(CELLS[10:50])
    mdata.obs["part"] = np.where(rows, "in", "out")
    cluster(mdata, K, restrict_to=("part", ["in"]))
    place = [int(name.removeprefix("cell")) for name in mdata.obs_names[rows]]
    views = {"rna": RNA[place].copy(), "protein": PROTEIN[place].copy()}
    views["rna"][np.array(place) >= 45] = np.nan
    views["protein"][np.array(place) < 15] = np.nan
    model = MultiViewPowerKMeans(K, random_state=0, anneal_factor=1.4).fit(views)
    assert mdata.obs["power_kmeans_R"][rows].tolist() == [f"in,{label}" for label in model.labels_]
    assert set(mdata.obs["power_kmeans_R"][~rows]) == {"out"}
    mdata.obs["part"] = np.where(mdata.obs_names.isin(CELLS[:10]), "first", "others")
    with pytest.raises(ValueError, match="restrict_to: Modality 'protein' has none of these observations"):
        cluster(mdata, K, restrict_to=("part", ["first"]))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"n_pcs": 7}, ValueError, "n_pcs=7 is more than 'X_pca' of the AnnData has: 6 components"),
        ({"n_pcs": 0}, ValueError, "'n_pcs' parameter must be an int"),
        ({"n_pcs": {"X_pca": 2}}, ValueError, "'n_pcs' parameter must be an int"),
        ({"n_pcs": 2, "use_rep": "X"}, ValueError, "n_pcs=2 counts components.*'X' of the AnnData are not"),
        ({"n_pcs": 2, "layer": "counts"}, ValueError, "n_pcs=2 counts components.*'layers/counts'"),
        ({"n_pcs": 2, "use_rep": ["X_pca", "X"]}, ValueError, "n_pcs=2 counts components"),
        ({"n_pcs": {"pca": 2}, "use_rep": ["X_pca"]}, ValueError, "n_pcs names the view 'pca'; there are 'X_pca'"),
        ({"layer": "counts", "use_rep": "X"}, ValueError, "not both: layer='counts' is use_rep='layers/counts'"),
        ({"layer": "count"}, ValueError, "layer: The AnnData has no layer 'count'; there are 'counts'"),
        ({"layer": 3}, ValueError, "'layer' parameter must be a str"),
        ({"restrict_to": "coarse"}, TypeError, r"such as \('leiden', \['0', '3'\]\), got 'coarse'"),
        ({"restrict_to": ("coarse", "1")}, TypeError, "categories must be a list of strings, got '1'"),
        ({"restrict_to": ("coarse", [1])}, TypeError, "must be strings, '1' instead of 1"),
        ({"restrict_to": ("coarse", [])}, ValueError, "names no category"),
        ({"restrict_to": ("fine", ["1"])}, ValueError, r"no obs\['fine'\]; there are 'coarse'"),
        ({"restrict_to": ("coarse", ["2"])}, ValueError, "no observation is '2' .* there are '0', '1', '10'"),
        ({"restrict_to": ("coarse", ["1"]), "n_clusters": 21}, ValueError, "n_samples=20 should be >="),
    ],
)
def test_what_is_refused(options, error, said):
    data = grouped(obsm={"X_pca": RNA}, layers={"counts": RNA})
    with pytest.raises(error, match=said):
        cluster(data, **({"n_clusters": K} | options))
    assert list(data.obs) == ["coarse"]


@pytest.fixture
def asked(monkeypatch):
    """What is handed to the function for arrays, which has tests of its own."""
    calls = []
    monkeypatch.setattr(number, "choose_k", lambda *given, **named: calls.append((given, named)) or "choice")
    return calls


def test_the_number_of_clusters(asked):
    adata = make_anndata(obsm={"X_pca": WIDE})
    assert powerkmeans.sc.choose_k(adata, k_max=4, n_pcs=6, feature_map="rff") == "choice"
    ((X, *numbers), named) = asked[0]
    np.testing.assert_array_equal(X, RNA)
    assert (numbers, named) == ([2, 4], {"random_state": 0, "feature_map": "rff"})
    assert (list(adata.obs), list(adata.uns)) == ([], [])
    with pytest.raises(TypeError, match="choose_k has no parameter 'entropy' and neither has KernelPowerKMeans"):
        powerkmeans.sc.choose_k(adata, entropy=1.0)
    with pytest.raises(TypeError, match="choose_k takes an AnnData or a MuData, got a ndarray"):
        powerkmeans.sc.choose_k(RNA)


def test_the_number_of_clusters_where_modalities_lack_observations(asked):
    powerkmeans.sc.choose_k(make_mudata(slice(0, 45), slice(15, None)), 3, 5)
    ((X, *numbers), named) = asked[0]
    assert (list(X), numbers) == (["rna", "protein"], [3, 5])
    assert np.flatnonzero(~named["present"]["rna"]).tolist() == list(range(45, 60))
    assert np.flatnonzero(~named["present"]["protein"]).tolist() == list(range(15))
