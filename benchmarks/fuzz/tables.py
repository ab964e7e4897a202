"""Small tables in every format that the command reads, and ways to break them.

A table is broken in its cells before it is written, in the parts of the file (headers, members, metadata), or in
the bytes of the whole. A folder, as Zarr has it, is a dict of files by their names.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.fuzz import hdf5
from benchmarks.fuzz.mutations import NUMBERS, TYPES, broken_bytes

N_ROWS, N_COLUMNS = 30, 4
Files = dict[str, bytes]  # by their paths in the folder; a plain file is the one that is called ""
Draw = np.random.Generator

CELLS = (
    "", " ", "NA", "nan", "-", "?", "inf", "-inf", "1e400", "1e308", "-1e308", "5e-324", "1_000", "1,5", "1.5",
    "1 000",
    "0x1F", "\uff11\uff12", "\xbd", "\u22121", "+1", "true", "yes", "2024-01-31", "31.1.2024", "12:30", "$5",
    "5%", "abc", "=1+1", "@x",
    '"', '""', '"a', "a\nb", "a\rb", "\x00", "\ufeff", "\u202e", "\x1b[31m", "日本", "🙂", "x" * 3000, "9" * 400,
    "1e-400",
    "a,b", "a;b", "a\tb", "'", "\\", "%s", "{0}", "null", "None", "1.2.3", "1e5", "1E+05", "(5)", "\xa07",
)  # fmt: skip
OBJECTS: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63 - 1, 0.5, float("nan"), float("inf"), 1e308, "", "a", "1", "1,5", b"x",
    datetime(2024, 1, 31), "=1+1", "x" * 3000, "\u202e",
)  # fmt: skip
SHAPES = ((), (0,), (30,), (1, 4), (30, 1), (0, 4), (30, 0), (2, 3, 4), (30, 4, 1), (30, 300))
NAMES = (
    "",
    " ",
    "a",
    "id",
    "__header__",
    "../x",
    "/x",
    "a/b",
    "é",
    "\u202e",
    "x" * 300,
    "0",
    "header.json",
    "a\nb",
)


class Table(NamedTuple):
    """A file for the command: its format, what was done to it, and the files that make it up."""

    kind: str
    broken: str
    files: Files

    def written(self, folder: Path) -> Path:
        """Write it, and return its path."""
        path = folder / f"table.{self.kind.removesuffix('7.3')}"
        for name, content in self.files.items():
            file = path / name if name else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return path


def broken_table(rng: Draw) -> Table:
    """A table of some format, mostly broken in one way or two."""
    kind = list(WRITERS)[rng.integers(len(WRITERS))]
    ways = {"cells": 0.45, "parts": 0.25, "bytes": 0.3}
    way = str(rng.choice(list(ways), p=list(ways.values())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = WRITERS[kind](rng, way == "cells")
    if way == "parts":
        files = {name: _broken_parts(kind, content, rng) for name, content in files.items()}
    elif way == "bytes":
        files = {
            name: broken_bytes(content, rng) if _hit(name, rng) else content for name, content in files.items()
        }
    return Table(kind, way, files)


def _hit(name: str, rng: Draw) -> bool:
    """Whether a file is broken: the only one always, of a folder some."""
    return not name or rng.random() < 0.4


def plain_rows(rng: Draw) -> np.ndarray:
    """Three clusters."""
    centers = 5 * np.random.default_rng(0).normal(size=(3, N_COLUMNS))
    return centers[np.arange(N_ROWS) % 3] + rng.normal(size=(N_ROWS, N_COLUMNS))


def _text(delimiter: str) -> Callable[[Draw, bool], Files]:
    def written(rng: Draw, broken: bool) -> Files:
        header = ["id", *"abcd"[:N_COLUMNS]]
        lines = [[f"s{i}", *map(repr, row)] for i, row in enumerate(plain_rows(rng).tolist())]
        lines = [header, *lines]
        for _ in range(int(rng.integers(1, 6)) if broken else 0):
            _break_lines(lines, rng)
        end, mark = str(rng.choice(["\n", "\r\n", "\r"], p=[0.8, 0.1, 0.1])), delimiter
        if broken and rng.random() < 0.15:
            mark = str(rng.choice([";", "|", "\t", " ", ","]))
        text = end.join(mark.join(line) for line in lines) + (end if rng.random() < 0.8 else "")
        encodings = ["utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-32"]
        encoding = str(rng.choice(encodings, p=[0.8, 0.05, 0.05, 0.05, 0.05])) if broken else "utf-8"
        return {"": text.encode(encoding, "replace")}

    return written


def _break_lines(lines: list[list[str]], rng: Draw) -> None:
    row = int(rng.integers(len(lines))) if lines else 0
    way = rng.random()
    if not lines:
        return
    if way < 0.4 and lines[row]:
        lines[row][int(rng.integers(len(lines[row])))] = _cell(rng)
    elif way < 0.6:  # a whole column, or all of it from some row on
        place, cell = int(rng.integers(1 + N_COLUMNS)), _cell(rng)
        for line in lines[row:]:
            if place < len(line):
                line[place] = cell if rng.random() < 0.5 else _cell(rng)
    elif way < 0.7:
        del lines[row]
    elif way < 0.75:
        del lines[row:]
    elif way < 0.85:
        lines.insert(row, list(lines[row]))
    elif way < 0.95:
        lines[row] = lines[row][: int(rng.integers(len(lines[row]) + 1))]
    else:
        lines[row] = lines[row] * int(rng.integers(2, 4))


def _cell(rng: Draw) -> str:
    return CELLS[rng.integers(len(CELLS))]


def odd_array(rng: Draw, broken: bool) -> np.ndarray:
    """Rows, or an array of another type, shape or size."""
    array = plain_rows(rng)
    if not broken:
        return array
    way = rng.random()
    with np.errstate(all="ignore"):
        if way < 0.3:
            return _retyped(array, str(rng.choice(TYPES)))
        if way < 0.5:
            return np.ones(SHAPES[rng.integers(len(SHAPES))])
        value = NUMBERS[rng.integers(len(NUMBERS))]
        if way < 0.9:
            return np.where(rng.random(array.shape) < rng.choice([0.02, 0.5, 1.1]), value, array)
        return np.asfortranarray(array.astype(">f4"))[:: int(rng.choice([-1, 2]))]


def _retyped(array: np.ndarray, kind: str) -> np.ndarray:
    try:
        return array.astype(kind)
    except (TypeError, ValueError, RuntimeError):
        return np.full(array.shape, None)


def _npy(rng: Draw, broken: bool) -> Files:
    return {"": _npy_bytes(odd_array(rng, broken))}


def _npy_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def _npz(rng: Draw, broken: bool) -> Files:
    stream = io.BytesIO()
    compression = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", compression) as archive:
        for number in range(int(rng.integers(1, 4))):
            name = NAMES[rng.integers(len(NAMES))] if broken and rng.random() < 0.3 else f"view{number}"
            archive.writestr(f"{name}.npy", _npy_bytes(odd_array(rng, broken and rng.random() < 0.5)))
    return {"": stream.getvalue()}


def _mat(rng: Draw, broken: bool) -> Files:
    from scipy.io import savemat  # noqa: PLC0415 - what a format needs is imported where it is written

    variables: dict[str, Any] = {"a": plain_rows(rng)}
    if broken:
        cells = np.empty(2, dtype=object)
        cells[:] = [plain_rows(rng), odd_array(rng, True)]
        odd: list[Any] = [cells, odd_array(rng, True), "text", {"x": 1}, [], 3, np.array([[None]]), 1j]
        variables[str(rng.choice(["a", "b", "c"]))] = odd[rng.integers(len(odd))]
    stream = io.BytesIO()
    try:
        savemat(stream, variables, do_compression=bool(rng.random() < 0.4), oned_as="column")
    except (TypeError, ValueError):  # not what MATLAB has
        return _mat(rng, False)
    return {"": stream.getvalue()}


def _arrow_table(rng: Draw, broken: bool) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    rows = plain_rows(rng)
    columns: dict[str, Any] = {"id": pa.array([f"s{i}" for i in range(N_ROWS)])}
    columns |= {name: pa.array(rows[:, place]) for place, name in enumerate("abcd"[:N_COLUMNS])}
    if broken:
        place = str(rng.choice(list(columns)))
        odd: list[Callable[[], Any]] = [
            lambda: pa.nulls(N_ROWS), lambda: pa.array([[1.0]] * N_ROWS), lambda: pa.array([{"x": 1}] * N_ROWS),
            lambda: pa.array([datetime(2024, 1, 1)] * N_ROWS), lambda: pa.array([b"x"] * N_ROWS),
            lambda: pa.array(["a", "b", None] * (N_ROWS // 3)).dictionary_encode(),
            lambda: pa.array([True, None, False] * (N_ROWS // 3)), lambda: pa.array([2**63] * N_ROWS, pa.uint64()),
            lambda: pa.array(rows[:, 0].astype(np.float16)), lambda: pa.array([1] * N_ROWS, pa.duration("s")),
            lambda: pa.array([None, 1.5, float("nan")] * (N_ROWS // 3)),
            lambda: pa.array([1] * N_ROWS, pa.date32()),
            lambda: pa.array([1] * N_ROWS).cast(pa.decimal128(38, 2)), lambda: pa.array([float("inf")] * N_ROWS),
            lambda: pa.array([_cell(rng) for _ in range(N_ROWS)]),
        ]  # fmt: skip
        columns[place] = odd[rng.integers(len(odd))]()
    table = pa.table(columns)
    if broken and rng.random() < 0.2:
        table = table.rename_columns(rng.choice(NAMES, len(columns)).tolist())
    return table.slice(0, 0) if broken and rng.random() < 0.05 else table


def _parquet(rng: Draw, broken: bool) -> Files:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    stream = io.BytesIO()
    try:
        parquet.write_table(_arrow_table(rng, broken), stream, row_group_size=int(rng.choice([7, 100])))
    except (pa.ArrowException, NotImplementedError):
        return _parquet(rng, False)
    return {"": stream.getvalue()}


def _feather(rng: Draw, broken: bool) -> Files:
    from pyarrow import feather  # noqa: PLC0415

    stream = io.BytesIO()
    feather.write_feather(
        _arrow_table(rng, broken), stream, compression="lz4" if rng.random() < 0.5 else "uncompressed"
    )
    return {"": stream.getvalue()}


def _excel(rng: Draw, broken: bool) -> Files:
    from openpyxl import Workbook  # noqa: PLC0415
    from openpyxl.utils.exceptions import IllegalCharacterError  # noqa: PLC0415

    book, stream = Workbook(), io.BytesIO()
    sheet = book.active
    lines: list[list[Any]] = [["id", *"abcd"[:N_COLUMNS]]]
    lines += [[f"s{i}", *row] for i, row in enumerate(plain_rows(rng).tolist())]
    for _ in range(int(rng.integers(1, 8)) if broken else 0):
        lines[rng.integers(len(lines))][rng.integers(1 + N_COLUMNS)] = OBJECTS[rng.integers(len(OBJECTS))]
    for line in lines:
        try:
            sheet.append(line)
        except (IllegalCharacterError, ValueError):
            sheet.append([])
    if broken and rng.random() < 0.2:
        sheet.merge_cells("A2:B4")
        book.create_sheet("more")
    book.save(stream)
    return {"": stream.getvalue()}


def _zarr(rng: Draw, broken: bool) -> Files:
    import zarr  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path, version = os.path.join(folder, "z"), int(rng.choice([2, 3]))
        settings: dict[str, Any] = {"zarr_format": version, "chunks": (11, 3)}
        arrays = {f"view{number}": plain_rows(rng) for number in range(int(rng.integers(1, 3)))}
        if broken:
            odd = odd_array(rng, True)
            known = odd.dtype.kind in "biuf" and odd.dtype.itemsize <= 8 and odd.ndim == 2 and odd.size
            arrays["view0"] = odd if known else plain_rows(rng)
        if len(arrays) == 1:
            zarr.create_array(path, data=np.ascontiguousarray(arrays["view0"]), **settings)
        else:
            group = zarr.open_group(path, mode="w", zarr_format=version)
            for name, array in arrays.items():
                group.create_array(name, data=np.ascontiguousarray(array), chunks=(11, 3))
        files = [file for file in sorted(Path(path).rglob("*")) if file.is_file()]
        return {str(file.relative_to(path)): file.read_bytes() for file in files}


WRITERS: dict[str, Callable[[Draw, bool], Files]] = {
    "csv": _text(","),
    "tsv": _text("\t"),
    "npy": _npy,
    "npz": _npz,
    "mat": _mat,
    "parquet": _parquet,
    "feather": _feather,
    "xlsx": _excel,
    "zarr": _zarr,
    "h5ad": hdf5.annotated(plain_rows),
    "h5mu": hdf5.modalities(plain_rows),
    "mat7.3": hdf5.newer_matlab(plain_rows),
}
_ODD_JSON: tuple[Any, ...] = (
    None,
    -1,
    0,
    10**30,
    1.5,
    "",
    "x",
    "<f8",
    "|O",
    [],
    {},
    [0],
    [-1, 4],
    [10**12, 4],
    True,
)


def _broken_parts(kind: str, content: bytes, rng: Draw) -> bytes:
    """Break what a format is made of: numbers in a header, members of an archive, metadata in JSON."""
    if kind in ("npz", "xlsx"):
        return _broken_members(content, rng)
    if kind == "zarr" and content.lstrip()[:1] == b"{":
        return _broken_json(content, rng)
    if kind == "npy":
        return _broken_header(content, rng)
    if kind in ("csv", "tsv"):
        return content.replace(
            *[(b"\n", b""), (b"\n", b"\n\n"), (b".", b","), (b"s", b'"'), (b"0", b"\xff"), (b"a", b"b")][
                rng.integers(6)
            ]
        )
    return broken_bytes(content, rng) if rng.random() < 0.5 else content


def _broken_members(content: bytes, rng: Draw) -> bytes:
    stream = io.BytesIO()
    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(io.BytesIO(content)) as before,
        zipfile.ZipFile(stream, "w") as archive,
    ):
        warnings.simplefilter("ignore")
        for entry in before.infolist():
            data, way = before.read(entry), rng.random()
            if way < 0.1:
                continue
            name = NAMES[rng.integers(1, len(NAMES))] if way < 0.15 else entry.filename
            broken = _broken_header(data, rng) if data.startswith(b"\x93NUMPY") else broken_bytes(data, rng)
            archive.writestr(name, broken if way > 0.7 else data)
    return stream.getvalue()


def _broken_header(content: bytes, rng: Draw) -> bytes:
    changes = [
        (b"(30, 4)", b"(10000000000, 4)"), (b"(30, 4)", b"(-30, 4)"), (b"(30, 4)", b"(0, 4)"),
        (b"(30, 4)", b"(120,)"),
        (b"(30, 4)", b"(2, 2, 30)"), (b"<f8", b"|O"), (b"<f8", b"<f4"), (b"<f8", b"<U2"), (b"<f8", b"<m8[s]"),
        (b"False", b"True"),
        (b"<f8", b"<c16"), (b"<f8", b"[('a', '<f8')]"), (b"'shape'", b"'shap'"),
        (b"{", b"("), (b"NUMPY\x01", b"NUMPY\x03"),
    ]  # fmt: skip
    return content.replace(*changes[rng.integers(len(changes))], 1)


def _broken_json(content: bytes, rng: Draw) -> bytes:
    told = json.loads(content)
    owner, keys = told, list(told)
    while keys:
        key = keys[rng.integers(len(keys))]
        if isinstance(owner[key], dict) and owner[key] and rng.random() < 0.6:
            owner = owner[key]
            keys = list(owner)
            continue
        if rng.random() < 0.2:
            del owner[key]
        else:
            owner[key] = _ODD_JSON[rng.integers(len(_ODD_JSON))]
        break
    return json.dumps(told).encode()
