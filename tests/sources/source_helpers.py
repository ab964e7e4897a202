"""One table in every kind of file and object that can be a source."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(103, 5))
NAMES = ["a", "b.c", "ä x", "d", "e"]


def arrow():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.dataset as ds
    import pyarrow.feather as pf
    import pyarrow.parquet as pq

    return pa, ds, pf, pq


def table(rows=X, names=None):
    return arrow()[0].table({name: rows[:, j] for j, name in enumerate(names or NAMES)})


def npy(folder, rows=X, order="C"):
    np.save(folder / "data.npy", np.asarray(rows, order=order))
    return folder / "data.npy"


def parquet(folder, rows=X, names=None, name="data.parquet"):
    arrow()[3].write_table(table(rows, names), folder / name, row_group_size=20)
    return folder / name


def feather(folder, rows=X, extension="feather"):
    arrow()[2].write_feather(table(rows), str(folder / f"data.{extension}"), chunksize=20)
    return folder / f"data.{extension}"


def parquet_folder(folder, rows=X):
    (folder / "set").mkdir()
    for index, start in enumerate(range(0, len(rows), 40)):
        parquet(folder / "set", rows[start : start + 40], name=f"part-{index}.parquet")
    (folder / "set" / "_SUCCESS").touch()
    (folder / "set" / "notes.txt").write_text("not data")
    return folder / "set"


def zarr_folder(folder, rows=X, version=3, group=False):
    zarr = pytest.importorskip("zarr")
    place = str(folder / "data.zarr")
    options = {"shape": rows.shape, "chunks": (16, 2), "dtype": rows.dtype}
    if group:
        root = zarr.open_group(place, mode="w", zarr_format=version)
        root.create_array("labels", shape=(len(rows),), dtype="i8")
        array = root.create_array("rows", **options)
    else:
        array = zarr.create_array(place, zarr_format=version, **options)
    array[:] = rows
    return folder / "data.zarr"


def dataset_object(folder, rows=X):
    return dataset_of(parquet_folder(folder, rows))


def dataset_of(folder):
    return arrow()[1].dataset([str(path) for path in sorted(folder.glob("*.parquet"))])


def memmap(folder, rows=X):
    return np.load(npy(folder, rows), mmap_mode="r")


def zarr_object(folder, rows=X):
    return pytest.importorskip("zarr").open(str(zarr_folder(folder, rows)), mode="r")


KINDS = {
    "npy": npy,
    "npy by column": lambda folder, rows=X: npy(folder, rows, "F"),
    "parquet": parquet,
    "parquet folder": parquet_folder,
    "feather": feather,
    "arrow": lambda folder, rows=X: feather(folder, rows, "arrow"),
    "zarr 3": zarr_folder,
    "zarr 2": lambda folder, rows=X: zarr_folder(folder, rows, version=2),
    "zarr group": lambda folder, rows=X: zarr_folder(folder, rows, group=True),
    "memmap": memmap,
    "array": lambda folder, rows=X: rows,
    "table": lambda folder, rows=X: table(rows),
    "dataset": dataset_object,
    "zarr array": zarr_object,
}

PATHS = [kind for kind in KINDS if kind not in ("memmap", "array", "table", "dataset", "zarr array")]


def settled():
    gc.collect()
    gc.freeze()  # what is still there is not looked through again and again
    return threading.active_count()
