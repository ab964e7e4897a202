"""The model in a file, and the page of what was found."""

from __future__ import annotations

import numpy as np
import pytest
from sc_helpers import CELLS, PROTEIN, RNA, K, anndata, cluster, make_anndata, make_mudata, pd
from scipy.sparse import csc_matrix

import powerkmeans
from powerkmeans.report import write_report

write = powerkmeans.sc.write_report


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Cells that were clustered by six of eight components, and the file of the model."""
    file = tmp_path_factory.mktemp("model") / "model.npz"
    adata = make_anndata(PROTEIN, obsm={"X_pca": np.hstack([RNA, RNA[:, :2]])})
    cluster(adata, K, n_pcs=6, model_file=file)
    return adata, file


def test_the_model_is_kept(kept):
    adata, file = kept
    assert adata.uns["power_kmeans"]["model_file"] == str(file)
    labels = powerkmeans.load(file).predict(RNA)
    np.testing.assert_array_equal(adata.obs["power_kmeans"].astype(int), labels)


def test_a_file_that_exists_is_told_of_before_the_fit(kept, monkeypatch):
    adata, file = kept
    content = file.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(powerkmeans.KernelPowerKMeans, "fit", None)
        with pytest.raises(FileExistsError, match="exists and is kept; pass overwrite=True"):
            cluster(adata.copy(), K, model_file=file)
    assert file.read_bytes() == content
    with pytest.raises(ValueError, match="'model_file' parameter must be the path of a file"):
        cluster(adata.copy(), K, model_file=3)


def test_a_file_is_replaced_if_it_may_be(tmp_path):
    file = tmp_path / "model.npz"
    file.write_text("old")
    adata = make_anndata()
    cluster(adata, 2, feature_map="identity", model_file=file, overwrite=True)
    assert powerkmeans.load(file).n_clusters == 2


def test_the_page_is_that_of_the_model(kept, tmp_path):
    adata, file = kept
    found = write(tmp_path / "cells.html", adata, genes=None, title="Cells")
    names = [f"PC{i}" for i in range(1, 7)]
    expected = write_report(
        tmp_path / "expected.html",
        powerkmeans.load(file),
        RNA,
        ids=CELLS,
        title="Cells",
        feature_names=names,
        scaling="none",
    )
    assert found == tmp_path / "cells.html"
    assert found.read_bytes() == expected.read_bytes()
    with pytest.raises(FileExistsError, match=r"cells\.html.*exists and is kept"):
        write(tmp_path / "cells.html", adata)


def test_the_page_after_a_file_was_written_and_read(kept, tmp_path):
    adata, file = kept
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    moved = file.rename(tmp_path / "moved.npz")
    try:
        with pytest.raises(FileNotFoundError, match=r"no model file .*model\.npz'; pass model_file if it is els"):
            write(tmp_path / "cells.html", again)
        assert "PC6" in write(tmp_path / "cells.html", again, genes=None, model_file=moved).read_text()
    finally:
        moved.rename(file)


def test_the_page_of_some_cells_of_a_mudata(tmp_path):
    mdata = make_mudata(slice(0, 45), slice(15, None))
    mdata.obs["part"] = np.where(mdata.obs_names.isin(CELLS[10:50]), "in", "out")
    cluster(mdata, K, key_added="mine", restrict_to=("part", ["in"]), model_file=tmp_path / "model.npz")
    text = write(tmp_path / "cells.html", mdata, key_added="mine").read_text()
    assert "gene5" in text
    assert "p3" in text
    assert "cell49" in text
    assert "cell50" not in text


def test_the_page_of_a_frame_of_obsm(tmp_path):
    frame = pd.DataFrame(RNA, index=CELLS, columns=[f"factor {i}" for i in range(6)])
    adata = make_anndata(PROTEIN, obsm={"X_mofa": frame, "X_umap": RNA[:, :2]})
    cluster(adata, K, use_rep=["X_mofa", "X_umap"], feature_map="identity", model_file=tmp_path / "model.npz")
    text = write(tmp_path / "cells.html", adata, genes=None).read_text()
    assert "factor 5" in text
    assert "umap2" in text


def test_what_has_no_page(kept, tmp_path):
    adata, file = kept
    page = tmp_path / "cells.html"
    with pytest.raises(ValueError, match="nothing under 'leiden'; there are 'power_kmeans'"):
        write(page, adata, key_added="leiden")
    with pytest.raises(ValueError, match="nothing under 'power_kmeans'; call cluster first"):
        write(page, make_anndata())
    with pytest.raises(TypeError, match="write_report takes an AnnData or a MuData"):
        write(page, RNA)
    with pytest.raises(ValueError, match="fitted to 60 observations, and the data have 50"):
        write(page, adata[:50].copy())
    other = adata.copy()
    other.obsm["X_pca"] = other.obsm["X_pca"][::-1]
    with pytest.raises(ValueError, match="fitted to other rows than those of 'X_pca'"):
        write(page, other)
    other.obsm["X_pca"] = other.obsm["X_pca"][:, :5]
    with pytest.raises(ValueError, match="n_pcs=6 is more than 'X_pca' of the AnnData has: 5"):
        write(page, other)
    del other.uns["power_kmeans"]["model_file"]
    with pytest.raises(ValueError, match=r"'power_kmeans' was not kept\. Call cluster with model_file='model"):
        write(page, other)
    assert not page.exists()
    assert file.exists()


def test_clusters_of_components_are_described_by_genes(kept, tmp_path):
    adata, _ = kept
    rng = np.random.default_rng(0)
    labels = adata.obs["power_kmeans"].astype(int).to_numpy()
    values = rng.poisson(0.3, size=(len(CELLS), 300)).astype(np.float32)
    values[:, 7] += 6 * (labels == 1)
    values[:, 11] += 9 * (labels == 2)
    genes = make_anndata(values, obsm=dict(adata.obsm))
    genes.X = csc_matrix(values)
    genes.layers["flat"] = np.ones_like(values)
    genes.obs, genes.uns = adata.obs, adata.uns
    genes.raw = genes[:, :20].copy()
    told = {
        source: write(tmp_path / "cells.html", genes, genes=source, overwrite=True).read_text()
        for source in ("auto", "X", "raw", "layers/flat", None)
    }
    assert told["auto"] == told["X"]
    assert "48 of the 300 variables of .X" in told["X"]
    assert '"gene11","gene7"' in told["X"].replace(" ", "") or '"gene7","gene11"' in told["X"].replace(" ", "")
    assert '"PC1"' not in told["X"]
    assert "variables of .raw" in told["raw"]
    assert "1 of the 300 variables of layers/flat" in told["layers/flat"]  # of which none tells anything
    assert '"PC1"' in told[None]
    for wrong, message in (("Y", "genes must be 'auto', 'X'"), ("layers/no", "no layer 'no'; there are 'flat'")):
        with pytest.raises(ValueError, match=message):
            write(tmp_path / "other.html", genes, genes=wrong)
    with pytest.raises(ValueError, match=r"genes='raw': there is no \.raw"):
        write(tmp_path / "other.html", adata, genes="raw")


def test_the_genes_of_modalities(tmp_path):
    mdata = make_mudata(slice(0, 45), slice(15, None))
    for adata in mdata.mod.values():
        adata.obsm["X_pca"] = adata.X[:, :3]
    cluster(mdata, K, use_rep={"rna": "X_pca", "protein": "X"}, model_file=tmp_path / "model.npz")
    text = write(tmp_path / "cells.html", mdata).read_text()
    assert "6 of the 6 variables of .X" in text
    assert "gene5" in text
    assert '"p3"' in text  # which were clustered themselves
    with pytest.raises(ValueError, match="genes='raw' is for an AnnData"):
        write(tmp_path / "other.html", mdata, genes="raw")
