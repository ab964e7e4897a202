"""What cannot be opened, and what is said of it."""

from __future__ import annotations

import builtins
import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from source_helpers import KINDS, RNG, X, arrow, npy

from powerkmeans.sources import open_source
from powerkmeans.support.install import install_line


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file or folder '.*none.npy'"):
        open_source(tmp_path / "none.npy")
    with pytest.raises(FileNotFoundError, match=r"pyarrow\.dataset\.dataset"):
        open_source("s3://bucket/data.parquet")
    with pytest.raises(TypeError, match="The path must be a string"):
        open_source(type("P", (os.PathLike,), {"__fspath__": lambda self: b"data.npy"})())


@pytest.mark.parametrize("name", ["data.csv", "data.npz", "data", "data.zarr"])
def test_other_files(tmp_path, name):
    (tmp_path / name).write_text("1,2")
    with pytest.raises(ValueError, match=r"a Zarr array is a folder|none of the extensions .npy, .parquet"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["data.npy", "data.parquet", "data.arrow", "data.feather"])
def test_empty_files(tmp_path, name):
    arrow()
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"{name} is empty"):
        open_source(tmp_path / name)
    if name != "data.npy":
        with pytest.raises(ValueError, match="is empty"):
            open_source(tmp_path)


@pytest.mark.parametrize("kind", ["npy", "parquet", "feather", "arrow"])
@pytest.mark.parametrize("kept", [3, 60, 0.5, -1])
def test_files_that_are_cut_off(tmp_path, kind, kept):
    path = KINDS[kind](tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match=rf"{path.name} (is cut off|is not a .npy|cannot be read)") as caught:
        open_source(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["npy", "parquet", "feather", "arrow"])
def test_files_that_are_something_else(tmp_path, kind):
    path = KINDS[kind](tmp_path)
    path.write_bytes(RNG.bytes(5000))
    with pytest.raises(ValueError, match=rf"{path.name} (is not a .npy|cannot be read)") as caught:
        open_source(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(5,), (5, 2, 2), ()])
def test_arrays_that_are_no_table(tmp_path, shape):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(tmp_path / "data.zarr"), shape=shape, dtype="f4")
    for given in (npy(tmp_path, np.zeros(shape)), np.zeros(shape), tmp_path / "data.zarr"):
        with pytest.raises(ValueError, match=r"is an array of shape \(.*expected 2 dimensions"):
            open_source(given)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("parquet folder", "dataset", "memmap")])
def test_tables_without_rows(tmp_path, kind):
    if "zarr" in kind:
        pytest.importorskip("zarr")
    with pytest.raises(ValueError, match="has no rows"):
        open_source(KINDS[kind](tmp_path, X[:0]))


def test_tables_without_columns(tmp_path):
    pa, _, _, pq = arrow()
    pq.write_table(pa.table({}), tmp_path / "data.parquet")
    for given in (np.zeros((3, 0)), npy(tmp_path, np.zeros((3, 0))), tmp_path / "data.parquet", pa.table({})):
        with pytest.raises(ValueError, match="has no columns"):
            open_source(given)


def test_folders_without_data(tmp_path):
    (tmp_path / "set").mkdir()
    with pytest.raises(ValueError, match=r"is a folder without any .parquet, .arrow, .feather file"):
        open_source(tmp_path / "set")
    (tmp_path / "set" / "_hidden.parquet").touch()
    npy(tmp_path / "set")
    with pytest.raises(ValueError, match="is a folder without any"):
        open_source(tmp_path / "set")


def test_other_objects(tmp_path):
    for given in ([[1.0, 2.0]], None, 3, arrow()[0].array([1.0])):
        with pytest.raises(TypeError, match="open_source takes a path"):
            open_source(given)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_files_without_permission(tmp_path):
    path = npy(tmp_path)
    path.chmod(0)
    with pytest.raises(ValueError, match=r"data.npy cannot be read.*Permission denied"):
        open_source(path)


def test_permission_is_said_in_one_line(tmp_path, monkeypatch):
    path = npy(tmp_path)

    def refused(*_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(builtins, "open", refused)
    with pytest.raises(ValueError, match=r"data.npy cannot be read.*Permission denied\."):
        open_source(path)


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("d.parquet", "pyarrow", "arrow"), ("d.zarr", "zarr", "zarr")]
)
def test_packages_that_are_not_installed(tmp_path, monkeypatch, name, package, extra):
    for module in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    if extra == "zarr":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text("x")
    with pytest.raises(ImportError, match=f"Install it: {re.escape(install_line(extra))}$"):
        open_source(tmp_path / name)


def test_optional_packages_are_not_imported_before_they_are_needed():
    code = "import sys, powerkmeans.sources.opening as o; print({'pyarrow', 'zarr', 'pandas'} & set(sys.modules))"
    # scikit-learn may look for them by itself, so the package's own modules are loaded without it
    stub = "import sys, types; p = sys.modules['powerkmeans'] = types.ModuleType('p'); p.__path__ = [{!r}]; "
    root = os.path.dirname(os.path.dirname(sys.modules["powerkmeans.sources"].__file__))
    done = subprocess.run(
        [sys.executable, "-c", stub.format(root) + code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
