"""Maps in model files: what a table says of each by itself, and how its arrays must go together."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import powerkmeans
from powerkmeans import KernelPowerKMeans
from powerkmeans.exceptions import ModelFileError
from powerkmeans.models import saving

X = np.random.default_rng(0).normal(size=(40, 3)) + 5 * np.eye(2, 3)[np.arange(40) % 2]
SETTINGS = {
    "rff": {"feature_map": "rff", "n_components": 5},
    "nystroem": {"n_components": 6},
    "identity": {"feature_map": "identity"},
    "exact": {"feature_map": "exact"},
    "precomputed": {"feature_map": "exact", "kernel": "precomputed"},
}


def saved(name, path):
    rows = X if name != "precomputed" else (X @ X.T + 1) ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPowerKMeans(2, random_state=0, **SETTINGS[name]).fit(rows)
    model.save(path)
    return model, rows


def changed(path, arrays=None, plain=None):
    header, members = saving.read(path)
    header["maps"][0]["plain"] |= plain or {}
    members |= {key: change(members[key]) for key, change in (arrays or {}).items()}
    saving.write(path, header, members, overwrite=True)


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_saved_is_loaded(name, tmp_path):
    model, rows = saved(name, tmp_path / "model.npz")
    again = powerkmeans.load(tmp_path / "model.npz")
    assert np.array_equal(again.transform(rows), model.transform(rows))
    changed(tmp_path / "model.npz")  # written as it was read
    assert np.array_equal(powerkmeans.load(tmp_path / "model.npz").predict(rows), model.labels_)


@pytest.mark.parametrize(
    ("name", "arrays", "plain", "message"),
    [
        ("rff", {"map0.frequencies": lambda a: a[:, :-1]}, {}, "frequencies must be half as many as the outputs"),
        (
            "nystroem",
            {"map0.landmarks": lambda a: a[:3], "map0.normalization": lambda a: a[:3]},
            {},
            "normalization has more outputs than landmarks",
        ),
        ("nystroem", {}, {"kernel": "precomputed"}, r"header\.maps\.kernel must be one of 'rbf'"),
        (
            "nystroem",
            {},
            {"bandwidth": 0.0},
            r"header\.maps\.bandwidth is 0\.0, which is no number that it can be",
        ),
        ("nystroem", {}, {"bandwidth": 7.0}, "has two bandwidths"),
        ("nystroem", {}, {"n_components": 6}, r"header\.maps has the unknown entry 'n_components'"),
        ("identity", {}, {"n_components": 2}, "does not put out what its place holds"),
        ("exact", {"map0.share": lambda a: a / 2}, {}, "share must add up to 1"),
        ("exact", {"map0.rows": lambda a: a * 1e160}, {}, "'map0.rows' holds numbers outside|too large"),
        ("exact", {}, {"training": True}, "is not one for new samples"),
        ("exact", {}, {"training": 1}, r"header\.maps\.training must be true or false"),
        (
            "precomputed",
            {"map0.diagonal": lambda a: -a},
            {},
            "diagonal holds negative numbers, or nothing but zeros",
        ),
        ("precomputed", {"map0.keys": lambda a: a[:-1]}, {}, "keys must be one for each sample, or none"),
        (
            "precomputed",
            {"map0.keys": lambda a: a.astype(float) / 2},
            {},
            "keys must be one for each sample, or none",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(name, arrays, plain, message, tmp_path):
    saved(name, tmp_path / "model.npz")
    changed(tmp_path / "model.npz", arrays, plain)
    with pytest.raises(ModelFileError, match=message):
        powerkmeans.load(tmp_path / "model.npz")


def test_a_bandwidth_belongs_to_a_kernel(tmp_path):
    for name, bandwidths in (("identity", [1.0]), ("rff", [None])):
        saved(name, tmp_path / f"{name}.npz")
        header, members = saving.read(tmp_path / f"{name}.npz")
        saving.write(tmp_path / f"{name}.npz", header | {"bandwidths": bandwidths}, members, overwrite=True)
        with pytest.raises(ModelFileError, match="has a bandwidth without a kernel, or none with one"):
            powerkmeans.load(tmp_path / f"{name}.npz")
