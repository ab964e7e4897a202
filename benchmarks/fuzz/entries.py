"""Every public entry, with a call for each of its parameters; parameters are read off the signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import powerkmeans
from benchmarks.fuzz import kinds
from benchmarks.fuzz.kinds import Kind, a_view, count, data, number, words
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, PreparedModel
from powerkmeans.engines import DaskOptions, NumpyOptions, TorchOptions
from powerkmeans.preparing.pipelines import prepared_pipeline

Call = Callable[[str, Any], Any]
K = 3
ROWS = np.random.default_rng(0).normal(size=(24, 3)) + 4 * np.repeat(np.eye(3), 8, axis=0)
TWO = {"a": ROWS[:, :2], "b": ROWS[:, 1:]}
WEIGHT = np.ones(24)
PRESENT = np.ones((24, 2), dtype=bool)
LABELS = np.repeat([0, 1, 2], 8)
MODULES = {"metrics": powerkmeans.metrics, "report": powerkmeans.report, "sc": powerkmeans.sc}
KERNELS = ("rbf", "laplacian", "matern12", "matern32", "matern52", "rational_quadratic", "precomputed")
MAPS = ("rff", "orf", "nystroem", "identity", "exact", "graph", "auto")


@dataclass(frozen=True)
class Entry:
    """Something public that takes parameters.

    function : whose signature has the parameters
    call : calls it with one parameter set, all others being right
    """

    name: str
    function: Callable[..., Any]
    call: Call

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters, without those that collect others."""
        known = inspect.signature(self.function).parameters.values()
        named = [p.name for p in known if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        return [name for name in named if name not in ("self", "cls")]

    def kind(self, parameter: str) -> Kind:
        """What the parameter must be; a KeyError if nobody has said so."""
        owner = self.name.partition("(")[0]
        for whose in (owner, owner.rpartition(".")[0], owner.rpartition(".")[2]):
            if (whose, parameter) in OWN_KINDS:
                return OWN_KINDS[whose, parameter]
        return KINDS[parameter]


def _no_engine(value: Any) -> bool:
    known = isinstance(value, (DaskOptions, NumpyOptions, TorchOptions))
    return not known and words("auto", "numpy", "compiled").forbidden(value)


def _fits(*valid: Any) -> Kind:
    """Values of which each is a fit; thousands of them are right, but long."""
    return Kind(lambda value: False, valid, long=lambda value: isinstance(value, np.ndarray) and value.size > 1000)


_AUTO_COUNT = count(1, "auto", valid=(1, np.int64(5)))
_BANDWIDTH = number(lambda x: 0 < x < np.inf, "median", "scale", valid=(1, 2.5, np.float32(1.5)))
KINDS: dict[str, Kind] = {
    "X": data(named=False),
    "y": kinds.IGNORED,
    "sample_weight": data(None, WEIGHT, 2.0, WEIGHT.tolist()),
    "present": data(None),
    "n_clusters": count(1, valid=(1, 3, np.int32(4))),
    "feature_map": words(*MAPS, valid=("rff", "orf", "nystroem", "identity", "graph")),
    "kernel": words(*KERNELS, valid=("rbf", "matern32", "rational_quadratic")),
    "metric": words("euclidean", "cosine"),
    "bandwidth": _BANDWIDTH,
    "n_components": _AUTO_COUNT,
    "n_neighbors": count(1, "auto", valid=(1, 3, np.int64(5))),
    "rows_per_landmark": count(1, valid=(1, np.int64(1))),  # more have no meaning without landmarks
    "membership": words("auto", "fuzzy", "possibilistic"),
    "fuzziness": number(lambda m: 1 < m < np.inf, valid=(2, 1.5)),
    "reference_distance": number(lambda x: 0 < x < np.inf, "global", "median", "within", valid=(1, 0.5)),
    "s_init": number(lambda s: s < 0, "auto", valid=(-1, -3.5, -np.inf)),
    "anneal_factor": number(lambda x: 1 <= x < np.inf, valid=(1, 1.5)),
    "anneal_every": _AUTO_COUNT,
    "init": data("auto", "cloud", "k-means++", "k-means", "random"),
    "n_init": Kind(count(1, "auto").forbidden, ("auto", 1, 2), long=lambda v: not count(100).forbidden(v)),
    "max_iter": count(1, valid=(1, 50)),
    "tol": number(lambda x: 0 <= x < np.inf, valid=(0, 1e-3)),
    "engine": Kind(_no_engine, ("auto", "numpy", NumpyOptions(n_threads=1))),
    "device": words(None, "cpu", "cuda", "cuda:1", valid=(None,)),  # others need PyTorch, and a card
    "random_state": kinds.SEED,
    "verbose": Kind(lambda v: not isinstance(v, bool) and count(0).forbidden(v), (0, False)),
    "advice": kinds.FLAG,
    "views": data(None),
    "entropy": number(lambda x: x > 0, "auto", valid=(1, 0.5, np.inf)),
    "view_scaling": words("scatter", None),
    "view_baseline": words("gaussian", None),
    "noise_threshold": kinds.OPTIONAL_SHARE,
    "out": kinds.OPTIONAL_FILE,
    "checkpoint": kinds.OPTIONAL_FILE,
    "resume_from": kinds.OPTIONAL_FILE,
    "callback": Kind(lambda v: not callable(v), (print,), named=False),
    "client": data(None),
    "rows_per_task": count(1, None, valid=(1, 1000)),
    "path": kinds.FILE,
    "k_min": count(2, valid=(2,)),
    "k_max": count(2, valid=(2, 4)),
    "progress": Kind(lambda v: v is not None and not callable(v), (None, print), named=False),
    "features": data(ROWS, named=False),
    "eps": number(lambda x: 0 < x < 1, valid=(0.1, np.float32(0.5))),
    "delta": number(lambda x: 0 < x < 1, valid=(0.1,)),
    "y_true": data(LABELS, LABELS.tolist(), list("abc" * 8)),
    "y_pred": data(LABELS, LABELS.tolist(), list("abc" * 8)),
    "average_method": words("geometric", "arithmetic", "min", "max"),
    "n_threads": count(1, None, valid=(1, 2)),
    "memory_budget": count(0, valid=(0, 2**40)),
    "model": data(),
    "estimator": data(),
    "path_or_object": Kind(lambda v: False, (ROWS,), named=False, file=True),
    "columns": data(None, [0, 2], (1,), np.array([0])),
    "ids": data(None, list(range(24)), [f"s{i}" for i in range(24)], np.arange(24)),
    "title": kinds.TEXT_OR_NONE,
    "feature_names": data(None, ["a", "b", "c"], np.array(["a", "b", "c"])),
    "original": data(None, ROWS, 2 * ROWS),
    "scaling": kinds.TEXT_OR_NONE,
    "files": data((), ["labels.csv"], ("labels.csv", "model.npz")),
    "overwrite": Kind(kinds.FLAG.forbidden, (True,), file=True),
    "data": data(named=False),
    "key_added": Kind(lambda v: not isinstance(v, str) or not v, ("x",)),
    "use_rep": data(None, "X", ["X"], {"a": "X"}),
    "n_pcs": a_view(count(1, None, valid=(1, 3)), ()),
    "layer": kinds.TEXT_OR_NONE,
    "genes": kinds.TEXT_OR_NONE,
    "restrict_to": data(None, ("kind", ["1", "2"]), ["kind", ("0", "2")]),
    "model_file": kinds.OPTIONAL_FILE,
    "copy": kinds.FLAG,
    "ax": data(None),
    "choice": data(),
    "table": data(),
    "history": data(),
    "view_names": data(["X"], ("X",)),
    "critical_exponent": number(lambda s: s <= 0, None, valid=(-1, 0.0)),
    "quantity": words("inertia", "objective", "shift"),
    "labels": data(LABELS, LABELS.tolist()),
    "typicality": data(None, np.full(24, 0.5)),
    "probabilities": data(np.full((24, 2), 0.5)),
    "points": data(ROWS[:, :2], ROWS[:, :2].tolist()),
    "outlier": data(None, LABELS == 0, (LABELS == 0).tolist()),
    "centers": data(None, np.eye(3, 2)),
    "axis_names": data(("", ""), ("a", "b")),
    "method": words("auto", "pca", "centroids", "umap", valid=("auto", "pca", "centroids")),
    "outlier_share": kinds.SHARE,
    "max_samples": count(1, valid=(5, 24)),
    "scores": data([[0.5, 0.6], [0.7, 0.8]], np.ones((2, 2))),
    "score_name": kinds.TEXT,
    "n_draws": Kind(count(1).forbidden, (1,), long=lambda v: not count(6).forbidden(v)),
    "exact": number(np.isfinite, None, valid=(0.5, 1)),
    "suggested": count(1, None, valid=(5,)),
    "groups": data(),
    "s": data(),
    "sizes": data([8, 8, 8], np.array([8.0, 8, 8])),
    "marked": count(1, None, valid=(2,)),
    "n_moves": count(0, valid=(0, 2)),
    "numbered": kinds.FLAG,
}
OWN_KINDS: dict[tuple[str, str], Kind] = {
    ("save", "labels"): kinds.FLAG,
    ("MembershipDisplay.from_estimator", "typicality"): Kind(
        lambda v: v is not None and kinds.FLAG.forbidden(v), (None, True, False)
    ),
    ("MembershipDisplay", "membership"): data(np.full(24, 0.5), [0.5] * 24),
    ("DimensionDisplay.from_estimator", "exact"): kinds.FLAG,
    ("DimensionDisplay.from_estimator", "n_components"): _fits([2, 3], (2,), np.array([2])),
    ("DimensionDisplay", "n_components"): data([5, 10], np.array([5, 10])),
    ("SensitivityDisplay", "s_init"): data([-5, -10], np.array([-5.0, -10])),
    ("SensitivityDisplay", "entropy"): data([1, 10], np.array([1.0, 10])),
    ("SensitivityDisplay.from_estimator", "s_init"): _fits([-5], (-5.0,)),
    ("SensitivityDisplay.from_estimator", "entropy"): _fits([1], (1.0,)),
    ("SensitivityDisplay.from_estimator", "y"): data(None, LABELS, named=False),
    ("DimensionDisplay.from_estimator", "y"): data(None, LABELS, named=False),
    ("NumpyOptions", "kernel"): words("auto", "numpy", "compiled"),
    ("DaskOptions", "kernel"): words("auto", "numpy", "compiled"),
    ("DaskOptions", "memory_budget"): count(0, None, valid=(0, 2**40)),
    ("DaskOptions", "worker"): Kind(
        lambda v: not (v is None or isinstance(v, TorchOptions)), (None, TorchOptions(device="cpu"))
    ),
    ("TorchOptions", "precision"): words("float32", "tf32", "bfloat16"),
    ("TorchOptions", "kernel"): words("auto", "torch"),
    ("TorchOptions", "memory_budget"): count(0, None, valid=(0, 2**40)),
    ("critical_exponent", "reference_distance"): number(
        lambda x: 0 < x < np.inf, "global", "median", valid=(1.0,)
    ),
    ("choose_k", "sample_weight"): data(None, WEIGHT),
    ("choose_k", "present"): Kind(lambda v: False, (None,), long=lambda v: isinstance(v, dict) and not v),
    ("sc.write_report", "key_added"): Kind(lambda v: not isinstance(v, str) or not v, ("power_kmeans",)),
    ("SplitDisplay", "s"): data([-1.0, -2.0, -4.0]),
    ("SplitDisplay", "groups"): data([[0, 0, 0], [0, 0, 2], [0, 1, 2]]),
}
_PER_VIEW = {
    "feature_map": (["rff", "identity"], {"a": "orf"}),
    "kernel": (["rbf", "laplacian"], {"b": "matern12"}, ("rbf", "rbf")),
    "metric": (["cosine", "euclidean"], {"b": "cosine"}),
    "bandwidth": ([1, "median"], {"a": 2.0}, np.array([1.0, 2.0])),
    "n_components": ([3, "auto"], {"b": 2}, np.array([2, 3])),
}
for _name, _valid in _PER_VIEW.items():
    OWN_KINDS["MultiViewPowerKMeans", _name] = a_view(KINDS[_name], ("a", "b"), *_valid)


@cache
def fitted(several: bool, **parameters: Any) -> Any:
    """A model to ask; calls must not change it."""
    made = MultiViewPowerKMeans if several else KernelPowerKMeans
    defaults = {"feature_map": "nystroem", "membership": "possibilistic", "random_state": 0}
    return made(K, **(defaults | parameters)).fit(TWO if several else ROWS)


@cache
def splitting() -> Any:
    """A model whose clusters separate one after the other."""
    rng = np.random.default_rng(0)
    wide = np.repeat(rng.uniform(-5, 5, (4, 12)), 30, axis=0) + rng.normal(0, 2.0, (120, 12))
    settings: dict[str, Any] = {"init": "cloud", "anneal_every": 8, "max_iter": 1000, "random_state": 0}
    return KernelPowerKMeans(4, feature_map="rff", **settings).fit(wide)


def copied(several: bool) -> Any:
    """A fitted model of one's own."""
    model = fitted(several)
    made = object.__new__(type(model))
    made.__dict__ = dict(vars(model))
    return made


def entries() -> list[Entry]:
    """Everything public."""
    return [*_estimators(), *_methods(), *_prepared(), *_functions(), *_displays()]


def _estimators() -> Iterator[Entry]:
    """Parameters of the estimators, in ``fit`` under several others, and in ``partial_fit``."""
    one = [{}, {"feature_map": "rff"}, {"feature_map": "exact", "membership": "possibilistic"}]
    one += [{"feature_map": "identity", "s_init": -2.0}, {"feature_map": "orf", "membership": "possibilistic"}]
    for base in one:
        yield Entry(_label("KernelPowerKMeans", base), KernelPowerKMeans.__init__, partial(_fit, False, base))
    for base in [{}, {"feature_map": "rff", "membership": "fuzzy"}]:
        yield Entry(_label("MultiViewPowerKMeans", base), MultiViewPowerKMeans.__init__, partial(_fit, True, base))
    for several, made in ((False, KernelPowerKMeans), (True, MultiViewPowerKMeans)):
        yield Entry(f"{made.__name__}(learning)", made.__init__, partial(_learn, several))


def _label(name: str, base: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in base.items())})"


def _fit(several: bool, base: dict[str, Any], parameter: str, value: Any) -> Any:
    given = {"n_clusters": K, "random_state": 0, "max_iter": 30} | base | {parameter: value}
    made = MultiViewPowerKMeans if several else KernelPowerKMeans
    tables = ROWS if parameter == "views" else TWO
    return made(**given).fit(tables if several else ROWS)


def _learn(several: bool, parameter: str, value: Any) -> Any:
    model = copied(several).set_params(**{parameter: value})
    try:
        return model.partial_fit(TWO if several else ROWS)
    except AttributeError as error:  # scikit-learn's way to say that a method is not there; the cause says why
        raise ValueError(str(error.__cause__)) from error


def _methods() -> Iterator[Entry]:
    for several, made in ((False, KernelPowerKMeans), (True, MultiViewPowerKMeans)):
        for name in public_methods(made):
            call = _load if name == "load" else partial(_method, several, name)
            yield Entry(f"{made.__name__}.{name}", getattr(made, name), partial(call))


def public_methods(made: type) -> list[str]:
    """What this package adds to scikit-learn's base classes."""
    own = [c for c in made.__mro__ if c.__module__.startswith("powerkmeans")]
    names = {name for c in own for name in vars(c) if not name.startswith("_") and callable(getattr(made, name))}
    return sorted(name for name in names if not (name.startswith("set_") and name.endswith("_request")))


def _method(several: bool, name: str, parameter: str, value: Any) -> Any:
    given = {"path": "model.npz", "overwrite": True} if name == "save" else {"X": TWO if several else ROWS}
    return getattr(copied(several), name)(**(given | {parameter: value}))


def _load(parameter: str, value: Any) -> Any:
    return KernelPowerKMeans.load(**{parameter: value})


def _prepared() -> Iterator[Entry]:
    """Methods of a model with its preparation; its constructor is ours."""
    model = prepared_pipeline(make_pipeline(StandardScaler(), fitted(False)).fit(ROWS))
    for name in public_methods(PreparedModel):
        right = {"path": "prepared.npz", "overwrite": True} if name == "save" else {"X": ROWS}
        function = getattr(PreparedModel, name)
        yield Entry(f"PreparedModel.{name}", function, partial(_with, getattr(model, name), right))


def _functions() -> Iterator[Entry]:
    right: dict[str, dict[str, Any]] = {
        "choose_k": {"X": ROWS, "k_max": 3, "random_state": 0},
        "critical_exponent": {"features": ROWS},
        "explain_views": {"model": fitted(True), "X": TWO},
        "load": {},
        "open_source": {"path_or_object": ROWS},
        "save": {"model": fitted(False), "path": "model.npz", "overwrite": True},
        "suggest_n_components": {"n_clusters": K},
        "clustering_accuracy": {"y_true": LABELS, "y_pred": LABELS},
        "normalized_mutual_info": {"y_true": LABELS, "y_pred": LABELS},
        "purity": {"y_true": LABELS, "y_pred": LABELS},
        "write_report": {"path": "page.html", "estimator": fitted(False), "X": ROWS, "overwrite": True},
        "DaskOptions": {},
        "NumpyOptions": {},
        "TorchOptions": {},
    }
    for function in public_functions():
        name = function.__name__
        if function.__module__.startswith("powerkmeans.sc"):
            yield Entry(f"sc.{name}", function, partial(_of_cells, function))
        elif name == "on_progress":
            yield Entry(name, function, _heard)
        else:
            yield Entry(name, function, partial(_with, function, right[name]))


def _heard(parameter: str, value: Any) -> Any:
    with powerkmeans.on_progress(**{parameter: value}):
        return None


def public_functions() -> list[Callable[..., Any]]:
    """Functions of the package and of its public modules, and the options of the engine."""
    found: list[Any] = [NumpyOptions, DaskOptions, TorchOptions]
    for module in (powerkmeans, *MODULES.values()):
        found += [getattr(module, name) for name in module.__all__]
    return [f for f in found if callable(f) and f not in (KernelPowerKMeans, MultiViewPowerKMeans, PreparedModel)]


def _with(function: Callable[..., Any], right: dict[str, Any], parameter: str, value: Any) -> Any:
    return function(**(right | {parameter: value}))


@cache
def _cells() -> Any:
    """Cells that were clustered, and whose model lies in a file."""
    fields: dict[str, Any] = {"obs": {"kind": LABELS.astype(str)}, "obsm": {"X_pca": ROWS}, "layers": {"x": ROWS}}
    adata = import_module("anndata").AnnData(ROWS.copy(), **fields)
    file = Path(mkdtemp()) / "model.npz"
    powerkmeans.sc.cluster(adata, K, feature_map="identity", membership="possibilistic", model_file=file)
    return adata


def _of_cells(function: Callable[..., Any], parameter: str, value: Any) -> Any:
    right: dict[str, dict[str, Any]] = {
        "choose_k": {"k_max": 3},
        "cluster": {"n_clusters": K},
        "write_report": {"path": "page.html", "overwrite": True},
    }
    return function(**({"data": _cells().copy()} | right[function.__name__] | {parameter: value}))


def _displays() -> Iterator[Entry]:
    plotting = import_module("powerkmeans.plotting")
    for name in plotting.__all__:
        display = getattr(plotting, name)
        for way in ("__init__", *(n for n in sorted(vars(display)) if n.startswith("from_")), "plot"):
            label = name if way == "__init__" else f"{name}.{way}"
            yield Entry(label, getattr(display, way), partial(_draw, plotting, name, way))


@cache
def _choice() -> Any:
    return powerkmeans.choose_k(ROWS, k_max=3, random_state=0)


@cache
def _table() -> Any:
    return powerkmeans.explain_views(fitted(True), TWO)


def _right_for_display(name: str, way: str) -> dict[str, Any]:
    """Arguments that a display is drawn from."""
    if way == "from_estimator":
        several = name in ("ViewContributionDisplay", "SensitivityDisplay")
        model = splitting() if name == "SplitDisplay" else fitted(several)
        more = {} if name in ("ConvergenceDisplay", "SplitDisplay") else {"X": TWO if several else ROWS}
        small = {"SensitivityDisplay": {"s_init": [-5.0], "entropy": [1.0]}}
        small["DimensionDisplay"] = {"n_components": [2], "n_draws": 1}
        return {"estimator": model} | more | small.get(name, {})
    if way == "from_choice":
        return {"choice": _choice()}
    scores = {"scores": [[0.5, 0.6], [0.7, 0.8]]}
    rights: dict[str, dict[str, Any]] = {
        "ConvergenceDisplay": {"history": fitted(False).history_},
        "DimensionDisplay": {"n_components": [5, 10]} | scores,
        "EmbeddingDisplay": {"points": ROWS[:, :2], "labels": LABELS},
        "KChoiceDisplay": {"choice": _choice()},
        "MembershipDisplay": {"labels": LABELS, "membership": np.full(24, 0.5)},
        "SensitivityDisplay": {"s_init": [-5, -10], "entropy": [1, 10]} | scores,
        "SplitDisplay": {"groups": [[0, 0, 0], [0, 0, 2], [0, 1, 2]], "s": [-1.0, -2, -4], "sizes": [8, 8, 8]},
        "ViewContributionDisplay": {"table": _table()},
    }
    if way == "from_predictions" and name == "MembershipDisplay":
        return {"probabilities": np.full((24, 2), 0.5)}
    return rights[name]


def _draw(plotting: ModuleType, name: str, way: str, parameter: str, value: Any) -> Any:
    display = getattr(plotting, name)
    if way == "plot":
        return display(**_right_for_display(name, way)).plot(**{parameter: value})
    given = _right_for_display(name, way) | {parameter: value}
    return display(**given).plot() if way == "__init__" else getattr(display, way)(**given)
