"""One representation of an AnnData: found by its name, checked, with the names of its columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from powerkmeans.inputs.cells import PCA, about_raw, component_names
from powerkmeans.inputs.tables import filled_rows, is_a
from powerkmeans.support.values import integer, listed, shown
from powerkmeans.support.warn import warn_caller
from powerkmeans.types import Array


class Representation(NamedTuple):
    """A representation that was read: its name, its rows as an array or a CSR matrix, and its columns' names."""

    name: str
    table: Array
    columns: list[str]


def read(adata: Any, name: Any, n_pcs: Any, where: str, *, several: bool) -> Representation:
    """Choose and check one representation, or its first ``n_pcs`` components."""
    if adata.n_obs == 0:
        raise ValueError(f"{where} has no observations.")
    chosen = name if name is not None else PCA if PCA in adata.obsm else "X"
    found = _table(adata, chosen, where)
    what = f"{chosen!r} of {where[0].lower()}{where[1:]}"
    columns = _columns(adata, chosen, found)
    table = _plain_table(found, what)
    if n_pcs is not None:
        width = _checked_width(n_pcs, table, what, components=chosen in adata.obsm)
        table, columns = table[:, :width], columns[:width]
    _check_finite(table, adata.obs_names, what, several=several)
    about = about_raw(table, "used as they are") if name is None and chosen == "X" else None
    if about:
        way = "or say that you mean it with use_rep='X'"
        warn_caller(f"{where} has no obsm[{PCA!r}]: {about}, {way}.", UserWarning)
    return Representation(chosen, table, columns)


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
            raise ValueError(f"{where} has no .X and no obsm[{PCA!r}]; there are {_representations(adata)}.")
        return adata.X
    folder, _, layer = name.partition("/")
    if folder == "layers" and layer in adata.layers:
        return adata.layers[layer]
    raise ValueError(f"use_rep: {where} has no representation {shown(name)}; there are {_representations(adata)}.")


def _representations(adata: Any) -> str:
    x = [] if not adata.isbacked and adata.X is None else ["X"]
    return listed([*adata.obsm, *x, *(f"layers/{layer}" for layer in adata.layers)]) or "none"


def _columns(adata: Any, name: str, table: Any) -> list[str]:
    if name not in adata.obsm:
        return [str(label) for label in adata.var_names]
    if is_a(table, "pandas", "DataFrame"):
        return [str(label) for label in table.columns]
    return component_names(name, table.shape[1] if len(table.shape) > 1 else 1)


def _checked_width(n_pcs: Any, table: Any, what: str, *, components: bool) -> int:
    width = integer(1)("n_pcs", n_pcs)
    if not components:
        raise ValueError(
            f"n_pcs={width} counts components, which columns of {what} are not. Call scanpy.pp.pca first, or name "
            "a representation of obsm in use_rep."
        )
    if width > table.shape[1]:
        raise ValueError(f"n_pcs={width} is more than {what} has: {table.shape[1]} components.")
    return width


def _plain_table(table: Any, what: str) -> Any:
    """The same without what AnnData puts around tables of a subset."""
    if is_a(table, "pandas", "DataFrame"):
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
