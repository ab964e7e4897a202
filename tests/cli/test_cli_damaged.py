"""Damaged files of every format, as ``python -m benchmarks.fuzz --part inputs`` found them, but small."""

from __future__ import annotations

import gc
import io
import logging
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz.inputs import ANSWERED, REFUSED, outcome
from command_helpers import K, leftovers
from scipy.io import savemat
from scipy.sparse import csr_array

from powerkmeans.cli.actions import fit
from powerkmeans.cli.errors import Exit

DOCUMENTED = Path(__file__).parents[2] / "docs" / "command_line.md"
ROWS = np.random.default_rng(0).normal(size=(30, 3)) + 8 * (np.arange(30) % 3)[:, None]


def matlab(**options):
    stream = io.BytesIO()
    savemat(stream, {"a": ROWS}, **options)
    return bytearray(stream.getvalue())


def packed_wrongly():
    """A variable whose checksum is another one."""
    content = matlab(do_compression=True)
    content[-1] ^= 1
    return content


def of_no_type(kind):
    """Numbers of a type that does not exist: SciPy reads beyond its own table of types."""
    content = matlab()
    place = content.index(struct.pack("<II", 9, ROWS.nbytes))
    content[place : place + 4] = struct.pack("<I", kind)
    return content


def text_shorter_than_its_shape():
    stream = io.BytesIO()
    savemat(stream, {"t": "text"})
    content = bytearray(stream.getvalue())
    place = content.index(struct.pack("<II", 1, 4))
    content[place + 4 : place + 8] = struct.pack("<I", 4_000_000)
    return content


def cells_without_end():
    stream, cells = io.BytesIO(), np.empty(2, dtype=object)
    cells[:] = [ROWS, ROWS]
    savemat(stream, {"c": cells})
    content = bytearray(stream.getvalue())
    place = content.index(struct.pack("<II", 1, 2))
    content[place : place + 4] = struct.pack("<I", 2**30)
    return content


def npz(damage):
    stream = io.BytesIO()
    np.savez_compressed(stream, a=ROWS)
    content = bytearray(stream.getvalue())
    directory = content.rindex(b"PK\x01\x02")
    if damage == "bytes":
        content[60:70] = b"\xff" * 10
    else:  # a way of packing that nobody has, in both places that tell it
        content[8:10] = content[directory + 10 : directory + 12] = struct.pack("<H", 99)
    return content


def spreadsheet():
    """A book that says it needs a newer program to be unpacked."""
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in ROWS.tolist():
        book.active.append(row)
    book.save(stream)
    content = bytearray(stream.getvalue())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheet = archive.getinfo("xl/worksheets/sheet1.xml")
    place = content.index(b"PK\x01\x02", sheet.header_offset)
    while content[place + 46 : place + 46 + len(sheet.filename)] != sheet.filename.encode():
        place = content.index(b"PK\x01\x02", place + 4)
    content[place + 6] = 80
    return content


def feather(compression):
    """Texts that begin before the file; numbers that ask for more memory than any machine has."""
    arrow = pytest.importorskip("pyarrow")
    stream = io.BytesIO()
    table = arrow.table({"id": [f"s{i:02d}" for i in range(30)], "a": ROWS[:, 0]})
    pytest.importorskip("pyarrow.feather").write_feather(table, stream, compression=compression)
    content = bytearray(stream.getvalue())
    if compression == "lz4":
        place = content.index(struct.pack("<q", 240) + b"\x04\x22\x4d\x18")
        content[place : place + 8] = struct.pack("<q", 2**61)
    else:
        place = content.index(np.arange(0, 30, 3, dtype=np.int32).tobytes())
        content[place : place + 4] = struct.pack("<i", -(2**29))
    return content


def name_that_is_no_text():
    arrow, stream = pytest.importorskip("pyarrow"), io.BytesIO()
    table = arrow.table({"aä": ROWS[:, 0], "b": ROWS[:, 1]})
    pytest.importorskip("pyarrow.feather").write_feather(table, stream, compression="uncompressed")
    return stream.getvalue().replace("ä".encode(), b"\xe4\x20")


def hdf5(change, head=b""):
    """Cells with a sparse matrix and names of both axes, or matrices of MATLAB 7.3, after a change."""
    h5py, stream = pytest.importorskip("h5py"), io.BytesIO()
    matrix = csr_array(ROWS)
    with h5py.File(stream, "w", userblock_size=512 if head else 0) as file:
        for part in ("data", "indices", "indptr"):
            file[f"X/{part}"] = getattr(matrix, part)
        file["X"].attrs.update({"encoding-type": "csr_matrix", "shape": ROWS.shape})
        for axis, length in (("obs", 30), ("var", 3)):
            file[f"{axis}/_index"] = [f"{axis}{place}" for place in range(length)]
        file["a"] = ROWS.T
        change(file)
    return head.ljust(512, b"\0") + stream.getvalue()[len(head.ljust(512)) if head else 0 :]


def replaced(name, value):
    def change(file):
        del file[name]
        file[name] = value

    return change


def in_a_circle(name):
    return lambda: hdf5(replaced(name, pytest.importorskip("h5py").SoftLink(f"/{name}")))


def elsewhere():
    """A link to another file, which is not there."""
    return hdf5(replaced("X", pytest.importorskip("h5py").ExternalLink("other.h5", "/X")))


def empty_but_huge(file):
    """Numbers that were never written take no room in the file, and all that they say in memory."""
    del file["a"]
    file.create_dataset("a", shape=(10**7, 10**7), chunks=(100, 100), dtype="f8")


def without_modalities(file):
    file.create_group("mod/rna")
    file["mod"].attrs["mod-order"] = np.zeros(0, dtype="f8")


MATLAB_7_3 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
NO_CELLS = "it is damaged or incomplete, or holds something else than anndata writes"
FILES = {
    "far.h5ad": (lambda: hdf5(replaced("X/indices", np.full(90, 10**8))), NO_CELLS),
    "before.h5ad": (lambda: hdf5(replaced("X/indices", np.full(90, -7))), NO_CELLS),
    "pointers.h5ad": (lambda: hdf5(replaced("X/indptr", np.arange(31)[::-1] * 3)), NO_CELLS),
    "circle.h5ad": (in_a_circle("X"), NO_CELLS),
    "names in a circle.h5ad": (in_a_circle("obs/_index"), NO_CELLS),
    "elsewhere.h5ad": (elsewhere, NO_CELLS),
    "one name.h5ad": (lambda: hdf5(replaced("obs/_index", "all")), NO_CELLS),
    "few names.h5ad": (
        lambda: hdf5(replaced("obs/_index", ["a", "b"])),
        "has names for 2 rows and a matrix of 30",
    ),
    "few genes.h5ad": (lambda: hdf5(replaced("var/_index", ["a"])), "has names for 1 columns and a matrix of 3"),
    "cut.h5ad": (lambda: hdf5(lambda file: None)[:3000], NO_CELLS),
    "none.h5mu": (lambda: hdf5(without_modalities), "lists modalities that it does not have"),
    "circle.mat": (
        lambda: hdf5(replaced("a", pytest.importorskip("h5py").SoftLink("/a")), MATLAB_7_3),
        "cannot be read as a MATLAB file",
    ),
    "huge.mat": (lambda: hdf5(empty_but_huge, MATLAB_7_3), "are larger than the memory that is free"),
    "packed wrongly.mat": (packed_wrongly, "cannot be read as a MATLAB file; it may be damaged"),
    "of type 0.mat": (lambda: of_no_type(0), "cannot be read as a MATLAB file"),
    "of type 127.mat": (lambda: of_no_type(127), "cannot be read as a MATLAB file"),
    "a short text.mat": (text_shorter_than_its_shape, "cannot be read as a MATLAB file"),
    "cells without end.mat": (cells_without_end, "cannot be read as a MATLAB file"),
    "bytes.npz": (lambda: npz("bytes"), "cannot be read; it is damaged"),
    "packed somehow.npz": (lambda: npz("packing"), "cannot be read; it is damaged"),
    "newer.xlsx": (spreadsheet, "cannot be read as a spreadsheet; it may be damaged"),
    "texts.feather": (lambda: feather("uncompressed"), "cannot be read"),
    "name.feather": (name_that_is_no_text, "the name of a column is no text"),
    "memory.feather": (lambda: feather("lz4"), "it asks for more memory than there is. It may be damaged"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_in_a_sentence(run, tmp_path, name):
    made, said = FILES[name]
    (tmp_path / name).write_bytes(made())
    done = run("fit", name, "-k", K, "-o", "out")
    assert done.code == 3
    assert name in done.sentence
    assert said in done.sentence
    assert leftovers(tmp_path) == [name]


def test_text_that_lacks_the_mark_of_its_encoding(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 20)
    done = run("fit", "t.csv", "-k", K, "--encoding", "utf-16")
    assert done.code == 3
    assert "t.csv is not UTF-16 text" in done.sentence


def test_members_of_a_group_that_are_damaged_print_no_traceback(run, tmp_path, caplog):
    zarr = pytest.importorskip("zarr")
    zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    for name in ("a", "b", "c"):
        zarr.save_array(str(tmp_path / "g.zarr" / name), ROWS)
        (tmp_path / "g.zarr" / name / "zarr.json").write_bytes(b"{\xff")
    done = run("fit", "g.zarr", "-k", K)
    gc.collect()  # what nobody heard of is told when it is thrown away
    assert (done.code, "cannot be read as Zarr" in done.sentence) == (3, True)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_numbers_that_no_model_can_keep_are_told_as_such(run, table, tmp_path, monkeypatch):
    def refused(*args):
        raise ValueError("This model cannot be saved, as it could not be loaded again.")

    monkeypatch.setattr(fit, "save_prepared", refused)
    done = run("fit", table, "--id", "id", "-k", K, "-o", "out", "--feature-map", "identity")
    assert (done.code, done.sentence.endswith("too large or too small; scale them.")) == (3, True)
    assert leftovers(tmp_path) == ["rows.csv"]


def test_some_tables_that_were_broken_at_random(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = [outcome(np.random.default_rng([5, number]), Path()) for number in range(25)]
    assert [what for what in told if not what.startswith((REFUSED, ANSWERED))] == []
    assert {what.partition(" ")[0] for what in told} == {REFUSED, ANSWERED}


@pytest.mark.skipif(not DOCUMENTED.exists(), reason="the source archive has no documentation")
def test_exit_codes_are_those_of_the_documentation():
    table = re.findall(r"^\| ([\d, ]+) \| \S", DOCUMENTED.read_text(encoding="utf-8"), re.MULTILINE)
    told = {int(code) for cell in table for code in cell.split(",")}
    assert told == set(Exit)
