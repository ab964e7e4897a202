"""AnnData and MuData: what is written, and how observations are matched."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sc_helpers import (
    CELLS,
    NAN,
    PROTEIN,
    RNA,
    TRUTH,
    K,
    anndata,
    cluster,
    kernel,
    make_anndata,
    make_mudata,
    mudata,
    pd,
    same_as,
    several,
)
from scipy.sparse import csc_matrix, csr_matrix, issparse

import powerkmeans
from powerkmeans import explain_views
from powerkmeans.exceptions import DataGuidanceWarning


def with_gaps(mdata):
    """The arrays that a MuData should come to: a row of NaN where a modality lacks a cell."""
    place = {cell: i for i, cell in enumerate(CELLS)}
    rows = [place[cell] for cell in mdata.obs_names]
    arrays = {"rna": RNA[rows], "protein": PROTEIN[rows]}
    for name, array in arrays.items():
        array[~mdata.obs_names.isin(mdata.mod[name].obs_names)] = np.nan
    return arrays


def test_one_representation_is_what_the_estimator_finds():
    adata = make_anndata()
    assert cluster(adata, K, use_rep="X") is None
    model = kernel(K, random_state=0).fit(RNA)
    assert same_as(model, RNA, adata)
    assert list(adata.obs["power_kmeans"].cat.categories) == ["0", "1", "2"]
    assert list(adata.obs) == ["power_kmeans", "power_kmeans_outlier_score"]
    assert adata.uns["power_kmeans"]["views"]["feature_map"].tolist() == ["graph"]
    assert adata.obsm["power_kmeans_memberships"].shape == (60, K)


def test_a_kernel_has_outlier_scores_with_a_possibilistic_membership_alone():
    adata = make_anndata()
    cluster(adata, K, use_rep="X", feature_map="nystroem")
    assert same_as(kernel(K, feature_map="nystroem", random_state=0).fit(RNA), RNA, adata)
    assert list(adata.obs) == ["power_kmeans"]
    assert adata.uns["power_kmeans"]["views"]["feature_map"].tolist() == ["nystroem"]


def test_outlier_scores_and_a_name():
    adata = make_anndata()
    cluster(adata, K, key_added="mine", membership="possibilistic", random_state=3)
    model = kernel(K, membership="possibilistic", random_state=3).fit(RNA)
    assert same_as(model, RNA, adata, "mine")
    np.testing.assert_array_equal(adata.obs["mine_outlier_score"], model.outlier_score(RNA))
    assert set(adata.uns) == {"mine"}


def test_a_second_call_replaces_the_first():
    adata = make_anndata()
    cluster(adata, K, membership="possibilistic")
    cluster(adata, 2, feature_map="nystroem")
    assert list(adata.obs) == ["power_kmeans"]
    assert adata.obsm["power_kmeans_memberships"].shape == (60, 2)
    assert adata.uns["power_kmeans"]["params"]["n_clusters"] == 2


def test_copy_leaves_the_original():
    adata, mdata = make_anndata(), make_mudata()
    for data in (adata, mdata):
        changed = cluster(data, K, copy=True)
        assert type(changed) is type(data)
        assert "power_kmeans" in changed.obs
        assert "power_kmeans" not in data.obs
        assert "power_kmeans" not in data.uns
        assert "power_kmeans_memberships" not in data.obsm


def test_principal_components_are_the_default():
    adata = make_anndata(np.zeros((60, 100)), obsm={"X_pca": RNA})
    cluster(adata, K)
    assert same_as(kernel(K, random_state=0).fit(RNA), RNA, adata)
    assert adata.uns["power_kmeans"]["views"]["representation"].to_dict() == {"X_pca": "X_pca"}


@pytest.mark.parametrize("name", ["X", "layers/scaled", "X_scvi", "frame"])
def test_representations_by_name(name):
    adata = make_anndata(
        -RNA, layers={"scaled": 2 * RNA}, obsm={"X_scvi": 3 * RNA, "frame": 4 * RNA, "X_pca": PROTEIN}
    )
    adata.obsm["frame"] = pd.DataFrame(4 * RNA, index=adata.obs_names, columns=[f"a:{i}" for i in range(6)])
    X = {"X": -1, "layers/scaled": 2, "X_scvi": 3, "frame": 4}[name] * RNA
    cluster(adata, K, use_rep=name)
    assert same_as(kernel(K, random_state=0).fit(X), X, adata)
    assert adata.uns["power_kmeans"]["views"].index.tolist() == [name]


@pytest.mark.parametrize("make", [csr_matrix, csc_matrix])
def test_sparse(make):
    X = np.where(RNA > 0, RNA, 0)
    adata = make_anndata(make(X))
    assert issparse(adata.X)
    cluster(adata, K)
    assert same_as(kernel(K, random_state=0).fit(csr_matrix(X)), csr_matrix(X), adata)


def test_several_representations_of_one_anndata():
    adata = make_anndata(obsm={"protein": PROTEIN})
    views = {"X": RNA, "protein": PROTEIN}
    model = several(K, random_state=0).fit(views)
    cluster(adata, K, use_rep=["X", "protein"])
    assert same_as(model, views, adata)
    np.testing.assert_array_equal(adata.obs["power_kmeans_outlier_score"], model.outlier_score(views))
    cluster(adata, K, use_rep={"rna": None, "surface": "protein"}, key_added="named", bandwidth={"rna": 5.0})
    views = {"rna": RNA, "surface": PROTEIN}
    assert same_as(several(K, bandwidth={"rna": 5.0}, random_state=0).fit(views), views, adata, "named")
    assert adata.uns["named"]["views"]["representation"].to_dict() == {"rna": "X", "surface": "protein"}
    assert adata.uns["named"]["views"]["bandwidth"]["rna"] == 5.0


def test_a_row_of_nan_is_a_missing_view():
    gaps = PROTEIN.copy()
    gaps[::7] = np.nan
    adata = make_anndata(obsm={"protein": gaps})
    cluster(adata, K, use_rep=["X", "protein"])
    views = {"X": RNA, "protein": gaps}
    assert same_as(several(K, random_state=0).fit(views), views, adata)
    assert adata.uns["power_kmeans"]["views"]["coverage"]["protein"] == pytest.approx(51 / 60)


def test_modalities_are_views():
    mdata = make_mudata()
    assert cluster(mdata, K) is None
    views = {"rna": RNA, "protein": PROTEIN}
    model = several(K, random_state=0).fit(views)
    assert same_as(model, views, mdata)
    np.testing.assert_array_equal(mdata.obs["power_kmeans_outlier_score"], model.outlier_score(views))
    assert powerkmeans.metrics.clustering_accuracy(TRUTH, mdata.obs["power_kmeans"].astype(int)) == 1.0


SHUFFLED = np.random.default_rng(0).permutation(60)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize(
    ("rna", "protein", "order"),
    [
        (slice(None), SHUFFLED, None),
        (slice(0, 45), slice(15, None), None),
        (SHUFFLED[:50], SHUFFLED[::-1][:40], None),
        (SHUFFLED[:50], SHUFFLED[::-1][:40], CELLS[::-1]),
    ],
    ids=["order", "missing", "both", "subset"],
)
def test_observations_are_matched_by_name(rna, protein, order, form):
    mdata = make_mudata(rna, protein, order)
    for adata in mdata.mod.values():
        adata.X = form(adata.X)
    cluster(mdata, K)
    views = with_gaps(mdata)
    present = {name: ~np.isnan(array[:, 0]) for name, array in views.items()}
    views = {name: form(np.nan_to_num(array)) for name, array in views.items()}
    model = several(K, random_state=0).fit(views, present=present)
    np.testing.assert_array_equal(mdata.obs["power_kmeans"].astype(int), model.labels_)
    memberships = model.predict_proba(views, present=present)
    np.testing.assert_allclose(mdata.obsm["power_kmeans_memberships"], memberships, rtol=1e-10)
    truth = dict(zip(CELLS, TRUTH, strict=True))
    found = mdata.obs["power_kmeans"].astype(int)
    assert powerkmeans.metrics.clustering_accuracy([truth[cell] for cell in mdata.obs_names], found) == 1.0
    shares = [mdata.mod[name].n_obs / mdata.n_obs for name in ("rna", "protein")]
    np.testing.assert_allclose(mdata.uns["power_kmeans"]["views"]["coverage"], shares)


def test_a_modality_reordered_after_the_mudata_was_made():
    mdata = make_mudata()
    mdata.mod["protein"] = mdata.mod["protein"][SHUFFLED].copy()  # the maps of mdata are now out of date
    cluster(mdata, K)
    views = {"rna": RNA, "protein": PROTEIN}
    assert same_as(several(K, random_state=0).fit(views), views, mdata)


def test_representations_by_modality():
    mdata = make_mudata()
    mdata.mod["rna"].obsm["X_lsi"] = 2 * RNA
    mdata.mod["protein"].obsm["X_pca"] = -PROTEIN
    cluster(mdata, K, use_rep={"rna": "X_lsi", "protein": None})
    views = {"rna": 2 * RNA, "protein": -PROTEIN}
    assert same_as(several(K, random_state=0).fit(views), views, mdata)
    assert mdata.uns["power_kmeans"]["views"]["representation"].tolist() == ["X_lsi", "X_pca"]
    cluster(mdata, K, use_rep="X")
    assert mdata.uns["power_kmeans"]["views"]["representation"].tolist() == ["X", "X"]
    cluster(mdata, K, use_rep={"rna": "X"})  # the other modality is not used
    assert mdata.uns["power_kmeans"]["views"].index.tolist() == ["rna"]


def test_what_the_table_of_views_says():
    mdata = make_mudata(slice(0, 45), slice(15, None))
    cluster(mdata, K)
    views = with_gaps(mdata)
    model = several(K, random_state=0).fit(views)
    found = mdata.uns["power_kmeans"]["views"]
    for name, column in explain_views(model, views).items():
        if name != "view":
            np.testing.assert_allclose(found[name], column, rtol=1e-10)
    np.testing.assert_array_equal(found["bandwidth"], model.bandwidth_)
    np.testing.assert_array_equal(found["n_components"], model.n_components_)


def check_equal(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        if isinstance(value, dict):
            check_equal(found[name], value)
        elif isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(found[name], value, check_column_type=False)
        else:
            np.testing.assert_array_equal(found[name], value)


PARAMETERS = {
    "feature_map": {"rna": "nystroem", "protein": "identity"},
    "bandwidth": [4.0, 5.0],
    "s_init": -2.0,
    "init": {"rna": RNA[:K], "protein": PROTEIN[:K]},
    "entropy": float("inf"),
    "view_scaling": None,
    "engine": powerkmeans.engines.NumpyOptions(n_threads=1),
    "max_iter": np.int64(50),
}


@pytest.mark.filterwarnings("ignore:.*did not converge.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("parameters", [{}, PARAMETERS], ids=["default", "given"])
def test_results_survive_h5mu(tmp_path, parameters):
    mdata = make_mudata(slice(0, 45), slice(15, None))
    cluster(mdata, K, **parameters)
    mdata.write(tmp_path / "cells.h5mu")
    again = mudata.read(tmp_path / "cells.h5mu")
    pd.testing.assert_frame_equal(again.obs, mdata.obs)
    np.testing.assert_array_equal(again.obsm["power_kmeans_memberships"], mdata.obsm["power_kmeans_memberships"])
    check_equal(again.uns["power_kmeans"], mdata.uns["power_kmeans"])


@pytest.mark.parametrize("use_rep", ["X", ["X", "layers/twice"]])
def test_results_survive_h5ad(tmp_path, use_rep):
    adata = make_anndata(layers={"twice": 2 * PROTEIN[:, [0, 1, 2, 3, 0, 1]]})
    maps = "exact" if use_rep == "X" else {"layers/twice": "exact"}
    cluster(adata, K, use_rep=use_rep, feature_map=maps, membership="possibilistic")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(again.obs, adata.obs)
    np.testing.assert_array_equal(again.obsm["power_kmeans_memberships"], adata.obsm["power_kmeans_memberships"])
    check_equal(again.uns["power_kmeans"], adata.uns["power_kmeans"])


def test_the_summary():
    adata = make_anndata()
    cluster(adata, K, feature_map="nystroem")
    model = kernel(K, feature_map="nystroem", random_state=0).fit(RNA)
    summary = adata.uns["power_kmeans"]
    assert summary["estimator"] == "KernelPowerKMeans"
    assert summary["version"] == powerkmeans.__version__
    assert summary["params"] == model.get_params()
    assert (summary["n_iter"], summary["objective"], summary["inertia"]) == (
        model.n_iter_,
        model.objective_,
        model.inertia_,
    )
    assert summary["status"] == "converged"


def test_parameters_that_are_none_are_left_out():
    mdata = make_mudata()
    cluster(mdata, K, view_scaling=None, random_state=None)
    assert {"views", "view_scaling", "random_state"}.isdisjoint(mdata.uns["power_kmeans"]["params"])


def test_a_subset_becomes_data_of_its_own():
    adata, mdata = make_anndata(), make_mudata()
    for data in (adata, mdata):
        subset = data[:40]
        with pytest.warns(anndata.ImplicitModificationWarning, match="view"):
            cluster(subset, K)
        assert len(subset.obs["power_kmeans"]) == 40
        assert subset.obsm["power_kmeans_memberships"].shape == (40, K)
        assert "power_kmeans" not in data.obs
    assert "power_kmeans_outlier_score" in subset.obs


def test_backed(tmp_path):
    make_anndata(obsm={"X_pca": PROTEIN}).write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    cluster(adata, K)
    assert same_as(kernel(K, random_state=0).fit(PROTEIN), PROTEIN, adata)
    with pytest.raises(ValueError, match=r"The AnnData is in backed mode, its \.X on disk\. Call to_memory\(\)"):
        cluster(adata, K, use_rep="X")
    with pytest.raises(ValueError, match="copy=True needs data in memory"):
        cluster(adata, K, copy=True)
    with pytest.raises(ValueError, match="there are 'X_pca', 'power_kmeans_memberships', 'X'"):
        cluster(adata, K, use_rep="X_umap")
    adata.file.close()


def test_backed_mudata(tmp_path):
    make_mudata().write(tmp_path / "cells.h5mu")
    mdata = mudata.read_h5mu(tmp_path / "cells.h5mu", backed="r")
    with pytest.raises(ValueError, match="Modality 'rna' is in backed mode"):
        cluster(mdata, K)
    mdata.file.close()


COUNTS = np.random.default_rng(0).poisson(2, (60, 5))


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (COUNTS.astype(np.float32), "the 5 columns of .X are used as they are and look like counts"),
        (csr_matrix(COUNTS), "look like counts"),
        (COUNTS.astype(np.int32), "look like counts"),
        (np.tile(RNA, (1, 10)), r"the 60 columns of .X are used as they are\. Prepare"),
    ],
    ids=["counts", "sparse", "integers", "columns"],
)
def test_columns_without_preparation_are_told_of(X, said):
    adata = make_anndata(X)
    with pytest.warns(UserWarning, match=said) as warned:
        cluster(adata, K)
    assert warned[0].filename == __file__
    cluster(adata, K, use_rep="X")  # who says so means it


def test_masked_entries_are_missing():
    masked = np.ma.masked_array(RNA, mask=np.isnan(NAN))
    with pytest.raises(ValueError, match="the first is 'cell3'"):
        cluster(make_anndata(obsm={"masked": masked}), K, use_rep="masked")


def test_neither_package_is_imported():
    code = "import sys, powerkmeans; powerkmeans.sc.cluster; print(*({'anndata', 'mudata'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b""


def test_advice_names_genes_and_components():
    rng = np.random.default_rng(0)
    values = 5 * rng.normal(size=(K, 6))[np.arange(180) % K] + rng.normal(size=(180, 6))
    values[:, 4] *= 1e5
    adata = make_anndata(values, np.arange(180).astype(str))
    with pytest.warns(DataGuidanceWarning, match="column 'gene4' has"):
        cluster(adata, K, use_rep="X", feature_map="identity")
    adata.obsm["X_pca"] = values
    with pytest.warns(DataGuidanceWarning, match="column 'PC5' has"):
        cluster(adata, K, feature_map="identity")
