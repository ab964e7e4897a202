"""Where rows live and how sums over them are reduced. ``open_engine`` is the only place that chooses."""

from __future__ import annotations

from powerkmeans.engines.numpy_engine import NumpyEngine, NumpyOptions
from powerkmeans.types import Views

__all__ = ["NumpyEngine", "NumpyOptions", "open_engine"]


def open_engine(choice: object, views: Views) -> NumpyEngine:
    """Open the engine that ``choice`` names on the given rows."""
    if isinstance(choice, NumpyOptions):
        return NumpyEngine(views, choice)
    if isinstance(choice, str) and choice in ("auto", "numpy", "compiled"):
        return NumpyEngine(views, NumpyOptions(kernel=choice))
    raise ValueError(
        f"engine={choice!r} is not available; this version has 'auto', 'compiled', 'numpy' and "
        "powerkmeans.engines.NumpyOptions(n_threads=..., memory_budget=..., kernel=...)."
    )
