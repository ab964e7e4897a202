"""``powerkmeans.sc.choose_k``: how many clusters an AnnData or a MuData has."""

from __future__ import annotations

from typing import Any

from powerkmeans.choose import number
from powerkmeans.choose.number import KChoice
from powerkmeans.sc.fitting import check_parameters
from powerkmeans.sc.restricting import restriction
from powerkmeans.sc.views import Asked, check_kind, read_cells


def choose_k(
    data: Any,
    k_min: int = 2,
    k_max: int = 20,
    *,
    use_rep: Any = None,
    n_pcs: Any = None,
    layer: str | None = None,
    restrict_to: Any = None,
    random_state: Any = 0,
    **parameters: Any,
) -> KChoice:
    """Recommend a number of clusters for the observations of an AnnData or a MuData, and say why.

    What :func:`powerkmeans.choose_k` finds for the representation that :func:`powerkmeans.sc.cluster` would take.
    Nothing is written into ``data``.

    Parameters
    ----------
    data : AnnData or MuData
        The observations.

    k_min, k_max : int, default=2 and 20
        The numbers to choose from.

    use_rep, n_pcs, layer, restrict_to : optional
        What to look at, as in :func:`powerkmeans.sc.cluster`.

    random_state : int, RandomState instance or None, default=0
        Seed, 0 as in scanpy.

    **parameters
        Parameters of the estimator that the number is for, as in :func:`powerkmeans.choose_k`.

    Returns
    -------
    KChoice
        The number ``k``, the ``reason``, and the ``table`` of what was measured.

    Examples
    --------
    >>> import powerkmeans, scanpy  # doctest: +SKIP
    >>> adata = scanpy.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> choice = powerkmeans.sc.choose_k(adata, k_max=12)  # doctest: +SKIP
    >>> powerkmeans.sc.cluster(adata, choice.k)  # doctest: +SKIP

    """
    check_kind("choose_k", data)
    some = restriction(data.obs, restrict_to)
    cells = read_cells(data, Asked(use_rep, n_pcs, layer), None if some is None else some.rows)
    check_parameters("choose_k", parameters, several=cells.several)
    return number.choose_k(cells.tables, k_min, k_max, random_state=random_state, **cells.presence, **parameters)
