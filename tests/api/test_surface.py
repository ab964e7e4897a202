"""Exported names, the direction of imports, and the documented attributes."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import powerkmeans
import powerkmeans.plotting
from helpers import quick
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

SOURCE = Path(powerkmeans.__file__).parent

# a module may import from its own layer and from those to the left
LAYERS = [
    ["types", "support", "exceptions"],
    ["sources", "features", "objective", "metrics"],
    ["compute", "solver"],
    ["engines", "inputs"],
    ["models"],
    ["fitting"],
    ["advice"],
    ["estimators"],
    ["preparing"],
    ["choose", "protocol"],
    ["plotting", "report"],
    ["sc"],
    ["__init__"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def modules():
    return sorted(SOURCE.rglob("*.py"))


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("powerkmeans"):
            if node.module == "powerkmeans":
                yield from (alias.name for alias in node.names)
            else:
                yield node.module.removeprefix("powerkmeans.")


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    here = room(path)
    for name in imports(path):
        there = name.split(".")[0]
        assert there in RANK, f"{there} has no layer"
        assert there == here or RANK[there] <= RANK[here], f"{here} must not import {there}"


def test_engines_and_objective_and_solver_stay_apart():
    found = {(room(p), name.split(".")[0]) for p in modules() for name in imports(p)}
    compute = SOURCE / "compute"
    for path in set(compute.rglob("*.py")) - {
        compute / "passes.py",
        *(compute / "native").glob("*.py"),
        *(compute / "triton").glob("*.py"),
    }:
        assert not any(name.startswith("objective") for name in imports(path)), path
    assert ("solver", "compute") not in found
    assert ("objective", "compute") not in found
    assert ("objective", "features") not in found
    assert ("features", "objective") not in found


# modules that Triton compiles, which nothing else does at import
KERNELS = {"adding", "equations", "fourier", "fused", "select", "splitting", "staged", "tiles"}


def test_no_relative_or_heavy_imports():
    library = {"numpy", "scipy", "sklearn", "threadpoolctl", "powerkmeans", "__future__"}
    for path in modules():
        allowed = library | ({"click", "rich"} if room(path) == "cli" else set())
        if path.parent.name == "triton" and path.stem in KERNELS:
            allowed |= {"triton"}  # imported where a card runs them
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                assert top in allowed or top in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_names_are_imported_when_they_are_used():
    code = (
        "import sys, powerkmeans; assert 'numpy' not in sys.modules; names = dir(powerkmeans); "
        "assert set(powerkmeans.__all__) <= set(names); powerkmeans.metrics; assert 'numpy' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        powerkmeans.KMeans  # noqa: B018
    assert all(getattr(powerkmeans, name) is not None for name in powerkmeans.__all__)


def test_exported_names():
    assert sorted(powerkmeans.__all__) == [
        "KernelPowerKMeans",
        "MultiViewPowerKMeans",
        "PreparedModel",
        "__version__",
        "choose_k",
        "critical_exponent",
        "exceptions",
        "explain_views",
        "load",
        "metrics",
        "on_progress",
        "open_source",
        "report",
        "save",
        "sc",
        "suggest_n_components",
    ]
    assert sorted(powerkmeans.metrics.__all__) == ["clustering_accuracy", "normalized_mutual_info", "purity"]
    assert powerkmeans.report.__all__ == ["write_report"]
    assert powerkmeans.sc.__all__ == ["choose_k", "cluster", "write_report"]
    assert sorted(powerkmeans.plotting.__all__) == [
        "ConvergenceDisplay",
        "DimensionDisplay",
        "EmbeddingDisplay",
        "KChoiceDisplay",
        "MembershipDisplay",
        "SensitivityDisplay",
        "SplitDisplay",
        "ViewContributionDisplay",
    ]
    assert powerkmeans.exceptions.__all__ == [
        "CheckpointError",
        "ClusterError",
        "DataGuidanceWarning",
        "ModelFileError",
    ]


SHARED = {
    "n_clusters": 8,
    "feature_map": "auto",
    "kernel": "rbf",
    "metric": "euclidean",
    "bandwidth": "median",
    "n_components": "auto",
    "n_neighbors": "auto",
    "rows_per_landmark": 1,
    "fuzziness": 2.0,
    "reference_distance": "global",
    "s_init": "auto",
    "anneal_factor": 1.04,
    "anneal_every": "auto",
    "init": "auto",
    "n_init": "auto",
    "max_iter": 300,
    "tol": 1e-4,
    "engine": "auto",
    "random_state": None,
    "verbose": 0,
    "advice": True,
}
OWN = {
    KernelPowerKMeans: {"membership": "fuzzy"},
    MultiViewPowerKMeans: {
        "membership": "auto",
        "views": None,
        "entropy": "auto",
        "view_scaling": "scatter",
        "view_baseline": "gaussian",
    },
}


@pytest.mark.parametrize("estimator", OWN)
def test_parameters_and_defaults(estimator):
    assert estimator().get_params() == SHARED | OWN[estimator]
    kinds = inspect.signature(estimator).parameters.values()
    assert [p.name for p in kinds if p.kind is not p.KEYWORD_ONLY] == ["n_clusters"]


@pytest.mark.parametrize("estimator", OWN)
def test_every_attribute_is_documented_and_every_documented_one_exists(estimator):
    model = estimator(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 3)))
    public = {
        name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)
    }
    section = re.split(r"See Also\n|Examples\n", inspect.getdoc(estimator).split("Attributes\n")[1])[0]
    lines = [line for line in section.splitlines() if line and not line.startswith((" ", "-"))]
    documented = {name.strip() for line in lines for name in line.split(" : ")[0].split(",")}
    assert public == documented - {"feature_names_in_"}


@pytest.mark.parametrize("estimator", OWN)
def test_every_parameter_is_documented(estimator):
    section = inspect.getdoc(estimator).split("Parameters\n")[1].split("Attributes\n")[0]
    lines = [line for line in section.splitlines() if line and not line.startswith((" ", "-"))]
    assert [line.split(" : ")[0] for line in lines] == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize(("feature_map", "n_components"), [("nystroem", "auto"), ("graph", 1000)])
def test_nothing_of_the_size_of_the_data_but_labels_is_kept(feature_map, n_components):
    X = np.random.default_rng(0).normal(size=(5000, 3))
    model = quick(2, feature_map=feature_map, n_components=n_components, random_state=0, advice=False).fit(X)

    def sizes(value):
        if isinstance(value, np.ndarray):
            yield value.size
        elif isinstance(value, (tuple, list)):
            for item in value:
                yield from sizes(item)
        elif isinstance(value, dict):
            yield from sizes(list(value.values()))
        elif hasattr(value, "__dict__"):
            yield from sizes(vars(value))

    assert sorted(set(sizes(vars(model))))[-1] == 5000  # labels_
    assert sum(size >= 5000 for size in sizes({k: v for k, v in vars(model).items() if k != "_fit"})) == 1


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_are_short(path):
    assert len(path.read_text().splitlines()) <= 400
