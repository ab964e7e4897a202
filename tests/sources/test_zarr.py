"""Arrays and groups of Zarr."""

from __future__ import annotations

import pytest
from source_helpers import zarr_folder

from powerkmeans.sources import SourceChangedError, open_source


def test_damaged_zarr(tmp_path):
    path = zarr_folder(tmp_path)
    chunk = next(p for p in sorted((path / "c").rglob("*")) if p.is_file())
    chunk.write_bytes(b"nothing that could be decoded")
    source = open_source(path)
    with pytest.raises(ValueError, match=r"data.zarr cannot be read; it may be damaged"):
        list(source.blocks(10))
    (path / "zarr.json").write_text("{")
    with pytest.raises(ValueError, match=r"data.zarr cannot be read; it may be damaged"):
        open_source(path)
    (path / "zarr.json").unlink()
    with pytest.raises(ValueError, match=r"data.zarr is not a Zarr array"):
        open_source(path)


def test_zarr_groups_without_one_table(tmp_path):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(tmp_path / "data.zarr"), mode="w")
    with pytest.raises(ValueError, match="group without a 2-D array"):
        open_source(tmp_path / "data.zarr")
    for name in ("one", "two"):
        root.create_array(name, shape=(4, 2), dtype="f4")[:] = 1
    with pytest.raises(ValueError, match=r"2 2-D arrays \('one', 'two'\); give the folder of one"):
        open_source(tmp_path / "data.zarr")
    assert open_source(tmp_path / "data.zarr" / "one").shape == (4, 2)


def test_zarr_in_memory(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(9, 2), dtype="f4")
    array[:] = 3
    assert repr(open_source(array)) == "ZarrSource('zarr array', 9 rows x 2 columns, float32)"
    assert next(open_source(array).blocks(20)).sum() == 54


def test_a_chunk_that_is_added_is_a_change(tmp_path):
    path = zarr_folder(tmp_path)
    source = open_source(path)
    (path / "c" / "99").mkdir()
    (path / "c" / "99" / "0").touch()
    with pytest.raises(SourceChangedError, match=r"data.zarr: c.99.0 changed"):
        source.blocks(10)
