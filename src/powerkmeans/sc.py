"""Single cells: AnnData and MuData in, results written beside the data, as scanpy's functions do.

Neither package is imported here: whoever has such an object has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.estimators.explain import explain_views
from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.inputs.tables import filled_rows
from powerkmeans.support.install import install_line
from powerkmeans.support.values import flag, listed, shown
from powerkmeans.support.warn import warn_caller
from powerkmeans.types import Array

__all__ = ["cluster"]

# what scanpy reduces by itself when it is told nothing; up to there columns are taken as they are
MANY_COLUMNS = 50
# counts show in a few rows
ROWS_TO_LOOK_AT = 1000


class View(NamedTuple):
    """One view: what it was taken from, its rows in the order of the observations, and which of these it has."""

    representation: str
    table: Array
    present: NDArray[np.bool_]


def cluster(
    data: Any,
    n_clusters: int,
    *,
    key_added: str = "power_kmeans",
    use_rep: Any = None,
    random_state: Any = 0,
    copy: bool = False,
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

    random_state : int, RandomState instance or None, default=0
        Seed, 0 as in scanpy. With None every call draws anew.

    copy : bool, default=False
        Whether to return a changed copy and leave ``data`` as it is.

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
          ``representation``, ``feature_map``, ``bandwidth``, ``n_components`` and the columns of
          :func:`explain_views`.

    Examples
    --------
    >>> import powerkmeans, scanpy  # doctest: +SKIP
    >>> adata = scanpy.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> powerkmeans.sc.cluster(adata, n_clusters=8, use_rep="X_pca")  # doctest: +SKIP
    >>> adata.obs["power_kmeans"].value_counts()  # doctest: +SKIP

    """
    if not isinstance(key_added, str) or not key_added:
        raise ValueError(f"key_added must be a name, got {shown(key_added)}.")
    copy = flag("copy", copy)
    views, several = _views(data, use_rep)
    if copy and data.isbacked:
        raise ValueError("copy=True needs data in memory; call to_memory() on it, or leave copy=False.")
    model = _estimator(several, n_clusters, random_state, parameters)
    results = _fit(model, views)
    target = data.copy() if copy else data
    _write(target, key_added, results)
    return target if copy else None


def _is(data: Any, package: str, name: str) -> bool:
    module = sys.modules.get(package)
    return module is not None and isinstance(data, getattr(module, name))


def _views(data: Any, use_rep: Any) -> tuple[dict[str, View], bool]:
    """Read the views, and tell whether they are views rather than one table."""
    if _is(data, "anndata", "AnnData"):
        return _views_of_anndata(data, use_rep)
    if _is(data, "mudata", "MuData"):
        return _views_of_mudata(data, use_rep), True
    raise TypeError(
        f"cluster takes an AnnData or a MuData, got a {type(data).__name__}. Both come with "
        f"{install_line('sc')}; for arrays and data frames use the estimators."
    )


def _views_of_anndata(adata: Any, use_rep: Any) -> tuple[dict[str, View], bool]:
    everyone = np.ones(adata.n_obs, dtype=bool)
    if use_rep is None or isinstance(use_rep, str):
        representation, table = _read(adata, use_rep, "The AnnData", several=False)
        return {representation: View(representation, table, everyone)}, False
    views = {}
    for view, name in _named(use_rep).items():
        representation, table = _read(adata, name, "The AnnData", several=True)
        views[view] = View(representation, table, everyone)
    return views, True


def _named(use_rep: Any) -> dict[str, Any]:
    """Representations by the names of their views; those of a list are their own."""
    if isinstance(use_rep, (list, tuple)) and all(isinstance(name, str) for name in use_rep):
        if len(set(use_rep)) < len(use_rep):
            raise ValueError(f"use_rep names a representation twice: {use_rep!r}.")
        use_rep = {name: name for name in use_rep}
    if not isinstance(use_rep, Mapping):
        raise TypeError(f"use_rep must be None, a name, or a list or dict of names, got {shown(use_rep)}.")
    if not use_rep:
        raise ValueError("use_rep is empty; expected at least one representation.")
    return dict(use_rep)


def _views_of_mudata(mdata: Any, use_rep: Any) -> dict[str, View]:
    if mdata.axis == 1:
        raise ValueError("The modalities of this MuData share variables (axis=1); views share observations.")
    if use_rep is not None and not isinstance(use_rep, (str, Mapping)):
        raise TypeError(f"use_rep of a MuData must be None, a name, or a dict by modality, got {shown(use_rep)}.")
    wanted = dict(use_rep) if isinstance(use_rep, Mapping) else dict.fromkeys(mdata.mod, use_rep)
    unknown = [modality for modality in wanted if modality not in mdata.mod]
    if unknown:
        raise ValueError(f"use_rep names the modality {unknown[0]!r}; there are {listed(mdata.mod)}.")
    if not wanted:
        raise ValueError("There is no modality to cluster.")
    views = {}
    for modality, name in wanted.items():
        adata, where = mdata.mod[modality], f"Modality {modality!r}"
        if not _is(adata, "anndata", "AnnData"):
            raise TypeError(f"{where} is a {type(adata).__name__}; expected an AnnData.")
        representation, table = _read(adata, name, where, several=True)
        rows = _matched_rows(mdata.obs_names, adata.obs_names, where)
        # a row of -1 is some row; what an absent one holds does not matter
        table = table if np.array_equal(rows, np.arange(table.shape[0])) else table[rows]
        views[modality] = View(representation, table, rows >= 0)
    _check_covered(mdata.obs_names, views)
    return views


def _matched_rows(everyone: Any, observations: Any, where: str) -> NDArray[np.intp]:
    """Where each observation is in a modality, -1 if it is not.

    By names, because the maps that a MuData keeps are out of date when a modality was changed after it was made.
    """
    for names, whose in ((everyone, "The MuData"), (observations, where)):
        if not names.is_unique:
            raise ValueError(
                f"{whose} has the observation {names[names.duplicated()][0]!r} more than once; modalities are "
                "matched by obs_names. Call obs_names_make_unique() on the modalities and update() on the MuData."
            )
    rows: NDArray[np.intp] = observations.get_indexer(everyone)
    if np.count_nonzero(rows >= 0) < len(observations):
        unknown = observations[~observations.isin(everyone)][0]
        raise ValueError(f"{where} has the observation {unknown!r}, which the MuData lacks. Call update() on it.")
    return rows


def _check_covered(names: Any, views: dict[str, View]) -> None:
    bare = names[~np.any([view.present for view in views.values()], axis=0)]
    if len(bare):
        raise ValueError(
            f"{len(bare)} observations are in none of the modalities {listed(views)}, the first is {bare[0]!r}. "
            "Leave them out of the MuData, or call update() on it if modalities were changed."
        )


def _read(adata: Any, name: Any, where: str, *, several: bool) -> tuple[str, Array]:
    """Choose and check one representation; what is returned is an array or a CSR matrix."""
    if adata.n_obs == 0:
        raise ValueError(f"{where} has no observations.")
    chosen = name if name is not None else "X_pca" if "X_pca" in adata.obsm else "X"
    table = _plain_table(_table(adata, chosen, where), f"{chosen!r} of {_lowered(where)}")
    _check_finite(table, adata.obs_names, f"{chosen!r} of {_lowered(where)}", several=several)
    if name is None and chosen == "X":
        _warn_of_raw(table, where)
    return chosen, table


def _table(adata: Any, name: Any, where: str) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"Names in use_rep must be strings, got {name!r}.")
    if name in adata.obsm:
        return adata.obsm[name]
    if name == "X":
        if adata.isbacked:
            raise ValueError(
                f"{where} is in backed mode, its .X on disk. Call to_memory() on it, or use what is in obsm."
            )
        if adata.X is None:
            raise ValueError(f"{where} has no .X and no obsm['X_pca']; there are {_representations(adata)}.")
        return adata.X
    folder, _, layer = name.partition("/")
    if folder == "layers" and layer in adata.layers:
        return adata.layers[layer]
    raise ValueError(f"use_rep: {where} has no representation {shown(name)}; there are {_representations(adata)}.")


def _representations(adata: Any) -> str:
    x = [] if not adata.isbacked and adata.X is None else ["X"]
    return listed([*adata.obsm, *x, *(f"layers/{layer}" for layer in adata.layers)]) or "none"


def _plain_table(table: Any, what: str) -> Any:
    """The same without what AnnData puts around tables of a subset."""
    if _is(table, "pandas", "DataFrame"):
        return table.to_numpy()
    if issparse(table):
        return csr_array(table)  # type: ignore[call-overload]
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise ValueError(f"{what} has {table.ndim} dimensions, expected 2.")
        return np.asarray(filled_rows(table))
    kind = f"{type(table).__module__.partition('.')[0]}.{type(table).__qualname__}"
    raise TypeError(
        f"{what} is a {kind}; expected a NumPy array, a data frame or a SciPy sparse matrix. Convert it first."
    )


def _check_finite(table: Any, names: Any, what: str, *, several: bool) -> None:
    """Reject odd values by the observation's name; among several views a row of NaN is one that is missing."""
    if table.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        odd = np.flatnonzero(~np.isfinite(np.asarray(table.sum(axis=1, dtype=np.float64)).ravel()))
    if several and len(odd):
        rows = table[odd].toarray() if hasattr(table, "indptr") else table[odd]
        odd = odd[~np.all(np.isnan(rows), axis=1)]
    if len(odd):
        advice = "; a row of nothing but NaN is a missing view" if several else ""
        raise ValueError(
            f"{what} contains NaN or infinity (observations: {len(odd)}, the first is {names[odd[0]]!r}). "
            f"Impute the values or leave the observations out{advice}."
        )


def _warn_of_raw(table: Any, where: str) -> None:
    """Tell who said nothing that columns without any preparation are being clustered."""
    few = table[:ROWS_TO_LOOK_AT]
    values = few.data if hasattr(few, "indptr") else few
    counts = values.size > 0 and values.dtype.kind in "uif" and bool(np.all((values >= 0) & (values % 1 == 0)))
    if counts or table.shape[1] > MANY_COLUMNS:
        kind = " and look like counts" if counts else ""
        warn_caller(
            f"{where} has no obsm['X_pca']: the {table.shape[1]} columns of .X are used as they are{kind}. "
            "Prepare them with scanpy.pp (normalize_total, log1p, pca), or say that you mean it with use_rep='X'.",
            UserWarning,
        )


def _estimator(several: bool, n_clusters: Any, random_state: Any, parameters: dict[str, Any]) -> PowerKMeansBase:
    kind: Any = MultiViewPowerKMeans if several else KernelPowerKMeans
    known = [name for name in kind().get_params() if name not in ("views", "n_clusters", "random_state")]
    for name in parameters:
        if name not in known:
            raise TypeError(
                f"cluster has no parameter {name!r} and neither has {kind.__name__}, which fits "
                f"{'several views' if several else 'one representation'}. It takes {listed(known)}."
            )
    kernels: Any = parameters.get("kernel")
    if PRECOMPUTED in (kernels.values() if isinstance(kernels, Mapping) else np.atleast_1d(kernels).tolist()):
        raise ValueError(
            "kernel='precomputed' is a matrix of all observations, which representations are not. Pass what is in "
            "obsp to the estimator itself."
        )
    model: PowerKMeansBase = kind(n_clusters, random_state=random_state, **parameters)
    return model


def _fit(model: Any, views: dict[str, View]) -> dict[str, Any]:
    """Fit, and collect what is to be written: labels, memberships, scores and a summary."""
    given: dict[str, Any] = {}
    X: Any = {name: view.table for name, view in views.items()}
    if isinstance(model, MultiViewPowerKMeans):
        given = {"present": {name: view.present for name, view in views.items()}}
    else:
        (X,) = X.values()
    model.fit(X, **given)
    table: dict[str, Any] = {"representation": [view.representation for view in views.values()]}
    table.update(explain_views(model, X, **given))
    table["view"] = list(views)
    table["feature_map"] = np.atleast_1d(model.feature_map_).astype(str)
    table["bandwidth"] = np.array(np.atleast_1d(model.bandwidth_), dtype=np.float64)
    table["n_components"] = np.atleast_1d(model.n_components_)
    return {
        "labels": model.labels_,
        "memberships": model.predict_proba(X, **given),
        "outlier_score": model.outlier_score(X, **given) if model._fit.model.scores_outliers else None,
        "summary": _summary(model) | {"views": import_module("pandas").DataFrame(table).set_index("view")},
    }


def _summary(model: Any) -> dict[str, Any]:
    """What can be told of a fit in values that HDF5 holds."""
    given = {name: _plain(value) for name, value in model.get_params(deep=False).items() if value is not None}
    return {
        "estimator": type(model).__name__,
        "version": str(import_module("powerkmeans").__version__),
        "params": given,
        "n_iter": int(model.n_iter_),
        "objective": float(model.objective_),
        "inertia": float(model.inertia_),
        "status": str(model.status_.value),
    }


def _plain(value: Any) -> Any:
    """A parameter as a number, a string, an array, or a dict of them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key).replace("/", "_"): _plain(one) for key, one in value.items()}  # a slash opens a group
    if isinstance(value, (list, tuple)):
        return {str(index): _plain(one) for index, one in enumerate(value)}
    numeric = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return value if numeric or isinstance(value, (str, bool, int, float)) else repr(value)


def _write(target: Any, key: str, results: dict[str, Any]) -> None:
    labels = results["labels"]
    categories = [str(label) for label in np.unique(labels)]
    target.obs[key] = import_module("pandas").Categorical(labels.astype(str), categories=categories)
    target.obsm[f"{key}_memberships"] = results["memberships"]
    if results["outlier_score"] is not None:
        target.obs[f"{key}_outlier_score"] = results["outlier_score"]
    elif f"{key}_outlier_score" in target.obs:
        del target.obs[f"{key}_outlier_score"]
    target.uns[key] = results["summary"]


def _lowered(where: str) -> str:
    return where[0].lower() + where[1:]
