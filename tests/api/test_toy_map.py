"""A feature map that is defined here, and is one more to users: nothing in the package knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

import map_suite
import powerkmeans
from helpers import quick, quick_views
from powerkmeans import choose_k, open_source
from powerkmeans.cli import main as command
from powerkmeans.features.maps.base import BaseMap, MapKind, MapWords, check_columns
from powerkmeans.features.maps.packing import PRECISIONS, ArrayEntry, Packing, PlainEntry, always
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.features.pairs import as_dense


@dataclass(frozen=True)
class ReluMap(BaseMap):
    """``phi(x) = D^{-1/2} max(0, w_r.(x - o) + b_r)_r``: random features of an arc-cosine kernel."""

    origin: object
    directions: object
    offsets: object
    slope: float

    words: ClassVar[MapWords] = MapWords("units")
    packing: ClassVar[Packing] = Packing(
        "toy",
        always(
            mean=ArrayEntry("p#", PRECISIONS),
            origin=ArrayEntry("d#", PRECISIONS),
            directions=ArrayEntry("d# p#", PRECISIONS),
            offsets=ArrayEntry("p#", PRECISIONS, low=-10, high=10),
        ),
        {"slope": PlainEntry(float, positive=True)},
    )

    @property
    def n_components(self):
        return self.offsets.shape[0]

    @property
    def n_outputs(self):
        return self.offsets.shape[0]

    def __call__(self, X, xp):
        check_columns(X, self.origin.shape[0])
        return self.slope * xp.clip((as_dense(X) - self.origin) @ self.directions + self.offsets, min=0.0)


class ReluKind(MapKind):
    map_class = ReluMap

    def make(self, request):
        rng, size, dtype = request.stream("directions", request.key), request.n_components, request.dtype
        directions = rng.normal(size=(request.n_columns, size)) / request.bandwidth
        arrays = (request.origin(), directions, rng.normal(size=size).clip(-10, 10))
        return ReluMap(*(array.astype(dtype) for array in arrays), slope=size**-0.5)

    def automatic_size(self, n_clusters):
        return 20 * n_clusters

    def kernels(self):
        return ("rbf",)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(MAPS, "toy", ReluKind())


def clusters(dtype=np.float64):
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 3
    X = rng.normal(size=(240, 4)) + 10 * np.eye(3, 4)[truth]
    return X.astype(dtype), truth


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def model(**parameters):
    return quick(3, feature_map="toy", random_state=0, **parameters)


@pytest.mark.parametrize(
    "check",
    [
        map_suite.check_facts,
        map_suite.check_columns,
        map_suite.check_packing,
        map_suite.check_other_library,
        lambda name: map_suite.check_outputs(name, np.float32),
        lambda name: map_suite.check_outputs(name, np.float64),
    ],
)
def test_it_passes_what_other_maps_pass(check):
    check("toy")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_one_view(dtype, membership):
    X, truth = clusters(dtype)
    fitted = model(membership=membership).fit(X)
    assert same_partition(fitted.labels_, truth)
    assert fitted.n_components_ == 60
    assert fitted.cluster_centers_.shape == (3, 60)
    assert np.array_equal(fitted.predict(X), fitted.labels_)
    assert np.array_equal(np.argmin(fitted.transform(X), axis=1), fitted.labels_)
    assert np.array_equal(np.argmax(fitted.predict_proba(X), axis=1), fitted.labels_)
    assert fitted.transform(X).dtype == dtype
    if membership == "possibilistic":
        assert np.argmax(fitted.outlier_score(np.vstack([X, np.full((1, 4), 50)]).astype(dtype))) == 240
    assert model(membership=membership, n_components=7).fit(X).n_components_ == 7


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_several_views(membership):
    X, truth = clusters()
    views = {"left": X[:, :2], "right": X[:, 2:], "all": X}
    maps = {"left": "toy", "right": "rff", "all": "toy"}
    fitted = quick_views(3, feature_map=maps, membership=membership, random_state=0).fit(views)
    assert same_partition(fitted.labels_, truth)
    assert np.array_equal(fitted.predict(views), fitted.labels_)
    assert fitted.predict_proba(views).sum(axis=1) == pytest.approx(1)
    beside = quick_views(3, feature_map={"left": "toy", "all": "exact"}, random_state=0).fit(views)
    assert same_partition(beside.labels_, truth)


def test_it_is_saved_and_loaded(tmp_path):
    X, _ = clusters()
    for fitted, rows in (
        (model().fit(X), X),
        (
            quick_views(3, feature_map="toy", random_state=0).fit([X[:, :2], X[:, 2:]]),
            [X[:, :2], X[:, 2:]],
        ),
    ):
        fitted.save(tmp_path / "model.npz", overwrite=True)
        again = powerkmeans.load(tmp_path / "model.npz")
        assert np.array_equal(again.predict(rows), fitted.labels_)
        assert np.array_equal(again.transform(rows), fitted.transform(rows))
        assert again.get_params() == fitted.get_params()


def test_a_file_of_a_map_that_is_not_there_is_refused(tmp_path, monkeypatch):
    X, _ = clusters()
    model().fit(X).save(tmp_path / "model.npz")
    monkeypatch.delitem(MAPS, "toy")
    with pytest.raises(
        powerkmeans.exceptions.ModelFileError, match=r"kind must be one of .*'nystroem'.*got 'toy'"
    ):
        powerkmeans.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="'feature_map' parameter must be one of"):
        model().fit(X)


def test_damaged_files_are_told(tmp_path):
    fitted = model().fit(clusters()[0])
    fitted._fit.model.maps[0].base.offsets[0] = 11.0
    with pytest.raises(ValueError, match=r"'map0\.offsets' holds numbers outside \[-10, 10\]"):
        fitted.save(tmp_path / "model.npz")


def test_weights_equal_repetition():
    X, _ = clusters()
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    weighted, repeated = model().fit(X, sample_weight=weight), model().fit(np.repeat(X, weight, axis=0))
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


def test_sparse_rows_and_sources(tmp_path):
    X, truth = clusters()
    X = np.where(np.abs(X) > 0.3, X, 0)
    dense, compressed = model(bandwidth=4.0).fit(X), model(bandwidth=4.0).fit(sparse.csr_array(X))
    assert same_partition(compressed.labels_, truth)
    assert np.array_equal(compressed.predict(X), compressed.predict(sparse.csr_array(X)))
    np.save(tmp_path / "rows.npy", X)
    source = open_source(tmp_path / "rows.npy")
    of_file = model(bandwidth=4.0).fit(source)
    assert np.array_equal(of_file.labels_, dense.labels_)
    assert of_file.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    assert np.array_equal(of_file.predict(source), dense.labels_)


def test_streams():
    X, truth = clusters()
    fitted = model()
    for part in np.array_split(X, 4):
        fitted.partial_fit(part)
    assert same_partition(fitted.predict(X), truth)


def test_kernels_that_it_does_not_take_are_named():
    with pytest.raises(ValueError, match=r"kernel='matern12' is one that only feature_map='rff' or .* takes; got"):
        model(kernel="matern12").fit(clusters()[0])
    with pytest.raises(ValueError, match="kernel='precomputed' is a matrix of kernel values, which only"):
        model(kernel="precomputed").fit(np.eye(5))


def test_the_number_of_clusters_can_be_chosen():
    assert choose_k(clusters()[0], k_max=5, feature_map="toy", random_state=0).k == 3


def test_the_command_takes_it(tmp_path, monkeypatch, capsys):
    X, truth = clusters()
    np.save(tmp_path / "rows.npy", X)
    arguments = ["powerkmeans", "fit", str(tmp_path / "rows.npy"), "-k", "3", "-o", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", [*arguments, "--feature-map", "toy"])
    with pytest.raises(SystemExit, match="0"):
        command()
    fitted = powerkmeans.load(tmp_path / "out" / "model.npz").estimator
    assert fitted.feature_map == "toy"
    assert same_partition(fitted.labels_, truth)
    monkeypatch.setattr("sys.argv", [*arguments, "--feature-map", "nonsense"])
    with pytest.raises(SystemExit, match="2"):
        command()
    assert "'nonsense' is not one of 'auto', 'graph', 'nystroem'" in capsys.readouterr().err
