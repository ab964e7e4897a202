"""Model files that were damaged or made on purpose: each is refused by one error, and takes no memory."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz.models import ANSWERS, OTHER, REFUSED, outcome
from benchmarks.fuzz.subjects import subjects

import powerkmeans
from helpers import blobs, quick, quick_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.exceptions import ModelFileError
from powerkmeans.models import saving
from powerkmeans.models.files import archive as container
from powerkmeans.models.files import text

DATA = Path(__file__).parents[1] / "data"
X, _ = blobs(spread=1.5)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The header and the arrays of a small model, and a way to load them changed."""
    path = tmp_path_factory.mktemp("models") / "model.npz"
    quick(3, n_components=6, random_state=0).fit(X).partial_fit(X[:9]).save(path)
    header, arrays = saving.read(path)
    return header, arrays, path


def write(path, header, arrays, **kwargs):
    content = {"header.json": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays}
    with zipfile.ZipFile(path, "w", **kwargs) as archive:
        for name, array in content.items():
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
            archive.writestr(f"{name}.npy", stream.getvalue())


def refused(path, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        powerkmeans.load(path)
    assert repr(str(path)) in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("name", "array", "match"),
    [
        ("centers", np.zeros((0, 6)), "'labels'|'centers'|'stream.mass'|clusters"),
        ("centers", np.zeros((3, 5)), "'centers' has 5 entries, but P is 6"),
        ("centers", np.full((3, 6), np.nan), "'centers' holds numbers outside"),
        ("centers", np.full((3, 6), 1e200), "'centers' holds numbers outside"),
        ("centers", np.zeros((3, 6), dtype=np.float32), "'centers' holds float32, expected float64"),
        ("map0.origin", np.zeros(10**6), "'map0.origin' has 1000000 entries, but d0 is 5"),
        ("map0.mean", np.zeros(1), "'map0.mean' has 1 entries, but p0 is 6"),
        ("map0.landmarks", np.zeros((6, 4)), "'map0.landmarks' has 4 entries"),
        ("map0.normalization", np.zeros((7, 6)), "'map0.normalization' has 7 entries"),
        ("map0.normalization", np.full((6, 6), np.inf), "'map0.normalization' holds numbers outside"),
        ("labels", np.full(9, 3, dtype=np.int32), r"'labels' holds numbers outside \[0, 2\]"),
        ("labels", np.full(9, -1, dtype=np.int32), r"'labels' holds numbers outside \[0, 2\]"),
        ("labels", np.array(["a"] * 9), "'labels' is not an array of plain numbers"),
        ("labels", np.array([None] * 9), "'labels' is not an array of plain numbers"),
        ("view_weights", np.array([0.5]), "'view_weights' must add up to 1"),
        ("view_weights", np.array([1.0], dtype=">f8"), "'view_weights' is not an array of plain numbers"),
        ("reference_distance", np.array([0.0]), "'reference_distance' holds numbers outside"),
        ("scatter", np.array([-1.0]), "'scatter' holds numbers outside"),
        ("stream.mass", np.full((3, 1), -1.0), "'stream.mass' holds numbers outside"),
        ("stream.mass", np.full((3, 1), 1e-200), "the sums of its stream give centroids that are not finite"),
        ("stream.lines", np.zeros((1, 3)), "'stream.lines' has 3 entries, but 4 is 4"),
        ("history.s", np.zeros(3), "'history.s' has 3 entries, but h is"),
        ("more", np.zeros(3), "it has the member 'more', which is none of this model"),
    ],
)
def test_arrays_are_held_to_the_table(parts, tmp_path, name, array, match):
    header, arrays, _ = parts
    write(tmp_path / "bad.npz", header, {**arrays, name: array})
    refused(tmp_path / "bad.npz", match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"splits": [0, 5]}, "'centers' has 6 entries|'map0"),
        ({"splits": [1, 6]}, "header.splits must rise from 0"),
        ({"splits": "06"}, "header.splits must be a list"),
        ({"view_names": ["X", "X"]}, "header.view_widths has 1 entries, but V is 2"),
        ({"view_names": ["Y"]}, "has one view, called 'X'"),
        ({"used_views": [1]}, "header.used_views must be some of the views, each once"),
        ({"view_widths": [4]}, "has 5 entries, but d0 is 4"),
        ({"metrics": ["manhattan"]}, r"header.metrics\[0\] must be one of 'euclidean', 'cosine'"),
        ({"metrics": "cosine"}, "header.metrics must be a list"),
        ({"metrics": ["cosine", "cosine"]}, "header.metrics has 2 entries, but V is 1"),
        ({"n_features_in": 4}, "header.n_features_in do not agree"),
        ({"feature_names_in": ["a", "b"]}, "must have a name for each column"),
        ({"dtype": "float16"}, "header.dtype must be one of 'float32', 'float64'"),
        ({"s": 1.0}, r"header.s is 1.0, which is no number that it can be"),
        ({"s": "inf"}, "header.s is 'inf'"),
        ({"fuzziness": 1}, "header.fuzziness is 1"),
        ({"membership": "other"}, "header.membership must be one of"),
        ({"objective": None}, "header.objective is None"),
        ({"inertia": -1.0}, "header.inertia is -1.0"),
        ({"best": 7}, "header.best is none of the runs"),
        ({"best": True}, "header.best must be an integer"),
        ({"restarts": []}, "header.best is none of the runs"),
        ({"n_used": 4}, "counts more clusters than there are"),
        ({"dual": [True]}, "header.dual does not tell"),
        ({"bandwidths": [None]}, "has a bandwidth without a kernel, or none with one"),
        ({"bandwidths": [1.0]}, "has two bandwidths"),
        ({"layout": {"labels": {"tuple": [None]}, "columns": None}}, "header.layout belongs to several views"),
        ({"extra": {"array": "centers2"}}, "header.extra is written in a way that is not known"),
        ({"extra": {"unknown": 1}}, "header.extra is written in a way that is not known"),
        ({"more": 1}, "header has the unknown entry 'more'"),
        ({"stream": {"weight": 0.0, "n_fitted": 1, "n_seen": 1.0, "n_learnt": 0}}, "header.stream.weight is 0.0"),
        ({"version": "1"}, "header.version must be an integer"),
    ],
)
def test_headers_are_held_to_the_table(parts, tmp_path, change, match):
    header, arrays, _ = parts
    write(tmp_path / "bad.npz", {**header, **change}, arrays)
    refused(tmp_path / "bad.npz", match)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("n_clusters", 0, "'n_clusters' parameter must be"),
        ("n_clusters", "3", "'n_clusters' parameter must be"),
        ("kernel", "other", "'kernel' parameter must be"),
        ("tol", {"float": "nan"}, "'tol' parameter must be"),
        ("engine", "other", "header.parameters are not those of a fit"),
        ("random_state", -1, "'random_state' parameter must be an int"),
        ("random_state", True, "'random_state' parameter must be an int"),
        ("more", 1, "does not agree in 'more'"),
    ],
)
def test_parameters_are_checked_as_for_a_fit(parts, tmp_path, name, value, match):
    header, arrays, _ = parts
    write(tmp_path / "bad.npz", {**header, "parameters": {**header["parameters"], name: value}}, arrays)
    refused(tmp_path / "bad.npz", match)


@pytest.mark.parametrize("name", ["centers", "labels", "map0.mean", "stream.loss", "history.groups"])
def test_a_lacking_array_is_named(parts, tmp_path, name):
    header, arrays, _ = parts
    write(tmp_path / "bad.npz", header, {key: array for key, array in arrays.items() if key != name})
    refused(tmp_path / "bad.npz", f"is a damaged powerkmeans model: '{name}' is missing")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"[" * 100_000, "nested more than 64 deep"),
        (b"[" + b"[]," * 400_000 + b"0]", "more than 200000 lists"),
        (b'{"format": "powerkmeans-model", "version": NaN}', "holds NaN, which is not JSON"),
        (b'{"format": "powerkmeans-model", "version": 1e999}', "beyond double precision"),
        (b'{"format": "powerkmeans-model", "version": ' + b"9" * 5000 + b"}", "beyond 64 bits"),
        (b'{"format": "powerkmeans-model", "format": 1}', "names an entry twice"),
        (b"{", "the header is not JSON"),
        (b"\xff\xfe", "the header is not JSON"),
        (b'"' + b" " * (2**24 + 2048) + b'"', "takes more than 16777216 bytes"),
    ],
)
def test_the_header_is_bounded(tmp_path, content, match):
    array = np.frombuffer(content, dtype=np.uint8)
    np.savez_compressed(tmp_path / "bad.npz", **{"header.json": array})
    refused(tmp_path / "bad.npz", match)


def test_brackets_in_names_are_no_depth():
    header = {"names": ["[[[{{{" * 100, '\\"[', "\\"]}
    assert text.parse(text.dump(header)) == header


def test_a_bomb_takes_no_memory(parts, tmp_path):
    header, arrays, _ = parts
    bomb = {**arrays, "labels": np.zeros(20_000_000, dtype=np.int32)}
    write(tmp_path / "bomb.npz", {**header, "version": 1}, bomb, compression=zipfile.ZIP_DEFLATED)
    many = {**arrays, "history.s": np.zeros(2_000_000)}  # disagrees with the other columns
    write(tmp_path / "other.npz", {**header, "version": 1}, many, compression=zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    try:
        refused(tmp_path / "bomb.npz", r"would take 80\d+ bytes when it is unpacked")
        refused(tmp_path / "other.npz", "'history.s' has 2000000 entries, but h is")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_only_files_of_the_first_version_are_compressed(parts, tmp_path):
    header, arrays, _ = parts
    write(tmp_path / "bad.npz", header, arrays, compression=zipfile.ZIP_DEFLATED)
    refused(tmp_path / "bad.npz", "its arrays are compressed")
    write(tmp_path / "old.npz", {**header, "version": 1}, arrays, compression=zipfile.ZIP_DEFLATED)
    assert powerkmeans.load(tmp_path / "old.npz").n_clusters == 3


def rewritten(path, target, change):
    """The members of a file, each through a function that writes them anew."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as archive:
        for entry in source.infolist():
            change(archive, entry, source.read(entry))


def _twice(archive, entry, data):
    archive.writestr(entry, data)
    if entry.filename == "labels.npy":
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("labels.npy", data)


def _link(archive, entry, data):
    entry.external_attr = 0o120777 << 16
    archive.writestr(entry, data)


def _absolute(archive, entry, data):
    archive.writestr(f"/{entry.filename}", data)


def _folder(archive, entry, data):
    archive.writestr(entry, data)
    if entry.filename == "labels.npy":
        archive.writestr("folder/", b"")


def _packed_otherwise(archive, entry, data):
    archive.writestr(entry.filename, data, compress_type=zipfile.ZIP_LZMA)


def _longer(archive, entry, data):
    archive.writestr(entry, data + b"more")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (_twice, "two members of one name"),
        (_link, "which is none of a model"),
        (_absolute, "has the member '/header.json.npy', which is none of a model"),
        (_folder, "which is none of a model"),
        (_packed_otherwise, "packed in a way that models are not"),
        (_longer, "but its place has another size"),
    ],
)
def test_odd_members_are_refused(parts, tmp_path, change, match):
    rewritten(parts[2], tmp_path / "bad.npz", change)
    refused(tmp_path / "bad.npz", match)


def test_a_member_that_unpacks_to_less_than_it_says(parts, tmp_path):
    header, arrays, _ = parts
    write(tmp_path / "bad.npz", {**header, "version": 1}, arrays, compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(tmp_path / "bad.npz") as archive:
        entry = archive.getinfo("labels.npy")
        data = archive.read(entry)
    short = zlib.compressobj(wbits=-15)
    packed = short.compress(data[:-35]) + short.flush()
    packed += bytes(entry.compress_size - len(packed))
    whole = bytearray((tmp_path / "bad.npz").read_bytes())
    start = entry.header_offset + 30 + len("labels.npy")
    whole[start : start + len(packed)] = packed
    checksums = struct.pack("<L", entry.CRC), struct.pack("<L", zlib.crc32(data[:-35]))
    (tmp_path / "bad.npz").write_bytes(bytes(whole).replace(*checksums))
    refused(tmp_path / "bad.npz", "'labels' is shorter than it says")


def test_nothing_hides_between_members_or_around_them(parts, tmp_path):
    whole, path = parts[2].read_bytes(), tmp_path / "bad.npz"
    path.write_bytes(b"#!/bin/sh\n" + whole)
    refused(path, "its directory does not fit its size")
    path.write_bytes(whole + b"more")
    refused(path, "is not a powerkmeans model, or is damaged")
    path.write_bytes(whole[:-22] + whole[-22:].replace(struct.pack("<H", len(parts[1]) + 1), b"\xff\xff"))
    refused(path, "its directory does not fit its size")
    encrypted = bytearray(whole)
    at = whole.index(b"PK\x01\x02")
    encrypted[at + 8] |= 1
    path.write_bytes(encrypted)
    refused(path, "is encrypted")


def test_arrays_are_stored_where_they_can_be_mapped(parts):
    _, arrays, path = parts
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    for entry in entries:
        assert entry.compress_type == zipfile.ZIP_STORED
        with open(path, "rb") as stream:
            stream.seek(entry.header_offset)
            local = struct.unpack("<4s5H3L2H", stream.read(30))
            stream.seek(local[-2] + local[-1], 1)
            assert stream.tell() % container.ALIGNMENT == 0
            start = stream.tell()
            shape, fortran, dtype = _npy_header(stream)
            offset = stream.tell()
        assert (offset - start) % container.ALIGNMENT == 0
        name = entry.filename.removesuffix(".npy")
        if name in arrays and arrays[name].size:
            mapped = np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")
            assert np.array_equal(mapped, arrays[name])


def _npy_header(stream):
    assert np.lib.format.read_magic(stream) == (1, 0)
    return np.lib.format.read_array_header_1_0(stream)


def test_sizes_of_64_bits(parts, tmp_path, monkeypatch):
    """As beyond two gigabytes, which a smaller limit stands for."""
    header, arrays, _ = parts
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 2000)
    saving.write(tmp_path / "large.npz", header, arrays)
    assert b"PK\x06\x07" in (tmp_path / "large.npz").read_bytes()[-64:]
    again, found = saving.read(tmp_path / "large.npz")
    assert again == header
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    with zipfile.ZipFile(tmp_path / "large.npz") as archive:
        entries = archive.infolist()
    whole = (tmp_path / "large.npz").read_bytes()
    for entry in entries:
        *_, name, extra = struct.unpack("<4s5H3L2H", whole[entry.header_offset : entry.header_offset + 30])
        assert (entry.header_offset + 30 + name + extra) % container.ALIGNMENT == 0
    (tmp_path / "large.npz").write_bytes(whole[:-78] + bytes(36) + whole[-42:])  # the record of 64 bits is gone
    refused(tmp_path / "large.npz", "is not a powerkmeans model, or is damaged")


def test_equal_models_have_equal_files(tmp_path):
    for name in ("a.npz", "b.npz"):
        quick(3, random_state=0).fit(X).save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("name", ["kernel", "views", "exact"])
def test_files_of_the_first_version_answer_as_they_did(name, tmp_path):
    with np.load(DATA / "format1_answers.npz") as answers:
        rows = answers["rows"] if name == "views" else answers["rows"][:, :5]
        labels, distances = answers[f"{name}.labels"], answers[f"{name}.distances"]
    model = powerkmeans.load(DATA / f"format1_{name}.npz")
    assert np.array_equal(model.predict(rows), labels)
    assert np.allclose(model.transform(rows), distances, rtol=1e-5, atol=1e-6)
    assert model.n_samples_seen_ == (20 if name == "exact" else 90)
    model.save(tmp_path / "new.npz")
    again = powerkmeans.load(tmp_path / "new.npz")
    assert np.array_equal(again.transform(rows), model.transform(rows))
    if name != "exact":
        chunks = [m.partial_fit(rows[:15]).transform(rows) for m in (model, again)]
        assert np.array_equal(*chunks)


def test_what_was_kept_beside_a_file_of_the_first_version():
    _, extra = saving.load_with_extra(DATA / "format1_kernel.npz", {"KernelPowerKMeans": KernelPowerKMeans})
    assert extra.pop("scale").tolist() == [0, 1, 2]
    assert extra == {"columns": ["a"], "limit": -np.inf}


@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_scales_that_no_file_has_are_told_with_the_way_out(scale, tmp_path):
    model = quick(3, feature_map="nystroem", random_state=0).fit(X * scale)
    with pytest.raises(ValueError, match=r"its bandwidth is \d\.\d+e.1\d\d, .*Rescale the data"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = quick(3, random_state=0).fit(X)
    model.set_params(s_init=5.0)
    with pytest.raises(ValueError, match=r"cannot be saved, as it could not be loaded again.*s_init=5\.0 must be"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        saving.save_estimator(model.set_params(s_init=-5.0), tmp_path / "model.npz", {"what": object()})


def test_every_kind_of_model_survives(tmp_path):
    for index, subject in enumerate(subjects()):
        path = tmp_path / f"{index}.npz"
        path.write_bytes(subject.content)
        model = powerkmeans.load(path)
        assert repr(getattr(model, "estimator", model).get_params()) == subject.parameters
        assert len(np.unique(model.predict(subject.rows))) > 1


@pytest.mark.parametrize("name", ["centers", "map1.mean"])
def test_views_that_were_laid_out_in_one_table(tmp_path, name):
    model = quick_views(2, views={"a": slice(0, 2), "b": [2, 4]}, feature_map="identity", random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    header, arrays = saving.read(tmp_path / "model.npz")
    for columns in (
        None,
        {"dict": {"a": {"list": [0, 1]}}},
        {"dict": {"b": {"list": [2, 4]}, "a": {"list": [0, 1]}}},
    ):
        write(tmp_path / "bad.npz", {**header, "layout": {**header["layout"], "columns": columns}}, arrays)
        refused(tmp_path / "bad.npz", "do not agree")
    for labels in ({"tuple": [None]}, {"tuple": [None, {"tuple": ["x"]}]}, 3):
        write(tmp_path / "bad.npz", {**header, "layout": {**header["layout"], "labels": labels}}, arrays)
        refused(tmp_path / "bad.npz", "header.layout.labels must have")
    write(tmp_path / "bad.npz", header, {**arrays, name: arrays[name][:1]})
    refused(tmp_path / "bad.npz", "entries, but")


def test_broken_files_are_refused_or_answer(tmp_path):
    """Some of those that ``python -m benchmarks.fuzz.models`` makes."""
    outcomes = [outcome(2024, number, tmp_path) for number in range(150)]
    assert [what for what in outcomes if not what.startswith((REFUSED, ANSWERS, OTHER))] == []
    assert sum(what.startswith(ANSWERS) for what in outcomes) > 15
    assert sum(what.startswith(REFUSED) for what in outcomes) > 75


def test_parameters_by_view_are_those_of_its_views(tmp_path):
    views = next(subject for subject in subjects() if subject.name == "views")
    maps = views.header["parameters"]["feature_map"]
    for name, value in {
        "feature_map": {"dict": {**maps["dict"], "other": "rff"}},
        "n_components": {"list": [4]},
    }.items():
        header = {**views.header, "parameters": {**views.header["parameters"], name: value}}
        write(tmp_path / "bad.npz", header, views.arrays)
        refused(
            tmp_path / "bad.npz", f"header.parameters are not those of a fit: {name} (names the view|has 1 entry)"
        )


def test_a_matrix_of_kernels_has_no_directions(tmp_path):
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    quick(3, feature_map="exact", kernel="precomputed", random_state=0).fit(gram).save(tmp_path / "m.npz")
    header, arrays = saving.read(tmp_path / "m.npz")
    write(tmp_path / "bad.npz", header | {"metrics": ["cosine"]}, arrays)
    refused(tmp_path / "bad.npz", "the map of view 'X' takes kernels, which have no direction")
