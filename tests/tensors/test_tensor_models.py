"""Models on their way between machines with and without PyTorch and cards."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import powerkmeans
from helpers import blobs
from powerkmeans import KernelPowerKMeans
from powerkmeans.cli.app import app
from powerkmeans.engines import TorchOptions
from powerkmeans.support import tensors

X, _ = blobs(3, 4, 20, 0.5)
ROWS = torch.from_numpy(X)
QUICK = {"feature_map": "rff", "anneal_factor": 2.0, "random_state": 0, "advice": False}


@pytest.fixture(scope="module")
def fitted():
    options = TorchOptions("cpu", precision="tf32", memory_budget=2**20)
    return KernelPowerKMeans(3, engine=options, init=ROWS[::20], **QUICK).fit(ROWS)


def test_a_file_holds_arrays_of_numpy_alone_and_is_of_no_device(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "model.npz")
    monkeypatch.setitem(sys.modules, "torch", None)  # another machine
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert loaded.engine == "auto"
    assert np.array_equal(loaded.predict(X), fitted.labels_)
    assert type(loaded.init) is np.ndarray


def test_a_pickle_has_the_options_and_a_machine_without_pytorch_is_told(fitted, monkeypatch):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.engine == fitted.engine
    assert np.array_equal(again.predict(X), fitted.labels_)
    again.set_params(init="auto")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"torch is needed.*engine='auto'.*Install it: .*install"):
        again.predict(X)
    assert np.array_equal(again.to_device(None).predict(X), fitted.labels_)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_machine_without_a_card_is_told(fitted):
    there = pickle.loads(pickle.dumps(fitted)).set_params(engine=TorchOptions("cuda"))
    with pytest.raises(ValueError, match=r"device='cuda' is not available.*model\.to_device\(None\)"):
        there.predict(X)
    with pytest.raises(ValueError, match="device='cuda' is not available"):
        fitted.to_device("cuda")


def test_to_device_is_a_copy_that_keeps_other_options(fitted):
    other = fitted.to_device(torch.device("cpu"))
    assert other is not fitted
    assert other.engine == TorchOptions("cpu", precision="tf32", memory_budget=2**20)
    assert np.array_equal(other.predict(X), fitted.labels_)
    plain = KernelPowerKMeans(3, **QUICK).to_device("cpu")
    assert plain.engine == TorchOptions("cpu")
    assert fitted.to_device(None).engine == "auto"
    with pytest.raises(ValueError, match="'device' parameter must be"):
        fitted.to_device("tpu")


def test_cards_by_their_number(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert tensors.open_device(None) == torch.device("cuda", 1)
    assert tensors.open_device("cuda:0") == torch.device("cuda", 0)
    with pytest.raises(ValueError, match="device='cuda:2' is not available; this machine has 'cuda:0', 'cuda:1'"):
        tensors.open_device("cuda:2")


def test_the_command(tmp_path, monkeypatch):
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    monkeypatch.chdir(tmp_path)
    line = ["fit", "rows.csv", "-k", "3", "--feature-map", "rff", "--set", "anneal_factor=2", "--device"]

    def run(*more):
        done = CliRunner().invoke(app, [*line, *more])
        return done.exit_code, done.stderr

    assert run("cpu", "-o", "labels.csv")[0] == 0
    assert (tmp_path / "labels.csv").exists()
    code, said = run("cpu", "--threads", "1")
    assert code == 2
    assert "leave --threads out" in said
    assert "leave --engine numpy out" in run("cpu", "--engine", "numpy")[1]
    assert "'device' parameter must be" in run("tpu")[1]
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "Install it: " in run("cuda")[1]
