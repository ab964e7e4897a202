"""The genes that clusters of components are described by."""

from __future__ import annotations

from typing import Any

from powerkmeans.inputs.tables import is_a
from powerkmeans.report.telling import Beside
from powerkmeans.sc.views import Asked, Cells, Rows, read_cells
from powerkmeans.support.values import listed, shown

AUTO, MATRIX, RAW, LAYERS = "auto", "X", "raw", "layers/"


def expression(data: Any, genes: Any, cells: Cells, rows: Rows) -> tuple[Beside, ...]:
    """The variables of the observations that were clustered by components, for each view that has such."""
    if genes is None:
        return ()
    if not isinstance(genes, str) or not (genes in (AUTO, MATRIX, RAW) or genes.startswith(LAYERS)):
        raise ValueError(f"genes must be 'auto', 'X', 'raw', 'layers/...' or None. Got {shown(genes)} instead.")
    by_components = [view for view, found in cells.views.items() if not _has_genes(found.representation)]
    if not by_components:
        return ()
    if is_a(data, "mudata", "MuData"):
        return _of_modalities(data, by_components, genes, cells, rows)
    holder = _holder(data, genes)
    if holder is None:
        return ()
    (found,) = read_cells(holder, Asked(_matrix(genes)), rows).views.values()
    return (Beside(_called(genes), found.table, found.columns, f"variables of {_called(genes)}"),)


def _has_genes(representation: str) -> bool:
    """Whether the columns of a representation are variables, and no components of them."""
    return representation == MATRIX or representation.startswith(LAYERS)


def _matrix(genes: str) -> str:
    return genes if genes.startswith(LAYERS) else MATRIX


def _holder(adata: Any, genes: str) -> Any:
    """What has the variables; None where nobody asked for them and there are none at hand."""
    if genes == RAW:
        if adata.raw is None:
            raise ValueError("genes='raw': there is no .raw; use 'X', a layer, or None for components.")
        return adata.raw.to_adata()
    absent = adata.isbacked or adata.X is None or adata.n_vars == 0
    if genes == AUTO and absent:
        return None
    if genes.startswith(LAYERS) and genes.removeprefix(LAYERS) not in adata.layers:
        raise ValueError(
            f"genes: there is no layer {genes.removeprefix(LAYERS)!r}; there are {listed(adata.layers)}."
        )
    return adata


def _of_modalities(mdata: Any, views: list[str], genes: str, cells: Cells, rows: Rows) -> tuple[Beside, ...]:
    if genes == RAW:
        raise ValueError("genes='raw' is for an AnnData; of a MuData use 'X' or a layer that every modality has.")
    with_genes = [view for view in views if _holder(mdata.mod[view], genes) is not None]
    if not with_genes:
        return ()
    asked = {name: view.representation for name, view in cells.views.items()}
    found = read_cells(mdata, Asked(asked | dict.fromkeys(with_genes, _matrix(genes))), rows).views
    what = f"variables of {_called(genes)}"
    return tuple(
        Beside(name, found[name].table, found[name].columns, what, found[name].present) for name in with_genes
    )


def _called(genes: str) -> str:
    return f".{MATRIX}" if genes in (AUTO, MATRIX) else f".{RAW}" if genes == RAW else genes
