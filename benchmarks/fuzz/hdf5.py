"""Small files of HDF5 that the command reads, and ways to break what they hold: .h5ad, .h5mu, MATLAB 7.3."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

Draw = np.random.Generator
Files = dict[str, bytes]
ODD_ARRAYS: tuple[Any, ...] = (
    0, -1.5, "text", b"\xff", np.zeros(0), np.zeros((0, 4)), np.zeros((30, 0)), np.zeros((2, 3, 4)),
    np.ones((30, 4)), np.full((30, 4), np.nan), np.full((30, 4), 1e308), np.ones((30, 4), dtype="c16"),
    np.ones((30, 4), dtype="?"), np.full((30, 4), b"x"), np.arange(30), np.ones((7, 4)),
    np.full((30, 4), 2**63, dtype="u8"),
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    0, -1, 2**40, 1.5, "", "x", "csr_matrix", "csc_matrix", "coo_matrix", "_index", "a", [], [30], [30, -4],
    [-30, 4], [30, 4, 2], [10**9, 10**9], [2**40, 4], [30, 3], [0, 0], b"\xff", [1.5, 2.5],
)  # fmt: skip
PARTS = (
    "X", "obs", "var", "obsm", "obsm/X_pca", "obs/_index", "var/_index", "layers/counts", "X/data", "X/indices",
    "X/indptr", "obs/kind", "obs/kind/codes", "obs/kind/categories", "mod", "mod/rna", "mod/rna/X", "mod/rna/obs",
)  # fmt: skip
NOTES = ("encoding-type", "encoding-version", "shape", "_index", "column-order", "h5sparse_format", "mod-order")


def annotated(rows: Callable[[Draw], np.ndarray]) -> Callable[[Draw, bool], Files]:
    """Writers of .h5ad files."""
    return lambda rng, broken: _written(rng, broken, lambda file: _write_cells(file, rows(rng), rng))


def modalities(rows: Callable[[Draw], np.ndarray]) -> Callable[[Draw, bool], Files]:
    """Writers of .h5mu files."""

    def fill(file: Any, rng: Draw) -> None:
        for name in ("rna", "atac"):
            _write_cells(file.create_group(f"mod/{name}"), rows(rng), rng)
        file["mod"].attrs["mod-order"] = ["rna", "atac"]

    return lambda rng, broken: _written(rng, broken, lambda file: fill(file, rng))


def newer_matlab(rows: Callable[[Draw], np.ndarray]) -> Callable[[Draw, bool], Files]:
    """Writers of files of MATLAB 7.3: 512 bytes of its own before HDF5."""

    def fill(file: Any, rng: Draw) -> None:
        for name in ("a", "b")[: rng.integers(1, 3)]:
            _store(file, name, rows(rng).T, rng)

    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    return lambda rng, broken: _written(rng, broken, lambda file: fill(file, rng), head)


def _written(rng: Draw, broken: bool, fill: Callable[[Any], None], head: bytes = b"") -> Files:
    import h5py  # noqa: PLC0415 - what a format needs is imported where it is written

    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512 if head else 0) as file:
        fill(file)
        for _ in range(int(rng.integers(1, 4)) if broken else 0):
            _break(file, rng)
    content = stream.getvalue()
    return {"": head.ljust(512, b"\x00") + content[512:] if head else content}


def _store(group: Any, name: str, values: np.ndarray, rng: Draw) -> None:
    packed = rng.random() < 0.4 and values.ndim == 2
    settings = {"compression": "gzip", "chunks": (3, 2), "shuffle": True, "fletcher32": True} if packed else {}
    group.create_dataset(name, data=values, **settings)


def _write_cells(group: Any, rows: np.ndarray, rng: Draw) -> None:
    """A matrix, dense or sparse, its names, and perhaps components, counts and a column of categories."""
    if rng.random() < 0.5:
        _store(group, "X", rows, rng)
    else:
        _store_sparse(group.create_group("X"), rows, rng)
    for axis, length in (("obs", len(rows)), ("var", rows.shape[1])):
        frame = group.create_group(axis)
        frame.attrs["_index"] = "_index"
        frame["_index"] = [f"{axis}{place}" for place in range(length)]
    kinds = group["obs"].create_group("kind")
    kinds["categories"], kinds["codes"] = ["a", "b"], np.arange(len(rows)) % 3 - 1
    if rng.random() < 0.5:
        _store(group.create_group("obsm"), "X_pca", rows, rng)
    if rng.random() < 0.3:
        _store(group.create_group("layers"), "counts", rows, rng)


def _store_sparse(group: Any, rows: np.ndarray, rng: Draw) -> None:
    kind = str(rng.choice(["csr", "csc"]))
    matrix = csr_array(rows) if kind == "csr" else csc_array(rows)
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)
    group.attrs["encoding-type"], group.attrs["shape"] = f"{kind}_matrix", rows.shape


def _break(file: Any, rng: Draw) -> None:
    """Take a part away, put another in its place, or change what is noted or stored there."""
    known = [name for name in (*PARTS, "a", "b") if _has(file, name)]
    if not known:
        return
    name, way = known[rng.integers(len(known))], rng.random()
    if way < 0.15:
        del file[name]
    elif way < 0.45:
        del file[name]
        file[name] = ODD_ARRAYS[rng.integers(len(ODD_ARRAYS))]
    elif way < 0.75:
        file[name].attrs[str(rng.choice(NOTES))] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    elif way < 0.85:
        _link(file, name, rng)
    elif not hasattr(file[name], "keys") and file[name].size:
        _poison(file[name], rng)


def _has(file: Any, name: str) -> bool:
    try:
        return file.get(name) is not None
    except (RuntimeError, KeyError):  # a link that was put there before
        return False


def _link(file: Any, name: str, rng: Draw) -> None:
    """A part that is elsewhere: nowhere, in itself, or in another file."""
    import h5py  # noqa: PLC0415

    del file[name]
    places = (h5py.SoftLink("/nowhere"), h5py.SoftLink(f"/{name}"), h5py.ExternalLink("missing.h5", "/X"))
    file[name] = places[rng.integers(len(places))]


def _poison(item: Any, rng: Draw) -> None:
    """Numbers that no row, place or count can be."""
    values = np.asarray(item[()])
    if values.dtype.kind not in "iuf":
        return
    odd = [-1, 2**31 - 1, -(2**31), 10**9, 7, 0]
    flat = values.ravel()
    flat[rng.integers(flat.size)] = odd[rng.integers(len(odd))]
    item[...] = flat.reshape(values.shape)
