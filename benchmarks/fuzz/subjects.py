"""Small models of every kind, with rows to ask them about."""

from __future__ import annotations

import io
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from scipy.sparse import csr_array

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, load
from powerkmeans.cli.app import app
from powerkmeans.models.files.archive import write_archive
from powerkmeans.models.saving import pack_estimator, read


@dataclass(frozen=True)
class Subject:
    """A model: its header and arrays as a file has them, rows for it, and its parameters."""

    name: str
    header: dict[str, Any]
    arrays: dict[str, Any]
    rows: Any
    chunk: Any
    parameters: str

    @property
    def content(self) -> bytes:
        stream = io.BytesIO()
        write_archive(stream, self.header, self.arrays)
        return stream.getvalue()


def _rows() -> Any:
    rng = np.random.default_rng(0)
    return np.repeat(4 * rng.normal(size=(3, 6)), 10, axis=0) + rng.normal(size=(30, 6))


def _kernel_models() -> list[tuple[str, Any, Any]]:
    X = _rows()
    common = {"n_components": 5, "max_iter": 30, "random_state": 0}
    single = X.astype(np.float32)
    made = [
        (
            "landmarks",
            KernelPowerKMeans(3, feature_map="nystroem", membership="possibilistic", **common).fit(single),
            single,
        ),
        ("fourier", KernelPowerKMeans(3, feature_map="rff", s_init=-3.0, **common).fit(X), X),
        ("fourier in single precision", KernelPowerKMeans(3, feature_map="rff", **common).fit(single), single),
        ("columns", KernelPowerKMeans(3, feature_map="identity", init=X[:3], **common).fit(X), X),
        ("exact", KernelPowerKMeans(3, feature_map="exact", kernel="laplacian", **common).fit(X), X),
    ]
    made[0][1].partial_fit(single[:9])
    gram = (X @ X.T + 1) / np.sqrt(np.outer(*[np.sum(X * X, axis=1) + 1] * 2))
    given = KernelPowerKMeans(2, feature_map="exact", kernel="precomputed", random_state=0)
    return [*made, ("given kernel", given.fit(gram), gram)]


def _view_models() -> list[tuple[str, Any, Any]]:
    X = _rows()
    X[:, 5] = 1.0
    views = {"left": X[:, :2], "right": X[:, 2:5].copy(), "constant": X[:, 5:]}
    views["right"][:4] = np.nan
    maps = {"left": "rff", "right": "nystroem", "constant": "identity"}
    common = {"n_components": 4, "max_iter": 30, "random_state": 0}
    several = MultiViewPowerKMeans(3, feature_map=maps, metric={"right": "cosine"}, **common).fit(views)
    table = MultiViewPowerKMeans(
        2, views={"a": slice(0, 2), "b": [2, 4]}, feature_map="nystroem", fuzziness=2.5, **common
    ).fit(X)
    begun = MultiViewPowerKMeans(3, feature_map="identity", **common)
    left = {name: view[:, :2] for name, view in views.items() if name != "constant"}
    for start in range(0, 15, 5):
        begun.partial_fit({name: view[start : start + 5] for name, view in left.items()})
    sparse = csr_array(np.where(np.abs(X) > 1, X, 0))
    dry = KernelPowerKMeans(2, feature_map="rff", **common).partial_fit(sparse[:7]).partial_fit(sparse[7:10])
    graph = {"feature_map": "graph", "n_neighbors": 4, "anneal_factor": 1.3, "advice": False, "random_state": 0}
    fused = MultiViewPowerKMeans(3, **graph).fit(views)
    ties = KernelPowerKMeans(3, **graph).fit(sparse)
    made = [("views", several, views), ("columns of a table", table, X)]
    made += [("graph of views", fused, views), ("graph of sparse rows", ties, sparse)]
    return [*made, ("begun", begun, left), ("begun with sparse rows", dry, sparse)]


def _of_the_command() -> Subject:
    """A model that the command fitted, with what it keeps beside it."""
    X = _rows()
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "rows.csv", Path(folder) / "out"
        np.savetxt(table, X, delimiter=",", header="a,b,c,d,e,f", comments="")
        fills = ["--impute", "knn"]
        done = CliRunner().invoke(app, ["fit", str(table), "-k", "3", "-o", str(out), "--seed", "0", "-q", *fills])
        if done.exit_code:
            raise RuntimeError(done.stderr)
        header, arrays = read(out / "model.npz")
        model = load(out / "model.npz")
    return Subject("command", header, arrays, X, X[5:12], repr(model.estimator.get_params()))


@cache
def subjects() -> tuple[Subject, ...]:
    """All of them, made once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [*_kernel_models(), *_view_models()]
        return (*(_subject(*parts) for parts in made), _of_the_command())


def _subject(name: str, model: Any, rows: Any) -> Subject:
    extra = {"columns": ["a", "b"], "scale": np.arange(3.0), "limit": -np.inf} if name == "fourier" else None
    header, arrays = pack_estimator(model, extra)
    chunk = {key: view[5:12] for key, view in rows.items()} if isinstance(rows, dict) else rows[5:12]
    return Subject(name, header, arrays, rows, chunk, repr(model.get_params()))
