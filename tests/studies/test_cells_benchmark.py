"""The command that compares clusters of cells with their types, on a few cells that are drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks import cells, report

from helpers import blobs

anndata = pytest.importorskip("anndata", reason="cells need powerkmeans[sc]")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Sixty cells of three types; one has none."""
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    X, y = blobs(3, 6, 20, 0.7)
    kinds = [None if place == 7 else f"type {kind}" for place, kind in enumerate(y)]
    adata = anndata.AnnData(X, obs={"kind": kinds, "given": np.where(y == 0, "a", "b")}, obsm={"X_pca": X})
    adata.obs_names = [f"cell{place}" for place in range(len(X))]
    adata.write_h5ad(tmp_path / "some.h5ad")
    return tmp_path / "some.h5ad"


def test_all_methods_beside_clusters_that_are_there(file, capsys):
    cells.main(["--file", str(file), "--key", "kind", "--beside", "given", "--seeds", "1"])
    printed = capsys.readouterr().out
    assert "some.h5ad: 59 cells, 3 types of obs['kind']" in printed
    _, *rows = map(json.loads, (report.RESULTS / "cells.jsonl").read_text().splitlines())
    scores = {row["method"]: row["ARI"] for row in rows}
    assert list(scores) == [*cells.METHODS, "obs['given']"]
    assert all(scores[name] == 1 for name in cells.METHODS)
    assert 0 < scores["obs['given']"] < 1
    assert all((row["data"], row["cells"], row["k"]) == ("some", 59, 3) for row in rows)


def test_what_is_not_there_is_told(file, monkeypatch):
    with pytest.raises(SystemExit, match=r"some\.h5ad has no obs\['types'\]; it has kind, given"):
        cells.main(["--file", str(file), "--key", "types"])
    with pytest.raises(SystemExit, match=r"no obs\['leiden'\]"):
        cells.main(["--file", str(file), "--key", "kind", "--beside", "leiden"])
    monkeypatch.setattr(cells, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install scanpy"):
        cells.main([])
