"""``powerkmeans.sc.cluster``: clusters, written into an AnnData or a MuData."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from powerkmeans.sc.fitting import Found, check_parameters, fit
from powerkmeans.sc.restricting import Restriction, naturally_sorted, restriction
from powerkmeans.sc.views import Asked, check_kind, read_cells
from powerkmeans.support.files import free_target
from powerkmeans.support.values import flag, shown
from powerkmeans.support.values import path as check_path
from powerkmeans.types import Array

KEY = "power_kmeans"


def cluster(
    data: Any,
    n_clusters: int,
    *,
    key_added: str = KEY,
    use_rep: Any = None,
    n_pcs: Any = None,
    layer: str | None = None,
    restrict_to: Any = None,
    random_state: Any = 0,
    copy: bool = False,
    model_file: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster the observations of an AnnData or a MuData, and write the results into it.

    One representation of an AnnData is fitted by :class:`KernelPowerKMeans`; several of them, and a MuData, whose
    modalities are the views, by :class:`MultiViewPowerKMeans`. Observations of a MuData are matched by their
    names; one that a modality does not have lacks that view, and nothing is imputed.

    Columns are used as they are: nothing is normalised, scaled or reduced. Do that before, as for
    ``scanpy.pp.neighbors``. The spread of whole views is evened out by ``view_scaling``.

    Parameters
    ----------
    data : AnnData or MuData
        The observations. In backed mode ``.X`` is on disk and cannot be used; what is in ``obsm`` can.

    n_clusters : int
        Number of clusters.

    key_added : str, default="power_kmeans"
        Name under which results are written; those of an earlier call with the same name are replaced.

    use_rep : None, str, list or dict, default=None
        What to cluster. A name is one of ``obsm``, ``"X"`` for ``.X``, or ``"layers/counts"`` for the layer
        ``counts``. None: ``obsm["X_pca"]`` if there is one, else ``.X``, with a warning if that has more than 50
        columns or holds counts. For an AnnData, a list of names or a dict ``{view: name}`` gives several views.
        For a MuData, a name is looked up in every modality, and a dict ``{modality: name}`` uses the modalities
        that it has; a name there may be None.

    n_pcs : int or dict, default=None
        How many components of a representation of ``obsm`` to use, from the first; all by default. For several
        views an int is for each of them, and a dict ``{view: number}`` for those that it names.

    layer : str, default=None
        The layer to cluster, in a MuData of every modality: short for ``use_rep="layers/..."``, and excludes it.

    restrict_to : tuple (str, list of str), default=None
        A column of ``obs`` and some of its categories: only observations that have one of these are clustered. As
        in ``scanpy.tl.leiden`` the others keep the label that they have in that column, the clusters of
        categories "1" and "3" are called "1-3,0", "1-3,1", ..., and the default of ``key_added`` becomes
        ``"power_kmeans_R"``. Memberships and scores of the others are NaN.

    random_state : int, RandomState instance or None, default=0
        Seed, 0 as in scanpy. With None every call draws anew.

    copy : bool, default=False
        Whether to return a changed copy and leave ``data`` as it is.

    model_file : path, default=None
        A file to keep the fitted model in, as by the estimator's ``save``, for :func:`powerkmeans.load`, for
        :func:`powerkmeans.sc.write_report` and for the command. It is told of before the fit if it cannot be
        written.

    overwrite : bool, default=False
        Whether ``model_file`` may be replaced; without it one that is not empty is kept, and that is an error.

    **parameters
        Other parameters of the estimator, such as ``membership="possibilistic"``, ``feature_map="rff"`` or
        ``bandwidth={"rna": 20.0}``.

    Returns
    -------
    None, or the copy
        With these fields set:

        - ``obs[key_added]``: the clusters, categories "0", "1", ...
        - ``obsm[key_added + "_memberships"]``: membership of each cluster, a column each; rows sum to one.
        - ``obs[key_added + "_outlier_score"]``: the larger, the farther from every cluster. Only where the
          graph was taken (``feature_map`` below), or for ``membership="possibilistic"``, which several views have
          by default where it was not.
        - ``uns[key_added]``: ``estimator``, ``version``, ``params`` (without those that are None), ``n_iter``,
          ``objective``, ``inertia``, ``status``, and ``views``, a data frame with a row per view: its
          ``representation`` and ``n_columns`` of it, ``feature_map``, ``bandwidth``, ``n_components`` and the
          columns of :func:`explain_views`. Also ``model_file`` and ``restrict_to`` (``key`` and ``categories``)
          where they were given.

    Examples
    --------
    >>> import powerkmeans, scanpy  # doctest: +SKIP
    >>> adata = scanpy.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> powerkmeans.sc.cluster(adata, n_clusters=8, n_pcs=30)  # doctest: +SKIP
    >>> adata.obs["power_kmeans"].value_counts()  # doctest: +SKIP

    """
    check_kind("cluster", data)
    key_added, copy, overwrite = check_key(key_added), flag("copy", copy), flag("overwrite", overwrite)
    file = None if model_file is None else check_path("model_file", model_file)
    some = restriction(data.obs, restrict_to)
    cells = read_cells(data, Asked(use_rep, n_pcs, layer), None if some is None else some.rows)
    if copy and data.isbacked:
        raise ValueError("copy=True needs data in memory; call to_memory() on it, or leave copy=False.")
    model = check_parameters("cluster", parameters, several=cells.several)(
        n_clusters, random_state=random_state, **parameters
    )
    if file is not None:
        free_target(file, overwrite=overwrite)  # told before any work is done
    found = fit(model, cells)
    if file is not None:
        model.save(file, overwrite=overwrite)
    target = data.copy() if copy else data
    _write(target, f"{KEY}_R" if some is not None and key_added == KEY else key_added, found, some, file)
    return target if copy else None


def check_key(key_added: Any) -> str:
    """The name under which results are written."""
    if not isinstance(key_added, str) or not key_added:
        raise ValueError(f"key_added must be a name, got {shown(key_added)}.")
    return key_added


def _write(target: Any, key: str, found: Found, some: Restriction | None, file: str | None) -> None:
    """Write everything; observations that were not clustered have NaN beside the label that they keep."""
    labels = found.labels.astype(str) if some is None else some.renamed(found.labels)
    categories = naturally_sorted(label for label in labels if label is not None)
    target.obs[key] = import_module("pandas").Categorical(labels, categories=categories)
    target.obsm[f"{key}_memberships"] = _spread(found.memberships, some)
    if found.outlier_score is not None:
        target.obs[f"{key}_outlier_score"] = _spread(found.outlier_score, some)
    elif f"{key}_outlier_score" in target.obs:
        del target.obs[f"{key}_outlier_score"]
    summary = dict(found.summary)
    if file is not None:
        summary["model_file"] = file
    if some is not None:
        summary["restrict_to"] = {"key": some.key, "categories": np.array(some.categories, dtype=object)}
    target.uns[key] = summary


def _spread(values: Array, some: Restriction | None) -> Array:
    """What was found for some observations, as rows of all."""
    if some is None:
        return values
    spread = np.full((len(some.rows), *values.shape[1:]), np.nan)
    spread[some.rows] = values
    return spread
