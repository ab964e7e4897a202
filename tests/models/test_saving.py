from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

import powerkmeans
from helpers import blobs, quick, quick_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.engines import NumpyOptions
from powerkmeans.exceptions import ModelFileError
from powerkmeans.models import saving

X, _ = blobs(spread=1.5)


@pytest.mark.parametrize("feature_map", ["rff", "orf", "nystroem", "identity"])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_survives_the_file(tmp_path, feature_map, membership, dtype):
    path = tmp_path / "model.npz"
    model = quick(3, feature_map=feature_map, membership=membership, random_state=0).fit(X.astype(dtype))
    model.partial_fit(X[:50].astype(dtype))
    model.save(path)
    for copy in (powerkmeans.load(path), KernelPowerKMeans.load(str(path))):
        assert copy.get_params() == model.get_params()
        scores = ("typicality",) if membership == "possibilistic" else ()
        for method in ("predict", "predict_proba", "transform", *scores):
            assert np.array_equal(getattr(copy, method)(X), getattr(model, method)(X))
        attributes = {name for name in vars(model) if name.endswith("_")}
        assert attributes == {name for name in vars(copy) if name.endswith("_")}
        for name in attributes - {"history_", "stream_history_"}:
            assert np.array_equal(getattr(copy, name), getattr(model, name)), name
        for table in ("history_", "stream_history_"):
            for name, column in getattr(model, table).items():
                assert np.array_equal(getattr(copy, table)[name], column)
        assert type(copy.status_) is type(model.status_)
        assert copy.score(X) == model.score(X)
        further = [
            clone_of.partial_fit(X[50:].astype(dtype)) for clone_of in (copy, pickle.loads(pickle.dumps(model)))
        ]
        assert np.array_equal(further[0].cluster_centers_, further[1].cluster_centers_)


def test_a_parameter_that_came_later_is_written_only_where_it_is_not_its_default(tmp_path):
    # the first readers of this version refuse a file with a parameter that they do not know
    for advice, written in ((True, False), (False, True)):
        path = tmp_path / f"{advice}.npz"
        quick(3, random_state=0, advice=advice).fit(X).save(path)
        with np.load(path) as members:
            header = json.loads(bytes(members["header.json"]))
        assert ("advice" in header["parameters"]) is written
        assert powerkmeans.load(path).advice is advice


def test_what_a_writer_adds_is_kept_beside_the_model(tmp_path):
    model = quick(3, random_state=0).fit(X)
    extra = {
        "columns": ["a", "b"],
        "scale": np.arange(5.0),
        "limit": None,
        "deep": [{"x": -np.inf, "y": (1, "z")}],
    }
    saving.save_estimator(model, tmp_path / "model.npz", extra)
    classes = {"KernelPowerKMeans": KernelPowerKMeans}
    copy, found = saving.load_with_extra(tmp_path / "model.npz", classes)
    assert np.array_equal(copy.predict(X), model.labels_)
    assert np.array_equal(found.pop("scale"), extra.pop("scale"))
    assert found == extra
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").labels_, model.labels_)
    model.save(tmp_path / "plain.npz")
    assert saving.load_with_extra(tmp_path / "plain.npz", classes)[1] is None


def test_names_infinities_and_given_centroids_survive(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "model.npz"
    model = quick(
        3, init=X[:3], s_init=-np.inf, engine=NumpyOptions(n_threads=1), random_state=np.random.default_rng(0)
    ).fit(pd.DataFrame(X, columns=list("abcde")))
    model.save(path)
    copy = powerkmeans.load(path)
    assert copy.s_init == copy.s_ == copy.s_init_ == -np.inf
    assert np.array_equal(copy.init, X[:3])
    assert copy.engine == "auto"
    assert copy.random_state is None
    assert copy.feature_names_in_.tolist() == list("abcde")


def test_the_file_is_plain_arrays_and_strict_json(tmp_path):
    path = tmp_path / "model.npz"
    quick(3, s_init=-np.inf, random_state=0).fit(X).save(path)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiu" for name in file.files)
        header = file["header.json"].tobytes().decode()
    parsed = json.loads(header, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert parsed["format"] == "powerkmeans-model"
    assert parsed["version"] == 2


def test_a_file_from_before_groups_were_kept_still_loads(tmp_path):
    quick(2, random_state=0).fit(X).save(tmp_path / "model.pkm")
    header, arrays = saving.read(tmp_path / "model.pkm")
    del arrays["history.groups"]
    saving.write(tmp_path / "old.pkm", {**header, "version": 1}, arrays)
    loaded = KernelPowerKMeans.load(tmp_path / "old.pkm")
    assert loaded.history_["groups"].shape == (loaded.n_iter_, 0)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    model = quick(3, random_state=0).fit(X)
    model.save(path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "write_archive", full)
    with pytest.raises(OSError, match=r"Cannot write the file: No space left on device.*model\.npz"):
        model.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]


def test_a_missing_folder_is_named(tmp_path):
    model = quick(3, random_state=0).fit(X)
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*nowhere' to write 'model.npz' in"):
        model.save(tmp_path / "nowhere" / "model.npz")
    model.save(tmp_path / "model.npz")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "model.npz").stat().st_mode & 0o777 == 0o666 & ~mask


def test_unreadable_files_are_named(tmp_path):
    path = tmp_path / "model.npz"
    with pytest.raises(FileNotFoundError, match="There is no model file at"):
        powerkmeans.load(path)
    path.write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match=r"model.npz' is not a powerkmeans model, or is damaged"):
        powerkmeans.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(ValueError, match="is not a powerkmeans model"):
        powerkmeans.load(path)
    quick(3, random_state=0).fit(X).save(path, overwrite=True)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="or is damaged"):
        powerkmeans.load(path)
    np.savez(path, **{"header.json": np.array([{"a": 1}], dtype=object)}, allow_pickle=True)
    with pytest.raises(ValueError, match="is not an array of plain numbers"):
        powerkmeans.load(path)
    assert zipfile.is_zipfile(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "has format version 3, this powerkmeans reads up to 2; upgrade"),
        ({"format": "other"}, "is not a powerkmeans model"),
        ({"estimator": "Other"}, "holds a Other, not a KernelPowerKMeans"),
    ],
)
def test_other_formats_are_named(tmp_path, change, message):
    path = tmp_path / "model.npz"
    quick(3, random_state=0).fit(X).save(path)
    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    header = {**json.loads(content["header.json"].tobytes()), **change}
    content["header.json"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **content)
    with pytest.raises(ValueError, match=message):
        powerkmeans.load(path)


def test_other_kinds_of_files_are_named(tmp_path):
    path = tmp_path / "model.npz"
    with open(path, "wb") as stream:
        np.save(stream, X)
    with pytest.raises(ValueError, match="is not a powerkmeans model, or is damaged"):
        powerkmeans.load(path)
    with pytest.raises(FileNotFoundError, match="There is no model file at"):
        powerkmeans.load(tmp_path / "other.npz")
    with pytest.raises(ModelFileError, match="is not a regular file, and no powerkmeans model"):
        powerkmeans.load(tmp_path)
    np.savez(path, **{"header.json": np.frombuffer(b"[1]", dtype=np.uint8)})
    with pytest.raises(ValueError, match="is not a powerkmeans model"):
        powerkmeans.load(path)
    quick(3, random_state=0).fit(X).save(path, overwrite=True)
    with np.load(path) as file:
        content = {name: file[name] for name in file.files if name != "centers"}
    np.savez(path, **content)
    with pytest.raises(ValueError, match="is a damaged powerkmeans model: 'centers' is missing"):
        powerkmeans.load(path)


def test_a_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "model.npz"
    quick(3, random_state=0).fit(X).save(path)
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("centers.npy")
    whole = bytearray(path.read_bytes())
    names = sum(struct.unpack_from("<HH", whole, entry.header_offset + 26))  # of the entry, and what comes with it
    whole[entry.header_offset + 30 + names + entry.compress_size // 2] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="is not a powerkmeans model, or is damaged"):
        powerkmeans.load(path)


def test_links_are_followed_and_folders_named(tmp_path):
    model = quick(3, random_state=np.int64(3)).fit(X)
    (tmp_path / "real.npz").touch()
    (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
    model.save(tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert powerkmeans.load(tmp_path / "real.npz").random_state == 3
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        model.save(tmp_path)


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1e-78, 1e78, 1e100, 1e140])
def test_what_can_be_fitted_can_be_saved_at_any_scale(tmp_path, scale, membership):
    X = blobs(3)[0] * scale
    model = quick(3, feature_map="identity", membership=membership, random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").predict(X), model.labels_)


def test_metrics_are_kept_by_view_and_files_without_are_euclidean(tmp_path):
    views = {"b": X, "a": X[:, ::-1] + 1}
    model = quick_views(3, metric={"b": "cosine"}, random_state=0).fit(views)
    model.save(tmp_path / "model.npz")
    header, _ = saving.read(tmp_path / "model.npz")
    assert header["metrics"] == ["cosine", "euclidean"]
    copy = powerkmeans.load(tmp_path / "model.npz")
    assert copy.metric == {"b": "cosine"}
    longer = views | {"b": 2 * X}
    assert np.array_equal(copy.transform(longer), model.transform(views))
    # what a file was written before metrics, or of models that have only the plain one, does not name them
    quick_views(3, random_state=0).fit(views).save(tmp_path / "plain.npz")
    with np.load(tmp_path / "plain.npz") as file:
        plain = json.loads(file["header.json"].tobytes())
    assert "metrics" not in plain
    assert "metric" not in plain["parameters"]
    copy = powerkmeans.load(tmp_path / "plain.npz")
    assert copy.metric == "euclidean"
    assert copy._fit.model.metrics == ("euclidean", "euclidean")
    assert not np.array_equal(copy.transform(longer), copy.transform(views))


def test_the_metric_of_a_model_is_that_of_its_fit(tmp_path):
    model = quick(3, metric="cosine", random_state=0).fit(X)
    expected = model.transform(X)
    model.set_params(metric="euclidean").save(tmp_path / "model.npz")
    for other in (model, powerkmeans.load(tmp_path / "model.npz")):
        assert other.metric == "euclidean"
        assert np.array_equal(other.transform(4 * X), other.transform(X))
        assert np.array_equal(other.transform(X), expected)


@pytest.mark.parametrize(
    "metric", [np.array(["cosine", "euclidean"]), ["euclidean", "euclidean"], np.str_("euclidean"), "euclidean"]
)
def test_metrics_in_any_form_are_kept(tmp_path, metric):
    quick_views(3, metric=metric, random_state=0).fit([X, X + 1]).save(tmp_path / "model.npz")
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").metric, metric)
