"""Clustering that does not get stuck: kernel power k-means, over one view or several.

Names are imported when they are first used: neither ``import powerkmeans`` nor ``powerkmeans --help`` loads NumPy
or scikit-learn.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from powerkmeans import exceptions, metrics, report, sc
    from powerkmeans.choose.critical import critical_exponent
    from powerkmeans.choose.number import choose_k
    from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
    from powerkmeans.estimators.explain import explain_views
    from powerkmeans.estimators.listeners import on_progress
    from powerkmeans.features.size import suggest_n_components
    from powerkmeans.preparing.pipelines import save
    from powerkmeans.preparing.prepared import PreparedModel
    from powerkmeans.sources import open_source

__all__ = [
    "KernelPowerKMeans",
    "MultiViewPowerKMeans",
    "PreparedModel",
    "__version__",
    "choose_k",
    "critical_exponent",
    "exceptions",
    "explain_views",
    "load",
    "metrics",
    "on_progress",
    "open_source",
    "report",
    "save",
    "sc",
    "suggest_n_components",
]

__version__ = "0.1.0"

# where each name lives; None for a module of that name
_HOMES = {
    "KernelPowerKMeans": "estimators",
    "MultiViewPowerKMeans": "estimators",
    "PreparedModel": "preparing.prepared",
    "choose_k": "choose.number",
    "critical_exponent": "choose.critical",
    "exceptions": None,
    "explain_views": "estimators.explain",
    "metrics": None,
    "on_progress": "estimators.listeners",
    "open_source": "sources",
    "report": None,
    "save": "preparing.pipelines",
    "sc": None,
    "suggest_n_components": "features.size",
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read any model that was saved: by an estimator, by :func:`powerkmeans.save`, or by the command.

    Parameters
    ----------
    path : str or path
        The ``.npz`` file; it holds arrays and a JSON header, and no pickle.

    Returns
    -------
    KernelPowerKMeans, MultiViewPowerKMeans or PreparedModel
        The fitted estimator, whichever was saved. Of a file that the command wrote, and of a pipeline, a
        :class:`PreparedModel`, which does to new rows what was done to those of the fit.

    Raises
    ------
    powerkmeans.exceptions.ModelFileError
        If the file is not a model, is damaged, or comes from a later version; a ValueError.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import powerkmeans
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = powerkmeans.KernelPowerKMeans(2, random_state=0).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> model.save(path)
    >>> bool((powerkmeans.load(path).predict(X) == model.labels_).all())
    True

    """
    from powerkmeans.preparing.files import load_model  # noqa: PLC0415 - when it is called
    from powerkmeans.support.values import path as check_path  # noqa: PLC0415

    return load_model(check_path("path", path))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    module = importlib.import_module(f"{__name__}.{home or name}")
    value = module if home is None else getattr(module, name)
    globals()[name] = value  # found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
