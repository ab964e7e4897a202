"""Preparations in files: what was written comes back, what is damaged is refused, older files are read."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import powerkmeans
from powerkmeans import KernelPowerKMeans
from powerkmeans.exceptions import ModelFileError
from powerkmeans.models import saving
from powerkmeans.preparing.cells import Cells
from powerkmeans.preparing.files import restored
from powerkmeans.preparing.prepared import PreparedModel
from powerkmeans.preparing.spelling import Kind, Spelling
from powerkmeans.preparing.views import Treatment, prepare_view

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 3)) * [1, 10, 100] + np.repeat([[0, 0, 0], [9, 90, 900]], 20, axis=0)


def fitted(values):
    return KernelPowerKMeans(2, feature_map="identity", anneal_factor=1.4, random_state=0).fit(values)


@pytest.fixture(scope="module")
def model():
    """A model of a table with every kind of column and a gap."""
    words = np.array(["yes", "no"] * 20, dtype=object)
    kinds = np.repeat(np.array(["red", "blue"], dtype=object), 20)
    numbers = np.column_stack(
        [np.where(np.arange(40) == 7, np.nan, ROWS[:, 0]), np.full((40, 2), np.nan), ROWS[:, 1]]
    )
    cells = Cells(("a", "new", "kind", "b"), numbers, {1: words, 2: kinds})
    of = {"a": Kind.NUMBER, "new": Kind.TRUTH, "kind": Kind.CATEGORY, "b": Kind.NUMBER}
    treatment = Treatment(Spelling(thousands=",", missing=("?",)), "knn", "robust")
    view, _, values, _ = prepare_view("table", cells, of, treatment, absent=False)
    found = {"sizes": np.array([20, 20]), "units": {"table": np.ones(5)}}
    return PreparedModel(fitted(values), (view,), scale="robust", named=True, threshold=0.9, found=found)


def extra_of(model, tmp_path):
    model.save(tmp_path / "model.npz", overwrite=True)
    return saving.load_with_extra(tmp_path / "model.npz", {"KernelPowerKMeans": KernelPowerKMeans})


def test_what_was_written_comes_back(model, tmp_path):
    model.save(tmp_path / "model.npz")
    loaded = powerkmeans.load(tmp_path / "model.npz")
    cells = Cells(("a", "new", "kind", "b"), np.full((1, 4), np.nan), {
        0: np.array(["1,234.5"], dtype=object),
        1: np.array(["no"], dtype=object),
        2: np.array(["blue"], dtype=object),
        3: np.array(["?"], dtype=object),
    })  # fmt: skip
    with pytest.raises(ValueError, match=r"Column 'b': '\?\?' is not a number"):
        loaded.prepare(Cells(cells.columns, cells.numbers, cells.words | {3: np.array(["??"], dtype=object)}))
    assert np.array_equal(loaded.prepare(cells), model.prepare(cells))
    assert (loaded.threshold, loaded.scale, loaded.views[0].spelling) == (
        0.9,
        "robust",
        Spelling(".", ",", ("?",)),
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("views", 0, "chain", 0, "operation"), "pickle"),
        (("views", 0, "chain", 0, "operation"), 3),
        (("views", 0, "chain", 0), "columns"),
        (("views", 0, "chain", 0, "columns"), ("a", "b")),
        (("views", 0, "chain", 1, "kinds"), ("number", "truth", "category", "secret")),
        (("views", 0, "chain", 1, "spelling", "decimal"), ";"),
        (("views", 0, "chain", 1, "spelling", "thousands"), "ab"),
        (("views", 0, "chain", 2, "levels"), ((), (), ("red",), ())),
        (("views", 0, "chain", 3, "donors"), np.zeros((3, 2))),
        (("views", 0, "chain", 3, "units"), np.zeros(5)),
        (("views", 0, "chain", 3, "n_neighbors"), 0),
        (("views", 0, "chain", 4, "scale"), np.zeros(5)),
        (("views", 0, "chain", 4, "scale"), np.full(5, np.nan)),
        (("views", 0, "chain", 4, "centre"), np.zeros(4)),
        (("views", 0, "chain", 4, "centre"), [0.0] * 5),
        (("views", 0, "chain", 4, "more"), 1),
        (("views", 0, "chain"), []),
        (("views", 0, "columns"), ["a"]),
        (("scale",), "minmax"),
        (("scale",), "rows"),
        (("threshold",), 2.0),
        (("found", "sizes"), np.array([1, 2, 3])),
        (("found", "units"), {"table": np.ones(2)}),
        (("named",), "yes"),
        (("views",), []),
    ],
    ids=str,
)
def test_damaged_preparations_are_refused(model, tmp_path, place, value):
    estimator, extra = extra_of(model, tmp_path)
    restored(estimator, extra)
    broken = copy.deepcopy(extra)
    target = broken
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    saving.save_estimator(estimator, tmp_path / "bad.npz", broken)
    with pytest.raises(ModelFileError, match="damaged powerkmeans model"):
        powerkmeans.load(tmp_path / "bad.npz")


def test_small_files_do_not_make_large_tables(model, tmp_path):
    """Columns beside themselves, again and again, would be twice as many each time."""
    estimator, extra = extra_of(model, tmp_path)
    extra["views"][0]["chain"] += [{"operation": "beside", "chains": [[], []]}] * 40
    saving.save_estimator(estimator, tmp_path / "bomb.npz", extra)
    with pytest.raises(ModelFileError, match="every chain must say which columns it takes"):
        powerkmeans.load(tmp_path / "bomb.npz")


def test_a_later_version_is_told(model, tmp_path):
    estimator, extra = extra_of(model, tmp_path)
    saving.save_estimator(estimator, tmp_path / "new.npz", extra | {"version": 3})
    with pytest.raises(ModelFileError, match="newer powerkmeans; upgrade"):
        powerkmeans.load(tmp_path / "new.npz")


def test_files_of_the_first_version_are_read(tmp_path):
    centre, deviation = ROWS.mean(axis=0), ROWS.std(axis=0)
    estimator = fitted((ROWS - centre) / deviation)
    parts = {"centre": centre, "scale": deviation, "deviation": deviation, "constant": np.zeros(3, dtype=bool)}
    extra = {
        "format": "powerkmeans-input",
        "version": 1,
        "views": [{"name": "rows", "columns": ["a", "b", "c"], **parts}],
        "scale": "standard",
        "named": True,
        "id_column": None,
        "threshold": None,
        "found": {"profiles": {"rows": np.zeros((2, 3), dtype=np.float32)}},
    }
    saving.save_estimator(estimator, tmp_path / "old.npz", extra)
    model = powerkmeans.load(tmp_path / "old.npz")
    assert np.array_equal(model.predict(ROWS), estimator.labels_)
    assert np.allclose(model.found["units"]["rows"], 1)
    extra["views"][0]["scale"] = np.ones(2)
    saving.save_estimator(estimator, tmp_path / "bad.npz", extra)
    with pytest.raises(ModelFileError, match="do not agree"):
        powerkmeans.load(tmp_path / "bad.npz")


def test_others_may_keep_what_they_like_beside_a_model(tmp_path):
    estimator = fitted(ROWS)
    saving.save_estimator(estimator, tmp_path / "model.npz", {"mine": 1})
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").labels_, estimator.labels_)
    assert np.array_equal(KernelPowerKMeans.load(tmp_path / "model.npz").labels_, estimator.labels_)
