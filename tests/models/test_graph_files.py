"""Files of graphs of landmarks that were damaged or made on purpose: each is refused by the name of its flaw."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_array

import powerkmeans
from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.exceptions import ModelFileError
from powerkmeans.features.graph.agreement import Judgement
from powerkmeans.features.maps.graph import GraphKind
from powerkmeans.models import saving

X, _ = blobs(3, 5, 15, 1.0)
SETTINGS = {
    "feature_map": "graph",
    "n_components": 20,
    "n_neighbors": 4,
    "random_state": 0,
    "advice": False,
    "anneal_factor": 1.3,
}


def saved(model, folder):
    model.save(folder / "model.npz")
    return saving.read(folder / "model.npz")


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """The header and the arrays of a graph of two views with 3 and 2 columns, and 20 landmarks."""
    data = {"a": X[:, :3].copy(), "b": X[:, 3:]}
    data["a"][::5] = np.nan
    return saved(MultiViewPowerKMeans(3, **SETTINGS).fit(data), tmp_path_factory.mktemp("views"))


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """The same of one sparse view with 5 columns."""
    rows = csr_array(np.where(np.abs(X) > 1, X, 0))
    return saved(KernelPowerKMeans(3, **SETTINGS).fit(rows), tmp_path_factory.mktemp("sparse"))


def refused(folder, header, arrays, match):
    content = {"header.json": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays}
    with zipfile.ZipFile(folder / "bad.npz", "w") as archive:
        for name, array in content.items():
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.asanyarray(array))
            archive.writestr(f"{name}.npy", stream.getvalue())
    with pytest.raises(ModelFileError, match=match) as caught:
        powerkmeans.load(folder / "bad.npz")
    assert repr(str(folder / "bad.npz")) in str(caught.value)


def test_what_the_files_hold(views, sparse):
    assert views[1]["map0.offsets"].tolist() == [0, 3, 5]
    assert views[1]["map0.landmarks"].shape[1] == views[1]["map0.origin"].shape[0] == 7
    assert "map0.landmarks" not in sparse[1]


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("offsets", lambda a: [0, 3, 6], "map0: offsets must rise from 0 to the 5 columns of its views"),
        ("offsets", lambda a: [1, 3, 5], "map0: offsets must rise from 0"),
        ("offsets", lambda a: [0, 5, 5], "map0: offsets must rise from 0"),
        ("offsets", lambda a: [0, 5], "'map0.weights' has 2 entries, but l2 is 1"),
        ("offsets", lambda a: [0, -3, 5], r"'map0.offsets' holds numbers outside \[0, inf\]"),
        ("weights", lambda a: a / 2, "map0: weights must add up to 1"),
        ("weights", lambda a: [1.5, -0.5], r"'map0.weights' holds numbers outside \[0, 1\]"),
        ("typical", lambda a: [1.0, 0.0], "'map0.typical' holds numbers outside"),
        ("typical", lambda a: [1.0, np.inf], "'map0.typical' holds numbers outside"),
        ("landmarks", lambda a: a[:, :-1], "map0: landmarks must have 7 columns"),
        ("landmarks", lambda a: a[:-1], "'map0.landmarks' has .* entries, but m2 is"),
        ("landmarks", lambda a: a * np.nan, "'map0.landmarks' holds numbers outside"),
        ("landmarks", lambda a: np.hstack([a[:, :-2], a[:, -2:] / 2]), "which views are present must be 0 or 1"),
        ("landmarks", lambda a: np.hstack([a[:, :-2], 0 * a[:, -2:]]), "map0: a landmark has no view"),
        ("origin", lambda a: a + 1, "which views are present must be 0 or 1"),
        ("origin", lambda a: a[:-1], "'map0.origin' has 6 entries, but d2 is 7"),
        ("loading", lambda a: a[:, :-1], "'map0.loading' has 2 entries, but p2 is 3"),
        ("loading", lambda a: a * np.inf, "'map0.loading' holds numbers outside"),
        ("mean", lambda a: a[:-1], "'map0.mean' has 2 entries, but p2 is 3"),
    ],
)
def test_arrays_are_held_to_the_table(views, tmp_path, name, change, match):
    header, arrays = views
    old = arrays[f"map0.{name}"]
    with np.errstate(invalid="ignore"):
        new = np.asarray(change(old)).astype(old.dtype)
    refused(tmp_path, header, {**arrays, f"map0.{name}": new}, match)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("indices", lambda a: np.where(np.arange(len(a)) == 3, 5, a), "are no sparse rows"),
        ("indices", lambda a: a[::-1], "are no sparse rows"),
        ("indices", lambda a: a - 1, r"'map0.indices' holds numbers outside \[0, inf\]"),
        ("indices", lambda a: a[:-1], "'map0.indices' has .* entries, but f1 is"),
        ("indptr", lambda a: a[::-1], "are no sparse rows"),
        ("indptr", lambda a: a + 1, "are no sparse rows"),
        ("indptr", lambda a: np.r_[0, 0, a[2:-1], a[-1] + 9], "are no sparse rows"),
        ("indptr", lambda a: a[:-1], "'map0.indptr' has .* entries, but m1"),
        ("data", lambda a: a * np.inf, "'map0.data' holds numbers outside"),
        ("data", lambda a: a[:-1], "'map0.indices' has .* entries, but f1 is"),
    ],
)
def test_sparse_landmarks(sparse, tmp_path, name, change, match):
    header, arrays = sparse
    old = arrays[f"map0.{name}"]
    refused(tmp_path, header, {**arrays, f"map0.{name}": change(old).astype(old.dtype)}, match)


@pytest.mark.parametrize(
    ("entry", "value", "match"),
    [
        ("n_neighbors", 0, "header.maps.n_neighbors must be an integer from 1"),
        ("n_neighbors", 2.5, "header.maps.n_neighbors must be an integer"),
        ("n_neighbors", 10_000, "it has fewer landmarks than neighbours of a row"),
        ("n_pieces", 0, "header.maps.n_pieces must be an integer from 1"),
        ("n_pieces", 21, "n_pieces above the number of landmarks"),
        ("agreement", 1.5, "map0: agreement or purity is above 1"),
        ("agreement", -0.5, "header.maps.agreement is -0.5"),
        ("purity", 1.5, "map0: agreement or purity is above 1"),
        ("usual", 0.0, "header.maps.usual is 0.0"),
        ("usual", 1e308, "header.maps.usual is"),
        ("sparse", 1, "header.maps.sparse must be true or false"),
        ("sparse", True, "'map0.data' is missing"),
        ("projected", True, "'map0.projection' is missing"),
        ("more", 1, "header.maps has the unknown entry 'more'"),
    ],
)
def test_entries_are_held_to_the_table(views, tmp_path, entry, value, match):
    header, arrays = views
    (old,) = header["maps"]
    refused(tmp_path, {**header, "maps": [{**old, "plain": {**old["plain"], entry: value}}]}, arrays, match)


def test_projected_landmarks(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 200))  # of which a tenth of the columns tell
    rows[:, :20] += 0.8 * rng.choice([-1, 1], size=(3, 20))[np.arange(300) % 3]
    model = KernelPowerKMeans(3, feature_map="graph", anneal_factor=1.3, random_state=0).fit(rows)
    assert model._fit.model.maps[0].base.projected
    header, arrays = saved(model, tmp_path)
    again = powerkmeans.load(tmp_path / "model.npz")
    assert np.array_equal(again.transform(rows), model.transform(rows))
    refused(tmp_path, header, {**arrays, "map0.landmarks": arrays["map0.landmarks"][:, :-1]}, "must have")
    narrow = arrays["map0.projection"][:-1]
    refused(
        tmp_path, header, {**arrays, "map0.projection": narrow}, "'map0.projection' has 199 entries, but d1 is"
    )


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_lengths_whose_squares_are_extreme(scale, tmp_path):
    data = {"a": X[:, :3] * scale, "b": X[:, 3:]}
    model = MultiViewPowerKMeans(3, **SETTINGS).fit(data)
    saved(model, tmp_path)
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").predict(data), model.labels_)
    alone = KernelPowerKMeans(3, **SETTINGS).fit(X * scale)
    alone.save(tmp_path / "alone.npz")
    assert np.array_equal(powerkmeans.load(tmp_path / "alone.npz").outlier_score(X), alone.outlier_score(X))


def test_halves_that_agree_on_everything_and_a_rounding_more(tmp_path, monkeypatch):
    build = GraphKind.build

    def rounded(*given):
        chosen = build(*given)
        return chosen._replace(judged=Judgement(np.nextafter(1.0, 2.0), np.nextafter(0.0, -1.0)))

    monkeypatch.setattr(GraphKind, "build", staticmethod(rounded))
    model = KernelPowerKMeans(3, **SETTINGS).fit(X)
    assert model._fit.model.maps[0].base.judged == (1, 0)
    saved(model, tmp_path)
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").predict(X), model.labels_)
