"""The observations that are clustered: one table of an AnnData, or views of an AnnData or a MuData."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.inputs.tables import is_a
from powerkmeans.sc.tables import Representation, read
from powerkmeans.support.install import install_line
from powerkmeans.support.values import listed, shown, text
from powerkmeans.types import Array

# which of all observations are wanted; None for all
Rows = NDArray[np.bool_] | None


class View(NamedTuple):
    """One view: what it was taken from, its rows in the order of the observations, and which of these it has."""

    representation: str
    table: Array
    present: NDArray[np.bool_]
    columns: list[str]


@dataclass(frozen=True)
class Asked:
    """What is to be clustered, as users say it; see :func:`powerkmeans.sc.cluster`."""

    use_rep: Any = None
    n_pcs: Any = None
    layer: Any = None


@dataclass(frozen=True)
class Cells:
    """Observations with their names, and their views; ``several`` tells whether these are views or one table."""

    names: Any
    views: dict[str, View]
    several: bool

    @property
    def tables(self) -> Any:
        """What an estimator is fitted to."""
        if self.several:
            return {name: view.table for name, view in self.views.items()}
        (view,) = self.views.values()
        return view.table

    @property
    def presence(self) -> dict[str, Any]:
        """The argument that says which observations have which views; one table has none."""
        return {"present": {name: view.present for name, view in self.views.items()}} if self.several else {}


def check_kind(function: str, data: Any) -> None:
    """Reject what is neither an AnnData nor a MuData."""
    if not is_a(data, "anndata", "AnnData") and not is_a(data, "mudata", "MuData"):
        raise TypeError(
            f"{function} takes an AnnData or a MuData, got a {type(data).__name__}. Both come with "
            f"{install_line('sc')}; for arrays and data frames use the estimators."
        )


def read_cells(data: Any, asked: Asked, rows: Rows = None) -> Cells:
    """Read and check what was asked for, of all observations or of some."""
    if is_a(data, "mudata", "MuData"):
        return _cells_of_mudata(data, asked, rows)
    use_rep = _with_layer(asked, {"The AnnData": data})
    adata = data if rows is None else data[rows]
    everyone = np.ones(adata.n_obs, dtype=bool)
    several = use_rep is not None and not isinstance(use_rep, str)
    wanted = _named(use_rep) if several else {"X": use_rep}
    n_pcs = _by_view(asked.n_pcs, wanted) if several else {"X": asked.n_pcs}
    views = {}
    for view, name in wanted.items():
        found = read(adata, name, n_pcs[view], "The AnnData", several=several)
        views[view if several else found.name] = View(found.name, found.table, everyone, found.columns)
    return Cells(adata.obs_names, views, several)


def _with_layer(asked: Asked, tables: dict[str, Any]) -> Any:
    """What ``use_rep`` says, or the representation that ``layer`` stands for."""
    if asked.layer is None:
        return asked.use_rep
    layer = text("layer", asked.layer)
    if asked.use_rep is not None:
        raise ValueError(f"Give use_rep or layer, not both: layer={layer!r} is use_rep={'layers/' + layer!r}.")
    for where, adata in tables.items():
        layers = getattr(adata, "layers", ())  # a MuData in a MuData has none
        if layer not in layers:
            raise ValueError(f"layer: {where} has no layer {layer!r}; there are {listed(layers) or 'none'}.")
    return f"layers/{layer}"


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
    for view in use_rep:
        if not isinstance(view, str):
            raise TypeError(f"use_rep must be by the names of views, which are strings, got {shown(view)}.")
    return dict(use_rep)


def _by_view(n_pcs: Any, views: Mapping[str, Any]) -> dict[str, Any]:
    """The number of components of each view, None for all of them."""
    if not isinstance(n_pcs, Mapping):
        return dict.fromkeys(views, n_pcs)
    unknown = [view for view in n_pcs if view not in views]
    if unknown:
        raise ValueError(f"n_pcs names the view {unknown[0]!r}; there are {listed(views)}.")
    return {view: n_pcs.get(view) for view in views}


def _cells_of_mudata(mdata: Any, asked: Asked, rows: Rows) -> Cells:
    if mdata.axis == 1:
        raise ValueError("The modalities of this MuData share variables (axis=1); views share observations.")
    wanted = _modalities(mdata, asked)
    n_pcs = _by_view(asked.n_pcs, wanted)
    names = mdata.obs_names if rows is None else mdata.obs_names[rows]
    views = {}
    for modality, name in wanted.items():
        adata, where = mdata.mod[modality], f"Modality {modality!r}"
        _check_names(mdata.obs_names, adata.obs_names, where)
        if rows is not None:
            adata = _some(adata, names, where)
        found = read(adata, name, n_pcs[modality], where, several=True)
        views[modality] = _placed(found, adata.obs_names.get_indexer(names))
    _check_covered(names, views)
    return Cells(names, views, several=True)


def _modalities(mdata: Any, asked: Asked) -> dict[str, Any]:
    """The representation of each modality that is used."""
    use_rep = _with_layer(asked, {f"Modality {name!r}": adata for name, adata in mdata.mod.items()})
    if use_rep is not None and not isinstance(use_rep, (str, Mapping)):
        raise TypeError(f"use_rep of a MuData must be None, a name, or a dict by modality, got {shown(use_rep)}.")
    wanted = dict(use_rep) if isinstance(use_rep, Mapping) else dict.fromkeys(mdata.mod, use_rep)
    unknown = [modality for modality in wanted if modality not in mdata.mod]
    if unknown:
        raise ValueError(f"use_rep names the modality {unknown[0]!r}; there are {listed(mdata.mod)}.")
    if not wanted:
        raise ValueError("There is no modality to cluster.")
    for modality in wanted:
        kind = mdata.mod[modality]
        if not is_a(kind, "anndata", "AnnData"):
            raise TypeError(f"Modality {modality!r} is a {type(kind).__name__}; expected an AnnData.")
    return wanted


def _check_names(everyone: Any, observations: Any, where: str) -> None:
    """Reject names by which a modality cannot be matched.

    By names, because the maps that a MuData keeps are out of date when a modality was changed after it was made.
    """
    for names, whose in ((everyone, "The MuData"), (observations, where)):
        if not names.is_unique:
            raise ValueError(
                f"{whose} has the observation {names[names.duplicated()][0]!r} more than once; modalities are "
                "matched by obs_names. Call obs_names_make_unique() on the modalities and update() on the MuData."
            )
    unknown = observations[~observations.isin(everyone)]
    if len(unknown):
        first = unknown[0]
        raise ValueError(f"{where} has the observation {first!r}, which the MuData lacks. Call update() on it.")


def _some(adata: Any, names: Any, where: str) -> Any:
    some = adata[adata.obs_names.isin(names)]
    if some.n_obs == 0:
        raise ValueError(f"restrict_to: {where} has none of these observations; leave it out of use_rep.")
    return some


def _placed(found: Representation, rows: NDArray[np.intp]) -> View:
    """A view in the order of the observations."""
    # a row of -1 is some row; what an absent one holds does not matter
    table = found.table if np.array_equal(rows, np.arange(found.table.shape[0])) else found.table[rows]
    return View(found.name, table, rows >= 0, found.columns)


def _check_covered(names: Any, views: dict[str, View]) -> None:
    bare = names[~np.any([view.present for view in views.values()], axis=0)]
    if len(bare):
        raise ValueError(
            f"{len(bare)} observations are in none of the modalities {listed(views)}, the first is {bare[0]!r}. "
            "Leave them out of the MuData, or call update() on it if modalities were changed."
        )
