"""``powerkmeans.sc.write_report``: the page of what ``cluster`` found."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from powerkmeans.report.opened import Given
from powerkmeans.report.writing import Page, write_page
from powerkmeans.sc.clustering import KEY, check_key
from powerkmeans.sc.expression import expression
from powerkmeans.sc.views import Asked, Cells, Rows, check_kind, read_cells
from powerkmeans.support.files import free_target
from powerkmeans.support.values import listed, shown
from powerkmeans.support.values import path as check_path
from powerkmeans.types import Array

# labels of other processors may differ by rounding, in a few observations between clusters; other data in many
SAME_DATA = 0.99


def write_report(
    path: str | os.PathLike[str],
    data: Any,
    *,
    key_added: str = KEY,
    model_file: str | os.PathLike[str] | None = None,
    genes: str | None = "auto",
    title: str | None = None,
    noise_threshold: float | None = None,
    overwrite: bool = False,
) -> Path:
    """Write what :func:`powerkmeans.sc.cluster` found as one HTML file that needs nothing else.

    It is the page of :func:`powerkmeans.report.write_report` for the model that ``cluster`` kept in a file and the
    representation that it was fitted to; nothing is fitted again. Observations have their names. Where clusters
    were looked for in components, they are described by the genes that tell them apart.

    Parameters
    ----------
    path : path
        File to write.

    data : AnnData or MuData
        The object that ``cluster`` wrote its results into, with the same observations.

    key_added : str, default="power_kmeans"
        The name of the results.

    model_file : path, default=None
        The model; by default the file that ``cluster`` was given, which ``uns[key_added]["model_file"]`` names.

    genes : str or None, default="auto"
        What clusters are described by where they were looked for in a representation of ``obsm``, such as
        ``X_pca``: ``"X"`` for ``.X``, ``"layers/counts"`` for a layer, ``"raw"`` for ``.raw`` of an AnnData; of a
        MuData in every modality. The page shows the means of 48 variables at most, those in which a cluster
        differs most from all others, in units of their spread. ``"auto"`` is ``"X"`` if there is one in memory;
        None shows the components, PC1, PC2, ... for ``obsm["X_pca"]``. Sparse matrices stay so.

    title : str, default=None
        Title of the page.

    noise_threshold : float between 0 and 1, default=None
        Outlier score above which an observation is called an outlier.

    overwrite : bool, default=False
        Whether a file of that name may be replaced.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import powerkmeans, scanpy  # doctest: +SKIP
    >>> adata = scanpy.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> powerkmeans.sc.cluster(adata, 8, model_file="cells.npz")  # doctest: +SKIP
    >>> powerkmeans.sc.write_report("cells.html", adata)  # doctest: +SKIP

    """
    check_kind("write_report", data)
    path = check_path("path", path)
    free_target(path, overwrite=overwrite)  # told before any work is done
    key = check_key(key_added)
    summary = _summary(data, key)
    model = _model(summary, key, model_file)
    cells = read_cells(data, _asked(data, summary), _clustered(data, key))
    _check_same(model, cells)
    names = {name: view.columns for name, view in cells.views.items()}
    given = Given(
        ids=cells.names,
        feature_names=names if cells.several else next(iter(names.values())),
        scaling="none",
        beside=expression(data, genes, cells, _clustered(data, key)),
    )
    page = Page(title, noise_threshold=noise_threshold, overwrite=overwrite, **cells.presence)
    return write_page(path, model, cells.tables, given, page)


def _summary(data: Any, key: str) -> Any:
    summary = data.uns.get(key)
    if not hasattr(summary, "get") or "views" not in summary or f"{key}_memberships" not in data.obsm:
        known = [name for name in data.uns if f"{name}_memberships" in data.obsm]
        there = f"there are {listed(known)}" if known else "call cluster first"
        raise ValueError(f"key_added: cluster has written nothing under {shown(key)}; {there}.")
    return summary


def _model(summary: Any, key: str, given: Any) -> Any:
    file = given if given is not None else summary.get("model_file")
    if file is None:
        raise ValueError(
            f"The model of {key!r} was not kept. Call cluster with model_file='model.npz', then write the report."
        )
    file = check_path("model_file", file)
    if not Path(file).exists():
        raise FileNotFoundError(f"There is no model file {file!r}; pass model_file if it is elsewhere now.")
    return import_module("powerkmeans").load(file)


def _asked(data: Any, summary: Any) -> Asked:
    """What was clustered: the representations, and as many components of them."""
    names = {str(view): str(name) for view, name in summary["views"]["representation"].items()}
    widths = {str(view): int(width) for view, width in summary["views"]["n_columns"].items()}
    if summary["estimator"] == "KernelPowerKMeans":
        ((view, name),) = names.items()
        return Asked(name, widths[view] if name in data.obsm else None)
    holders = getattr(data, "mod", {})
    in_obsm = [view for view, name in names.items() if name in holders.get(view, data).obsm]
    return Asked(names, {view: widths[view] for view in in_obsm})


def _clustered(data: Any, key: str) -> Rows:
    """Which observations were clustered: those that have memberships."""
    rows: Any = ~np.isnan(np.asarray(data.obsm[f"{key}_memberships"])[:, 0])
    return None if np.all(rows) else rows


def _check_same(model: Any, cells: Cells) -> None:
    """Reject data that the model was not fitted to."""
    n_fitted, n_found = len(model.labels_), len(cells.names)
    if n_fitted != n_found:
        raise ValueError(
            f"The model was fitted to {n_fitted} observations, and the data have {n_found}; write the report of "
            "what was clustered, before others are added or left out."
        )
    labels: Array = model.predict(cells.tables, **cells.presence)
    same = float(np.mean(labels == model.labels_))
    if same < SAME_DATA:
        reps = listed(dict.fromkeys(view.representation for view in cells.views.values()))
        raise ValueError(
            f"The model was fitted to other rows than those of {reps}: it has the same label for {same:.0%} of "
            "the observations. Cluster again, or pass the model_file of these data."
        )
