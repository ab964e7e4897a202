"""What a model file tells of single samples: no row with averaged landmarks, no labels where they are left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import powerkmeans
from helpers import blobs, make_present, quick, quick_views

X, _ = blobs(3, 4, 20, 1.5)
PRESENT = make_present(len(X), 2, np.random.default_rng(1))
TWO = {"left": X[:, :2], "right": X[:, 2:]}
# rows of a sample, or one of its views
PARTS = {4: [X], 2: [X[:, :2], X[:, 2:]]}


def rows_in(path):
    """Everything in a file that may be rows or views of rows, uncentred."""
    file = np.load(path)
    arrays = {name: file[name] for name in file.files if name != "header.json"}
    if "map0.indptr" in arrays:
        parts = tuple(arrays[f"map0.{part}"] for part in ("data", "indices", "indptr"))
        arrays["map0.landmarks"] = csr_array(
            parts, shape=(len(parts[2]) - 1, len(arrays["map0.origin"]))
        ).toarray()
    origins = [array for name, array in arrays.items() if name.endswith(".origin")]
    for array in arrays.values():
        if array.ndim in (1, 2) and array.dtype.kind == "f":
            table = np.atleast_2d(array)
            yield from (table, *(table + origin for origin in origins if len(origin) == table.shape[1]))


def held(path):
    """Whether a training row, or its part in one view, stands in a file, to rounding."""
    for table in rows_in(path):
        for width, parts in PARTS.items():
            for start in range(table.shape[1] - width + 1):
                piece = table[:, start : start + width]
                for part in parts:
                    if np.any(np.abs(piece[:, None, :] - part[None, :, :]).max(axis=2) < 1e-9):
                        return True
    return False


def saved(model, path):
    model.save(path, overwrite=True)
    return path


@pytest.mark.parametrize("feature_map", ["graph", "nystroem"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_no_row_stands_in_a_file_with_averaged_landmarks(feature_map, form, tmp_path):
    settings = {"feature_map": feature_map, "random_state": 0, "advice": False}
    rows = quick(3, **settings).fit(form(X))
    assert held(saved(rows, tmp_path / "rows.npz"))
    means = quick(3, rows_per_landmark=2, **settings).fit(form(X))
    assert not held(saved(means, tmp_path / "means.npz"))
    loaded = powerkmeans.load(tmp_path / "means.npz")
    assert loaded.rows_per_landmark == 2
    assert loaded.predict(X).tolist() == means.labels_.tolist()


@pytest.mark.parametrize("feature_map", ["graph", "nystroem"])
@pytest.mark.parametrize("present", [None, PRESENT])
def test_nor_a_view_of_one(feature_map, present, tmp_path):
    settings = {"feature_map": feature_map, "random_state": 0, "advice": False, "metric": {"right": "cosine"}}
    model = quick_views(3, rows_per_landmark=3, **settings).fit(TWO, present=present)
    assert not held(saved(model, tmp_path / "model.npz"))


@pytest.mark.parametrize("feature_map", ["graph", "nystroem"])
def test_a_single_column_leaves_no_row_as_its_median(feature_map, tmp_path):
    column = X[:59, :1]  # an odd number, whose median is one of them
    model = quick(2, feature_map=feature_map, rows_per_landmark=3, random_state=0, advice=False).fit(column)
    origin = np.load(saved(model, tmp_path / "model.npz"))["map0.origin"]
    assert np.abs(column - origin).min() > 1e-9


@pytest.mark.parametrize("feature_map", ["graph", "exact"])
def test_labels_can_be_left_out(feature_map, tmp_path):
    model = quick(3, feature_map=feature_map, random_state=0, advice=False).fit(X)
    model.save(tmp_path / "model.npz", labels=False)
    assert np.load(tmp_path / "model.npz")["labels"].shape == (0,)
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert loaded.labels_.shape == (0,)
    assert "medoids" not in np.load(tmp_path / "model.npz")  # which are numbers of rows
    with pytest.raises(AttributeError, match="saved without labels"):
        loaded.medoid_indices_  # noqa: B018
    assert loaded.n_samples_seen_ == len(X)
    assert loaded.predict(X).tolist() == model.labels_.tolist()
    assert len(model.labels_) == len(X)
    with pytest.raises(ValueError, match="'labels' parameter must be True"):
        model.save(tmp_path / "other.npz", labels="no")
