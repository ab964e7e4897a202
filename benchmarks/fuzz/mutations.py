"""Ways to break a model file: its bytes, its header, its arrays, its container."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.fuzz.subjects import Subject, subjects

Content = dict[str, Any]  # a header, as objects or text, and arrays by name

ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 3, 7, 255, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e-300, -1e-300,
    5e-324, 1e300, -1e300, 1e18, 1e-18, float("nan"), float("inf"), float("-inf"), "", "X", "nan", "inf", "-inf",
    "float32", "float64", "exact", "fuzzy", "possibilistic", "precomputed", "rbf", "\x00", "\ud800", "../x", "0",
    [], {}, [0], [[]], [None], {"a": 1}, {"list": [1]}, {"array": "centers"}, {"array": "nothing"},
    {"float": "nan"}, {"slice": [0, 1, None]}, {"dict": {}}, {"tuple": []},
)  # fmt: skip
NUMBERS = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 2.0, 1e300, -1e300, 1e-300, 1e150, 1e30, -1e30, 1e18, 1e-30,
)  # fmt: skip
TYPES = ("f4", "f8", "f2", "i4", "i8", "u1", "u8", "?", "c16", ">f8", "S8", "U3", "O", "M8[s]", "f8,i4", "g")


def mutated(rng: np.random.Generator) -> tuple[Subject, str, bytes]:
    """A subject, what was done to it, and the file that came of it."""
    subject = subjects()[rng.integers(len(subjects()))]
    kind = str(rng.choice(["bytes", "container", "header", "arrays", "numbers"], p=[0.1, 0.1, 0.25, 0.25, 0.3]))
    if kind == "bytes":
        return subject, kind, broken_bytes(subject.content, rng)
    if kind == "container":
        return subject, kind, _odd_container(subject, rng)
    content = {"header": copy.deepcopy(subject.header), **subject.arrays}
    change = {"header": _broken_header, "arrays": _broken_arrays, "numbers": _other_numbers}[kind]
    for _ in range(int(rng.integers(1, 4))):
        content = change(content, rng)
    return subject, kind, _zipped(content, compressed=bool(rng.random() < 0.3))


def broken_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    broken = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(max(len(broken), 1))), int(rng.integers(1, 65))
        if rng.random() < 0.3:  # the end has the directory
            at = max(len(broken) - int(rng.integers(1, 2000)), 0)
        way = rng.integers(6)
        if way == 0 and broken:
            broken[at] ^= 1 << int(rng.integers(8))
        elif way == 1:
            broken[at : at + length] = rng.bytes(length)
        elif way == 2:
            del broken[at : at + length]
        elif way == 3:
            broken[at:at] = rng.bytes(length)
        elif way == 4:
            del broken[at:]
        else:
            broken[at : at + length] = broken[:length]
    return bytes(broken)


def _odd_container(subject: Subject, rng: np.random.Generator) -> bytes:
    """Names, sizes and kinds of members that models do not have."""
    stream, way = io.BytesIO(), int(rng.integers(8))
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in _members({"header": subject.header, **subject.arrays}).items():
            hit = rng.random() < 0.1
            entry = zipfile.ZipInfo(name)
            entry.compress_type = int(rng.choice([0, 8, 12, 14])) if way == 0 and hit else 0
            entry.external_attr = 0o120777 << 16 if way == 1 and hit else 0o600 << 16
            entry.filename = f"/{name}" if way == 2 and hit else f"{name}\u00e9" if way == 3 and hit else name
            archive.writestr(entry, data + bytes(int(rng.integers(1, 9))) if way == 4 and hit else data)
            if way == 5 and hit:
                archive.writestr(zipfile.ZipInfo(f"{name}.more"), data)
        archive.comment = b"more" if way == 6 else b""
    whole = stream.getvalue()
    return b"before" + whole if way == 7 else whole


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in _paths(item, (*path, key)))]


def _broken_header(content: Content, rng: np.random.Generator) -> Content:
    header = content["header"]
    paths = [path for path in _paths(header) if path and path[-1] != "format"]
    path = paths[rng.integers(len(paths))]
    parent, key, way = _at(header, path[:-1]), path[-1], rng.random()
    if way < 0.6:
        parent[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])
    elif way < 0.8:
        del parent[key]
    elif isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    else:
        parent[f"{key}_"] = copy.deepcopy(parent[key])
    return content


def _other_numbers(content: Content, rng: np.random.Generator) -> Content:
    """Numbers of the right kind, but of another size: most pass the first checks."""
    factor = float(rng.choice([-1.0, 1.0], p=[0.2, 0.8])) * 10.0 ** float(
        np.clip(rng.normal(0, rng.choice([1, 30, 150])), -300, 300)
    )
    header, names = content["header"], [name for name in content if name != "header"]
    if rng.random() < 0.5:
        leaves = [path for path in _paths(header) if _is_number(_at(header, path))]
        path = leaves[rng.integers(len(leaves))]
        parent, number = _at(header, path[:-1]), _at(header, path)
        parent[path[-1]] = number * factor if isinstance(number, float) else number + int(rng.choice([-1, 1, 100]))
        return content
    array = content[name := names[rng.integers(len(names))]]
    if array.dtype.kind == "f" and array.size:
        which = rng.random(array.shape) < rng.choice([0.1, 1.1])
        with np.errstate(all="ignore"):
            changed = np.where(which, array * np.float64(factor), array).astype(array.dtype)
        return {**content, name: changed}
    return content


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _broken_arrays(content: Content, rng: np.random.Generator) -> Content:
    names = [name for name in content if name != "header"]
    name = names[rng.integers(len(names))]
    ways: tuple[Callable[..., Any], ...] = (_reshaped, _retyped, _renumbered, _renumbered, _renumbered, _renamed)
    return ways[rng.integers(len(ways))](dict(content), name, rng)


def _reshaped(content: Content, name: str, rng: np.random.Generator) -> Content:
    array, way = content[name], rng.integers(7)
    if way == 0:
        content[name] = array.T
    elif way == 1:
        content[name] = array[None]
    elif way == 2:
        content[name] = array.ravel()
    elif array.ndim:
        axis = int(rng.integers(array.ndim))
        index = [slice(None)] * array.ndim
        index[axis] = slice(0, 0) if way == 3 else slice(0, max(array.shape[axis] - 1, 0))
        content[name] = array[tuple(index)] if way < 5 else np.concatenate([array, array], axis=axis)
    else:
        content[name] = np.repeat(array, 3)
    return content


def _retyped(content: Content, name: str, rng: np.random.Generator) -> Content:
    with np.errstate(all="ignore"):
        try:
            content[name] = content[name].astype(TYPES[rng.integers(len(TYPES))])
        except (TypeError, ValueError, RuntimeError):
            content[name] = np.full(content[name].shape, None)
    return content


def _renumbered(content: Content, name: str, rng: np.random.Generator) -> Content:
    array = content[name]
    if array.dtype.kind not in "fiub":  # of another mutation
        return content
    value = NUMBERS[rng.integers(len(NUMBERS))]
    with np.errstate(all="ignore"):
        if array.dtype.kind != "f":
            value = int(rng.choice([-1, 0, 1, 2, 3, 100, 2**31 - 1, -(2**31)]))
            array = array.astype(np.int64)
        chosen = rng.random(array.shape) < rng.choice([0.1, 0.5, 1.1])
        changed = np.where(chosen, np.float64(value) if array.dtype.kind == "f" else value, array)
        if array.dtype.kind == "f" and rng.random() < 0.3:
            changed = array * np.float64(value)
        content[name] = changed.astype(content[name].dtype, order="K")
    return content


def _renamed(content: Content, name: str, rng: np.random.Generator) -> Content:
    way = rng.integers(4)
    if way == 0:
        del content[name]
    elif way == 1:
        content[f"{name}2"] = content[name]
    elif way == 2:
        content["parameter99"] = content.pop(name)
    else:
        other = [n for n in content if n not in ("header", name)][rng.integers(len(content) - 2)]
        content[name], content[other] = content[other], content[name]
    return content


def _members(content: Content) -> dict[str, bytes]:
    text = json.dumps(content["header"]).encode()
    arrays = {"header.json": np.frombuffer(text, dtype=np.uint8), **content}
    members = {}
    for name, array in arrays.items():
        if name == "header":
            continue
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
        members[f"{name}.npy"] = stream.getvalue()
    return members


def _zipped(content: Content, *, compressed: bool) -> bytes:
    if compressed and isinstance(content["header"], dict):
        content = {**content, "header": {**content["header"], "version": 1}}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, data in _members(content).items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED if compressed else None)
    return stream.getvalue()
