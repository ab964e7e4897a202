"""Settings, and what is kept beside a model, as JSON has them: tagged where JSON has no such kind."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from powerkmeans.models.files.flaws import Flaw
from powerkmeans.support.tensors import on_host
from powerkmeans.types import Array

_INFINITE = ("inf", "-inf", "nan")


def packed(value: Any, arrays: dict[str, Array]) -> Any:
    """A value as JSON has it; numeric arrays inside go to ``arrays``, under a number."""
    value = on_host(value)
    if isinstance(value, Mapping):
        return {"dict": {key: packed(item, arrays) for key, item in value.items()}}
    if isinstance(value, slice):
        return {"slice": [plain(bound) for bound in (value.start, value.stop, value.step)]}
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" or array.dtype.itemsize not in (1, 2, 4, 8) or array.dtype == np.float16:
            return packed(array.tolist(), arrays)
        name = f"parameter{len(arrays)}"
        arrays[name] = array
        return {"array": name}
    if isinstance(value, Iterable) and not isinstance(value, str):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [packed(item, arrays) for item in value]}
    written = plain(value)
    return {"float": written} if isinstance(value, (float, np.floating)) and isinstance(written, str) else written


def unpacked(value: Any, arrays: Mapping[str, Array]) -> Any:
    """The value that ``packed`` wrote, checked before by ``check_packed``."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "dict":
        return {key: unpacked(item, arrays) for key, item in content.items()}
    if kind == "slice":
        return slice(*content)
    if kind == "array":
        return arrays[content]
    items = [unpacked(item, arrays) for item in content]
    return tuple(items) if kind == "tuple" else items


def check_packed(value: Any, where: str, names: Collection[str]) -> Iterable[str]:
    """Reject what ``packed`` does not write; yields the arrays that are referred to, of those of these names."""
    if not isinstance(value, (dict, list)):
        return
    kind, content = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else ("", None)
    if kind == "array" and isinstance(content, str) and content in names:
        yield content
    elif kind == "dict" and isinstance(content, dict):
        for key, item in content.items():
            yield from check_packed(item, f"{where}.{key}", names)
    elif kind in ("list", "tuple") and isinstance(content, list):
        for index, item in enumerate(content):
            yield from check_packed(item, f"{where}[{index}]", names)
    elif not (kind == "float" and content in _INFINITE) and not (kind == "slice" and _is_slice(content)):
        raise Flaw(f"{where} is written in a way that is not known: {value!r:.40}")


def _is_slice(content: Any) -> bool:
    bounds = isinstance(content, list) and len(content) == 3
    return bounds and all(isinstance(bound, (int, str, type(None))) for bound in content)


def plain(value: Any) -> Any:
    """A value as JSON has it: numpy scalars unpacked, infinities as words."""
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def number(value: Any) -> Any:
    """A number that may have been written as a word."""
    return float(value) if isinstance(value, str) and value in _INFINITE else value
