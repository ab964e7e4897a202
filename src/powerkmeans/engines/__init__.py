"""Where rows live and how sums over them are reduced. ``open_engine`` is the only place that chooses."""

from __future__ import annotations

from powerkmeans.engines.numpy_engine import KERNEL_CHOICES, NumpyEngine, NumpyOptions
from powerkmeans.types import Views
from powerkmeans.values import shown

__all__ = ["NumpyEngine", "NumpyOptions", "engine_options", "open_engine"]


def engine_options(choice: object) -> NumpyOptions:
    """What ``choice`` asks for: options as they are, or a kernel by its name."""
    if isinstance(choice, NumpyOptions):
        return choice
    if isinstance(choice, str) and choice in KERNEL_CHOICES:
        return NumpyOptions(kernel=choice)
    raise ValueError(
        f"engine={shown(choice)} is not available; this version has 'auto', 'compiled', 'numpy' and "
        "powerkmeans.engines.NumpyOptions(n_threads=..., memory_budget=..., kernel=...)."
    )


def open_engine(choice: object, views: Views) -> NumpyEngine:
    """Open the engine that ``choice`` names on the given rows."""
    return NumpyEngine(views, engine_options(choice))
